/** The part of the world that a map shows: its left upper corner, and how many times larger than the whole. */
export interface View {
  x: number;
  y: number;
  scale: number;
}

export interface Size {
  width: number;
  height: number;
}

export const WHOLE: View = { x: 0, y: 0, scale: 1 };
const SCALE_MAX = 8;

const between = (low: number, value: number, high: number) => Math.max(low, Math.min(high, value));

/** Nothing but the world is shown, and never less of it than an eighth. */
export function bounded({ x, y, scale }: View, { width, height }: Size): View {
  const kept = between(1, scale, SCALE_MAX);
  return { x: between(0, x, width - width / kept), y: between(0, y, height - height / kept), scale: kept };
}

/** Larger by a factor. What stands at a place of the window, in shares of its size, stays there. */
export function zoomed(view: View, factor: number, [right, down]: readonly [number, number], size: Size): View {
  const scale = between(1, view.scale * factor, SCALE_MAX);
  const gain = (length: number) => length / view.scale - length / scale;
  return bounded({ x: view.x + right * gain(size.width), y: view.y + down * gain(size.height), scale }, size);
}

/** Moved as little as it takes until a point is at least a tenth inside. */
export function showing(view: View, [x, y]: readonly [number, number], size: Size): View {
  const move = (from: number, at: number, length: number) => between(at - 0.9 * length, from, at - 0.1 * length);
  return bounded({ ...view, x: move(view.x, x, size.width / view.scale), y: move(view.y, y, size.height / view.scale) }, size);
}

const STEPS = [1, 2, 3, 4, 5];

/** The lowest count of a step, a round number. Areas are compared by eye: the root keeps small numbers visible. */
function lowest(step: number, max: number): number {
  const exact = Math.max(1, Math.max(max, STEPS.length) * ((step - 1) / STEPS.length) ** 2);
  const unit = Math.max(1, 10 ** Math.floor(Math.log10(exact)) / 2);
  return Math.ceil(exact / unit) * unit;
}

/** Which of five steps a count has. */
export const stepOf = (count: number, max: number): number => STEPS.filter((step) => lowest(step, max) <= count).length;

/** The steps that have any count, with their lowest and highest. */
export function stepsOf(max: number): (readonly [step: number, low: number, high: number])[] {
  return STEPS.map((step) => [step, lowest(step, max), step === STEPS.length ? max : Math.min(max, lowest(step + 1, max) - 1)] as const).filter(([, low, high]) => low <= high);
}
