import { useKeys } from "../app/keyboard";
import { setParams, usePlace } from "../app/router";
import { t } from "../i18n";
import { addDays, PRESETS, type Preset, type Range } from "../lib/range";

const KEYS: Record<string, Preset> = { d: "today", w: "7d", t: "30d", m: "month", y: "year" };

function choose(preset: Preset, range: Range): void {
  if (preset === "custom") setParams({ range: "", from: range.from, to: addDays(range.to, -1) });
  else setParams({ range: preset, from: "", to: "" });
}

/** The range of all figures of a page. It stands in the address. */
export function RangeBar({ range }: { range: Range }) {
  const { params } = usePlace();
  const isCompared = params.get("compare") === "1";
  const toggleCompare = () => setParams({ compare: isCompared ? "" : "1" });
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
      {range.preset === "custom" && (
        <div class="range-dates">
          <input type="date" class="input" aria-label={t("range.from")} value={range.from} max={addDays(range.to, -1)} onChange={(event) => event.currentTarget.value && setParams({ from: event.currentTarget.value })} />
          <span aria-hidden="true">–</span>
          <input type="date" class="input" aria-label={t("range.to")} value={addDays(range.to, -1)} min={range.from} onChange={(event) => event.currentTarget.value && setParams({ to: event.currentTarget.value })} />
        </div>
      )}
      <label class="check">
        <input type="checkbox" checked={isCompared} onChange={toggleCompare} /> {t("compare")} <kbd>X</kbd>
      </label>
    </div>
  );
}
