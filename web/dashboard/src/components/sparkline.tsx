import { t } from "../i18n";
import { lineThrough } from "../lib/line";

const WIDTH = 96;
const HEIGHT = 28;

/** How the days of a link went, without numbers: those stand beside it. */
export function Sparkline({ counts }: { counts: readonly number[] }) {
  const max = Math.max(...counts);
  if (counts.length < 2 || max === 0) return <svg class="sparkline" width={WIDTH} height={HEIGHT} role="img" aria-label={t("sparkline.none")}><path d={`M2 ${HEIGHT - 3}H${WIDTH - 2}`} class="sparkline-none" /></svg>;
  const line = lineThrough(counts.map((count, at) => [2 + (at * (WIDTH - 4)) / (counts.length - 1), HEIGHT - 3 - (count / max) * (HEIGHT - 6)] as const));
  return (
    <svg class="sparkline" width={WIDTH} height={HEIGHT} role="img" aria-label={t("sparkline", { first: counts[0] ?? 0, last: counts[counts.length - 1] ?? 0, max })}>
      <path class="sparkline-area" d={`${line}L${WIDTH - 2} ${HEIGHT}L2 ${HEIGHT}Z`} />
      <path class="sparkline-line" d={line} />
    </svg>
  );
}
