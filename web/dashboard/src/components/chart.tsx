import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Schemas } from "../api/client";
import { currentZone } from "../app/settings";
import { t } from "../i18n";
import { formatCompact, formatCount } from "../lib/format";
import type { Interval } from "../lib/range";
import { formatStart, isFuture } from "../lib/starts";
import { type Bots, shownCount } from "./panel";

type Point = Schemas["TimeSeries"]["points"][number];

export interface ChartProps {
  interval: Interval;
  points: Point[];
  /** The end of the range. */
  to: string;
  /** Of the range before, aligned by number. */
  previous?: Point[];
  bots: Bots;
}

const HEIGHT = 260;

const colour = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Whether the hour, day, week or month of a point has begun but not ended. */
function isRunning({ points, to }: ChartProps, at: number): boolean {
  const now = Date.now();
  return Date.parse(points[at]?.start ?? to) <= now && now < Date.parse(points[at + 1]?.start ?? to);
}

/** A line needs two points to be seen. */
const hasFewPoints = ({ points }: ChartProps) => points.filter((point) => !isFuture(point.start)).length < 3;

function sentence(props: ChartProps, at: number): string {
  const { interval, points, previous, bots } = props;
  const point = points[at];
  if (!point) return "";
  const name = formatStart(interval, point.start);
  const parts = [`${isRunning(props, at) ? t("so.far", { time: name }) : name}: ${t("visits")} ${formatCount(shownCount(point, bots))}`];
  if (bots !== "only") parts.push(`${t("unique")} ${formatCount(point.unique_visitors)}`);
  if (bots === "include") parts.push(`${t("bots")} ${formatCount(point.bots)}`);
  const before = previous?.[at];
  if (before) parts.push(`${t("before")} ${formatCount(shownCount(before, bots))}`);
  return parts.join(", ");
}

function optionsFor(props: ChartProps, width: number): uPlot.Options {
  const axis = { stroke: colour("--text-muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
  const accent = colour("--accent");
  const series: uPlot.Series[] = [
    {},
    { stroke: accent, width: 2, fill: colour("--accent-soft"), points: { show: hasFewPoints(props) } },
  ];
  if (props.bots !== "only") series.push({ stroke: colour("--series-2"), width: 1.5, points: { show: false } });
  if (props.bots === "include") series.push({ stroke: colour("--series-3"), width: 1.5, points: { show: false } });
  if (props.previous) series.push({ stroke: colour("--text-muted"), width: 1.5, dash: [4, 4], points: { show: false } });
  return {
    width,
    height: HEIGHT,
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), currentZone()),
    legend: { show: false },
    padding: [null, 44, null, null], // half a label of the last tick
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 8 } },
    scales: { y: { range: (_, __, max) => [0, Math.max(4, max * 1.1)] } },
    axes: [
      { ...axis, grid: { show: false }, size: 32, splits: (chart) => ticks(props.interval, chart.data[0], chart.bbox.width / devicePixelRatio), values: (_, starts) => starts.map((start) => label(props.interval, start)) },
      { ...axis, size: 44, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 1e6, 1e7, 1e8], values: (_, ticks) => ticks.map(formatCompact) },
    ],
    series,
  };
}

const LABEL_WIDTH = 72;
/** How many points apart labels may stand. */
const STEPS: Record<Interval, readonly number[]> = { hour: [1, 2, 3, 4, 6, 12, 24], day: [1, 2, 3, 7, 14, 28], week: [1, 2, 4, 8, 13, 26], month: [1, 2, 3, 6, 12] };

/** Labels stand at the starts of points alone: uPlot would also place some between days, with the name of the day again. */
function ticks(interval: Interval, starts: ArrayLike<number>, width: number): number[] {
  const fewest = (starts.length * LABEL_WIDTH) / Math.max(width, 1);
  const step = STEPS[interval].find((each) => each >= fewest) ?? Math.ceil(fewest);
  return Array.from(starts).filter((_, at) => at % step === 0);
}

