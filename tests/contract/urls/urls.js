"use strict";
/*
 * URLs on which parsers tend to disagree, made from a seed: unusual parts are put together and then damaged. The same seed
 * gives the same URLs.
 */

const { random } = require("../random.js");

const schemes = ["http", "https", "http", "https", "HTTP", "hTTpS", "ftp", "javascript", "file", "ws", ""];
const slashes = ["://", "://", "://", "://", "://", "://", "://", "://", ":", ":/", ":///", ":\\\\", ":/\\", ":// ", "//"];
const users = ["", "", "", "", "", "", "", "", "", "u@", "u:p@", "@", ":@", "a.example@", "%40@", "\\@"];
const hosts = [
  "example.com", "EXAMPLE.Com", "a.b.c.example", "example.com.", "example.com..", "example..com", ".example.com", ".", "..",
  "a_b.example", "-a.example", "a-.example", "a--b.example", "ab--c.example", "xn--a", "xn--.example", "xn--bcher-kva.example",
  "XN--BCHER-KVA.example", "xn--bcher-kvb.example", "xn--zca.example", "xn--0ca24w.example", "xn--ls8h.example", "xn--1ch.com",
  "xn--a-ecp.ru", "xn--fa-hia.de", "b\u00fccher.example", "B\u00dcCHER.example", "fa\u00df.de", "FA\u1e9e.de",
  "\u03c3\u03af\u03c3\u03c5\u03c6\u03bf\u03c2.gr", "\uff45\uff58\uff41mple.com", "example\u3002com", "example\uff0ecom", "example\uff61com",
  "exa\u00admple.com", "exa\u200bmple.com", "a\u200cb.example", "a\u200db.example", "\u0915\u094d\u200d\u0937.example",
  "\u0628\u200c\u0628.example", "\u05d0.example", "\u05d0a.example", "a\u05d0.example", "\u05d01.example", "1\u05d0.example", "\u0627\u0661.example",
  "\u0301a.example", "a\u0301.example", "\u2126.example", "\u212a.example", "\u017f.example", "\u0131.example", "\u0130.example",
  "\u2100.example", "\u2048.example", "\u2060a.example", "a\ufe0f.example", "\ud83d\ude00.example", "\ud83d\udc68\u200d\ud83d\udc69.example",
  "\u00b7.example", "l\u00b7l.example", "\u30fb.example", "\u0375a.example", "\u2024.example", "a\u2025b.example", "\uff05\uff14\uff11.com",
  "\u3164.example", "\uffa0.example", "\ufffd.example", "\ue000.example", "\ufdd0.example", "\u{e0001}.example", "\u{1f12f}.example",
  "\u{2f868}.example", "i\u2764.ws", "i\u2764\ufe0f.ws", "xn--ls8h.la", "\u2603.net", "\u221a.example", "\u{1d7d8}.example", "\u2488com", "a\u2260b.example", "\u226e.example", "\u2f80.example",
  "\u{10ffff}.example", "\u0378.example", "\u{11301}.example", "\ua7f2.example", "\u1806a.example",
  "ex%61mple.com", "ex%41mple.com", "example%2ecom", "example%2Ecom", "%65%78.com", "a%20b.com", "a%2fb.com", "a%5cb.com", "a%3ab.com",
  "a%40b.com", "a%23b.com", "a%00b.com", "a%25b.com", "a%2561.com", "%c3%bc.example", "%C3%9F.example", "%c3.example", "%ff.example",
  "%", "%zz.com", "a%.com", "a b.com", "a\tb.com", "a<b.com", "a^b.com", "a|b.com", "a{b}.com", "a\"b.com", "a'b.com", "a,b.com",
  "a;b.com", "a!b.com", "a$b.com", "a&b.com", "a*b.com", "a(b).com", "a+b.com", "a=b.com", "a~b.com", "a`b.com", "*.com",
  "1.2.3.4", "1.2.3.4.", "1.2.3", "1.2", "1", "0", "1.2.3.4.5", "256.1.1.1", "1.256", "1.2.65536", "4294967295", "4294967296",
  "0x7f.1", "0X7F.1", "0x7f000001", "0x", "0x.1", "1.0x", "0xg", "a.0x", "a.0x7", "a.09", "0177.1", "08.1", "09", "a.1", "1.a", "a.1a",
  "1.2.3.4a", "1..2", "1.2.3.08", "0x1.0x2.03.4", "00000000000000000001.1", "1e3", "0b1", "-1", "+1", "1.2.3.-4", "999999999999999999999",
  "\uff11.2.3.4", "\u0661.2.3.4", "%31.2.3.4", "1%2e2.3.4", "1\u30022\u30023\u30024", "0\uff587f.1", "\u2460.1.1.1", "127\u30020\uff0e0\uff611",
  "[::1]", "[::]", "[1::]", "[1:2:3:4:5:6:7:8]", "[1:2:3:4:5:6:7::]", "[::2:3:4:5:6:7:8]", "[1::8]", "[0:0:0:1:0:0:0:0]",
  "[2001:DB8::A]", "[2001:db8:0:0:1:0:0:1]", "[::ffff:1.2.3.4]", "[::1.2.3.4]", "[::ffff:01.2.3.4]", "[::ffff:1.2.3]", "[::1%eth0]",
  "[::1%25eth0]", "[fe80::1%lo]", "[1:2:3]", "[12345::]", "[::g]", "[:::]", "[::1", "::1]", "[]", "[v1.a]", "[%3a%3a1]", "[::1].com",
  "[1:0:0:2:0:0:0:3]", "[64:ff9b::1.2.3.4]", "[::0.0.0.1]", "[0000:0000::]", "[00000::]", "[ ::1]", "::1", "1:2::3",
  "", "localhost", "LOCALHOST.", "a".repeat(63) + ".example", "a".repeat(64) + ".example", "a.".repeat(126) + "a", "a.".repeat(127) + "a",
  "\u00fc".repeat(59) + ".example", "\u00fc".repeat(60) + ".example", "xn--" + "a".repeat(59) + ".example",
];
const ports = ["", "", "", "", "", ":", ":80", ":443", ":8080", ":0", ":00", ":00080", ":65535", ":65536", ":99999", ":-1", ":+80", ":80a",
  ":8 0", ":\uff18\uff10", ":80:80", ":%38", "::80", ":4294967376", ":000000000000000000443"];
