// One journey through the API with the client that @hey-api/openapi-ts makes of the description.
import { client } from "./api/client.gen.js";
import * as api from "./api/index.js";

declare const process: { argv: [string, string, string, string] };
const [, , baseUrl, email] = process.argv;
const password = "correct horse battery";

function take<T>({ data, error }: { data?: T; error?: unknown }): T {
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
}

function check(isTrue: boolean, what: string) {
  if (!isTrue) throw new Error(what);
}

client.setConfig({ baseUrl });
take(await api.register({ body: { email, password } }));
const login = take(await api.login({ body: { email, password } }));
client.setConfig({ baseUrl, auth: login.access_token });
console.log("register");

const { link } = take(await api.createLink({ body: { original_url: "https://example.com/1" } }));
console.log("create");
const links = [2, 3].map((n) => ({ original_url: `https://example.com/${n}` }));
const { results } = take(await api.createLinks({ body: { links } }));
check(results.every((each) => each.status === 201), "bulk");
console.log("bulk");

const seen = new Set<string>();
let cursor: string | null | undefined;
do {
  const page = take(await api.listLinks({ query: cursor ? { limit: 2, cursor } : { limit: 2 } }));
  page.links.forEach((each) => seen.add(each.slug));
  cursor = page.pagination.next_cursor;
} while (cursor);
check(seen.size === 3, "links on all pages");
console.log("page");

const path = { id: link.id };
const statistics = take(await api.getLinkStatistics({ path, query: { from: "2026-01-01" } }));
check("from" in statistics && statistics.humans === 0, "statistics");
console.log("statistics");
const csv: unknown = take(await api.listVisits({ path, query: { format: "csv" }, parseAs: "text" }));
check(typeof csv === "string" && csv.split("\n").length === 2, "csv");
console.log("csv");
take(await api.createShare({ body: { link_id: link.id } }));
console.log("share");
// An event without data, as the first one here, is not in the stream that is returned.
const closing = new AbortController();
const { stream } = await api.streamVisits({ signal: closing.signal, onSseEvent: () => closing.abort() });
for await (const _ of stream);
check(closing.signal.aborted, "live");
console.log("live");
