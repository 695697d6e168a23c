import { useQuery } from "../api/use_query";
import { setParams, usePlace } from "../app/router";
import { currentZone } from "../app/settings";
import { t } from "../i18n";
import { fileName, formatCsv, saveCsv } from "../lib/download";
import { type Dimension, type Filter, filterParams, filterQuery, filtersOf, isSame } from "../lib/filters";
import { formatCompact, formatCount, formatSpan, formatValue } from "../lib/format";
import { lazy } from "../lib/lazy";
import { type Range, rangeOf } from "../lib/range";
import type { Series, Source, Totals } from "../lib/sources";
import { formatStart, isFuture } from "../lib/starts";
import { useThrottled } from "../lib/use_throttled";
import { toLocalInput } from "../lib/zone";
import { Change } from "./change";
import { ErrorBox, Skeleton } from "./feedback";
import { SelectField } from "./field";
import { Icon } from "./icons";
import { type Bots, botsOf, Panel, PLACES, shownCount } from "./panel";
import { RangeBar } from "./range_bar";

const Chart = lazy(() => import("./chart"), 6);
const PANEL_MS = 10_000; // a busy link must not use up the account's requests

function useFigures(source: Source, range: Range, filters: Filter[], isCompared: boolean, turn: string) {
  const compare = isCompared ? range.compare : undefined;
  const query = { from: range.from, to: range.to, tz: currentZone(), compare, ...filterQuery(filters) };
  const key = JSON.stringify([source.key, query, range.interval, turn]);
  return useQuery(key, async (signal) => {
    const [totals, series] = await Promise.all([
      source.totals(query, signal),
      source.series(query, range.interval, signal),
    ]);
    return { totals, series };
  });
}

function Tile({ label, count, before }: { label: string; count: number; before: number | undefined }) {
  return (
    <div class="tile">
      <dt>{label}</dt>
      <dd>
        <span class="tile-count" title={formatCount(count)}>
          {count < 100_000 ? formatCount(count) : formatCompact(count)}
        </span>
        {before !== undefined && <Change count={count} before={before} />}
      </dd>
    </div>
  );
}

/** The counts of the range and, if they are compared, how they changed. What they are compared with stands below. */
function Tiles({ totals, bots }: { totals: Totals; bots: Bots }) {
  const { compared } = totals; // null: not kept
  const range = `${formatSpan(totals.from, totals.to)} (${currentZone()})`;
  return (
    <>
      <dl class={bots === "include" ? "tiles with-bots" : "tiles"}>
        <Tile label={t("visits")} count={shownCount(totals, bots)} before={compared ? shownCount(compared, bots) : undefined} />
        {bots !== "only" && <Tile label={t("unique")} count={totals.unique_visitors} before={compared?.unique_visitors} />}
        {bots !== "only" && <Tile label={t("bots")} count={totals.bots} before={compared?.bots} />}
      </dl>
      <p class="hint">
        {bots !== "only" && t("unique.hint")}{" "}
        <a href="/docs/privacy.md" target="_blank" rel="noreferrer">
          {t("privacy")}
        </a>
      </p>
      <p class="period">{compared ? t("period.compared", { range, earlier: formatSpan(compared.from, compared.to) }) : compared === null ? t("period.none") : range}</p>
    </>
  );
}