const segments = ["", "a", ".", "..", "...", "%2e", "%2E", ".%2e", "%2e.", "%2E%2e", "%2e%2e%2e", "%2f", "%2F", "%5c", "%5C", "%252e", "a%20b", "%7e", "%7E",
  "%41", "%c3%bc", "%C3%BC", "%ff", "%00", "%0d%0a", "\u00fc", "\ud83d\ude00", "a b", "a\tb", "a\nb", "a\\b", "\\", "..\\", "\\..", "a;b", ";..", "..;", "a:b", "a@b", "C:", "C|",
  "a|b", "a^b", "a`b", "a{b}", "a<b>", "a\"b", "a'b", "a[b]", "a!$&'()*+,=b", "~", "%", "%z", "%2", "a%2", "\u2025", "\uff0e\uff0e", "\uff0f", "\u2028", "\ufeff",
  "%u0041", "\u00a0", "\u0085", "\u0001", "\u007f"];
const queries = ["", "", "", "?", "??", "?a=b", "?a=b&c=d", "?%2e%2e", "?'", "?\"", "?<>", "?`", "?{}", "?|^", "?\\", "?\u00fc", "?%c3%bc", "?%7e", "?a#b", "?a b",
  "?a+b", "?%", "?%zz", "?/../", "?@", "?://", "?\u2028", "?%00", "?[]", "?\t"];
const fragments = ["", "", "", "", "#", "##", "#a", "#a?b", "#'", "#\"", "#<>", "#`", "#{}|^", "#\\", "#\u00fc", "#%7e", "#%", "#a b", "#/../", "#@", "#\u0000", "#%0a"];
const damage = ["\\", "/", "@", ":", "?", "#", "%", "%2", " ", "\t", "\n", "\r", "\u0000", ".", "..", "[", "]", "\u00ad", "\u200d", "\u3002", "\uff0f", "\uff20", "\uff1f", "\uff03",
  "\u2044", "\u2215", "\ufe55", "\uff1a", "\u202e", "\u0338", "\u{1f600}", "xn--", "-", "_", "0x", "0", "%00", "%5c", "%2f", "%40", "%23", "%3f"];
