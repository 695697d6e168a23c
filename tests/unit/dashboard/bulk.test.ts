import assert from "node:assert/strict";
import { test } from "node:test";
import { type Answers, parseBulk, parseChanges } from "../../../web/dashboard/src/lib/bulk";

const links = (text: string, answers?: Answers) => parseBulk(text, [], answers).items.map(({ link }) => link);
const faults = (text: string) => parseBulk(text, []).items.map(({ fault }) => fault);

test("a line without a header that is one address is one address", () => {
  const lines = [
    "https://a.example/?ids=1,2,3",
    "https://news.example/artikel,4711",
    "https://maps.example/@52.5,13.4,15z",
    "https://a.example/x;jsessionid=4711",
    "https://a.example/a;b,c?d=e;f,g#h,i",
    'https://a.example/?q="x",2,3',
    "https://a.example/?q=a|b,c",
    "http://192.168.0.1/a,b",
  ];
  const isOne = { destination: -1 };
  for (const line of lines) assert.deepEqual(links(line, isOne), [{ original_url: line }]);
  const text = lines.join("\r\n");
  assert.deepEqual(links(text, isOne).map((link) => link.original_url), lines);
  assert.deepEqual(links("  a.example/1,2 \n\n", isOne), [{ original_url: "https://a.example/1,2" }]);
  assert.deepEqual(links('"https://a.example/?ids=1,2,3"\n"https://b.example/"'), [{ original_url: "https://a.example/?ids=1,2,3" }, { original_url: "https://b.example/" }]);
  assert.deepEqual(links("https://a.example/my file, 2", isOne), [{ original_url: "https://a.example/my%20file,%202" }]);
});

test("a separator behind an address is a question, not a part of the address", () => {
  for (const text of ["https://a.example/,spring", "https://a.example/;spring", "https://b.example/\na.example,spring\n"]) {
    const asked = parseBulk(text, []);
    assert.deepEqual([asked.items, asked.unclear?.map(({ cells }) => cells[1])], [[], ["spring"]], text);
    assert.equal(links(text, { destination: 0 }).at(-1)?.slug, "spring", text);
    assert.equal(links(text, { destination: -1 }).at(-1)?.slug, undefined, text);
  }
  assert.deepEqual(links("https://a.example/\tspring"), [{ original_url: "https://a.example/", slug: "spring" }]);
  const [one, two] = links('https://a.example/;spring;"Sale, all";a|b\nhttps://b.example/;autumn', { destination: 0 });
  assert.deepEqual([one, two], [{ original_url: "https://a.example/", slug: "spring", title: "Sale, all", tags: ["a", "b"] }, { original_url: "https://b.example/", slug: "autumn" }]);
});

test("several addresses in one line are several links, and a mark behind one is none of it", () => {
  const wanted = [{ original_url: "https://a.example/1" }, { original_url: "https://b.example/2" }];
  for (const text of ["https://a.example/1, https://b.example/2", "https://a.example/1 https://b.example/2", "https://a.example/1;https://b.example/2", "https://a.example/1,\nhttps://b.example/2,"])
    assert.deepEqual(links(text), wanted, text);
  assert.deepEqual(links("https://web.archive.example/2020/https://a.example/"), [{ original_url: "https://web.archive.example/2020/https://a.example/" }]);
});

test("columns without a header are where a tab, a quote or a space shows them", () => {
  const wanted = [{ original_url: "https://a.example/?ids=1,2", slug: "ids", title: "Two, of three", tags: ["a", "b"] }];
  assert.deepEqual(links("https://a.example/?ids=1,2\tids\tTwo, of three\ta|b"), wanted);
  assert.deepEqual(links("https://a.example/?ids=1,2;ids;Two, of three;a|b"), wanted);
  assert.deepEqual(links('"https://a.example/?ids=1,2", ids, "Two, of three", "a,b"'), wanted);
  assert.deepEqual(links("https://a.example/\nhttps://a.example/?ids=1,2\tids"), [{ original_url: "https://a.example/" }, { original_url: "https://a.example/?ids=1,2", slug: "ids" }]);
  assert.deepEqual(links("https://a.example/\tlink\turl"), [{ original_url: "https://a.example/", slug: "link", title: "url" }]);
});

