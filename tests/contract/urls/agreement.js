"use strict";
/*
 * Browsers read every destination that links-api accepts in the same way. Node's URL (the WHATWG URL standard) stands for
 * the browsers; Chromium itself is asked about what Node refuses, whose table of hosts may be older than that of our ICU.
 *
 *   node agreement.js PROGRAM     PROGRAM: read_destinations
 *
 *   URLS_COUNT   how many URLs are tried (default 20000)
 *   URLS_SEED    which URLs (default 1)
 *
 * For each URL that links-api accepts:
 *   - browsers accept it as well, and read the same scheme, host, port, path, query and fragment from the input as from
 *     our normal form, byte for byte;
 *   - browsers write our normal form without a change;
 *   - browsers and links-api see the same parts in it.
 * Of the standard's own tests, links-api refuses only what it says (isOnlyForBrowsers). URLs that are made from a seed are
 * counted, because a test that accepts nothing proves nothing.
 */
const { spawnSync } = require("node:child_process");
const { urls } = require("./urls.js");
const standard = require("./urltestdata.json");

const count = Number(process.env.URLS_COUNT || 20000);
const seed = Number(process.env.URLS_SEED || 1);
const SHOWN = 20;
const TAKEN_AT_LEAST = 0.2;
const REFUSED = "browsers refuse it";

