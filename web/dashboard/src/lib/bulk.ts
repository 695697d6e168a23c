import type { Schemas } from "../api/client";
import { type Key, t } from "../i18n";
import { cellsOf, type CsvRow, parseCsv, plainCell } from "./csv";
import { normalizeUrl, parseUrl } from "./urls";
import { fromLocalInput } from "./zone";

export type LinkCreation = Schemas["LinkCreation"];

export interface BulkItem {
  /** state: only of a row that changes a link. */
  link: LinkCreation & { state?: string };
  /** Where it was written, and how. */
  line: number;
  text: string;
  /** What this page already knows to be wrong. */
  fault?: "url-scheme" | "slug" | "bulk-time" | "bulk-cells" | "bulk-state" | "bulk-link" | "bulk-twice";
}

/**
 * What columns are called, without case, spaces and signs: by this page and its API, and in the exports of Shlink, Bitly, Dub, Kutt, YOURLS and
 * Short.io. Preferred names first: "link" is a short link only beside a better name for the destination.
 */
const NAMES = {
  original_url: "originalurl originalurls longurl longlink fullurl originallink redirecturl destination destinationurl targeturl target url link address",
  slug: "slug shortcode customlink custombitlinks backhalf custombackhalf keyword key slashtag alias path originalpath originalpaths shortid shorturl shorturls shortlink bitlink link url",
  title: "title titles name",
  tags: "tags tag labels",
  expires_at: "expiresat expires expirein expiry expirydate expirationdate expiration end ends enddate validuntil",
  starts_at: "startsat starts start startdate validsince",
  notes: "notes note description comments comment",
  state: "state status",
  visits: "visits visitcount clicks clickcount totalclicks humanclicks hits views engagements scans humans bots total",
};
export type Column = keyof typeof NAMES;
/** The indexes of the columns that are each. */
type Columns = Partial<Record<Column, number[]>>;
/** By the name that the page shows as well. */
export const SHOWN: Record<Column, Key[]> = {
  original_url: ["destination"], slug: ["slug", "short.url"], title: ["title"], tags: ["tags"], expires_at: ["expires"], starts_at: ["starts"], notes: ["notes"], state: ["state"],
  visits: ["visits", "bots", "bots.include"],
};
/** Names of slugs in the exports of Kutt and YOURLS, where "target" is the destination. Elsewhere they say where somebody lives, or what somebody came from. */
const BESIDE_TARGET = ["address", "source"];

const plainName = (name: string) => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
const namesOf = (column: Column) => [...new Set([...NAMES[column].split(" "), ...SHOWN[column].map((key) => plainName(t(key)))])];
/** The indexes of columns with these names, preferred first. */
const find = (names: string[], wanted: string[]) => wanted.flatMap((each) => names.flatMap((name, at) => (name === each ? [at] : [])));

/** Columns of rows that create links, and of rows that change them. */
export const CREATED: readonly Column[] = ["original_url", "slug", "title", "tags", "expires_at", "starts_at", "notes"];
export const CHANGED: readonly Column[] = ["slug", "original_url", "title", "tags", "expires_at", "starts_at", "state"];

/** What a person says instead of the names. */
function correct(columns: Columns, said: Answers["columns"] = {}): Columns {
  const taken = Object.values(said);
  const kept = Object.entries(columns).map(([name, indexes]) => [name, indexes.filter((at) => !taken.includes(at))]);
  return { ...Object.fromEntries(kept), ...Object.fromEntries(Object.entries(said).map(([name, at]) => [name, at < 0 ? [] : [at]])) };
}

/** Which columns of rows that change links are what: only the short link names one, and "link" is it as well. */
function changedColumnsOf(cells: string[]): Columns {
  const [slug = -1] = find(cells.map(plainName), namesOf("slug"));
  const columns = columnsOf(cells.map((cell, at) => (at === slug ? "" : cell)));
  const known = CHANGED.flatMap((name) => (columns[name] && name !== "slug" ? [[name, columns[name]]] : []));
  return { ...Object.fromEntries(known), ...(slug < 0 ? {} : { slug: [slug] }) };
}