function SeriesTable({ series, bots, name }: { series: Series; bots: Bots; name: string }) {
  const { interval, points, compared } = series;
  const names = [bots === "include" ? t("bots.include") : t("visits"), ...(bots === "only" ? [] : [t("unique"), t("bots")]), ...(compared ? [t("before.visits")] : [])];
  const rows = points.map((point, at) => {
    const before = compared?.points[at];
    const own = [shownCount(point, bots), ...(bots === "only" ? [] : [point.unique_visitors, point.bots])].map((count) => (isFuture(point.start) ? "" : count));
    const counts = [...own, ...(compared ? [before ? shownCount(before, bots) : ""] : [])];
    return { start: point.start, counts };
  });
  const save = () => {
    const head = [`${t("time")} (${currentZone()})`, ...names];
    const lines = rows.filter(({ start }) => !isFuture(start)).map(({ start, counts }) => [toLocalInput(start).replace("T", " "), ...counts]);
    saveCsv(formatCsv([head, ...lines]), name);
  };
  return (
    <>
      <details class="disclosure as-table">
        <summary>{t("as.table")}</summary>
        <table class="table">
          <thead>
            <tr>
              <th scope="col">{t("time")}</th>
              {names.map((name) => (
                <th scope="col" class="number" key={name}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ start, counts }) => (
              <tr key={start}>
                <th scope="row">{formatStart(interval, start)}</th>
                {counts.map((count, at) => (
                  <td class="number" key={at}>
                    {typeof count === "number" ? formatCount(count) : "–"}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </details>
      <button type="button" class="button button-quiet" onClick={save}>
        <Icon name="download" /> {t("as.csv")}
      </button>
    </>
  );
}

/** What the figures are limited to, as part of the name of a file: "not-country-DE". */
function conditions(filters: Filter[], bots: Bots): string[] {
  const named = filters.map(({ dimension, value, isExcluded }) => `${isExcluded ? "not-" : ""}${dimension}-${value || "unknown"}`);
  return [...named, ...({ "": [], include: ["with-bots"], only: ["bots"] }[bots] ?? [])].map((name) => name.replaceAll(/[^\p{L}\p{N}.-]/gu, "_"));
}

function FilterChips({ filters }: { filters: Filter[] }) {
  if (filters.length === 0) return null;
  const without = (filter: Filter) => filters.filter((each) => !isSame(each, filter));
  const apply = (next: Filter[]) => setParams(filterParams(next));
  return (
    <div class="chips" role="group" aria-label={t("filters")}>
      {filters.map((filter) => {
        const name = `${t(`dimension.${filter.dimension}`)} ${filter.isExcluded ? "≠" : "="} ${formatValue(filter.dimension, filter.value)}`;
        return (
          <span class="chip" key={name}>
            <button type="button" title={t("filter.invert")} onClick={() => apply([...without(filter), { ...filter, isExcluded: !filter.isExcluded }])}>
              {name}
            </button>
            <button type="button" aria-label={t("filter.remove", { name })} onClick={() => apply(without(filter))}>
              ×
            </button>
          </span>
        );
      })}
      <button type="button" class="button button-quiet" onClick={() => apply([])}>
        {t("filters.clear")}
      </button>
    </div>
  );
}

/**
 * The statistics of a source in the range and with the filters of the address. They follow new visits. decisions: what else
 * the links decide or tell apart.
 */
export function Statistics({ source, decisions = [] }: { source: Source; decisions?: readonly Dimension[] }) {
  const { params } = usePlace();
  const range = rangeOf(params);
  const filters = filtersOf(params);
  const isCompared = params.get("compare") === "1";
  const bots = botsOf(params);
  // Only after new visits is everything else loaded again.
  const live = useQuery(`live ${source.key}`, source.turn, source.pollMs);
  const turn = live.data ?? "";
  const { data, error, reload } = useFigures(source, range, filters, isCompared, turn);
  const panelTurn = useThrottled(turn, PANEL_MS);
  /** A value that is the filter already is one no longer. */
  const pick = (filter: Filter) => {
    const others = filters.filter((each) => !isSame(each, filter));
    const isOn = filters.some((each) => isSame(each, filter) && !each.isExcluded);
    setParams(filterParams(isOn ? others : [...others, filter]));
  };
  const shared = { source, range, filters, bots, isCompared, turn: panelTurn, onPick: pick };
  return (
    <div class="statistics">
      <div class="stat-controls">
        <RangeBar range={range} />
        <SelectField isLabelHidden label={t("bots.label")} value={bots} options={[["", t("bots.none")], ["include", t("bots.include")], ["only", t("bots.only")]]} onChange={(value) => setParams({ bots: value })} />
      </div>
      <FilterChips filters={filters} />
      {error && <ErrorBox error={error} retry={reload} />}
      <section class="card" aria-label={t("chart.label")}>
        {data ? (
          <>
            <Tiles totals={data.totals} bots={bots} />
            <Chart interval={data.series.interval} points={data.series.points} to={data.series.to} previous={data.series.compared?.points} bots={bots} />
            <SeriesTable series={data.series} bots={bots} name={fileName("visits", [source.name, ...conditions(filters, bots)].join("-"), range)} />
          </>
        ) : (
          !error && <Skeleton lines={5} height={48} />
        )}
      </section>
      <div class="panels">
        <Panel {...shared} title={t("places")} dimensions={PLACES} />
        <Panel {...shared} title={t("sources")} dimensions={["referrer_host", "referrer_source"]} />
        <Panel {...shared} title={t("devices")} dimensions={["device", "browser", "os"]} />
        <Panel {...shared} title={t("languages")} dimensions={["language"]} />
        <Panel {...shared} title={t("campaigns")} dimensions={["utm_source", "utm_medium", "utm_campaign"]} />
        {decisions.length > 0 && <Panel {...shared} title={t("decisions")} dimensions={decisions} />}
        {bots !== "" && <Panel {...shared} bots="only" title={t("dimension.bot_reason")} dimensions={["bot_reason"]} />}
      </div>
    </div>
  );
}
