import { api, type Link, unwrap } from "../api/client";
import { notify } from "../app/toasts";
import { t, tn } from "../i18n";
import { formatCsv, saveCsv } from "./download";
import { formatCount } from "./format";
import type { Question } from "./sources";

/** A file has at most so many links. They take a hundred requests, and an account has six hundred a minute. */
const LINKS_MAX = 10_000;
/** With what the page calls them. */
const COLUMNS = {
  short_url: "short.url",
  original_url: "destination",
  title: "title",
  tags: "tags",
  state: "state",
  humans: "visits",
  bots: "bots",
  total: "bots.include",
  last_visited_at: "last.visit",
  created_at: "created",
} as const;
type Column = keyof typeof COLUMNS;

const cellOf = (value: Link[Column]) => (Array.isArray(value) ? value.join("|") : (value ?? ""));

/** Saves the links that the query finds, with their visits, as CSV. */
export async function saveLinks(query: Question): Promise<void> {
  const links: Link[] = [];
  let cursor: string | null | undefined;
  do {
    const answer = await unwrap(api.GET("/api/links", { params: { query: { ...query, page: undefined, limit: 100, cursor: cursor ?? undefined } } }));
    links.push(...answer.links);
    cursor = answer.pagination.next_cursor;
  } while (cursor && links.length < LINKS_MAX);
  const columns = Object.keys(COLUMNS) as Column[];
  saveCsv(formatCsv([columns.map((column) => t(COLUMNS[column])), ...links.map((link) => columns.map((column) => cellOf(link[column])))]), "links");
  notify(cursor ? t("links.first", { count: formatCount(links.length) }) : t("links.saved", { links: tn("links", links.length) }));
}
