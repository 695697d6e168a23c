import assert from "node:assert/strict";
import { test } from "node:test";
import { loadMoreTexts } from "../../../web/dashboard/src/i18n";
import { sayClosed, sayWays, type Ways } from "../../../web/dashboard/src/lib/summary";
import { valueOf } from "../../../web/dashboard/src/lib/values";

(globalThis as { document?: unknown }).document = { documentElement: {} };
await loadMoreTexts();

const PLAIN: Ways = { original_url: "https://example.com/", rules: [], split: null, starts_at: null, expires_at: null, expired_url: null, max_visits: null };
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

test("a link that is used up, over or not begun says where visitors go", () => {
  const now = Date.parse("2026-11-20T12:00:00Z");
  const link = { state: "active", max_visits: 5, visits_left: 0, humans: 9 } as const;
  const limited = { ...PLAIN, max_visits: 5, expired_url: OVER };
  assert.equal(sayClosed(limited, link, now), "Used up → /over");
  assert.equal(sayClosed({ ...limited, max_visits: 6 }, link, now), "");
  // Who came before the limit was set counts.
  assert.equal(sayClosed(limited, { ...link, max_visits: null, visits_left: null }, now), "Used up → /over");
  assert.equal(sayClosed(limited, null, now), "");
  assert.equal(sayClosed({ ...PLAIN, expires_at: "2026-11-20T11:00:00Z" }, link, now), "Expired (The link has ended)");
  assert.match(sayClosed({ ...PLAIN, starts_at: "2026-11-21T12:00:00Z" }, null, now), /^Starts .*2026.*no such link/);
  assert.match(sayClosed(PLAIN, { ...link, state: "disabled" }, now), /^Disabled/);
});

test("a country is read by its name or its code, and never by its first letters", () => {
  const read = ["Germany", "austria", "at", "Niger", "Kosovo", "Germ", "Atlantis", ""].map((typed) => valueOf("country", typed));
  assert.deepEqual(read, ["DE", "AT", "AT", "NE", "XK", undefined, undefined, undefined]);
  assert.deepEqual(["French", "pt-BR", "Klingonese"].map((typed) => valueOf("language", typed)), ["fr", "pt-BR", undefined]);
  assert.equal(valueOf("os", "BeOS"), "BeOS");
});
