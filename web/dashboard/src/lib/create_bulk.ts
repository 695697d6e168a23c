import { api, ApiError, newIdempotencyKey, type Schemas, unwrap } from "../api/client";
import { explain } from "../components/feedback";
import { type Key, tError, tMaybe } from "../i18n";
import type { BulkItem } from "./bulk";

export interface BulkResult {
  item: BulkItem;
  shortUrl?: string;
  problem?: string;
}

/** What the page calls a member of a link, which is its name as well. */
const NAMES: Record<string, Key> = { original_url: "destination", expires_at: "expires", starts_at: "starts" };
const CHUNK = 100;
const RETRIES = 5;

const wait = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

function problemText(problem: Schemas["Problem"] | undefined): string {
  const fields = problem?.errors?.map((each) => {
    const name = each.pointer.split("/")[1] ?? "";
    return `${tMaybe(NAMES[name] ?? name) ?? name}: ${tError(each)}`;
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
