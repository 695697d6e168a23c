import assert from "node:assert/strict";
import test from "node:test";
import { bounded, showing, stepOf, stepsOf, WHOLE, zoomed } from "../../../web/dashboard/src/lib/world_view";

const size = { width: 700, height: 336 };

test("zooming keeps the place under the pointer, and ends at the whole world and at an eighth", () => {
  const twice = zoomed(WHOLE, 2, [0.5, 0.5], size);
  assert.deepEqual(twice, { x: 175, y: 84, scale: 2 });
  assert.deepEqual(zoomed(WHOLE, 2, [0, 1], size), { x: 0, y: 168, scale: 2 });
  assert.deepEqual(zoomed(twice, 0.5, [0.1, 0.9], size), WHOLE);
  assert.equal(zoomed(WHOLE, 100, [1, 1], size).scale, 8);
  assert.deepEqual(zoomed(WHOLE, 0.1, [1, 1], size), WHOLE);
});

test("a map never shows what is beyond the world", () => {
  assert.deepEqual(bounded({ x: -50, y: 400, scale: 2 }, size), { x: 0, y: 168, scale: 2 });
});

test("a country that is named comes into view", () => {
  const view = { x: 0, y: 0, scale: 4 };
  assert.deepEqual(showing(view, [100, 40], size), view);
  const moved = showing(view, [600, 300], size);
  assert.ok(moved.x < 600 && 600 < moved.x + 175 && moved.y < 300 && 300 < moved.y + 84, JSON.stringify(moved));
});

test("the scale says which counts each colour stands for, without gaps", () => {
  for (const max of [1, 2, 3, 7, 25, 923, 123_457]) {
    const steps = stepsOf(max);
    assert.equal(steps[0]![1], 1);
    assert.equal(steps.at(-1)![2], max);
    steps.forEach(([step, low, high], at) => {
      if (at > 0) assert.equal(low, steps[at - 1]![2] + 1);
      assert.deepEqual([stepOf(low, max), stepOf(high, max)], [step, step], `${max}: ${low}–${high}`);
    });
  }
});
