import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { useQuery } from "../api/use_query";
import { setParams, usePlace } from "../app/router";
import { currentZone } from "../app/settings";
import { t } from "../i18n";
import { fileName, formatCsv, saveCsv } from "../lib/download";
import { type Dimension, type Filter, filterParams, filterQuery, filtersOf, isSame, useRememberedValues } from "../lib/filters";
import { formatCompact, formatCount, formatSpan, formatValue } from "../lib/format";
import { dateIn, type Range, rangeOf } from "../lib/range";
import type { Series, Source, Totals } from "../lib/sources";
import { formatStart, isFuture } from "../lib/starts";
import { useOutside } from "../lib/use_outside";
import { useThrottled } from "../lib/use_throttled";
import { toLocalInput } from "../lib/zone";
import { Change } from "./change";
import Chart, { type Mark } from "./chart";
import { Dialog } from "./dialog";
import { Empty, ErrorBox, Skeleton } from "./feedback";
import { Icon } from "./icons";
import { type Bots, botsOf, Panel, PLACES, type Question, shownCount } from "./panel";
import { type Choice, Picker } from "./picker";
import { ValueIcon } from "./value_icon";
import { CompareButton, RangeBar } from "./range_bar";
import { Ticking } from "./ticking";

const PANEL_MS = 10_000; // a busy link must not use up the account's requests

function useFigures(source: Source, range: Range, filters: Filter[], isCompared: boolean, turn: string) {
  const compare = isCompared ? range.compare : undefined;
  const query = { from: range.from, to: range.to, tz: currentZone(), ...filterQuery(filters) };
  const asked = JSON.stringify([source.key, query, range.interval]);
  const answer = useQuery(`${asked} ${compare} ${turn}`, async (signal) => {
    const [totals, series] = await Promise.all([
      source.totals({ ...query, compare }, signal),
      source.series({ ...query, compare }, range.interval, signal),
    ]);
    return { asked, totals, series };
  });
  // What another question was answered with never stands under this one. To compare changes no figure.
  return { ...answer, data: answer.data?.asked === asked ? answer.data : undefined };
}

type Metric = "visits" | "unique" | "bots";
const METRICS: readonly Metric[] = ["visits", "unique", "bots"];
const metricOf = (params: URLSearchParams): Metric => METRICS.find((each) => each === params.get("metric")) ?? "visits";

type Counted = { humans: number; bots: number; total: number; unique_visitors: number };
const valueOf = (metric: Metric, bots: Bots) => (counts: Counted) => (metric === "unique" ? counts.unique_visitors : metric === "bots" ? counts.bots : shownCount(counts, bots));

/** A count of the range and how it changed. It chooses the line of the chart. */
function MetricCard({ metric, chosen, bots, totals }: { metric: Metric; chosen: Metric; bots: Bots; totals: Totals }) {
  const value = valueOf(metric, bots);
  const count = value(totals);
  return (
    <button type="button" class="metric" aria-pressed={metric === chosen} onClick={() => setParams({ metric: metric === "visits" ? "" : metric })}>
      <span class="muted">{t(metric === "bots" && bots === "" ? "bots.left.out" : metric)}</span>
      <span class="metric-line">
        <span class="metric-count" title={formatCount(count)}>
          {count < 1_000_000 ? <Ticking count={count} /> : formatCompact(count)}
        </span>
        {totals.compared && <Change count={count} before={value(totals.compared)} />}
      </span>
    </button>
  );
}

/** How it is counted, for who wants to know. */
function Info({ totals, bots }: { totals: Totals; bots: Bots }) {
  const [isOpen, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useOutside(root, isOpen, () => setOpen(false));
  const closeByKey = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !isOpen) return;
    event.stopPropagation();
    setOpen(false);
    button.current?.focus();
  };
  const { compared } = totals; // null: not kept
  const range = `${formatSpan(totals.from, totals.to)} (${currentZone()})`;
  return (
    <div class="metric-info" ref={root} onKeyDown={closeByKey}>
      <button ref={button} type="button" class="icon-button" aria-label={t("counting")} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon name="info" />
      </button>
      {isOpen && (
        <div class="info">
          <p>{compared ? t("period.compared", { range, earlier: formatSpan(compared.from, compared.to) }) : compared === null ? t("period.none") : range}</p>
          <dl>
            {METRICS.filter((each) => bots !== "only" || each !== "unique").map((each) => (
              <div key={each}>
                <dt>{t(each)}</dt>
                <dd>{t(`${each}.hint`)}</dd>
              </div>
            ))}
          </dl>
          <p>
            <a href="/docs/privacy.md" target="_blank" rel="noreferrer">
              {t("privacy")}
            </a>
          </p>
        </div>
      )}
    </div>
  );
}