function parse(text) {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

/* "^" in a path is %5E since 2024. */
const normal = (path) => path.replace(/\^/g, "%5E");

/*
 * Node 20 misses dot segments behind a segment that only begins with a dot ("/.a/b/.."). With an escape in the path it
 * follows the standard, and "/%2e" changes nothing else. It reads U+1E9E in a host as "ss"; browsers read it as U+00DF,
 * which Unicode says since 15.1.
 */
const carefully = (text) =>
  text.replace(/^https?:\/\/[^/?#]*/i, (host) => host.replace(/\u1e9e/g, "\u00df")).replace(/^(https?:\/\/[^/?#]*)(?=\/)/i, "$1/%2e");

const portOf = (url) => Number(url.port || { "http:": 80, "https:": 443 }[url.protocol]);
const partsOf = (url) => [url.protocol, url.hostname, portOf(url), normal(url.pathname), url.search, url.hash];

/* Returns what is wrong with our reading of a URL, or null. */
function judge(text, ours) {
  const input = parse(carefully(text));
  const output = parse(ours.url);
  if (!input) return REFUSED;
  if (!output) return "browsers refuse our normal form";
  if (input.username || input.password || output.username || output.password) return "browsers see user information";
  if (output.href !== ours.url) return `browsers write our normal form as ${output.href}`;
  if (JSON.stringify(partsOf(input)) !== JSON.stringify(partsOf(output)))
    return `browsers read ${JSON.stringify(partsOf(input))}, and ${JSON.stringify(partsOf(output))} from our normal form`;
  const theirs = [output.hostname, portOf(output), output.pathname, output.search, output.hash];
  const seen = [ours.host, ours.port, ours.path, ours.query === "?" ? "" : ours.query, ours.fragment === "#" ? "" : ours.fragment];
  if (JSON.stringify(theirs) !== JSON.stringify(seen)) return `browsers see ${JSON.stringify(theirs)}, we ${JSON.stringify(seen)}`;
  return null;
}

const escaped = (url) => url.replace(/[\^|]/g, encodeURIComponent);

/* What Chromium writes for each URL, null for what it refuses. */
function askChromium(tried) {
  const script = `document.title = encodeURIComponent(JSON.stringify(${JSON.stringify(tried)}.map((url) => { try { return new URL(url).href } catch { return null } })))`;
  const page = `data:text/html;base64,${Buffer.from(`<meta charset="utf-8"><script>${script}</script>`).toString("base64")}`;
  const run = spawnSync("chromium-headless-shell", ["--no-sandbox", "--disable-gpu", "--dump-dom", page], { encoding: "utf8" });
  const [, title] = /<title>(.*)<\/title>/.exec(run.stdout) ?? [];
  if (title === undefined) throw new Error(`chromium-headless-shell: status ${run.status}: ${run.error ?? run.stderr}`);
  return JSON.parse(decodeURIComponent(title));
}

function ask(tried) {
  const input = tried.map((url) => JSON.stringify(url)).join("\n") + "\n";
  const run = spawnSync(process.argv[2], { input, encoding: "utf8", maxBuffer: 1 << 30 });
  const answers = run.stdout.trimEnd().split("\n");
  if (run.status !== 0 || answers.length !== tried.length) throw new Error(`${answers.length} answers, status ${run.status}: ${run.stderr}`);
  return answers;
}

/*
 * What links-api refuses, and browsers do not: backslashes, tabs, line breaks and NUL inside, halves of a UTF-16 pair, no
 * "//", user information, port 0, and hosts that no name server can know.
 */
function isOnlyForBrowsers(text) {
  const trimmed = text.replace(/^[\0- ]+|[\0- ]+$/g, "");
  const [, authority] = /^https?:\/\/([^/?#]*)/i.exec(trimmed) ?? [];
  return authority === undefined || /[\\\t\r\n\p{Cs}]/u.test(trimmed) || text.includes("\0") || authority.includes("@") || /:0+$/.test(authority) ||
    !/^(\[.*\]|[a-z\d_-]+(\.[a-z\d_-]+)*\.?)$/.test(parse(text).hostname);
}

/* The tests of the standard: what we take, we write as browsers do, and we take all that they take but what we say. */
function checkStandard() {
  const answers = ask(standard.cases.map(([input]) => input)).map((line) => JSON.parse(line));
  const taken = standard.cases.map(([input, href], i) => [input, href, answers[i].url]).filter(([, , url]) => url !== undefined);
  const wrong = taken.filter(([, href, url]) => href !== url);
  wrong.forEach((each) => console.log(JSON.stringify(each)));
  const missed = standard.cases.filter(([input, href], i) => href !== null && answers[i].url === undefined && !isOnlyForBrowsers(input));
  missed.forEach(([input]) => console.log(`refused: ${JSON.stringify(input)}`));
  console.log(`${standard.cases.length} URLs of the standard's tests: ${taken.length} taken, ${wrong.length} of them read differently; ` +
    `${missed.length} that browsers take were refused without a reason`);
  return wrong.length === 0 && missed.length === 0;
}

function main() {
  const tried = urls(seed, count);
  const answers = ask(tried);

  let taken = 0;
  let onlyTheirs = 0;
  const wrong = [];
  const refused = [];
  answers.forEach((line, i) => {
    const ours = JSON.parse(line);
    const takes = !("refused" in ours);
    taken += takes;
    onlyTheirs += !takes && ["http:", "https:"].includes(parse(tried[i])?.protocol);
    const mistake = takes ? judge(tried[i], ours) : null;
    if (mistake === REFUSED) refused.push([tried[i], ours.url]);
    else if (mistake) wrong.push(`${JSON.stringify(tried[i])} -> ${JSON.stringify(ours.url)}: ${mistake}`);
  });
  const written = refused.length ? askChromium(refused.map(([url]) => url)) : [];
  refused.forEach(([url, ours], i) => {
    /* In a path Chromium escapes "|" as well. */
    if (written[i] === null || escaped(written[i]) !== escaped(ours)) wrong.push(`${JSON.stringify(url)} -> ${JSON.stringify(ours)}: Chromium writes ${written[i]}`);
  });
  wrong.slice(0, SHOWN).forEach((line) => console.log(line));
  console.log(`${tried.length} URLs (seed ${seed}, Node ${process.version}, Unicode ${process.versions.unicode}): ` +
    `${taken} taken, ${wrong.length} of them read differently; ${onlyTheirs} that browsers take were refused`);
  process.exit(!checkStandard() || wrong.length > 0 || taken < TAKEN_AT_LEAST * tried.length ? 1 : 0);
}

main();
