import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Schemas } from "../api/client";
import { t } from "../i18n";
import { lineThrough } from "../lib/line";
import { formatChange, formatCompact, formatCount, formatTick } from "../lib/format";
import type { Interval } from "../lib/range";
import { formatStart, isFuture } from "../lib/starts";

type Point = Schemas["TimeSeries"]["points"][number];

/** What happened to the link at a time. */
export interface Mark {
  time: string;
  text: string;
}

export interface ChartProps {
  interval: Interval;
  points: readonly Point[];
  /** The end of the range. */
  to: string;
  /** Of the range before, aligned by number. */
  previous?: readonly Point[];
  name: string;
  value: (point: Point) => number;
  marks: readonly Mark[];
  /** The numbers of two points between which the mouse was dragged. */
  onZoom?: (first: number, last: number) => void;
}

const HEIGHT = 280;
const [RIGHT, TOP, BOTTOM] = [20, 16, 28];
/** At most, on average. */
const LETTER_WIDTH = 6.8;
const LABEL_GAP = 14;
const DRAG_MIN = 12;
/** So many points are seen one by one, and so few as bars. */
const [FEW, BARS] = [14, 3];
const BAR_WIDTH = 96;

/** How many points apart labels may stand. */
const STEPS: Record<Interval, readonly number[]> = { hour: [1, 2, 3, 4, 6, 12, 24], day: [1, 2, 3, 7, 14, 28], week: [1, 2, 4, 8, 13, 26], month: [1, 2, 3, 6, 12] };

const widthOf = (labels: readonly string[]) => Math.max(...labels.map((label) => label.length), 0) * LETTER_WIDTH;

/** The numbers of the points that have a label. width: that of a label, in shares of the whole. */
function ticksOf(interval: Interval, count: number, width: number): number[] {
  const fewest = count * width;
  const step = STEPS[interval].find((each) => each >= fewest) ?? Math.ceil(fewest);
  return Array.from({ length: Math.ceil(count / step) }, (_, at) => at * step);
}

/** Whole round numbers from 0 to at least max, about four of them. */
function scaleOf(max: number): number[] {
  const rough = Math.max(1, max / 4);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, ([1, 1.5, 2, 2.5, 5, 10].find((each) => each * power >= rough && Number.isInteger(each * power)) ?? 10) * power);
  return Array.from({ length: Math.max(1, Math.ceil(max / step)) + 1 }, (_, at) => at * step);
}

/** Whether the hour, day, week or month of a point has begun but not ended. */
function isRunning({ points, to }: ChartProps, at: number): boolean {
  const now = Date.now();
  return Date.parse(points[at]?.start ?? to) <= now && now < Date.parse(points[at + 1]?.start ?? to);
}

/** The point whose time a mark falls into. */
function placeOf({ points, to }: ChartProps, time: string): number {
  const at = Date.parse(time);
  if (at >= Date.parse(to)) return -1;
  return points.filter((point) => Date.parse(point.start) <= at).length - 1;
}

function useWidth() {
  const holder = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = holder.current;
    if (!element) return;
    setWidth(element.clientWidth);
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return { holder, width };
}

