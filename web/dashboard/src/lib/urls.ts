export const UTM_FIELDS = ["utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content"] as const;
export type UtmField = (typeof UTM_FIELDS)[number];

/** "example.com/x" becomes "https://example.com/x". Everything else is left to the server. */
export function normalizeUrl(text: string): string {
  const url = text.trim();
  return /^[a-z][a-z0-9+.-]*:/i.test(url) && !/^[\w.-]+:\d+(\/|$)/.test(url) ? url : `https://${url}`;
}

export function utmOf(url: string): Record<UtmField, string> {
  const params = URL.canParse(url) ? new URL(url).searchParams : new URLSearchParams();
  return Object.fromEntries(UTM_FIELDS.map((field) => [field, params.get(field) ?? ""])) as Record<UtmField, string>;
}

/** The address with this parameter, or without it if the value is empty. The rest stays as it was written. */
export function withUtm(url: string, field: UtmField, value: string): string {
  const [, base = "", query = "", hash = ""] = /^([^?#]*)\??([^#]*)(#.*)?$/.exec(url) ?? [];
  const others = query.split("&").filter((part) => part !== "" && part.split("=")[0] !== field);
  if (value !== "") others.push(`${field}=${encodeURIComponent(value)}`);
  return base + (others.length > 0 ? `?${others.join("&")}` : "") + hash;
}
