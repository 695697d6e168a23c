import { useKeys } from "../app/keyboard";
import { currentPlace, setParams, usePlace } from "../app/router";
import { t } from "../i18n";
import { formatSpan } from "../lib/format";
import { addDays, PRESETS, type Preset, type Range, rangeOf, stepRange } from "../lib/range";
import { Icon } from "./icons";

const KEYS: Record<string, Preset> = { d: "today", w: "7d", t: "30d", m: "month", y: "year" };

function choose(preset: Preset, range: Range): void {
  if (preset === "custom") setParams({ range: "", from: range.from, to: addDays(range.to, -1) });
  else setParams({ range: preset, from: "", to: "" });
}

/** From what the address says now: keys may be pressed faster than a page is drawn. */
function step(direction: -1 | 1): void {
  const next = stepRange(rangeOf(currentPlace().params), direction);
  if (next) setParams(next);
}

const toggleCompare = () => setParams({ compare: currentPlace().params.get("compare") === "1" ? "" : "1" });

/** To the range before and after, around the dates of this one. */
function Steps({ range }: { range: Range }) {
  useKeys({ p: () => step(-1), n: () => step(1) });
  const last = addDays(range.to, -1);
  return (
    <div class="range-dates">
      <button type="button" class="icon-button" aria-label={t("range.earlier")} title={`${t("range.earlier")} (P)`} onClick={() => step(-1)}>
        <Icon name="left" />
      </button>
      {range.preset === "custom" ? (
        <>
          <input type="date" class="input" aria-label={t("range.from")} value={range.from} max={last} onChange={(event) => event.currentTarget.value && setParams({ from: event.currentTarget.value })} />
          <span aria-hidden="true">–</span>
          <input type="date" class="input" aria-label={t("range.to")} value={last} min={range.from} onChange={(event) => event.currentTarget.value && setParams({ to: event.currentTarget.value })} />
        </>
      ) : (
        <span class="range-text">{formatSpan(range.from, range.to, "UTC")}</span>
      )}
      <button type="button" class="icon-button" aria-label={t("range.later")} title={`${t("range.later")} (N)`} disabled={!stepRange(range, 1)} onClick={() => step(1)}>
        <Icon name="right" />
      </button>
    </div>
  );
}

/** The range of all figures of a page. It stands in the address. */
export function RangeBar({ range }: { range: Range }) {
  const { params } = usePlace();
  const isCompared = params.get("compare") === "1";
  const keys = Object.entries(KEYS).map(([key, preset]) => [key, () => choose(preset, range)] as const);
  useKeys({ ...Object.fromEntries(keys), x: toggleCompare });
  return (
    <div class="range-bar">
      <div class="segments" role="group" aria-label={t("range")}>
        {PRESETS.map((preset) => (
          <button type="button" key={preset} aria-pressed={range.preset === preset} onClick={() => choose(preset, range)}>
            {t(`range.${preset}`)}
          </button>
        ))}
      </div>
      <label class="check">
        <input type="checkbox" checked={isCompared} onChange={toggleCompare} /> {t("compare")} <kbd>X</kbd>
      </label>
      <Steps range={range} />
    </div>
  );
}