test("an address with separators and without quotes is not cut by a header", () => {
  assert.deepEqual(links("url\nhttps://a.example/?ids=1,2,3\nhttps://b.example/;x"), [{ original_url: "https://a.example/?ids=1,2,3" }, { original_url: "https://b.example/;x" }]);
  assert.deepEqual(faults("url,title\nhttps://a.example/?ids=1,2,3\nhttps://b.example/,B,,"), ["bulk-cells", undefined]);
  assert.deepEqual(faults("url;slug\nhttps://a.example/;x=1;spring"), ["bulk-cells"]);
});

const LINK = { original_url: "https://target.example/a?b=1,2", slug: "spring" };
const DATES = "2026-05-01T08:00:00Z";

/** Headers as the services write them, each with a row. */
const EXPORTS: [name: string, text: string, link: object, visits: string[]][] = [
  ["Shlink's client", `createdAt,domain,shortCode,shortUrl,longUrl,title,tags,visits\n${DATES},s.example,spring,https://s.example/spring,"https://target.example/a?b=1,2",Sale,a|b,4`, { ...LINK, title: "Sale", tags: ["a", "b"] }, ["visits"]],
  ["Shlink's import", 'Long URL,Tags,Domain,Short code,Title\n"https://target.example/a?b=1,2",a|b,s.example,spring,Sale', { ...LINK, title: "Sale", tags: ["a", "b"] }, []],
  ["Bitly", `Link,Custom Link,Date created,Title,Destination URL,Engagements,Status\nhttps://bit.ly/3xYz,https://go.example/spring,${DATES},Sale,"https://target.example/a?b=1,2",12,active`, { ...LINK, title: "Sale" }, ["Engagements"]],
  ["Bitly without a custom link", `Link,Custom Link,Date created,Title,Destination URL,Engagements,Status\nbit.ly/spring,,${DATES},,"https://target.example/a?b=1,2",12,active`, LINK, ["Engagements"]],
  ["Bitly's API", `created_at,link,title,long_url\n${DATES},https://bit.ly/spring,Sale,"https://target.example/a?b=1,2"`, { ...LINK, title: "Sale" }, []],
  ["Bitly's bulk file", 'Long URL,Backhalf,Tags,Title,UTM Source\n"https://target.example/a?b=1,2",spring,a,Sale,', { ...LINK, title: "Sale", tags: ["a"] }, []],
  ["Dub", `Short link,Destination URL,Clicks,Created at,Link ID,Updated at,Tags,Archived\nhttps://dub.sh/spring,"https://target.example/a?b=1,2",42,${DATES},1,${DATES},"a, b",false`, { ...LINK, tags: ["a", "b"] }, ["Clicks"]],
  ["Dub's API", `id,domain,key,url,archived,expiresAt,title,shortLink,clicks,comments\n1,dub.sh,spring,"https://target.example/a?b=1,2",false,null,Sale,https://dub.sh/spring,42,null`, { ...LINK, title: "Sale" }, ["clicks"]],
  ["Kutt", `id,address,banned,created_at,link,password,target,description,visit_count\n1,spring,false,${DATES},https://kutt.it/spring,false,"https://target.example/a?b=1,2",Sale,7`, { ...LINK, notes: "Sale" }, ["visit_count"]],
  ["YOURLS", 'keyword,url,title,timestamp,ip,clicks\nspring,"https://target.example/a?b=1,2",Sale,2024-01-15 10:30:00,192.0.2.1,42', { ...LINK, title: "Sale" }, ["clicks"]],
  ["YOURLS's plugin", 'source,target,hits\r\n/spring/,"https://target.example/a?b=1,2",42\r\n', LINK, ["hits"]],
  ["Short.io", `idString,shortURL,originalPath,originalURL,title,clicks,createdAt,expiresAt,tags\nlnk_1,https://s.example/spring,spring,"https://target.example/a?b=1,2",Sale,245,${DATES},2027-05-01T08:00:00Z,"a,b"`, { ...LINK, title: "Sale", tags: ["a", "b"], expires_at: "2027-05-01T08:00:00Z" }, ["clicks"]],
  ["Rebrandly", `id,title,slashtag,destination,shortUrl,clicks\n1,Sale,spring,"https://target.example/a?b=1,2",rebrand.ly/spring,3`, { ...LINK, title: "Sale" }, ["clicks"]],
  ["tiny.cc", '"url";"short_url";"note"\n"https://target.example/a?b=1,2";"tiny.cc/spring";"Sale"', { ...LINK, notes: "Sale" }, []],
  ["this page", `Short link,Destination,Title,Tags,State,Visits,Bots,Humans and bots,Last visit,Created\nhttps://s.example/spring,"https://target.example/a?b=1,2",'=Sale,a|b,active,2,1,3,${DATES},${DATES}`, { ...LINK, title: "=Sale", tags: ["a", "b"] }, ["Visits", "Bots", "Humans and bots"]],
  ["the example of a stranger", 'link,title,long_url\nhttps://bit.ly/spring,Sale,"https://target.example/a?b=1,2"', { ...LINK, title: "Sale" }, []],
];

