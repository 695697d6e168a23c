import assert from "node:assert/strict";
import { test } from "node:test";
import { loadMoreTexts } from "../../../web/dashboard/src/i18n";
import { formatPart } from "../../../web/dashboard/src/lib/format";
import { sayWays, type Ways } from "../../../web/dashboard/src/lib/summary";
import { valueOf } from "../../../web/dashboard/src/lib/values";

(globalThis as { document?: unknown }).document = { documentElement: {} };
await loadMoreTexts();

const PLAIN: Ways = { original_url: "https://example.com/", rules: [], split: null, starts_at: null, expires_at: null, expired_url: null, max_visits: null, forward_query: false };
const OVER = "https://example.com/over";
const rule = (when: object, url: string) => ({ name: "x", when, then: "redirect", url }) as Ways["rules"][number];
const variant = (name: string, url: string, weight = 1) => ({ name, url, weight });

test("a link's ways are one line", () => {
  const rules = [rule({ country: ["DE", "AT"] }, "https://example.com/de"), rule({ device: ["mobile"], language: ["fr"] }, "https://example.org/app")];
  const split = { winner: null, variants: [variant("A", "https://example.com/"), variant("B", "https://example.com/b", 3)] };
  assert.equal(sayWays({ ...PLAIN, rules, split, max_visits: 500, expired_url: OVER }), "Germany or Austria → /de · Phone and French → example.org/app · others → 25% /, 75% /b · after 500 visits → /over");
  assert.equal(sayWays({ ...PLAIN, split: { ...split, winner: "B" } }), "→ /b");
  assert.equal(sayWays({ ...PLAIN, max_visits: 1 }), "→ example.com · after 1 visit (The link has ended)");
  assert.equal(sayWays({ ...PLAIN, rules: [{ name: "x", when: {}, then: "gone" }] as never }), "Everybody: The link has ended · others → example.com");
  assert.equal(sayWays(PLAIN), "");
});

test("equal counts have equal shares", () => {
  assert.deepEqual([1, 1, 6].map((count) => formatPart(count, 8)), ["13%", "13%", "75%"]);
  assert.deepEqual([996, 4, 0].map((count) => formatPart(count, 1000)), ["100%", "<1%", "0%"]);
  assert.equal(formatPart(0, 0), "0%");
});

test("a country is read by its name or its code, and never by its first letters", () => {
  const read = ["Germany", "austria", "at", "Niger", "Kosovo", "Germ", "Atlantis", "", "USA", "uk"].map((typed) => valueOf("country", typed));
  assert.deepEqual(read, ["DE", "AT", "AT", "NE", "XK", undefined, undefined, undefined, "US", "GB"]);
  assert.deepEqual(["French", "pt-BR", "Klingonese"].map((typed) => valueOf("language", typed)), ["fr", "pt-BR", undefined]);
  assert.equal(valueOf("os", "BeOS"), "BeOS");
});
