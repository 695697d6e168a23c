import { api, type Link, unwrap } from "../api/client";
import { readLocal, writeLocal } from "./local";

/** A link that was made without an account in this browser. */
export interface TemporaryLink {
  slug: string;
  short_url: string;
  original_url: string;
  expires_at: string;
  claim_token: string;
}

const NAME = "temporary-links";
const SYNC_MAX = 100;

/** Those that have not expired, newest first. */
export function temporaryLinks(now = Date.now()): TemporaryLink[] {
  return readLocal<TemporaryLink[]>(NAME, []).filter((link) => Date.parse(link.expires_at) > now);
}

export function keepTemporaryLink(link: Link, claimToken: string): void {
  const { slug, short_url, original_url, expires_at } = link;
  writeLocal(NAME, [{ slug, short_url, original_url, expires_at: expires_at ?? "", claim_token: claimToken }, ...temporaryLinks()].slice(0, SYNC_MAX));
}

export function forgetTemporaryLink(slug: string): void {
  writeLocal(NAME, temporaryLinks().filter((link) => link.slug !== slug));
}

/** Turns the browser's temporary links into links of the account, and returns how many. Those that failed stay for the next login. */
export async function claimTemporaryLinks(): Promise<number> {
  const links = temporaryLinks();
  if (links.length === 0) return 0;
  const body = { links: links.map(({ slug, claim_token }) => ({ slug, claim_token })) };
  try {
    const { results } = await unwrap(api.POST("/api/links/sync", { body }));
    const isGone = (status: number | undefined) => status === 404 || status === 409;
    writeLocal(NAME, links.filter((_, at) => !results[at]?.link && !isGone(results[at]?.status)));
    return results.filter((result) => result.link).length;
  } catch {
    return 0; // the login itself has succeeded
  }
}
