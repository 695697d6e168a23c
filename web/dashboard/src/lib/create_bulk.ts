import { api, ApiError, type Schemas, unwrap } from "../api/client";
import { explain } from "../components/feedback";
import { type Key, tError, tMaybe } from "../i18n";
import type { BulkItem, LinkCreation } from "./bulk";
import { patiently } from "./patiently";

export interface BulkResult {
  item: BulkItem;
  shortUrl?: string;
  problem?: string;
}

/** What the page calls a member of a link, which is its name as well. */
const NAMES: Record<string, Key> = { original_url: "destination", expires_at: "expires", starts_at: "starts" };
const CHUNK = 100;

function problemText(problem: Schemas["Problem"] | undefined): string {
  const fields = problem?.errors?.map((each) => {
    const name = each.pointer.split("/")[1] ?? "";
    return `${tMaybe(NAMES[name] ?? name) ?? name}: ${tError(each)}`;
  });
  return fields?.join("; ") || explain(new ApiError(problem?.status ?? 500, problem, "", 0));
}

/** One request, whose key makes a repeat safe. */
async function createChunk(items: BulkItem[], key: string): Promise<BulkResult[]> {
  const params = { header: { "Idempotency-Key": key } };
  const body = { links: items.map((item) => item.link as LinkCreation) };
  const { results } = await patiently(() => unwrap(api.POST("/api/links/bulk", { params, body })));
  return items.map((item, at) => {
    const { link, problem } = results[at] ?? {};
    return { item, shortUrl: link?.short_url, problem: link ? undefined : problemText(problem) };
  });
}

/**
 * Creates all items behind the results in chunks, so that progress can be seen. After an error, the results are those of the chunks before
 * it. A chunk that is sent again, after the window was closed, creates nothing twice: its key is that of the run and of its place.
 */
export async function createBulk(items: BulkItem[], run: string, done: readonly BulkResult[], isLeft: () => boolean, onProgress: (results: BulkResult[]) => void): Promise<void> {
  const results = [...done];
  while (results.length < items.length && !isLeft()) {
    results.push(...(await createChunk(items.slice(results.length, results.length + CHUNK), `${run}-${results.length}`)));
    onProgress([...results]);
  }
}
