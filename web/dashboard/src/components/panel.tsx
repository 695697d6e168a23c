import { useState } from "preact/hooks";
import { useQuery } from "../api/use_query";
import { t } from "../i18n";
import { type Dimension, type Filter, filterQuery } from "../lib/filters";
import { formatCount, formatShare, formatValue } from "../lib/format";
import { lazy } from "../lib/lazy";
import type { Range } from "../lib/range";
import type { Source, Values } from "../lib/sources";
import { currentZone } from "../app/settings";
import { Change } from "./change";
import { ErrorBox, Skeleton } from "./feedback";

const WorldMap = lazy(() => import("./world_map"), 6);
const SHORT = 8;
const LONG = 100;
export const PLACES: readonly Dimension[] = ["country", "region", "city"];

export type Bots = "" | "include" | "only";
/** What the address says. Without it, humans. */
export const botsOf = (params: URLSearchParams): Bots => (["include", "only"] as const).find((each) => each === params.get("bots")) ?? "";
type Item = Values["items"][number];
type Counts = Values["totals"];

export interface PanelProps {
  source: Source;
  title: string;
  dimensions: readonly Dimension[];
  range: Range;
  filters: Filter[];
  bots: Bots;
  isCompared: boolean;
  /** Changes when there are new visits. */
  turn: string;
  onPick: (filter: Filter) => void;
}

/** The visits that the choice of humans and bots shows. */
export const shownCount = (counts: Pick<Counts, "humans" | "bots" | "total">, bots: Bots) => (bots === "only" ? counts.bots : bots === "include" ? counts.total : counts.humans);

interface BarsProps {
  dimension: Dimension;
  items: Item[];
  /** Of all values, also of those that are not listed. */
  totals: Counts;
  bots: Bots;
  isCompared: boolean;
  onPick: PanelProps["onPick"];
}

function Bars({ dimension, items, totals, bots, isCompared, onPick }: BarsProps) {
  const max = Math.max(1, ...items.map((item) => shownCount(item, bots)));
  const sum = Math.max(1, shownCount(totals, bots));
  return (
    <table class="bars">
      <colgroup>
        <col />
        <col class="col-count" />
        {isCompared && <col class="col-share roomy-only" />}
        <col class={isCompared ? "col-change" : "col-share"} />
      </colgroup>
      <thead>
        <tr>
          <th scope="col">{t(`dimension.${dimension}`)}</th>
          <th scope="col" class="number">
            {t("visits")}
          </th>
          {isCompared && (
            <th scope="col" class="number roomy-only">
              {t("before.short")}
            </th>
          )}
          <th scope="col" class="number">
            {isCompared ? t("change") : t("share")}
          </th>
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <tr key={item.value}>
            <th scope="row">
              <span class="bar" style={{ width: `${(shownCount(item, bots) / max) * 100}%` }} />
              <button type="button" class="bar-name" title={t("filter.by", { value: formatValue(dimension, item.value) })} onClick={() => onPick({ dimension, value: item.value, isExcluded: false })}>
                {formatValue(dimension, item.value)}
              </button>
            </th>
            <td class="number">{formatCount(shownCount(item, bots))}</td>
            {isCompared && <td class="number muted roomy-only">{item.compared ? formatCount(shownCount(item.compared, bots)) : "–"}</td>}
            <td class="number muted">{isCompared ? item.compared && <Change count={shownCount(item, bots)} before={shownCount(item.compared, bots)} /> : formatShare(shownCount(item, bots) / sum)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The values of some dimensions, one at a time. A click on a value filters the whole page by it. */
export function Panel({ source, title, dimensions, range, filters, bots, isCompared, turn, onPick }: PanelProps) {
  const [dimension, setDimension] = useState<Dimension>(dimensions[0] as Dimension);
  const [isLong, setLong] = useState(false);
  const limit = dimension === "country" ? 250 : isLong ? LONG : SHORT + 1;
  const query = { from: range.from, to: range.to, tz: currentZone(), limit, bots: bots || undefined, compare: isCompared ? range.compare : undefined, ...filterQuery(filters) };
  const key = JSON.stringify([source.key, dimension, query, turn]);
  const { data, error, reload } = useQuery(key, (signal) => source.values(dimension, query, signal));

  const isCurrent = data?.dimension === dimension;
  const items = isCurrent ? data.items : [];
  const shown = isLong ? items : items.slice(0, SHORT);
  return (
    <section class={dimension === "country" ? "card panel panel-map" : "card panel"} aria-label={title}>
      <div class="panel-head">
        <h2>{title}</h2>
        {dimensions.length > 1 && (
          <div class="segments segments-small" role="group" aria-label={title}>
            {dimensions.map((each) => (
              <button type="button" key={each} aria-pressed={each === dimension} onClick={() => setDimension(each)}>
                {t(`dimension.${each}`)}
              </button>
            ))}
          </div>
        )}
      </div>
      {error && <ErrorBox error={error} retry={reload} />}
      {!isCurrent && !error && <Skeleton lines={SHORT} height={28} />}
      {isCurrent && (
        <div class="panel-body">
          {dimension === "country" && <WorldMap items={items} onPick={(value) => onPick({ dimension, value, isExcluded: false })} />}
          {items.length === 0 ? <p class="muted panel-empty">{t("panel.empty")}</p> : <Bars dimension={dimension} items={shown} totals={data.totals} bots={bots} isCompared={isCompared} onPick={onPick} />}
          {PLACES.includes(dimension) && shown.some((item) => item.value === "") && <p class="hint">{t("unknown.place")}</p>}
          {dimension.startsWith("utm_") && items.every((item) => item.value === "") && <p class="hint">{t("panel.campaigns")}</p>}
        </div>
      )}
      {isCurrent && (items.length > SHORT || isLong) && (
        <button type="button" class="button button-quiet panel-more" onClick={() => setLong(!isLong)}>
          {isLong ? t("less") : t("more")}
        </button>
      )}
    </section>
  );
}