function SeriesTable({ series, bots, name }: { series: Series; bots: Bots; name: string }) {
  const [isOpen, setOpen] = useState(false);
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
    <div class="figures-foot">
      <details class="disclosure as-table" onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>{t("as.table")}</summary>
        {isOpen && <table class="table">
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
        </table>}
      </details>
      {compared && (
        <span class="chart-key muted">
          {formatSpan(compared.from, compared.to, undefined, true)} ({t("before")})
        </span>
      )}
      <button type="button" class="button button-quiet" onClick={save}>
        <Icon name="download" /> {t("as.csv")}
      </button>
    </div>
  );
}

/** What the figures are limited to, as part of the name of a file: "not-country-DE". */
function conditions(filters: Filter[], bots: Bots): string[] {
  const named = filters.map(({ dimension, value, isExcluded }) => `${isExcluded ? "not-" : ""}${dimension}-${value || "unknown"}`);
  return [...named, ...({ "": [], include: ["with-bots"], only: ["bots"] }[bots] ?? [])].map((name) => name.replaceAll(/[^\p{L}\p{N}.-]/gu, "_"));
}

/** Filters of one kind together: "Country is Germany, France". */
function FilterChips({ filters }: { filters: Filter[] }) {
  const apply = (next: Filter[]) => setParams(filterParams(next));
  const kinds = [...new Set(filters.map((each) => `${each.isExcluded ? "!" : ""}${each.dimension}`))];
  return (
    <>
      {kinds.map((kind) => {
        const isOf = (each: Filter) => `${each.isExcluded ? "!" : ""}${each.dimension}` === kind;
        const these = filters.filter(isOf);
        const { dimension, isExcluded } = these[0] as Filter;
        const value = these.map((each) => formatValue(dimension, each.value)).join(", ");
        const name = t(isExcluded ? "filter.not" : "filter.is", { name: t(`dimension.${dimension}`), value });
        const others = filters.filter((each) => !isOf(each));
        return (
          <span class="chip chip-on" key={kind}>
            <button type="button" title={t("filter.invert")} onClick={() => apply([...others.filter((each) => !these.some((one) => isSame(one, each))), ...these.map((each) => ({ ...each, isExcluded: !isExcluded }))])}>
              {name}
            </button>
            <button type="button" aria-label={t("filter.remove", { name })} onClick={() => apply(others)}>
              <Icon name="close" />
            </button>
          </span>
        );
      })}
    </>
  );
}

interface BarProps extends Question {
  onPick: (filter: Filter) => void;
}

/** What limits the figures: in the bar, each behind a button; on the sheet of a phone, all at once. */
function Limits({ filters, bots, onPick, isSheet = false }: Omit<BarProps, "range"> & { isSheet?: boolean }) {
  const values = useRememberedValues();
  const choices: Choice[] = values.map((each, at) => ({
    id: String(at),
    text: formatValue(each.dimension, each.value),
    group: t(`dimension.${each.dimension}`),
    mark: <ValueIcon dimension={each.dimension} value={each.value} />,
    isOn: filters.some((filter) => isSame(filter, each)),
  }));
  const kinds: Choice[] = (["", "include", "only"] as const).map((each) => ({ id: each, text: t(`bots.${each || "none"}`), group: "", isOn: each === bots }));
  return (
    <>
      <CompareButton />
      {isSheet && (
        <div class="segments segments-small" role="group" aria-label={t("bots.label")}>
          {kinds.map(({ id, text, isOn }) => (
            <button type="button" key={id} aria-pressed={isOn} onClick={() => setParams({ bots: id })}>
              {text}
            </button>
          ))}
        </div>
      )}
      <FilterChips filters={filters} />
      <Picker label={t("filter.add")} class="chip chip-add" choices={choices} onPick={(at) => values[Number(at)] && onPick(values[Number(at)] as Filter)}>
        {isSheet ? undefined : (
          <>
            <Icon name="filter" /> {t("filter")}
          </>
        )}
      </Picker>
      {!isSheet && (
        <Picker label={t("bots.label")} class="button button-quiet" choices={kinds} onPick={(value) => setParams({ bots: value })}>
          {t(`bots.${bots || "none"}`)} <Icon name="down" />
        </Picker>
      )}
    </>
  );
}

/** One line above all figures, of the same height whatever is chosen, and as wide as the window: on a phone, a sheet has what the line has no room for. */
function StatBar({ range, ...limits }: BarProps) {
  const [isOpen, setOpen] = useState(false);
  const { filters, bots, isCompared } = limits;
  const chosen = filters.length + (bots ? 1 : 0) + (isCompared ? 1 : 0);
  return (
    <div class="stat-bar">
      <RangeBar range={range} />
      <span class="paper-only">{formatSpan(range.from, range.to, "UTC")}</span>
      <div class="stat-limits wide-only">
        <Limits {...limits} />
      </div>
      <button type="button" class="button narrow-only" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        <Icon name="filter" /> {t("filters")}
        {chosen > 0 && <span class="badge badge-admin">{formatCount(chosen)}</span>}
      </button>
      {isOpen && (
        <Dialog isSheet title={t("filters")} onClose={() => setOpen(false)}>
          <Limits {...limits} isSheet />
          <footer class="dialog-foot">
            <button type="button" class="button button-primary" onClick={() => setOpen(false)}>
              {t("done")}
            </button>
          </footer>
        </Dialog>
      )}
    </div>
  );
}

