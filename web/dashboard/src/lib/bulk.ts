import { api, ApiError, newIdempotencyKey, type Schemas, unwrap } from "../api/client";
import { explain } from "../components/feedback";
import { type Key, t, tError, tMaybe } from "../i18n";
import { parseCsv } from "./csv";
import { normalizeUrl } from "./urls";
import { fromLocalInput } from "./zone";

export type NewLink = Schemas["NewLink"];

export interface BulkItem {
  link: NewLink;
  /** Where it was written, and how. */
  line: number;
  text: string;
  /** What this page already knows to be wrong. */
  fault?: "url-scheme" | "slug" | "bulk-time";
}

export interface BulkResult {
  item: BulkItem;
  shortUrl?: string;
  problem?: string;
}

const COLUMNS = ["original_url", "slug", "title", "tags", "expires_at", "starts_at", "notes"] as const;
type Column = (typeof COLUMNS)[number];
/** What the page calls a column, which is its name as well. */
const NAMES: Record<Column, Key> = { original_url: "destination", slug: "slug", title: "title", tags: "tags", expires_at: "expires", starts_at: "starts", notes: "notes" };
const ALIASES: Record<string, Column> = { url: "original_url", destination: "original_url", link: "original_url", tag: "tags", end: "expires_at", start: "starts_at" };
const CHUNK = 100;
const RETRIES = 5;

/** undefined for the name of something else. */
function columnsOf(row: string[]): (Column | undefined)[] | undefined {
  const names = row.map((cell) => cell.toLowerCase()).map((name) => ALIASES[name] ?? COLUMNS.find((each) => each === name || t(NAMES[each]).toLowerCase() === name));
  return names.includes("original_url") ? names : undefined;
}

export interface Bulk {
  /** The line with the names of columns, if there is one. */
  header: string;
  /** Its names that are no column of a link. What is below them is left out. */
  unknown: string[];
  items: BulkItem[];
}

/** Lines of "address, slug, title, tags". A first line with names of columns decides about their order. Tags are separated by | or commas; tags are for all of them. */
export function parseBulk(text: string, tags: readonly string[]): Bulk {
  const rows = parseCsv(text);
  const header = rows[0] && columnsOf(rows[0].cells);
  const columns: readonly (Column | undefined)[] = header ?? COLUMNS;
  const items = rows.slice(header ? 1 : 0).map(({ cells: row, line, text: written }) => {
    const cell = (name: Column) => row[columns.indexOf(name)] ?? "";
    const link: NewLink = { original_url: normalizeUrl(cell("original_url")) };
    if (cell("slug")) link.slug = cell("slug");
    if (cell("title")) link.title = cell("title");
    const own = cell("tags").split(/[|,]/).map((tag) => tag.trim());
    const all = new Set([...own.filter(Boolean), ...tags]);
    if (all.size > 0) link.tags = [...all];
    if (cell("expires_at")) link.expires_at = timeOf(cell("expires_at"));
    if (cell("starts_at")) link.starts_at = timeOf(cell("starts_at"), "00:00:00");
    if (cell("notes")) link.notes = cell("notes");
    return { link, line, text: written, fault: faultOf(link) };
  });
  const unknown = header ? (rows[0]?.cells ?? []).filter((name, at) => name && !header[at]) : [];
  return { header: header ? (rows[0]?.text ?? "") : "", unknown, items };
}

/** 2026-02-31 is no day, but JavaScript takes it for 3 March. */
const isDay = (day: string) => new Date(Date.parse(day) || 0).toISOString().startsWith(day);
const isTime = (text: string) => /^\d{4}-\d{2}-\d{2}T.*(Z|[+-]\d{2}:\d{2})$/i.test(text) && isDay(text.slice(0, 10)) && !Number.isNaN(Date.parse(text));

/** A date is the end of its day, or the start for a start, and a time without a zone is in the user's. Everything else stays as it is. */
function timeOf(text: string, time = "23:59:59"): string {
  const iso = text.replace(/^(\d{1,2})\.(\d{1,2})\.(\d{4})/, (_, day: string, month: string, year: string) => `${year}-${month.padStart(2, "0")}-${day.padStart(2, "0")}`);
  const [, day = "", clock = time] = /^(\d{4}-\d{2}-\d{2})(?:[T ]+(\d{2}:\d{2}(?::\d{2})?))?$/.exec(iso) ?? [];
  return isDay(day) && !Number.isNaN(Date.parse(`${day}T${clock}Z`)) ? fromLocalInput(`${day}T${clock}`) : text;
}

function faultOf(link: NewLink): BulkItem["fault"] {
  // Browsers accept a space in a host.
  if (/\s/.test(link.original_url) || !URL.canParse(link.original_url) || !/^https?:\/\//i.test(link.original_url)) return "url-scheme";
  if (link.slug && !/^[A-Za-z0-9_-]{1,32}$/.test(link.slug)) return "slug";
  return [link.expires_at, link.starts_at].every((time) => !time || isTime(time)) ? undefined : "bulk-time";
}

const wait = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

function problemText(problem: Schemas["Problem"] | undefined): string {
  const fields = problem?.errors?.map((each) => {
    const name = each.pointer.split("/")[1] ?? "";
    return `${tMaybe(NAMES[name as Column] ?? "") ?? name}: ${tError(each)}`;
  });
  return fields?.join("; ") || explain(new ApiError(problem?.status ?? 500, problem, "", 0));
}

/** One request. A limit of requests passes by itself; the key makes the repeat safe. */
async function createChunk(items: BulkItem[]): Promise<BulkResult[]> {
  const params = { header: { "Idempotency-Key": newIdempotencyKey() } };
  const body = { links: items.map((item) => item.link) };
  for (let attempt = 1; ; attempt++) {
    try {
      const { results } = await unwrap(api.POST("/api/links/bulk", { params, body }));
      return items.map((item, at) => {
        const { link, problem } = results[at] ?? {};
        return { item, shortUrl: link?.short_url, problem: link ? undefined : problemText(problem) };
      });
    } catch (error) {
      const canRepeat = error instanceof ApiError && (error.status === 0 || error.status === 429 || error.status === 503);
      if (!canRepeat || attempt === RETRIES || error.retryAfterS > 60) throw error;
      await wait(error.retryAfterS || attempt);
    }
  }
}

/** Creates all items in chunks, so that progress can be seen. After an error, the results are those of the chunks before it. */
export async function createBulk(items: BulkItem[], onProgress: (results: BulkResult[]) => void): Promise<void> {
  const results: BulkResult[] = [];
  for (let at = 0; at < items.length; at += CHUNK) {
    results.push(...(await createChunk(items.slice(at, at + CHUNK))));
    onProgress([...results]);
  }
}
