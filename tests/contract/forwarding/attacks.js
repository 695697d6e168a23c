"use strict";
/*
 * Queries and paths that lead to other hosts, break headers or climb, where servers are careless: known ones, and ones that
 * are made from a seed out of the same pieces. Characters stand for bytes, U+0000 is none of them. The same seed gives the
 * same attacks.
 */

const { random } = require("../random.js");

exports.destinations = [
  "https://shop.example/", "https://shop.example/base", "https://shop.example/base/", "https://shop.example:8443/a/b?k=v&next=%2Fhome#top",
  "http://[2001:db8::1]/x?%61=1#", "https://xn--bcher-kva.example/?q=a+b", "http://203.0.113.7/~u/index.html", "https://shop.example/a#/route?x=1",
];

const climbs = [
  "..", "../", "../..", "..\\", "..;", "..;/", "..%00/", "..%2f", "..%2F", "..%5c", "..%255c", "..%252f", "%2e%2e", "%2e%2e%2f", "%2E%2E/", ".%2e", "%2e.",
  "%252e%252e", "%252e%252e%252f", "%25252e%25252e", "%c0%ae%c0%ae", "%c0%ae%c0%ae%c0%af", "%e0%80%ae", "%f0%80%80%ae", "%uff0e%uff0e", "%%32%65%%32%65",
  "....//", "....\\\\", "..././", ".../", "..\t/", ".\t./", "..\n", "..%0a", "..%09", ".%0d./", "..?", "..#", "..%3f", "..%23", "..%20", "..%3b/", ".", "./", "%2e",
  "%2e/", ".;/", ";/..", "%3b/..", "a/../..", "a/..%2f..", "%5c..%5c", "\\..\\", "%2f..", "/..", "//..", "/./", "\xc0\xae\xc0\xae", "\xef\xbc\x8e\xef\xbc\x8e",
];
const hosts = [
  "//evil.example", "///evil.example", "////evil.example/", "/\\evil.example", "\\\\evil.example", "\\/evil.example", "/\t/evil.example", "/\n/evil.example",
  "/%09/evil.example", "/%0a/evil.example", "/%5cevil.example", "/%2fevil.example", "%2f%2fevil.example", "%5c%5cevil.example", "@evil.example", ":@evil.example",
  ":80@evil.example", "%40evil.example", ".evil.example", "%2eevil.example", ":443.evil.example", "https://evil.example", "https:evil.example", "https:/evil.example",
  "//evil%E3%80%82example", "/%E2%80%A5evil.example", "javascript:alert(1)", "java%0ascript:alert(1)", "data:text/html,x", "//google.com%2f@evil.example",
  "?@evil.example", "#@evil.example", "%23@evil.example", "%3f@evil.example", ";@evil.example", "//[::1]", "//0x7f.1", "/.evil.example", "//evil.example/%2f..",
  "//%0d%0aevil.example", "//\xe2\x80\xaeevil.example", "//evil\xe3\x80\x82example", "http://evil.example\\@shop.example", "//shop.example@evil.example/..",
];
const breaks = [
  "%0d%0aSet-Cookie:a=b", "\r\nSet-Cookie: a=b", "%0aLocation:%20//evil.example", "\nLocation: //evil.example", "\rX: 1", "%0d%0a%0d%0a<script>", "%E5%98%8A%E5%98%8DSet-Cookie:a=b",
  "\xe5\x98\x8a\xe5\x98\x8dX:1", "%u000aX:1", "%250d%250aX:1", "%25%30%61X:1", "\x0b\x0cX: 1", "%00", "%00%0d%0aX:1", "\x01\x1f\x7f", "\x80\x9f\xa0\xff", "\xc2\x85X: 1", "\xe2\x80\xa8X: 1",
  " X: 1", "\tX: 1", "%20HTTP/1.1%0d%0aX:1", "%c4%8d%c4%8aX:1", "%0D%20%0A", "%c0%8d%c0%8aX:1", "\"'<>`{}|^[]", "%", "%%", "%z", "%0", "%zz%0d", "a".repeat(9000), "%2e".repeat(3000), "/".repeat(5000),
];
const names = ["", "a", "next", "k", "%61", "q", "url", "qr", "redirect_uri", "a[]", "constructor", "%zz", "K"];
const values = ["", "=", "=1", "=v", "=%2Fhome", "=https://evil.example", "==", "=a=b"];

function make(next) {
  const one = (list) => list[Math.floor(next() * list.length)];
  const piece = () => one(next() < 0.4 ? climbs : next() < 0.5 ? hosts : next() < 0.6 ? breaks.slice(0, -3) : ["a", "b.c", "", "%41", "docs", "\xfc", "1"]);
  let rest = "", query = "";
  for (let count = Math.floor(next() * 4); count > 0; count--) rest += one(["/", "/", "/", "//", "", "\\", "%2f", "/ "]) + piece();
  for (let count = Math.floor(next() * 4); count > 0; count--) query += one(["", "", "", "&", ";"]) + one(names) + one(values) + (next() < 0.5 ? piece() : "") + "&";
  return [one(exports.destinations), query, next() < 0.1 ? rest : "/" + rest];
}

/* Returns count [destination, query, rest]; known ones come first. */
exports.attacks = (seed, count) => {
  const next = random(seed);
  const made = [];
  for (const attack of [...climbs, ...hosts, ...breaks])
    for (const destination of exports.destinations)
      made.push([destination, attack, ""], [destination, `next=${attack}`, ""], [destination, "", attack], [destination, "", "/" + attack],
        [destination, "a=1", `/x/${attack}/y`]);
  while (made.length < count) made.push(make(next));
  return made.slice(0, Math.max(count, 1000));
};
