import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useQuery } from "../api/use_query";
import { currentZone } from "../app/settings";
import { type Key, t } from "../i18n";
import { fileName, formatCsv, saveCsv } from "../lib/download";
import { type Dimension, type Filter, filterQuery, rememberValues } from "../lib/filters";
import { formatCount, formatPart, formatValue } from "../lib/format";
import type { Range } from "../lib/range";
import type { Source, Values } from "../lib/sources";
import { Change } from "./change";
import { Dialog } from "./dialog";
import { ErrorBox, Skeleton } from "./feedback";
import { Icon } from "./icons";
import { ValueIcon } from "./value_icon";
import WorldMap from "./world_map";

const SHORT = 8;
const BESIDE_MAP = 10;
const COUNTRIES = 250;
const LONG = 1000;
const ROWS = 50;
export const PLACES: readonly Dimension[] = ["country", "region", "city"];

export type Bots = "" | "include" | "only";
/** What the address says. Without it, humans. */
export const botsOf = (params: URLSearchParams): Bots => (["include", "only"] as const).find((each) => each === params.get("bots")) ?? "";
type Item = Values["items"][number];
type Counts = Values["totals"];

export interface Question {
  range: Range;
  filters: Filter[];
  bots: Bots;
  isCompared: boolean;
}

export interface PanelProps extends Question {
  source: Source;
  title: string;
  dimensions: readonly Dimension[];
  hasMap?: boolean;
  /** Changes when there are new visits. */
  turn: string;
  onPick: (filter: Filter) => void;
}

/** The visits that the choice of humans and bots shows. */
export const shownCount = (counts: Pick<Counts, "humans" | "bots" | "total">, bots: Bots) => (bots === "only" ? counts.bots : bots === "include" ? counts.total : counts.humans);

/** A value, of another dimension perhaps, and what else than a filter becomes of a click. */
type Row = Item & { of?: Dimension; name?: string; act?: () => void };

interface BarsProps {
  dimension: Dimension;
  items: Row[];
  /** With those that are not shown. */
  all: Row[];
  /** Of all values, also of those that are not listed. */
  totals: Counts;
  bots: Bots;
  isCompared: boolean;
  onPick: PanelProps["onPick"];
}

const nameOf = (dimension: Dimension, item: Row) => item.name ?? formatValue(item.of ?? dimension, item.value);