interface Props {
  source: Source;
  /** What the link decides. */
  decisions?: readonly Dimension[];
  /** What happened to the link. */
  marks?: readonly Mark[];
  /** Stands above the bar. */
  heading?: ComponentChildren;
  /** More panels. */
  children?: ComponentChildren;
}

/** The statistics of a source in the range and with the filters of the address. They follow new visits. */
export function Statistics({ source, decisions = [], marks = [], heading, children }: Props) {
  const { params } = usePlace();
  const range = rangeOf(params);
  const filters = filtersOf(params);
  const isCompared = params.get("compare") === "1";
  const bots = botsOf(params);
  const metric = metricOf(params);
  // Only after new visits is everything else loaded again.
  const live = useQuery(`live ${source.key}`, source.turn, source.pollMs);
  const turn = live.data ?? "";
  const { data, error, reload } = useFigures(source, range, filters, isCompared, turn);
  const isLost = error !== undefined;
  // What failed together with the figures is loaded again together with them.
  const outages = useRef({ count: 0, isLost });
  if (outages.current.isLost && !isLost) outages.current.count++;
  outages.current.isLost = isLost;
  const panelTurn = `${useThrottled(turn, PANEL_MS)} ${outages.current.count}`;
  const message = error && <ErrorBox error={error} retry={reload} />;
  /** A value that is the filter already is one no longer. */
  const pick = (filter: Filter) => {
    const others = filters.filter((each) => !isSame(each, filter));
    const isOn = filters.some((each) => isSame(each, filter) && each.isExcluded === filter.isExcluded);
    setParams(filterParams(isOn ? others : [...others, filter]));
  };
  const zoom = (first: number, last: number) => {
    const points = data?.series.points ?? [];
    const end = Date.parse(points[last + 1]?.start ?? data?.series.to ?? "");
    const from = dateIn(currentZone(), Date.parse(points[first]?.start ?? ""));
    setParams({ range: "", from, to: dateIn(currentZone(), end - 1) });
  };
  const question = { range, filters, bots, isCompared };
  const shared = { source, ...question, turn: panelTurn, onPick: pick };
  return (
    <div class="statistics">
      {heading}
      <StatBar {...question} onPick={pick} />
      {data && message}
      <section class="card figures" aria-label={t("chart.label")}>
        {data ? (
          <>
            <div class="metrics">
              {METRICS.filter((each) => bots !== "only" || each === "visits").map((each) => (
                <MetricCard metric={each} chosen={bots === "only" ? "visits" : metric} bots={bots} totals={data.totals} key={each} />
              ))}
              <Info totals={data.totals} bots={bots} />
            </div>
            <Chart
              interval={data.series.interval}
              points={data.series.points}
              to={data.series.to}
              previous={data.series.compared?.points}
              name={t(bots === "only" ? "visits" : metric)}
              value={valueOf(bots === "only" ? "visits" : metric, bots)}
              marks={marks}
              onZoom={data.series.interval === "hour" ? undefined : zoom}
            />
            {data.totals.total === 0 && (
              <div class="chart-empty">
                <Empty icon="chart" title={t("overview.none")} text={t("overview.none.text")} />
              </div>
            )}
            <SeriesTable series={data.series} bots={bots} name={fileName("visits", [source.name, ...conditions(filters, bots)].join("-"), range)} />
          </>
        ) : (
          <>
            <Skeleton look="figures" isStill={isLost} />
            {message && <div class="chart-empty">{message}</div>}
          </>
        )}
      </section>
      <div class="panels">
        <Panel {...shared} hasMap title={t("places")} dimensions={PLACES} />
        <Panel {...shared} title={t("sources")} dimensions={["referrer_source", "referrer_host", "scan"]} />
        <Panel {...shared} title={t("devices")} dimensions={["device", "browser", "os", "language"]} />
        <Panel {...shared} title={t("campaigns")} dimensions={["utm_source", "utm_medium", "utm_campaign"]} />
        {decisions.length > 0 && <Panel {...shared} title={t("decisions")} dimensions={decisions} />}
        {children}
        {bots !== "" && <Panel {...shared} bots="only" title={t("dimension.bot_reason")} dimensions={["bot_reason"]} />}
      </div>
    </div>
  );
}