const whole = [
  "http://a.example\\@b.example/", "http://a.example\\.b.example/", "http://a.example#@b.example/", "http://a.example?@b.example/",
  "http://a.example%23@b.example/", "http://a.example;@b.example/", "http://a.example&@b.example# @c.example/", "http://a.example:80@b.example/",
  "http://a.example:@b.example/", "http://[::1]@b.example/", "http://a.example\t.b.example/", "ht\ntp://a.example/", " http://a.example/ ",
  "\u0000http://a.example/", "http:a.example/", "http:/a.example/", "http:///a.example/", "https:\\\\a.example\\b", "//a.example/", "/a", "a.example",
  "http://a.example:80\\@b.example/", "http://a.example/\\..\\b", "http://a.example/..%5cb", "http://a.example/%2e%2e%5c/b", "http://a.example/.%5c",
  "http://\u2100.example/", "http://a\u2044b.example/", "http://a.example\uff0fb.example/", "http://a.example\uff03b.example/",
  "http://a.example\uff1fb.example/", "http://a.example\uff20b.example/", "http://a.example\u3002", "http://ex\u0000ample.com/", "http://%E2%84%80.example/",
  "http://127.0.0.1.nip.example/", "http://1.1.1.1 &@2.2.2.2# @3.3.3.3/", "http://foo@[::1]/", "http://[::ffff:7f00:1]/", "http://0/", "http://0.0.0.0/",
  "http://0x7f.1/", "http://017700000001/", "http://2130706433/", "http://127.1/", "http://127.0.0.1./", "http://%30/", "http://\u24ea/",
  "http://a.example/%2F..%2F", "http://a.example//", "http://a.example///../", "http://a.example/./././/", "http://a.example/a/../../..", "http://a.example/;/../x",
  "http://\u06a1-\u0dca%2eaaba/", "https://\u0627\u06610.example/", "http://\ufcbc-\u033f/", "http://0a.\u05d0.example/", "http://\u05d0.a-.example/",
  "http://example.com/m/.f~g/b.c/..", "http://example.com//.0.//..?F#`",
  "javascript://a.example/%0aalert(1)", "data:text/html,x", "blob:http://a.example/x", "HTTP://A.EXAMPLE:80", "http://a.example:0080?x", "http://a.example:65536/",
];

const point = (next) => {
  const ranges = [[0x20, 0x7f], [0xa0, 0x24f], [0x300, 0x36f], [0x370, 0x5ff], [0x600, 0x6ff], [0x900, 0xdff], [0x1e00, 0x206f],
    [0x2100, 0x24ff], [0x3000, 0x30ff], [0x4e00, 0x4eff], [0xa000, 0xabff], [0xf900, 0xfaff], [0xfb00, 0xfefe], [0xff00, 0xffef], [0x10000, 0x11fff],
    [0x1d400, 0x1d7ff], [0x1f000, 0x1faff], [0x20000, 0x2fa1f], [0xa0, 0xd7ff]];
  const [low, high] = ranges[Math.floor(next() * ranges.length)];
  return String.fromCodePoint(low + Math.floor(next() * (high - low + 1)));
};

function make(next) {
  const one = (list) => list[Math.floor(next() * list.length)];
  if (next() < 0.02) return one(whole);
  let host = one(hosts);
  if (next() < 0.3) {
    host = "";
    for (let labels = 1 + Math.floor(next() * 3); labels > 0; labels--) {
      for (let chars = 1 + Math.floor(next() * 6); chars > 0; chars--) host += next() < 0.5 ? one([..."abz019-"]) : point(next);
      if (labels > 1) host += one([".", ".", ".", "\u3002", "%2e"]);
    }
  } else if (next() < 0.2) {
    host = one(["0x", "0", "", "0X", "%30"]) + Math.floor(next() * 2 ** Math.floor(next() * 40)).toString(one([8, 10, 16])) + one(["", ".", ".1", ".0x1", ".a"]);
  }
  /* Mostly one unusual part: of several, the first would decide. */
  const place = one(["all", "host", "host", "path", "path", "query", "port", "scheme"]);
  const strange = (name) => place === "all" || place === name;
  const segment = () => (strange("path") && next() < 0.5 ? one(segments) : one(["a", "b.c", "..", "%2e", "", "d%20e", "\u00fc", "f~g"]));
  let path = "";
  for (let count = Math.floor(next() * 6); count > 0; count--) path += "/" + segment();
  let url = strange("scheme") ? one(schemes) + one(slashes) + one(users) : one(["http://", "https://"]);
  url += strange("host") ? host : one(["example.com", "b\u00fccher.example", "a.b.example.", "127.1", "[::1]"]);
  url += strange("port") ? one(ports) : one(["", "", ":80", ":8080"]);
  url += path + (strange("query") ? one(queries) + one(fragments) : one(["", "?a=b&c=%C3%BC", "?x#y"]));
  for (let wounds = next() < 0.15 ? 1 + Math.floor(next() * 2) : 0; wounds > 0; wounds--) {
    const characters = [...url];
    const at = Math.floor(next() * (characters.length + 1));
    characters.splice(at, Math.floor(next() * 2), next() < 0.7 ? one(damage) : point(next));
    url = characters.join("");
  }
  return url;
}

/* Returns count URLs; known cases come first. */
exports.urls = (seed, count) => {
  const next = random(seed);
  const made = [...whole, ...hosts.map((host) => `http://${host}/`), ...segments.map((s) => `http://a.example/x/${s}/y`)];
  while (made.length < count) made.push(make(next));
  return made.slice(0, count);
};
