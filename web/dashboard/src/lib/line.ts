/** A path straight from point to point: between two counts nothing was counted. */
export function lineThrough(points: readonly (readonly [x: number, y: number])[]): string {
  const text = (value: number) => String(Math.round(value * 10) / 10);
  return points.map(([x, y], at) => `${at === 0 ? "M" : "L"}${text(x)} ${text(y)}`).join("");
}
