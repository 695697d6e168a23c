export const UTM_FIELDS = ["utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content"] as const;
export type UtmField = (typeof UTM_FIELDS)[number];

/** "example.com/x" becomes "https://example.com/x", and a space after the host becomes %20, as in an address bar. Everything else, also "example", is left to the server, which says what is missing: of "javascript:1", the first word is a scheme and no host. */
export function normalizeUrl(text: string): string {
  const [, origin = "", rest = ""] = /^((?:https?:\/\/)?[^/?#]*)(.*)$/is.exec(text.trim()) ?? [];
  const url = origin + rest.replaceAll(" ", "%20");
  const [host = ""] = url.split(/[/?#]/);
  const isHost = /^([^:\s]+\.[^:\s]*(:\d+)?|localhost:\d+)$/i.test(host);
  return isHost ? `https://${url}` : url;
}

/** Whether somebody means an address by it, and not words to search for: it has a scheme, or a host with a dot and a page. */
export function looksLikeUrl(text: string): boolean {
  const url = text.trim();
  if (/\s/.test(url)) return false;
  return /^https?:\/\/./i.test(url) || /^[\p{L}\p{N}-]+(\.[\p{L}\p{N}-]+)*\.\p{L}{2,}(:\d+)?([/?#].*)?$/u.test(url);
}

/** Whether a text begins as an address does, perhaps of another kind: "mailto:a@b.example". */
export const hasScheme = (text: string): boolean => /^[a-z][a-z\d+.-]*:\S/i.test(text.trim());

/** The host of an address, as it is written: "example.com" of "https://example.com:8080/page". A host alone stays. */
export function hostOf(text: string): string {
  const [authority = ""] = text.trim().replace(/^([a-z][a-z\d+.-]*:)?\/\//i, "").split(/[/?#\\]/);
  return authority.replace(/^.*@/, "").replace(/^([^:]*|\[.*\]):\d*$/, "$1");
}

/** Older browsers have no URL.canParse. */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

export function utmOf(url: string): Utm {
  const params = parseUrl(url)?.searchParams ?? new URLSearchParams();
  return Object.fromEntries(UTM_FIELDS.map((field) => [field, params.get(field) ?? ""])) as Utm;
}

export type Utm = Record<UtmField, string>;

/** What names the page, without query and fragment. */
const pageOf = (url: string) => url.split(/[?#]/)[0] ?? "";

/**
 * The address that was typed instead of another one, and its campaign parameters. Another page keeps those that stood beside
 * it and that its address does not name; on the same page they are what the address says.
 */
export function settleUtm(before: string, url: string, utm: Utm): { url: string; utm: Utm } {
  const named = utmOf(normalizeUrl(url));
  if (url.trim() === "") return { url, utm };
  if (pageOf(normalizeUrl(before)) === pageOf(normalizeUrl(url))) return { url, utm: named };
  const kept = UTM_FIELDS.filter((field) => named[field] === "" && utm[field] !== "");
  return { url: kept.reduce((whole, field) => withUtm(whole, field, utm[field]), url), utm: { ...utm, ...namedOf(named) } };
}

const namedOf = (utm: Utm): Partial<Utm> => Object.fromEntries(Object.entries(utm).filter(([, value]) => value !== ""));

/** The address with this parameter, or without it if the value is empty. The rest stays as it was written. */
export function withUtm(url: string, field: UtmField, value: string): string {
  const [, base = "", query = "", hash = ""] = /^([^?#]*)\??([^#]*)(#.*)?$/.exec(url) ?? [];
  const others = query.split("&").filter((part) => part !== "" && part.split("=")[0] !== field);
  if (value !== "") others.push(`${field}=${encodeURIComponent(value)}`);
  return base + (others.length > 0 ? `?${others.join("&")}` : "") + hash;
}