test("exports of other shorteners are read as they are", () => {
  for (const [name, text, link, visits] of EXPORTS) {
    const read = parseBulk(text, []);
    assert.deepEqual(read.items.map((item) => [item.link, item.fault]), [[link, undefined]], name);
    assert.deepEqual([...read.visits].sort(), [...visits].sort(), name);
  }
});

test("the short name comes out of a short URL, and a host is none", () => {
  const cells = ["https://bit.ly/spring", "http://bit.ly/spring/", "bit.ly/spring", "https://bit.ly/spring?x=1#y", "/spring/", "spring", "HTTPS://GO.EXAMPLE:8443/spring"];
  for (const cell of cells) assert.deepEqual(links(`Short URL,Long URL\n${cell},https://a.example/`), [{ original_url: "https://a.example/", slug: "spring" }], cell);
  for (const cell of ["https://bit.ly/", "https://bit.ly", "null", ""]) assert.deepEqual(links(`Short URL,Long URL\n${cell},https://a.example/`), [{ original_url: "https://a.example/" }], cell);
  assert.deepEqual(faults("Short URL,Long URL\nhttps://bit.ly/a/b,https://a.example/"), ["slug"]);
});

test("a column called link or url is the destination where no other is", () => {
  assert.deepEqual(links("Link,Title\nhttps://a.example/,A"), [{ original_url: "https://a.example/", title: "A" }]);
  assert.deepEqual(links("URL,Link\nhttps://a.example/,https://s.example/x"), [{ original_url: "https://a.example/", slug: "x" }]);
  assert.deepEqual(links("url,address,source\nhttps://a.example/,1 Main Street,letter"), [{ original_url: "https://a.example/" }]);
});

test("two columns with addresses are a question where their names do not tell", () => {
  const wanted = [{ original_url: "https://a.example/", slug: "x" }];
  for (const [text, destination] of [["Link,Web\nhttps://bit.ly/x,https://a.example/", 1], ["https://bit.ly/x\thttps://a.example/", 1], ["https://a.example/\thttps://bit.ly/x", 0]] as const) {
    assert.deepEqual([parseBulk(text, []).items, parseBulk(text, []).unclear?.length], [[], text.split("\n").length]);
    assert.deepEqual(links(text, { destination }), wanted);
  }
});

test("a column without any address is not the destination", () => {
  const rows = Array.from({ length: 500 }, (_, at) => `https://a.example/${at},_blank`);
  const text = ["link,target", ...rows].join("\n");
  assert.deepEqual([parseBulk(text, []).items, parseBulk(text, []).unclear?.length], [[], 3]);
  assert.deepEqual(links(text, { destination: 0 }).slice(0, 1), [{ original_url: "https://a.example/0" }]);
  assert.deepEqual(faults("url,title\nnone,A\nnothing,B"), ["url-scheme", "url-scheme"]);
});