/** One count over time, with the period before. The pointer and the arrow keys move a cursor, and what it shows is read aloud. */
export default function Chart(props: ChartProps) {
  const { interval, points, previous, name, value, marks, onZoom } = props;
  const { holder, width } = useWidth();
  const [start, setStart] = useState<string | null>(null); // of the point under the cursor: its number changes with the data
  const [drag, setDrag] = useState<readonly [from: number, to: number]>();
  const gradient = useId();
  const at = points.findIndex((point) => point.start === start);

  const past = points.filter((point) => !isFuture(point.start));
  const shownBefore = (previous ?? []).slice(0, points.length);
  const scale = scaleOf(Math.max(0, ...past.map(value), ...shownBefore.map(value)));
  const top = scale[scale.length - 1] ?? 1;
  const labels = points.map((each) => formatTick[interval](each.start));
  const labelWidth = widthOf(labels);
  const edge = 16 + widthOf(scale.map(formatCompact));
  const inner = Math.max(1, width - edge - RIGHT);
  const areBars = points.length <= BARS;
  const x = (index: number) => edge + (areBars ? ((index + 0.5) * inner) / points.length : (index * inner) / (points.length - 1));
  const y = (count: number) => HEIGHT - BOTTOM - (count / top) * (HEIGHT - TOP - BOTTOM);
  const spots = past.map((point, index) => [x(index), y(value(point))] as const);
  const last = spots.length - 1;
  const isOpen = last >= 0 && isRunning(props, last);
  const ended = isOpen && last > 0 ? spots.slice(0, -1) : spots;
  const line = lineThrough(ended);
  const base = y(0);
  const barWidth = Math.min(BAR_WIDTH, inner / points.length / 2);
  const placed = marks.map((mark) => ({ ...mark, index: placeOf(props, mark.time) })).filter((mark) => mark.index >= 0);

  const indexAt = (clientX: number) => {
    const left = holder.current?.getBoundingClientRect().left ?? 0;
    const share = (clientX - left - edge) / inner;
    const index = areBars ? Math.floor(share * points.length) : Math.round(share * (points.length - 1));
    return Math.max(0, Math.min(points.length - 1, index));
  };
  const stand = (index: number) => setStart(points[index]?.start ?? null);
  const onKeyDown = (event: KeyboardEvent) => {
    const end = points.length - 1;
    const here = at >= 0 ? at : event.key === "ArrowLeft" ? end + 1 : -1;
    const to = { ArrowLeft: here - 1, ArrowRight: here + 1, Home: 0, End: end }[event.key];
    if (event.key === "Escape") setStart(null);
    if (to === undefined) return;
    event.preventDefault();
    stand(Math.max(0, Math.min(end, to)));
  };
  const endDrag = () => {
    if (drag && Math.abs(drag[1] - drag[0]) >= DRAG_MIN) {
      const [first, final] = [indexAt(Math.min(...drag)), indexAt(Math.max(...drag))];
      if (final > first) onZoom?.(first, final);
    }
    setDrag(undefined);
  };
  useEffect(() => {
    if (!drag) return;
    addEventListener("pointerup", endDrag);
    addEventListener("pointercancel", endDrag);
    return () => {
      removeEventListener("pointerup", endDrag);
      removeEventListener("pointercancel", endDrag);
    };
  });

  const point = points[at];
  const before = previous?.[at];
  const count = point && value(point);
  const heading = point && (isRunning(props, at) ? t("so.far", { time: formatStart(interval, point.start) }) : formatStart(interval, point.start));
  const ago = before && count !== undefined ? `${formatStart(interval, before.start)}: ${formatCount(value(before))}${value(before) > 0 ? ` (${formatChange(count / value(before) - 1)})` : ""}` : "";
  const happened = placed.filter((mark) => mark.index === at).map((mark) => mark.text);
  const left = holder.current?.getBoundingClientRect().left ?? 0;
  return (
    <div
      class="chart"
      ref={holder}
      tabIndex={0}
      role="group"
      aria-roledescription={t("chart")}
      aria-label={t("chart.label")}
      onKeyDown={onKeyDown}
      onBlur={() => setStart(null)}
      onPointerMove={(event) => {
        stand(indexAt(event.clientX));
        if (drag) setDrag([drag[0], event.clientX]);
      }}
      onPointerLeave={() => !drag && setStart(null)}
      onPointerDown={(event) => event.pointerType === "mouse" && event.button === 0 && onZoom && setDrag([event.clientX, event.clientX])}
    >
      <svg width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} aria-hidden="true">
        <defs>
          <linearGradient id={gradient} x1="0" y1="0" x2="0" y2="1">
            <stop class="chart-fill" offset="0" stop-opacity="0.28" />
            <stop class="chart-fill" offset="1" stop-opacity="0" />
          </linearGradient>
        </defs>
        {scale.map((each) => (
          <g key={each}>
            <path class="chart-grid" d={`M${edge} ${y(each)}H${width - RIGHT}`} />
            <text class="chart-label" x={edge - 8} y={y(each) + 4} text-anchor="end">
              {formatCompact(each)}
            </text>
          </g>
        ))}
        {width > 0 &&
          ticksOf(interval, points.length, (labelWidth + LABEL_GAP) / inner).map((index) => (
            <text class="chart-label" x={Math.max(labelWidth / 2 + 4, Math.min(x(index), width - labelWidth / 2 - 4))} y={HEIGHT - 8} text-anchor="middle" key={index}>
              {labels[index]}
            </text>
          ))}
        {shownBefore.length > 0 && <path class="chart-before" d={lineThrough(shownBefore.map((each, index) => [x(index), y(value(each))] as const))} />}
        {areBars && spots.map(([cx, cy], index) => <rect class="chart-bar" x={cx - barWidth / 2} y={cy} width={barWidth} height={base - cy} rx="4" key={index} />)}
        {!areBars && ended.length > 1 && <path fill={`url(#${gradient})`} d={`${line}L${ended[ended.length - 1]?.[0]} ${base}L${ended[0]?.[0]} ${base}Z`} />}
        {!areBars && ended.length > 1 && <path class="chart-line" d={line} />}
        {!areBars && isOpen && last > 0 && <path class="chart-line chart-running" d={lineThrough(spots.slice(-2))} />}
        {!areBars && spots.length <= FEW && spots.map(([cx, cy], index) => <circle class="chart-dot" cx={cx} cy={cy} r="4" key={index} />)}
        {placed.map((mark, index) => (
          <g class="chart-mark" key={index}>
            <path d={`M${x(mark.index)} ${base}v-8`} />
            <circle cx={x(mark.index)} cy={base - 11} r="3.5" />
          </g>
        ))}
        {drag && Math.abs(drag[1] - drag[0]) >= DRAG_MIN && <rect class="chart-drag" x={Math.min(...drag) - left} y={TOP} width={Math.abs(drag[1] - drag[0])} height={HEIGHT - TOP - BOTTOM} />}
        {point && <path class="chart-cursor-line" d={`M${x(at)} ${TOP}V${base}`} />}
        {spots[at] && <circle class="chart-dot" cx={spots[at][0]} cy={spots[at][1]} r="5" />}
      </svg>
      {point && (
        <div class={x(at) > width / 2 ? "chart-tip chart-tip-left" : "chart-tip"} style={{ left: `${x(at)}px`, top: `${Math.min(spots[at]?.[1] ?? TOP, HEIGHT - 110)}px` }} aria-hidden="true">
          <strong>{heading}</strong>
          {!isFuture(point.start) && (
            <span>
              {name}: {formatCount(count ?? 0)}
            </span>
          )}
          {ago && <span class="chart-tip-before">{ago}</span>}
          {happened.map((text) => (
            <span key={text}>{text}</span>
          ))}
        </div>
      )}
      <p class="visually-hidden" aria-live="polite">
        {point ? [`${heading}: ${name} ${isFuture(point.start) ? "–" : formatCount(count ?? 0)}`, ago, ...happened].filter(Boolean).join(", ") : t("chart.hint")}
      </p>
    </div>
  );
}
