// One journey through the API with the client that openapi-generator (typescript-fetch) makes of the description.
import { AccountsApi, Configuration, LinksApi, SharesApi, StatisticsApi } from "./api/index.js";

declare const process: { argv: [string, string, string, string] };
const [, , basePath, email] = process.argv;
const password = "correct horse battery";

function check(isTrue: boolean, what: string) {
  if (!isTrue) throw new Error(what);
}

const accounts = new AccountsApi(new Configuration({ basePath }));
await accounts.register({ registration: { email, password } });
const { accessToken } = await accounts.login({ credentials: { email, password } });
const configuration = new Configuration({ basePath, accessToken });
const linksApi = new LinksApi(configuration);
const statisticsApi = new StatisticsApi(configuration);
console.log("register");

const { link } = await linksApi.createLink({ linkCreation: { originalUrl: "https://example.com/1" } });
console.log("create");
const links = [2, 3].map((n) => ({ originalUrl: `https://example.com/${n}` }));
const { results } = await linksApi.createLinks({ linksCreation: { links } });
check(results.every((each) => each.status === 201), "bulk");
console.log("bulk");

const seen = new Set<string>();
let cursor: string | null | undefined;
do {
  const page = await linksApi.listLinks(cursor ? { limit: 2, cursor } : { limit: 2 });
  page.links.forEach((each) => seen.add(each.slug));
  cursor = page.pagination.nextCursor;
} while (cursor);
check(seen.size === 3, "links on all pages");
console.log("page");

const statistics = await statisticsApi.getLinkStatistics({ id: link.id, from: "2026-01-01" });
check(statistics.humans === 0, "statistics");
console.log("statistics");
const csv = await statisticsApi.listVisitsRaw({ id: link.id, format: "csv" });
check((await csv.raw.text()).split("\n").length === 2, "csv");
console.log("csv");
await new SharesApi(configuration).createShare({ shareCreation: { linkId: link.id } });
console.log("share");
const live = await statisticsApi.streamVisitsRaw({});
const reader = live.raw.body!.getReader();
check(!(await reader.read()).done, "live");
await reader.cancel();
console.log("live");