function label(interval: Interval, seconds: number): string {
  const text = formatStart(interval, new Date(seconds * 1000).toISOString());
  return interval === "hour" ? text.replace(/^\S+\s/, "") : text;
}

function dataOf({ points, previous, bots }: ChartProps): uPlot.AlignedData {
  const value = (point: Point, count: number) => (isFuture(point.start) ? null : count);
  const data: uPlot.AlignedData = [
    points.map((point) => Date.parse(point.start) / 1000),
    points.map((point) => value(point, shownCount(point, bots))),
  ];
  if (bots !== "only") data.push(points.map((point) => value(point, point.unique_visitors)));
  if (bots === "include") data.push(points.map((point) => value(point, point.bots)));
  if (previous) data.push(points.map((_, at) => (previous[at] ? shownCount(previous[at], bots) : null)));
  return data;
}

function useTheme(): number {
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const redraw = () => setTurn((count) => count + 1);
    const system = matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", redraw);
    addEventListener("waymark-theme", redraw);
    return () => {
      system.removeEventListener("change", redraw);
      removeEventListener("waymark-theme", redraw);
    };
  }, []);
  return turn;
}

/** On a point by its number, or away with -1. */
function placeCursor(chart: uPlot, index: number): void {
  const x = chart.data[0][index];
  chart.setCursor(x === undefined ? { left: -10, top: -10 } : { left: chart.valToPos(x, "x"), top: 0 });
}

/** A series over time. Arrow keys move the cursor, and what it shows is read aloud. */
export default function Chart(props: ChartProps) {
  const holder = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  // The start of the point that the cursor stands on: its position and its number change with the size and the data.
  const [cursor, setCursor] = useState<string | null>(null);
  const theme = useTheme();
  const data = useMemo(() => dataOf(props), [props.points, props.previous, props.bots]);
  const shape = `${props.interval} ${props.bots} ${props.previous !== undefined} ${theme} ${hasFewPoints(props)}`;
  const at = cursor === null ? -1 : props.points.findIndex((point) => point.start === cursor);
  const latest = useRef(at);
  latest.current = at;

  /** A change of the drawing leaves uPlot's cursor where it was on the screen. This puts it back on its point. */
  const redraw = (chart: uPlot, change: () => void) => {
    chart.batch(change);
    placeCursor(chart, latest.current);
  };

  useEffect(() => {
    const element = holder.current;
    if (!element) return;
    const ready = (chart: uPlot) => placeCursor(chart, latest.current);
    const chart = new uPlot({ ...optionsFor(props, element.clientWidth), hooks: { ready: [ready] } }, data, element);
    plot.current = chart;
    const observer = new ResizeObserver(() => redraw(chart, () => chart.setSize({ width: element.clientWidth, height: HEIGHT })));
    observer.observe(element);
    return () => {
      observer.disconnect();
      chart.destroy();
      plot.current = null;
    };
  }, [shape]);

  useEffect(() => {
    if (plot.current && plot.current.data !== data) redraw(plot.current, () => plot.current?.setData(data));
  }, [data]);

  const stand = (index: number | null | undefined) => setCursor(props.points[index ?? -1]?.start ?? null);
  const onKeyDown = (event: KeyboardEvent) => {
    const last = props.points.length - 1;
    const here = at >= 0 ? at : event.key === "ArrowLeft" ? last + 1 : -1;
    const to = { ArrowLeft: here - 1, ArrowRight: here + 1, Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const index = Math.max(0, Math.min(last, to));
    stand(index);
    if (plot.current) placeCursor(plot.current, index);
  };

  return (
    <div class="chart">
      <div
        class="chart-plot"
        ref={holder}
        tabIndex={0}
        role="group"
        aria-roledescription={t("chart")}
        aria-label={t("chart.label")}
        onKeyDown={onKeyDown}
        // uPlot has moved its own cursor by then.
        onMouseMove={() => stand(plot.current?.cursor.idx)}
        onMouseLeave={() => stand(null)}
      />
      <p class="chart-cursor" aria-live="polite">
        {sentence(props, at) || t("chart.hint")}
      </p>
    </div>
  );
}
