import { api, type Link, unwrap } from "../api/client";
import { notify } from "../app/toasts";
import { t } from "../i18n";
import { formatCsv, saveCsv } from "./download";
import { formatCount } from "./format";
import type { Question } from "./sources";

/** A file has at most so many links. They take a hundred requests, and an account has six hundred a minute. */
const LINKS_MAX = 10_000;
const COLUMNS = ["short_url", "original_url", "title", "tags", "state", "humans", "bots", "total", "last_visited_at", "created_at"] as const;

const cellOf = (value: Link[(typeof COLUMNS)[number]]) => (Array.isArray(value) ? value.join("|") : (value ?? ""));

/** Saves the links that the query finds, with their visits, as CSV. */
export async function saveLinks(query: Question): Promise<void> {
  const links: Link[] = [];
  let cursor: string | null | undefined;
  do {
    const answer = await unwrap(api.GET("/api/links", { params: { query: { ...query, page: undefined, limit: 100, cursor: cursor ?? undefined } } }));
    links.push(...answer.links);
    cursor = answer.pagination.next_cursor;
  } while (cursor && links.length < LINKS_MAX);
  saveCsv(formatCsv([COLUMNS, ...links.map((link) => COLUMNS.map((column) => cellOf(link[column])))]), "links");
  if (cursor) notify(t("links.first", { count: formatCount(links.length) }));
}
