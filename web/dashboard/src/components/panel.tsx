import { useEffect, useRef, useState } from "preact/hooks";
import { useQuery } from "../api/use_query";
import { currentZone } from "../app/settings";
import { type Key, t } from "../i18n";
import { fileName, formatCsv, saveCsv } from "../lib/download";
import { type Dimension, type Filter, filterQuery, rememberValues } from "../lib/filters";
import { formatCount, formatShare, formatValue } from "../lib/format";
import { lazy } from "../lib/lazy";
import type { Range } from "../lib/range";
import type { Source, Values } from "../lib/sources";
import { Change } from "./change";
import { Dialog } from "./dialog";
import { ErrorBox, Skeleton } from "./feedback";
import { Icon } from "./icons";
import { ValueIcon } from "./value_icon";

const WorldMap = lazy(() => import("./world_map"), 6);
const SHORT = 8;
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
  /** Changes when there are new visits. */
  turn: string;
  onPick: (filter: Filter) => void;
}

/** The visits that the choice of humans and bots shows. */
export const shownCount = (counts: Pick<Counts, "humans" | "bots" | "total">, bots: Bots) => (bots === "only" ? counts.bots : bots === "include" ? counts.total : counts.humans);

const largest = (items: Item[], bots: Bots) => Math.max(1, ...items.map((item) => shownCount(item, bots)));

interface BarsProps {
  dimension: Dimension;
  items: Item[];
  /** Of the longest bar. */
  max: number;
  /** Of all values, also of those that are not listed. */
  totals: Counts;
  bots: Bots;
  isCompared: boolean;
  onPick: PanelProps["onPick"];
}

function Bars({ dimension, items, max, totals, bots, isCompared, onPick }: BarsProps) {
  const sum = Math.max(1, shownCount(totals, bots));
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
          const name = formatValue(dimension, item.value);
          return (
            <tr key={item.value}>
              <th scope="row">
                <span class="bar" style={{ width: `${(shownCount(item, bots) / max) * 100}%` }} />
                <button type="button" class="bar-name" title={t("filter.by", { value: name })} onClick={(event) => onPick({ dimension, value: item.value, isExcluded: event.shiftKey })}>
                  <ValueIcon dimension={dimension} value={item.value} />
                  <span class="bar-text">{name}</span>
                </button>
              </th>
              <td class="number strong">{formatCount(shownCount(item, bots))}</td>
              <td class="number muted">{isCompared ? item.compared && <Change count={shownCount(item, bots)} before={shownCount(item.compared, bots)} /> : formatShare(shownCount(item, bots) / sum)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function useValues(source: Source, dimension: Dimension, question: Question, limit: number, turn: string) {
  const { range, filters, bots, isCompared } = question;
  const query = { from: range.from, to: range.to, tz: currentZone(), limit, bots: bots || undefined, ...filterQuery(filters) };
  const compare = isCompared ? range.compare : undefined;
  const asked = JSON.stringify([source.key, dimension, query]);
  const answer = useQuery(`${asked} ${compare} ${turn}`, async (signal) => {
    const values = await source.values(dimension, { ...query, compare }, signal);
    rememberValues(dimension, values.items.map((item) => item.value));
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
function AllValues({ source, dimension, turn, onPick, onClose, ...question }: Omit<PanelProps, "dimensions" | "title"> & { dimension: Dimension; onClose: () => void }) {
  const { data, error, reload } = useValues(source, dimension, question, LONG, turn);
  const [text, setText] = useState("");
  const { count, end } = useRowsAsNeeded(text);
  const { range, bots, isCompared } = question;
  const title = t(`dimension.${dimension}`);
  const items = (data?.items ?? []).filter((item) => formatValue(dimension, item.value).toLowerCase().includes(text.trim().toLowerCase()));
  const save = () => {
    const head = [title, t("visits"), t("unique"), t("bots"), ...(isCompared ? [t("before.visits")] : [])];
    const before = ({ compared }: Item) => (isCompared ? [compared ? shownCount(compared, bots) : ""] : []);
    saveCsv(formatCsv([head, ...items.map((item) => [formatValue(dimension, item.value), item.humans, item.unique_visitors, item.bots, ...before(item)])]), fileName(dimension, source.name, range));
  };
  return (
    <Dialog isSheet title={title} onClose={onClose}>
      <div class="button-row">
        <div class="search">
          <Icon name="search" />
          <input class="input" type="search" aria-label={t("search")} placeholder={t("search")} autofocus value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </div>
        <button type="button" class="button" disabled={!data} onClick={save}>
          <Icon name="download" /> CSV
        </button>
      </div>
      {error && <ErrorBox error={error} retry={reload} />}
      {!data && !error && <Skeleton lines={12} height={28} />}
      {data && items.length === 0 && <p class="muted panel-empty">{t("links.nomatch")}</p>}
      {data && <Bars dimension={dimension} items={items.slice(0, count)} max={largest(data.items, bots)} totals={data.totals} bots={bots} isCompared={isCompared} onPick={(filter) => (onClose(), onPick(filter))} />}
      {items.length > count && <div ref={end} />}
    </Dialog>
  );
}

const MAP = "map";

/** The values of some dimensions, one at a time. A click on a value filters the whole page by it, with Shift it leaves it out. */
export function Panel({ source, title, dimensions, turn, onPick, ...question }: PanelProps) {
  const [tab, setTab] = useState<Dimension | typeof MAP>(dimensions[0] as Dimension);
  const [isLong, setLong] = useState(false);
  const dimension = tab === MAP ? "country" : tab;
  const { range, filters, bots, isCompared } = question;
  const { data, error, reload } = useValues(source, dimension, question, tab === MAP ? 250 : SHORT, turn);
  const tabs = [...dimensions.map((each) => [each, t(`dimension.${each}`)] as const), ...(dimensions.includes("country") ? [[MAP, t("map")] as const] : [])];
  const items = data?.items ?? [];
  return (
    <section class="card panel" aria-label={title}>
      <div class="panel-head">
        <h2 class={tabs.length > 1 ? "visually-hidden" : "panel-title"}>{title}</h2>
        {tabs.length > 1 && (
          <div class="tabs" role="group" aria-label={title}>
            {tabs.map(([each, name]) => (
              <button type="button" key={each} aria-pressed={each === tab} onClick={() => setTab(each)}>
                {name}
              </button>
            ))}
          </div>
        )}
        <button type="button" class="button button-quiet" aria-label={t("panel.all", { name: t(`dimension.${dimension}` as Key) })} onClick={() => setLong(true)}>
          {t("panel.more")}
        </button>
      </div>
      <div class="panel-body">
        {error && !error.isTemporary && <ErrorBox error={error} retry={reload} />}
        {!data && (!error || error.isTemporary) && <Skeleton lines={SHORT} height={24} />}
        {data && tab === MAP && <WorldMap visits={new Map(items.map((item) => [item.value, shownCount(item, bots)]))} onPick={(value) => onPick({ dimension: "country", value, isExcluded: false })} />}
        {data && tab !== MAP && items.length === 0 && <p class="muted panel-empty">{t(dimension.startsWith("utm_") ? "panel.campaigns" : "panel.empty")}</p>}
        {data && tab !== MAP && items.length > 0 && <Bars dimension={dimension} items={items} max={largest(items, bots)} totals={data.totals} bots={bots} isCompared={isCompared} onPick={onPick} />}
      </div>
      {isLong && <AllValues source={source} dimension={dimension} turn={turn} range={range} filters={filters} bots={bots} isCompared={isCompared} onPick={onPick} onClose={() => setLong(false)} />}
    </section>
  );
}