/** Which columns of a row with names are what, each once. Several may have a slug. */
function columnsOf(cells: string[], chosen?: number): Columns {
  const names = cells.map(plainName);
  const [destination = -1] = chosen === undefined ? find(names, namesOf("original_url")) : [chosen];
  const isTarget = names[destination] === "target";
  const found: Columns = destination < 0 ? {} : { original_url: [destination] };
  names[destination] = "";
  for (const column of (Object.keys(NAMES) as Column[]).slice(1)) {
    const indexes = find(names, [...namesOf(column), ...(column === "slug" && isTarget ? BESIDE_TARGET : [])]);
    if (indexes.length > 0) found[column] = column === "slug" || column === "visits" ? indexes : indexes.slice(0, 1);
  }
  return found;
}

/** Browsers accept a space in a host. */
const isAddress = (url: string) => !/\s/.test(url) && parseUrl(url) !== undefined && /^https?:\/\//i.test(url);
/** Beyond doubt, unlike 31.12.2027 and "No.". */
export const looksLikeAddress = (cell: string) => /^(https?:\/\/\S|[^\s/@]+\.\p{L}[\p{L}\d-]+([/:?#]|$))/iu.test(cell) && isAddress(normalizeUrl(cell));

const hasScheme = (cell: string) => /^https?:\/\//i.test(cell);

/** Whether the first of several rows names columns by words that nobody knows: no address is in it, and what follows has as many cells. */
function isUnknownHeader([first, ...others]: CsvRow[]): boolean {
  const width = first?.cells.length ?? 0;
  const alike = others.filter(({ cells }) => cells.length === width).length;
  return width > 1 && !first?.cells.some(looksLikeAddress) && alike > 0 && alike * 2 >= others.length;
}

/** Of a line without names of columns. An address may contain commas and semicolons, so columns are where a tab, a quote or a space shows them. */
function splitLine({ text: written, line }: CsvRow): CsvRow[] {
  const text = written.trim();
  const several = text.split(/[ ,;]+(?=https?:\/\/)/i);
  if (several.length > 1 && several.every((each) => /^https?:\/\/[^\s,;]+$/i.test(each))) return several.map((each) => ({ cells: [each], line, text: each }));
  const cells = cellsOf(text);
  const isRow = text.includes("\t") || (/\s|(^|[,;])"/.test(text) && !/\s/.test(cells[0] ?? "")) || cells.slice(1).every((cell) => cell === "");
  return [{ cells: isRow ? cells : [text], line, text }];
}

/** An address behind which a comma or a semicolon stands may be one address, or have a short name behind it. */
const cutLine = (row: CsvRow): CsvRow => (row.cells.length > 1 ? row : { ...row, cells: cellsOf(row.text) });

/** Whether the destination may be another column with addresses: "link" is often the short link, and a column without any address is none. */
function isDoubtful(columns: Columns, [first, ...others]: CsvRow[]): boolean {
  const at = columns.original_url?.[0] ?? -1;
  const isEmpty = !others.some(({ cells }) => looksLikeAddress(cells[at] ?? ""));
  const settled = isEmpty ? [at] : Object.values(columns).flat();
  return (isEmpty || plainName(first?.cells[at] ?? "") === "link") && others.some(({ cells }) => cells.some((cell, each) => hasScheme(cell) && !settled.includes(each)));
}

/** What a person has to say because the text does not. */
export interface Answers {
  /** The index of the column with destinations; -1 if each line is an address. */
  destination?: number;
  /** 04/05/2027 is 4 May. */
  isDayFirst?: boolean;
  /** Which column is what, where that is not what its name says; -1: none. */
  columns?: Partial<Record<Column, number>>;
}

export interface Bulk {
  /** The lines before the first link: with the names of columns, and with the separator. */
  header: string;
  /** The names of columns, if there are any, and the indexes of those that are something of a link. */
  names: string[];
  columns: Columns;
  /** Names of columns that are left out: those of nothing that a link has, and counts of visits. */
  unknown: string[];
  visits: string[];
  /** None, as long as a question is open. */
  items: BulkItem[];
  /** The first rows, if no column is known to be the destination; or those that may be one address or several columns. */
  unclear?: CsvRow[];
  /** A date that may be two days, if no other date of the text shows which. */
  date?: string;
}

/** Addresses, one per line, or rows of CSV with the names of columns in the first. Without names they are destination, slug, title, tags … tags are for all links. */
export function parseBulk(text: string, tags: readonly string[], answers: Answers = {}): Bulk {
  const { mark, rows: written } = parseCsv(text, (cells) => Object.keys(columnsOf(cells)).length * 1000 + cells.length);
  const first = written[0]?.cells ?? [];
  const named = first.some(looksLikeAddress) ? {} : columnsOf(first);
  const isNamed = named.original_url !== undefined || (first.length > 1 && Object.keys(named).length > 0);
  const lines = isNamed && answers.destination !== -1 ? [] : written.flatMap(splitLine);
  const table = isNamed || isUnknownHeader(written) ? written : lines;
  const isFirst = lines.some(({ cells }) => looksLikeAddress(cells[0] ?? ""));
  const isElsewhere = lines.some(({ cells }) => cells.slice(1).some(isFirst ? hasScheme : looksLikeAddress));
  const cut = table === lines ? lines.map(cutLine) : [];
  const doubtful = cut.filter(({ cells }, at) => cells.length > 1 && lines[at]?.cells.length === 1 && looksLikeAddress(cells[0] ?? ""));
  const isTable = isNamed ? !named.original_url || isDoubtful(named, written) : table === written || isElsewhere;
  const unclear = isTable ? table.slice(0, 3) : doubtful.length > 0 ? doubtful.slice(0, 3) : undefined;
  if (unclear && answers.destination === undefined) return { header: mark, names: [], columns: {}, unknown: [], visits: [], items: [], unclear };

  if (unclear && !isTable) return read({ mark, head: undefined, rows: answers.destination === -1 ? lines : cut, columns: POSITIONS, tags, answers, unclear });
  const chosen = unclear ? answers.destination : undefined;
  const hasHeader = chosen === undefined ? isNamed : chosen >= 0 && !looksLikeAddress(table[0]?.cells[chosen] ?? "");
  const rows = hasHeader ? (first.length > 1 ? table.slice(1) : table.slice(1).flatMap(splitLine)) : chosen === -1 ? lines : table;
  const shortUrls = table[0]?.cells.flatMap((cell, at) => (hasScheme(cell) && at !== chosen ? [at] : [])) ?? [];
  const { state: _, ...ofHeader } = hasHeader ? correct(columnsOf(first, chosen), answers.columns) : {};
  const columns: Columns = hasHeader ? ofHeader : chosen === undefined || chosen === -1 ? POSITIONS : { original_url: [chosen], slug: shortUrls };
  return read({ mark, head: hasHeader ? table[0] : undefined, rows, columns, tags, answers, unclear });
}

/**
 * Rows of CSV that change links: one column names the link by its short link or slug, and each other one says what becomes of it. A cell
 * without anything changes nothing.
 */
export function parseChanges(text: string, answers: Answers = {}): Bulk {
  const { mark, rows: written } = parseCsv(text, (cells) => Object.keys(columnsOf(cells)).length * 1000 + cells.length);
  const [head, ...rows] = written;
  const columns = correct(changedColumnsOf(head?.cells ?? []), answers.columns);
  const bulk = read({ mark, head, rows: columns.slug?.length ? rows : [], columns, tags: [], answers, unclear: undefined });
  const seen = new Set<string>();
  const items = bulk.items.map((item) => {
    const fault = faultOfChange(item, seen);
    seen.add(item.link.slug?.toLowerCase() ?? "");
    return { ...item, fault };
  });
  return { ...bulk, items };
}

/** States that a list shows, but nobody sets: a cell with one of them changes nothing. */
const SHOWN_STATES = ["expired", "scheduled", "used_up", "deleted"];

function faultOfChange({ link, fault }: BulkItem, seen: Set<string>): BulkItem["fault"] {
  if (!link.slug) return "bulk-link";
  if (seen.has(link.slug.toLowerCase())) return "bulk-twice";
  if (link.state && ![...SHOWN_STATES, "active", "disabled"].includes(link.state)) return "bulk-state";
  return link.original_url === "" && fault === "url-scheme" ? faultOf({ ...link, original_url: "https://example.com/" }) : fault;
}

interface Reading {
  mark: string;
  /** The row with the names of columns. */
  head: CsvRow | undefined;
  rows: CsvRow[];
  columns: Columns;
  tags: readonly string[];
  answers: Answers;
  unclear: CsvRow[] | undefined;
}

function read({ mark, head, rows, columns, tags, answers, unclear }: Reading): Bulk {
  const names = head?.cells ?? [];
  const times = rows.flatMap(({ cells }) => [...(columns.expires_at ?? []), ...(columns.starts_at ?? [])].map((at) => cells[at] ?? ""));
  const { date, isDayFirst } = dayOrder(times);
  const used = Object.values(columns).flat();
  return {
    header: [mark, head?.text].filter(Boolean).join("\n"),
    names,
    columns,
    unknown: names.filter((name, at) => name && !used.includes(at)),
    visits: head ? (columns.visits ?? []).map((at) => names[at] ?? "") : [],
    items: date && answers.isDayFirst === undefined ? [] : rows.map((row) => itemOf(row, columns, tags, isDayFirst ?? answers.isDayFirst ?? false, head ? names.length : undefined)),
    unclear,
    date,
  };
}

const POSITIONS: Columns = { original_url: [0], slug: [1], title: [2], tags: [3], expires_at: [4], starts_at: [5], notes: [6] };

/** A row has no more cells than names of columns: an address with commas and without quotes has them. */
function itemOf({ cells, line, text }: CsvRow, columns: Columns, tags: readonly string[], isDayFirst: boolean, width = Number.POSITIVE_INFINITY): BulkItem {
  // Exports of databases write the name of nothing.
  const cell = (name: Column) => (columns[name] ?? []).map((at) => plainCell(cells[at] ?? "")).find((each) => !/^(|null|NULL|\\N)$/.test(each)) ?? "";
  const link: BulkItem["link"] = { original_url: normalizeUrl(cell("original_url")) };
  const slug = slugOf(cell("slug"));
  if (slug) link.slug = slug;
  if (cell("title")) link.title = cell("title");
  const own = cell("tags").replace(/^\[|\]$|"/g, "").split(/[|,;]/).map((tag) => tag.trim());
  const all = new Set([...own.filter(Boolean), ...tags]);
  if (all.size > 0) link.tags = [...all];
  if (cell("expires_at")) link.expires_at = timeOf(cell("expires_at"), isDayFirst);
  if (cell("starts_at")) link.starts_at = timeOf(cell("starts_at"), isDayFirst, "00:00:00");
  if (cell("notes")) link.notes = cell("notes");
  if (cell("state")) link.state = stateOf(cell("state"));
  return { link, line, text, fault: cells.slice(width).some(Boolean) ? "bulk-cells" : faultOf(link) };
}

/** "disabled" of "Disabled", also in the language of the page. */
function stateOf(cell: string): string {
  const text = cell.toLowerCase();
  return ["active", "disabled", ...SHOWN_STATES].find((state) => t(`state.${state}` as Key).toLowerCase() === text) ?? text;
}

/** What a short URL has behind its host: "spring" of https://go.example/spring/?x, go.example/spring and /spring/. A name alone stays. */
function slugOf(cell: string): string {
  if (!cell.includes("/")) return cell;
  const path = cell.replace(/^(https?:\/\/[^/?#]*|[^/?#]+[.:][^/?#]+(?=\/))/i, "").replace(/[?#].*$/, "");
  return path.replace(/^\/+|\/+$/g, "");
}

/** 2026-02-31 is no day, but JavaScript takes it for 3 March. */
const isDay = (day: string) => new Date(Date.parse(day) || 0).toISOString().startsWith(day);
const isTime = (text: string) => /^\d{4}-\d{2}-\d{2}T.*(Z|[+-]\d{2}:\d{2})$/i.test(text) && isDay(text.slice(0, 10)) && !Number.isNaN(Date.parse(text));

const NUMERIC = /^(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})(?!\d)/;

/** Whether these dates have the day before the month, as far as they show it; otherwise one that may be two days. Points stand behind a day. */
function dayOrder(times: string[]): { isDayFirst?: boolean; date?: string } {
  const pairs = times.flatMap((text) => {
    const [date = "", first, mark, second] = NUMERIC.exec(text) ?? [];
    return date && mark !== "." ? [{ date, first: Number(first), second: Number(second) }] : [];
  });
  const [isDayFirst, isMonthFirst] = [pairs.some(({ first }) => first > 12), pairs.some(({ second }) => second > 12)];
  if (isDayFirst !== isMonthFirst) return { isDayFirst };
  return { date: pairs.find(({ first, second }) => first <= 12 && second <= 12 && first !== second)?.date };
}

/** 2026-12-31 for 31.12.2026, 31/12/2026, 12/31/26 and 2026/12/31. */
export function isoDate(text: string, isDayFirst: boolean): string {
  const iso = (year: string, month: string, day: string) => `${year.padStart(4, "20")}-${month.padStart(2, "0")}-${day.padStart(2, "0")}`;
  return text
    .replace(/^(\d{4})[/.-](\d{1,2})[/.-](\d{1,2})/, (_, year: string, month: string, day: string) => iso(year, month, day))
    .replace(NUMERIC, (_, first: string, mark: string, second: string, year: string) =>
      mark === "." || Number(first) > 12 || (isDayFirst && Number(second) <= 12) ? iso(year, second, first) : iso(year, first, second),
    );
}

const CLOCK = /^(\d{4}-\d{2}-\d{2})(?:(?:T|,?\s+)(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?(?:\s?([ap])\.?m\.?)?)?(?:\s?(Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?))?$/i;

/** A date is the end of its day, or the start for a start, and a time without a zone is in the user's. Everything else stays as it is. */
function timeOf(text: string, isDayFirst: boolean, bound = "23:59:59"): string {
  const [, day = "", hour, minute = "", second = "00", half, zone] = CLOCK.exec(isoDate(text, isDayFirst)) ?? [];
  const hours = half ? (Number(hour) % 12) + (/p/i.test(half) ? 12 : 0) : Number(hour);
  const clock = hour === undefined ? bound : `${String(hours).padStart(2, "0")}:${minute}:${second}`;
  if (isTime(text) || !isDay(day) || Number.isNaN(Date.parse(`${day}T${clock}Z`))) return text;
  if (!zone || hour === undefined) return fromLocalInput(`${day}T${clock}`);
  const [, hoursEast, minutesEast = "00"] = /^([+-]\d{2}):?(\d{2})?$/.exec(zone) ?? [];
  return new Date(`${day}T${clock}${hoursEast ? `${hoursEast}:${minutesEast}` : "Z"}`).toISOString();
}

function faultOf(link: LinkCreation): BulkItem["fault"] {
  if (!isAddress(link.original_url)) return "url-scheme";
  if (link.slug && !/^[A-Za-z0-9_-]([A-Za-z0-9_.-]{0,98}[A-Za-z0-9_-])?$/.test(link.slug)) return "slug";
  return [link.expires_at, link.starts_at].every((time) => !time || isTime(time)) ? undefined : "bulk-time";
}