test("names that mean nothing here are named", () => {
  const { unknown, visits } = parseBulk("Long URL,Clicks,Domain,Colour\nhttps://a.example/,3,s.example,red", []);
  assert.deepEqual([unknown, visits], [["Domain", "Colour"], ["Clicks"]]);
});

test("a header that names no destination is one question", () => {
  const rows = Array.from({ length: 500 }, (_, at) => `https://a.example/${at},s${at}`);
  const texts = [["Web,Kurz", ...rows], ["Kurz-URL,Klicks", ...rows], ["Short link,Clicks", ...rows], ["Nr.,z.B.", ...rows]].map((each) => each.join("\n"));
  for (const text of texts) {
    const asked = parseBulk(text, []);
    assert.deepEqual([asked.items.length, asked.unclear?.length, asked.unclear?.[1]?.cells], [0, 3, ["https://a.example/0", "s0"]]);
    const answered = parseBulk(text, [], { destination: 0 });
    assert.deepEqual([answered.items.length, answered.items[0]?.link.original_url, answered.items[0]?.line], [500, "https://a.example/0", 2]);
    assert.equal(answered.header, text.split("\n")[0]);
  }
  assert.deepEqual(links("Short link,Web\nhttps://s.example/x,https://a.example/", { destination: 1 }), [{ original_url: "https://a.example/", slug: "x" }]);
});

test("a table without a header asks as well if its first column has no address", () => {
  const text = "spring\thttps://a.example/1\nsummer\thttps://a.example/2";
  assert.equal(parseBulk(text, []).unclear?.length, 2);
  assert.deepEqual(links(text, { destination: 1 }), [{ original_url: "https://a.example/1" }, { original_url: "https://a.example/2" }]);
});

test("words before addresses are no header", () => {
  const text = "Hello, these are the links\nhttps://a.example/\nhttps://b.example/\nhttps://c.example/";
  assert.deepEqual(faults(text), ["url-scheme", undefined, undefined, undefined]);
  assert.deepEqual(faults("my links:\nhttps://a.example/?ids=1"), ["url-scheme", undefined]);
  const alike = "Hello, links:\nhttps://a.example/1,2\nhttps://b.example/3,4";
  assert.deepEqual(links(alike, { destination: -1 }).slice(1), [{ original_url: "https://a.example/1,2" }, { original_url: "https://b.example/3,4" }]);
});

