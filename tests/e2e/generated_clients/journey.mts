// One journey through the API with the client that openapi-typescript and openapi-fetch make of the description.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

declare const process: { argv: [string, string, string, string] };
const [, , base, email] = process.argv;
const password = "correct horse battery";
let token = "";
const api = createClient<paths>({ baseUrl: base });
api.use({
  onRequest({ request }) {
    if (token) request.headers.set("Authorization", `Bearer ${token}`);
    return request;
  },
});

function take<T>({ data, error }: { data?: T; error?: components["schemas"]["Problem"] }): T {
  if (data === undefined) throw new Error(`${error?.status} ${error?.type}: ${error?.detail}`);
  return data;
}

function check(isTrue: boolean, what: string) {
  if (!isTrue) throw new Error(what);
}

take(await api.POST("/api/auth/register", { body: { email, password } }));
token = take(await api.POST("/api/auth/login", { body: { email, password } })).access_token;
console.log("register");

// No member but original_url is required, and nothing is sent that is not said here.
const { link } = take(await api.POST("/api/links", { body: { original_url: "https://example.com/one" } }));
check(link.redirect_status === 302, "the default of redirect_status");
console.log("create");

const items: components["schemas"]["LinkCreation"][] = [2, 3, 4, 5].map((n) => ({ original_url: `https://example.com/${n}` }));
const { results } = take(await api.POST("/api/links/bulk", { body: { links: items } }));
check(results.every((result) => result.status === 201 && result.link !== undefined), "bulk");
console.log("bulk");

const slugs = new Set<string>();
let cursor: string | null | undefined;
do {
  const query: { limit: number; cursor?: string } = cursor ? { limit: 2, cursor } : { limit: 2 };
  const page = take(await api.GET("/api/links", { params: { query } }));
  page.links.forEach((each) => slugs.add(each.slug));
  cursor = page.pagination.next_cursor;
} while (cursor);
check(slugs.size === 5, `${slugs.size} links on all pages`);
console.log("page");

const path = { id: link.id };
const totals = take(await api.GET("/api/links/{id}/stats", { params: { path } }));
check("latency" in totals && totals.latency.count === 0, "totals of all visits");
const query = { from: "2026-01-01", not_browser: ["Chrome"] };
const range = take(await api.GET("/api/links/{id}/stats", { params: { path, query } }));
check("from" in range && range.unique_visitors === 0, "totals of a range");
const series = take(await api.GET("/api/links/{id}/stats/timeseries", { params: { path } }));
check(series.interval === "day", "the default of interval");
console.log("statistics");

const csv: string = take<unknown>(
  await api.GET("/api/links/{id}/visits", { params: { path, query: { format: "csv" } }, parseAs: "text" }),
) as string;
check(csv.trim().split(",").length > 9, `the header of the CSV: ${csv}`);
console.log("csv");

const { token: shareToken } = take(await api.POST("/api/shares", { body: { link_id: link.id } }));
check(shareToken.startsWith("wmshare_"), "the token of the share");
console.log("share");

const live = await api.GET("/api/live", { parseAs: "stream" });
check(live.response.ok && !!live.data, "the stream of visits");
const reader = live.data!.getReader();
check(!(await reader.read()).done, "the beginning of the stream");
await reader.cancel();
console.log("live");
