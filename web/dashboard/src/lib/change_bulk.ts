import { api, type Link, unwrap } from "../api/client";
import type { BulkItem } from "./bulk";
import type { LinkEdit } from "./link_actions";
import { patiently } from "./patiently";

/** A filter takes 100 values, and a path is not endless. */
const CHUNK = 50;

/** The links that have or had these slugs, by slug; in lower case those that are found in either. */
async function findLinks(slugs: readonly string[]): Promise<Map<string, Link>> {
  const found = new Map<string, Link>();
  for (let at = 0; at < slugs.length; at += CHUNK) {
    const filter = `slug:[${slugs.slice(at, at + CHUNK).map((slug) => `'${slug}'`).join(",")}]`;
    const { links } = await patiently(() => unwrap(api.GET("/api/links", { params: { query: { filter, limit: 100 } } })));
    for (const link of links) for (const name of [link.slug, ...link.aliases]) found.set(name.toLowerCase(), link).set(name, link);
  }
  return found;
}

function editOf({ link: { original_url, title, tags, starts_at, expires_at, state } }: BulkItem): LinkEdit {
  const edit = { original_url: original_url || undefined, title, tags, starts_at, expires_at, state: state === "active" || state === "disabled" ? state : undefined };
  return Object.fromEntries(Object.entries(edit).filter(([, value]) => value !== undefined));
}

interface Found {
  edits: { link: Link; edit: LinkEdit; isWrong: boolean }[];
  /** Rows that name no link of the workspace, or one that another row names. */
  left: BulkItem[];
}

/** What rows change, each of which has a slug. */
export async function findEdits(items: readonly BulkItem[]): Promise<Found> {
  const links = await findLinks(items.map(({ link }) => link.slug ?? ""));
  const found: Found = { edits: [], left: [] };
  const seen = new Set<number>();
  for (const item of items) {
    const slug = item.link.slug ?? "";
    const link = links.get(slug) ?? links.get(slug.toLowerCase());
    if (link && !seen.has(link.id)) found.edits.push({ link, edit: editOf(item), isWrong: false });
    else found.left.push({ ...item, fault: link ? "bulk-twice" : "bulk-link" });
    if (link) seen.add(link.id);
  }
  return found;
}