function Bars({ dimension, items, all, totals, bots, isCompared, onPick }: BarsProps) {
  const counts = all.map((item) => shownCount(item, bots));
  const max = Math.max(1, ...counts);
  return (
    <table class="bars">
      <colgroup>
        <col />
        <col class="col-count" />
        <col class="col-share" />
      </colgroup>
      <thead class="visually-hidden">
        <tr>
          <th scope="col">{t(`dimension.${dimension}`)}</th>
          <th scope="col">{t("visits")}</th>
          <th scope="col">{isCompared ? t("change") : t("share")}</th>
        </tr>
      </thead>
      <tbody>
        {items.map((item) => {
          const of = item.of ?? dimension;
          const name = nameOf(dimension, item);
          return (
            <tr key={name}>
              <th scope="row">
                <span class="bar" style={{ width: `${(shownCount(item, bots) / max) * 100}%` }} />
                <button type="button" class="bar-name" title={item.act ? undefined : t("filter.by", { value: name })} onClick={(event) => (item.act ? item.act() : onPick({ dimension: of, value: item.value, isExcluded: event.shiftKey }))}>
                  <ValueIcon dimension={of} value={item.act ? name : item.value} />
                  <span class="bar-text">{name}</span>
                </button>
              </th>
              <td class="number strong">{formatCount(shownCount(item, bots))}</td>
              <td class="number muted">{isCompared ? item.compared && <Change count={shownCount(item, bots)} before={shownCount(item.compared, bots)} /> : formatPart(shownCount(item, bots), shownCount(totals, bots))}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** Of no dimension, nothing is asked. */
function useValues(source: Source, dimension: Dimension | undefined, question: Question, limit: number, turn: string) {
  const { range, filters, bots, isCompared } = question;
  const query = { from: range.from, to: range.to, tz: currentZone(), limit, bots: bots || undefined, ...filterQuery(filters) };
  const compare = isCompared ? range.compare : undefined;
  const asked = JSON.stringify([source.key, dimension, query]);
  const answer = useQuery(dimension === undefined ? null : `${asked} ${compare} ${turn}`, async (signal) => {
    const values = await source.values(dimension as Dimension, { ...query, compare }, signal);
    rememberValues(dimension as Dimension, values.items.map((item) => item.value));
    return { asked, values };
  });
  // What another question was answered with never stands under this one. To compare changes no figure.
  return { ...answer, data: answer.data?.asked === asked ? answer.data.values : undefined };
}

/** How many rows are drawn: more, as somebody comes to the last one. `end` stands behind it. */
function useRowsAsNeeded(of: unknown) {
  const [count, setCount] = useState(ROWS);
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => setCount(ROWS), [of]);
  useEffect(() => {
    if (!end.current) return;
    const watch = (entries: IntersectionObserverEntry[]) => entries.some((each) => each.isIntersecting) && setCount((now) => now + ROWS);
    const observer = new IntersectionObserver(watch, { root: end.current.closest("dialog"), rootMargin: "400px" });
    observer.observe(end.current);
    return () => observer.disconnect();
  });
  return { count, end };
}

/** All values of a dimension, to search and to save. */
function AllValues({ source, dimension, turn, onPick, onClose, onHosts, ...question }: Omit<PanelProps, "dimensions" | "title"> & { dimension: Dimension; onClose: () => void; onHosts: () => void }) {
  const { data, error, reload } = useValues(source, dimension, question, LONG, turn);
  const [text, setText] = useState("");
  const { count, end } = useRowsAsNeeded(text);
  const { range, bots, isCompared } = question;
  const title = t(`dimension.${dimension}`);
  const all = useRows({ source, turn, ...question }, dimension, data?.items, onHosts);
  const items = (all ?? []).filter((item) => nameOf(dimension, item).toLowerCase().includes(text.trim().toLowerCase()));
  const save = () => {
    const head = [title, t("visits"), t("unique"), t("bots"), ...(isCompared ? [t("before.visits")] : [])];
    const before = ({ compared }: Item) => (isCompared ? [compared ? shownCount(compared, bots) : ""] : []);
    saveCsv(formatCsv([head, ...items.map((item) => [nameOf(dimension, item), item.humans, item.unique_visitors, item.bots, ...before(item)])]), fileName(dimension, source.name, range));
  };
  return (
    <Dialog isSheet title={title} onClose={onClose}>
      <div class="button-row">
        <div class="search">
          <Icon name="search" />
          <input class="input" type="search" aria-label={t("search")} placeholder={t("search")} autofocus value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </div>
        <button type="button" class="button" disabled={!all} onClick={save}>
          <Icon name="download" /> CSV
        </button>
      </div>
      {error && <ErrorBox error={error} retry={reload} />}
      {!all && !error && <Skeleton lines={12} height={32} look="bars" />}
      {all && items.length === 0 && <p class="muted panel-empty">{t("links.nomatch")}</p>}
      {data && all && <Bars dimension={dimension} items={items.slice(0, count)} all={all} totals={data.totals} bots={bots} isCompared={isCompared} onPick={(filter) => (onClose(), onPick(filter))} />}
      {items.length > count && <div ref={end} />}
    </Dialog>
  );
}

/** The height of the tallest content so far: what stands below does not move when another tab is chosen. */
function useTallest(rows: number | undefined) {
  const content = useRef<HTMLDivElement>(null);
  const [height, setHeight] = useState(0);
  useLayoutEffect(() => {
    if (rows) setHeight((last) => Math.max(last, content.current?.offsetHeight ?? 0));
  }, [rows]);
  return { content, style: { minHeight: `${height}px` } };
}

const DIRECT: Filter = { dimension: "referrer_host", value: "", isExcluded: false };

const less = (all: Counts, some: Counts): Counts => ({ humans: all.humans - some.humans, bots: all.bots - some.bots, total: all.total - some.total, unique_visitors: Math.max(0, all.unique_visitors - some.unique_visitors) });

/** To the server, visits without a referrer and those of websites without a name have the same source. Their host tells them apart. */
function useRows(props: Pick<PanelProps, "source" | "turn"> & Question, dimension: Dimension, items: Item[] | undefined, showHosts: () => void): Row[] | undefined {
  const { source, turn, filters, bots } = props;
  const both = items?.find(({ value }) => value === "");
  const isMixed = dimension === "referrer_source" && both && !filters.some((each) => each.dimension.startsWith("referrer"));
  const { data: direct, error } = useValues(source, isMixed ? DIRECT.dimension : undefined, { ...props, filters: [...filters, DIRECT] }, 1, turn);
  if (!items || !isMixed || error) return items;
  if (!direct) return undefined;
  const own = direct.items[0] ?? { ...both, ...less(both, both) };
  const others: Row = { ...both, ...less(both, own), name: t("websites.other"), act: showHosts };
  if (both.compared) others.compared = own.compared ? { ...both.compared, ...less(both.compared as Counts, own.compared as Counts) } : both.compared;
  const rows: Row[] = [...items.filter((each) => each !== both), { ...own, of: DIRECT.dimension }, others];
  return rows.filter((each) => shownCount(each, bots) > 0).sort((a, b) => shownCount(b, bots) - shownCount(a, bots));
}

/** The values of some dimensions, one at a time, and the map of countries beside them. A click on a value filters the whole page by it, with Shift it leaves it out. */
export function Panel({ source, title, dimensions, turn, hasMap = false, onPick, ...question }: PanelProps) {
  const [dimension, setDimension] = useState<Dimension>(dimensions[0] as Dimension);
  const [isLong, setLong] = useState(false);
  const { range, filters, bots, isCompared } = question;
  const rows = hasMap ? BESIDE_MAP : SHORT;
  const countries = useValues(source, hasMap ? "country" : undefined, question, COUNTRIES, turn);
  const own = useValues(source, hasMap && dimension === "country" ? undefined : dimension, question, rows, turn);
  const { data, error, reload } = hasMap && dimension === "country" ? countries : own;
  const items = useRows({ source, turn, ...question }, dimension, data?.items.slice(0, rows), () => setDimension("referrer_host"));
  const { content, style } = useTallest(items?.length);
  return (
    <section class={hasMap ? "card panel panel-places" : "card panel"} aria-label={title}>
      <div class="panel-head">
        <h2 class={dimensions.length > 1 ? "visually-hidden" : "panel-title"}>{title}</h2>
        {dimensions.length > 1 && (
          <div class="tabs" role="group" aria-label={title}>
            {dimensions.map((each) => (
              <button type="button" key={each} aria-pressed={each === dimension} onClick={() => setDimension(each)}>
                {t(`dimension.${each}`)}
              </button>
            ))}
          </div>
        )}
        <button type="button" class="button button-quiet" aria-label={t("panel.all", { name: t(`dimension.${dimension}` as Key) })} onClick={() => setLong(true)}>
          {t("panel.more")}
        </button>
      </div>
      {hasMap && (
        <div class="panel-map">
          <WorldMap label={t("map.label")} visits={new Map((countries.data?.items ?? []).map((item) => [item.value, shownCount(item, bots)]))} onPick={(value) => onPick({ dimension: "country", value, isExcluded: false })} />
        </div>
      )}
      <div class="panel-body">
        <div ref={content} style={style}>
          {error && !error.isTemporary && <ErrorBox error={error} retry={reload} />}
          {!items && <Skeleton lines={rows} height={32} look="bars" isStill={error !== undefined} />}
          {!data && error?.isTemporary && <p class="muted panel-failed">{t("panel.failed")}</p>}
          {items?.length === 0 && <p class="muted panel-empty">{t(dimension.startsWith("utm_") ? "panel.campaigns" : "panel.empty")}</p>}
          {data && items && items.length > 0 && <Bars dimension={dimension} items={items} all={items} totals={data.totals} bots={bots} isCompared={isCompared} onPick={onPick} />}
        </div>
      </div>
      {isLong && <AllValues source={source} dimension={dimension} turn={turn} range={range} filters={filters} bots={bots} isCompared={isCompared} onPick={onPick} onClose={() => setLong(false)} onHosts={() => setDimension("referrer_host")} />}
    </section>
  );
}