const ends = (dates: string[], answers?: Answers) => links(`url,expires\n${dates.map((date) => `https://a.example/,"${date}"`).join("\n")}`, answers).map((link) => link.expires_at);

test("dates are read as the file shows", () => {
  const [april, may, december] = ["2027-04-05T21:59:59.000Z", "2027-05-04T21:59:59.000Z", "2027-12-31T22:59:59.000Z"];
  for (const date of ["2027-12-31", "31.12.2027", "12/31/2027", "31/12/2027", "31-12-2027", "12/31/27", "31.12.27", "2027/12/31", "2027-12-31"]) assert.deepEqual(ends([date]), [december], date);
  assert.deepEqual(ends(["12/31/2027", "04/05/2027"]), [december, april]);
  assert.deepEqual(ends(["04/05/2027", "31/12/2027"]), [may, december]);
  assert.deepEqual(ends(["4.5.2027", "5/5/2027"]), [may, "2027-05-05T21:59:59.000Z"]);
  assert.deepEqual(ends(["02/31/2027", "2027-13-01"]), ["02/31/2027", "2027-13-01"]);
  assert.deepEqual(faults("url,expires\nhttps://a.example/,tomorrow"), ["bulk-time"]);
});

test("a date that may be two days is a question", () => {
  for (const dates of [["04/05/2027"], ["04/05/2027", "5/5/2027"], ["04-05-2027"], ["04/05/2027", "31/12/2027", "12/31/2027"]]) {
    const text = `url,expires\n${dates.map((date) => `https://a.example/,${date}`).join("\n")}`;
    assert.deepEqual([parseBulk(text, []).date, parseBulk(text, []).items], [dates[0], []]);
    assert.equal(links(text, { isDayFirst: true })[0]?.expires_at, "2027-05-04T21:59:59.000Z");
    assert.equal(links(text, { isDayFirst: false })[0]?.expires_at, "2027-04-05T21:59:59.000Z");
  }
});

test("times keep their zone, or have that of the account", () => {
  const times = {
    "2027-12-31 18:00": "2027-12-31T17:00:00.000Z",
    "31.12.2027 18:00:05": "2027-12-31T17:00:05.000Z",
    "12/31/2027 6:00 PM": "2027-12-31T17:00:00.000Z",
    "12/31/27, 12:30 a.m.": "2027-12-30T23:30:00.000Z",
    "2027-12-31T18:00:00Z": "2027-12-31T18:00:00Z",
    "2027-12-31T18:00:00+01:00": "2027-12-31T18:00:00+01:00",
    "2027-12-31 18:00:00 UTC": "2027-12-31T18:00:00.000Z",
    "2027-12-31 18:00:00.123+0200": "2027-12-31T16:00:00.000Z",
  };
  assert.deepEqual(ends(Object.keys(times)), Object.values(times));
});

test("the lines with errors can be corrected with their header", () => {
  const { header, items } = parseBulk("sep=;\r\nLong URL;Title\r\nnone;1\r\nhttps://a.example/;2", []);
  assert.equal(header, "sep=;\nLong URL;Title");
  assert.deepEqual(items.map(({ line, text, fault }) => [line, text, fault]), [[3, "none;1", "url-scheme"], [4, "https://a.example/;2", undefined]]);
});

const changes = (text: string, answers?: Answers) => parseChanges(text, answers).items.map(({ link, fault }) => (fault ? fault : link));

test("a row that changes a link names it by its short link or slug, and leaves out what stays", () => {
  const text = "Short link,Destination,Title,Tags,Ends,State\nhttps://go.example/Spring,,,,,Disabled\nsummer,example.com/new,New,a|b,2027-12-31T10:00:00Z,";
  assert.deepEqual(changes(text), [
    { original_url: "", slug: "Spring", state: "disabled" },
    { original_url: "https://example.com/new", slug: "summer", title: "New", tags: ["a", "b"], expires_at: "2027-12-31T10:00:00Z" },
  ]);
  // "link" and "url" are the short link only beside no better name.
  assert.deepEqual(changes("Link,Title\nspring,T"), [{ original_url: "", slug: "spring", title: "T" }]);
  assert.deepEqual(changes("url,slug\nhttps://a.example/,spring"), [{ original_url: "https://a.example/", slug: "spring" }]);
});

test("a row that changes a link is refused for what it lacks and for what nobody can read", () => {
  const text = "slug,destination,state,ends\n,https://a.example/,,\na,ftp://x,,\nb,,gone,\nc,,expired,\nC,,active,\nd d,,,\ne,,,soon";
  const read = parseChanges(text);
  assert.deepEqual(read.items.map(({ fault }) => fault), ["bulk-link", "url-scheme", "bulk-state", undefined, "bulk-twice", "slug", "bulk-time"]);
  assert.deepEqual(parseChanges("title,state\nA,active").items, [], "no column names a link");
});

test("a column is what somebody says, instead of what its name says", () => {
  const text = "code,to,label\nspring,https://a.example/,A";
  assert.deepEqual(parseBulk(text, []).unclear?.length, 2);
  assert.deepEqual(changes(text, { columns: { slug: 0, original_url: 1 } }), [{ original_url: "https://a.example/", slug: "spring" }]);
  const named = "destination,title,slug\nhttps://a.example/,T,s";
  assert.deepEqual(links(named, { columns: { title: -1 } }), [{ original_url: "https://a.example/", slug: "s" }]);
  assert.deepEqual(links(named, { columns: { title: 2 } }), [{ original_url: "https://a.example/", title: "s" }]);
  assert.deepEqual(parseBulk("destination,state\nhttps://a.example/,active", []).unknown, ["state"], "a new link has no state to choose");
});
