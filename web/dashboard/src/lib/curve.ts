/** A path through the points that never rises above or falls below two neighbours: a curve must not show what was not counted. */
export function smooth(points: readonly (readonly [x: number, y: number])[]): string {
  const text = (value: number) => String(Math.round(value * 10) / 10);
  return points
    .map(([x, y], at) => {
      const before = points[at - 1];
      if (!before) return `M${text(x)} ${text(y)}`;
      const middle = text((before[0] + x) / 2);
      return `C${middle} ${text(before[1])} ${middle} ${text(y)} ${text(x)} ${text(y)}`;
    })
    .join("");
}
