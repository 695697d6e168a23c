"use strict";
/*
 * Whatever a visitor sends to a link that forwards the query and the path, browsers go to the destination's host, below its
 * path, by one header. Node's URL (the WHATWG URL standard) stands for the browsers.
 *
 *   node agreement.js PROGRAM     PROGRAM: forward, or redirect, which asks a redirector
 *
 *   ATTACKS_COUNT   how many are tried (default 20000)
 *   ATTACKS_SEED    which (default 1)
 *
 * A destination that takes nothing proves nothing, so what was forwarded is counted.
 */
const { spawnSync } = require("node:child_process");
const { attacks } = require("./attacks.js");

const count = Number(process.env.ATTACKS_COUNT || 20000);
const seed = Number(process.env.ATTACKS_SEED || 1);
const SHOWN = 20;
const BYTES_MAX = 8192 + 2048;
const DECODED_MAX = 5;
const FORWARDED_AT_LEAST = 0.2;

const hex = (text) => Buffer.from(text, "latin1").toString("hex");

function ask(tried) {
  const input = tried.map((attack) => attack.map(hex).join("\t")).join("\n") + "\n";
  const run = spawnSync(process.argv[2], { input, encoding: "utf8", maxBuffer: 1 << 30 });
  const lines = run.stdout.split("\n");
  const answers = lines.filter((line) => line.startsWith("="));
  if (run.status !== 0 || answers.length !== tried.length) {
    const said = lines.filter((line) => !line.startsWith("=")).join("\n");
    throw new Error(`${answers.length} answers, status ${run.status} before ${JSON.stringify(tried[answers.length])}: ${said}${run.stderr}`);
  }
  return answers.map((line) => Buffer.from(line.slice(1), "hex").toString("latin1"));
}

/* Where a server looks that decodes a path several times, takes "\" for "/" and drops parameters. */
function* careless(path) {
  for (let times = 0; times <= DECODED_MAX; times++) {
    const kept = [];
    for (const segment of path.replace(/\\/g, "/").split("/").slice(1)) {
      const name = segment.replace(/;.*/s, "");
      if (name === "..") kept.pop();
      else if (name !== ".") kept.push(segment);
    }
    yield "/" + kept.join("/");
    path = path.replace(/%([0-9a-f]{2})/gi, (_, digits) => String.fromCharCode(parseInt(digits, 16))).replace(/\xc0\xae/g, ".").replace(/\xc0\xaf/g, "/");
  }
}

/* Returns what is wrong, or null. */
function judge(destination, result) {
  const wanted = new URL(destination);
  if (!/^[\x21-\x7e]+$/.test(result) || result.length > BYTES_MAX) return "is no value of a header";
  const found = new URL(result, "https://go.example/slug");
  for (const part of ["protocol", "username", "password", "host", "hash"])
    if (found[part] !== wanted[part]) return `browsers read the ${part} ${found[part]}`;
  if (found.href !== result) return `browsers write it as ${found.href}`;
  const base = wanted.pathname.replace(/\/$/, "");
  for (const path of careless(found.pathname))
    if (path !== wanted.pathname && path !== base && !path.startsWith(base + "/")) return `somebody reads the path ${path}`;
  const own = [...wanted.searchParams.keys()].filter((name) => !found.searchParams.has(name));
  if (own.length > 0) return `the parameter ${own[0]} of the destination is lost`;
  return null;
}

function main() {
  const tried = attacks(seed, count);
  const wrong = [];
  let forwarded = 0;
  let refused = 0;
  ask(tried).forEach((result, i) => {
    const mistake = result && judge(tried[i][0], result);
    refused += result === "";
    forwarded += result !== "" && result !== tried[i][0];
    if (mistake) wrong.push(`${JSON.stringify(tried[i])} -> ${JSON.stringify(result)}: ${mistake}`);
  });
  wrong.slice(0, SHOWN).forEach((line) => console.log(line));
  console.log(`${tried.length} queries and paths (seed ${seed}): ${forwarded} forwarded, ${refused} refused, ${wrong.length} of all read otherwise than the destination`);
  process.exit(wrong.length > 0 || forwarded < FORWARDED_AT_LEAST * tried.length ? 1 : 0);
}

main();
