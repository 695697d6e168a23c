import world from "virtual:world";
import { useState } from "preact/hooks";
import { t } from "../i18n";
import { formatCount, formatShare, formatValue } from "../lib/format";
import { ValueIcon } from "./value_icon";

const STEPS = [1, 2, 3, 4, 5];

interface Props {
  /** By country. */
  visits: ReadonlyMap<string, number>;
  onPick: (code: string) => void;
}

/** The countries of the world, darker with more visits. The pointer and the arrow keys name one, and Enter or a click picks it. */
export default function WorldMap({ visits, onPick }: Props) {
  const [at, setAt] = useState<string>();
  const found = [...visits].filter(([code, count]) => count > 0 && world.centers[code]).sort(([, a], [, b]) => b - a);
  const max = Math.max(1, ...found.map(([, count]) => count));
  const sum = Math.max(1, [...visits.values()].reduce((all, own) => all + own, 0));
  const count = at === undefined ? 0 : (visits.get(at) ?? 0);
  const [x, y] = (at && world.centers[at]) || [0, 0];
  // Areas are compared by eye: the root keeps small numbers visible.
  const stepOf = (of: number) => Math.min(STEPS.length, 1 + Math.floor(STEPS.length * Math.sqrt(of / max)));
  const look = (code: string) => {
    const own = visits.get(code) ?? 0;
    return { "data-country": code, class: code === at ? "country is-at" : "country", "data-step": own > 0 ? stepOf(own) : undefined, onClick: own > 0 ? () => onPick(code) : undefined };
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const here = found.findIndex(([code]) => code === at);
    const to = { ArrowRight: here + 1, ArrowDown: here + 1, ArrowLeft: here - 1, ArrowUp: here - 1, Home: 0, End: found.length - 1 }[event.key];
    if (event.key === "Escape") setAt(undefined);
    else if (event.key === "Enter" && count > 0 && at) onPick(at);
    else if (to !== undefined) setAt(found[Math.max(0, Math.min(found.length - 1, to))]?.[0]);
    else return;
    event.preventDefault();
  };
  const name = at && formatValue("country", at);
  return (
    <div class="map" tabIndex={0} role="group" aria-roledescription={t("map")} aria-label={t("map.label")} onKeyDown={onKeyDown} onBlur={() => setAt(undefined)}>
      <svg class="world" viewBox={`0 0 ${world.width} ${world.height}`} aria-hidden="true" onPointerOver={(event) => setAt((event.target as SVGElement).dataset.country)} onPointerLeave={() => setAt(undefined)}>
        {world.shapes.map(([code, path]) => (
          <path d={path} key={code} {...look(code)} />
        ))}
        {world.dots.map(([code, cx, cy]) => visits.get(code) && <circle cx={cx} cy={cy} r={4} key={code} {...look(code)} />)}
      </svg>
      {at && (
        <div class={x > world.width / 2 ? "chart-tip chart-tip-left" : "chart-tip"} style={{ left: `${(100 * x) / world.width}%`, top: `${(100 * y) / world.height}%` }} aria-hidden="true">
          <strong>
            <ValueIcon dimension="country" value={at} /> {name}
          </strong>
          <span>{count > 0 ? `${formatCount(count)} · ${formatShare(count / sum)}` : t("panel.empty")}</span>
        </div>
      )}
      {found.length > 0 && (
        <p class="map-scale hint" aria-hidden="true">
          1
          {STEPS.map((step) => (
            <i data-step={step} key={step} />
          ))}
          {formatCount(max)}
        </p>
      )}
      <p class="visually-hidden" aria-live="polite">
        {name ? `${name}: ${formatCount(count)}` : t("chart.hint")}
      </p>
    </div>
  );
}
