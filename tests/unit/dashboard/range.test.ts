import assert from "node:assert/strict";
import { test } from "node:test";
import { type Preset, rangeOf, stepRange } from "../../../web/dashboard/src/lib/range";

const params = (values: object) => new URLSearchParams(Object.entries(values));

test("one step back and one forth end where they began, on every day of a leap year and of its next", () => {
  for (let now = Date.UTC(2028, 0, 1, 12); now < Date.UTC(2030, 0, 1); now += 86_400_000) {
    for (const preset of ["today", "yesterday", "week", "7d", "90d", "month", "year"] satisfies Preset[]) {
      const earlier = stepRange(rangeOf(params({ range: preset }), now), -1, now) ?? {};
      const back = stepRange(rangeOf(params(earlier), now), 1, now);
      assert.equal(back?.["range"], preset, `${new Date(now).toISOString()}: ${JSON.stringify({ earlier, back })}`);
    }
  }
});
