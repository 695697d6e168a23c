import world from "virtual:world";
import type { Schemas } from "../api/client";
import { t } from "../i18n";
import { formatCount, formatValue } from "../lib/format";

type Item = Schemas["DimensionStatistics"]["items"][number];

interface Props {
  items: Item[];
  onPick: (country: string) => void;
}

/** Countries by visits. The table beside it has the same values for the keyboard and for screen readers. */
export default function WorldMap({ items, onPick }: Props) {
  const visits = new Map(items.map((item) => [item.value, item.humans]));
  const max = Math.max(1, ...visits.values());
  const area = (code: string) => {
    const count = visits.get(code) ?? 0;
    return {
      "data-country": code,
      class: count > 0 ? "country has-visits" : "country",
      // Areas are compared by eye: the root keeps small numbers visible.
      "data-step": count > 0 ? Math.min(5, 1 + Math.floor(5 * Math.sqrt(count / max))) : undefined,
      onClick: count > 0 ? () => onPick(code) : undefined,
      title: `${formatValue("country", code)}: ${formatCount(count)}`,
    };
  };
  const withTitle = (code: string) => {
    const { title, ...attributes } = area(code);
    return { title, attributes };
  };
  return (
    <svg class="world" viewBox={`0 0 ${world.width} ${world.height}`} role="img" aria-label={t("map.label")}>
      {world.shapes.map(([code, path]) => {
        const { title, attributes } = withTitle(code);
        return (
          <path d={path} key={code} {...attributes}>
            <title>{title}</title>
          </path>
        );
      })}
      {world.dots
        .filter(([code]) => visits.has(code))
        .map(([code, x, y]) => {
          const { title, attributes } = withTitle(code);
          return (
            <circle cx={x} cy={y} r={3.5} key={code} {...attributes}>
              <title>{title}</title>
            </circle>
          );
        })}
    </svg>
  );
}
