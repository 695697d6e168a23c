import world from "virtual:world";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../i18n";
import { formatCount, formatPart, formatValue } from "../lib/format";
import { bounded, showing, stepOf, stepsOf, type View, WHOLE, zoomed } from "../lib/world_view";
import { Icon } from "./icons";
import { ValueIcon } from "./value_icon";

const ZOOM = 1.6;
const DRAG_MIN = 4;

type Place = readonly [x: number, y: number];

const middle = (places: readonly Place[]): Place => [0, 1].map((axis) => places.reduce((sum, place) => sum + (place[axis] as number), 0) / places.length) as unknown as Place;
const spread = ([a, b]: readonly Place[]) => (a && b ? Math.hypot(a[0] - b[0], a[1] - b[1]) : 1);

/** What of the world is shown: two fingers or the wheel zoom, a pointer moves what is larger than the window, and a click after that is none. */
function useView() {
  const [view, setView] = useState<View>(WHOLE);
  const [isMoving, setMoving] = useState(false);
  const holder = useRef<HTMLDivElement>(null);
  const pointers = useRef(new Map<number, Place>()).current;
  const isZoomed = useRef(false);
  isZoomed.current = view.scale > 1;
  const drag = useRef({ from: [0, 0] as Place, isOn: false }).current;

  /** In shares of the window. */
  const placeOf = ([x, y]: Place): Place => {
    const box = holder.current?.getBoundingClientRect();
    return box ? [(x - box.left) / box.width, (y - box.top) / box.height] : [0, 0];
  };
  const zoom = (factor: number, at: Place = [0.5, 0.5]) => setView((last) => zoomed(last, factor, at, world));
  const show = (at: Place | undefined) => at && setView((last) => showing(last, at, world));

  useEffect(() => {
    const element = holder.current;
    // The page scrolls past the map, unless somebody works in it.
    const onWheel = (event: WheelEvent) => {
      const isMeant = event.ctrlKey || event.metaKey || (document.activeElement === element && (event.deltaY < 0 || isZoomed.current));
      if (!isMeant) return;
      event.preventDefault();
      zoom(1.002 ** (-event.deltaY * (event.deltaMode === 0 ? 1 : 20)), placeOf([event.clientX, event.clientY]));
    };
    element?.addEventListener("wheel", onWheel, { passive: false });
    return () => element?.removeEventListener("wheel", onWheel);
  }, []);

  const onPointerDown = (event: PointerEvent) => {
    pointers.set(event.pointerId, [event.clientX, event.clientY]);
    if (pointers.size === 1) Object.assign(drag, { from: [event.clientX, event.clientY], isOn: false });
  };
  const onPointerMove = (event: PointerEvent) => {
    if (!pointers.has(event.pointerId) || !holder.current) return;
    const before = [...pointers.values()];
    const here: Place = [event.clientX, event.clientY];
    pointers.set(event.pointerId, here);
    const after = [...pointers.values()];
    if (after.length === 1 && (view.scale === 1 || (!drag.isOn && spread([drag.from, here]) < DRAG_MIN))) return;
    if (!drag.isOn) holder.current.setPointerCapture(event.pointerId);
    drag.isOn = true;
    setMoving(true);
    const { width, height } = holder.current.getBoundingClientRect();
    const [from, to] = [middle(before), middle(after)];
    setView((last) => {
      const { x, y, scale } = zoomed(last, spread(after) / spread(before), placeOf(from), world);
      return bounded({ x: x - ((to[0] - from[0]) / width) * (world.width / scale), y: y - ((to[1] - from[1]) / height) * (world.height / scale), scale }, world);
    });
  };
  const onPointerEnd = (event: PointerEvent) => {
    pointers.delete(event.pointerId);
    if (pointers.size === 0) setMoving(false);
  };
  const onClickCapture = (event: MouseEvent) => drag.isOn && event.stopPropagation();
  return { view, isMoving, zoom, show, reset: () => setView(WHOLE), holder, handlers: { onPointerDown, onPointerMove, onPointerUp: onPointerEnd, onPointerCancel: onPointerEnd, onClickCapture } };
}

interface Props {
  label: string;
  /** By country. */
  visits: ReadonlyMap<string, number>;
  onPick?: (code: string) => void;
  /** What stands above the countries, on a map that is so many times larger. */
  children?: (scale: number) => ComponentChildren;
}

/** The countries of the world, darker with more visits. The pointer and the arrow keys name one, and Enter or a click picks it. */
export default function WorldMap({ label, visits, onPick, children }: Props) {
  const [at, setAt] = useState<string>();
  const { view, isMoving, zoom, show, reset, holder, handlers } = useView();
  const found = [...visits].filter(([code, count]) => count > 0 && world.centers[code]).sort(([, a], [, b]) => b - a);
  const max = Math.max(1, ...found.map(([, count]) => count));
  const sum = Math.max(1, [...visits.values()].reduce((all, own) => all + own, 0));
  const count = at === undefined ? 0 : (visits.get(at) ?? 0);
  const center = (at && world.centers[at]) || ([0, 0] as const);
  const [left, top] = [((center[0] - view.x) * view.scale) / world.width, ((center[1] - view.y) * view.scale) / world.height];
  const look = (code: string) => {
    const own = visits.get(code) ?? 0;
    return { "data-country": code, class: code === at ? "country is-at" : "country", "data-step": own > 0 ? stepOf(own, max) : undefined, onClick: own > 0 && onPick ? () => onPick(code) : undefined };
  };
  const stand = (code: string | undefined) => {
    setAt(code);
    show(code ? world.centers[code] : undefined);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const here = found.findIndex(([code]) => code === at);
    const to = { ArrowRight: here + 1, ArrowDown: here + 1, ArrowLeft: here - 1, ArrowUp: here - 1, Home: 0, End: found.length - 1 }[event.key];
    const factor = { "+": ZOOM, "=": ZOOM, "-": 1 / ZOOM }[event.key];
    if (event.ctrlKey || event.metaKey) return;
    if (event.key === "Escape") setAt(undefined);
    else if (event.key === "0") reset();
    else if (event.key === "Enter" && count > 0 && at) onPick?.(at);
    else if (factor !== undefined) zoom(factor, at ? [left, top] : undefined);
    else if (to !== undefined) stand(found[Math.max(0, Math.min(found.length - 1, to))]?.[0]);
    else return;
    event.preventDefault();
  };
  const name = at && formatValue("country", at);
  const isWhole = view.scale === 1;
  return (
    <div class="map">
      <div class={isWhole ? "map-view" : "map-view is-zoomed"} ref={holder} tabIndex={0} role="group" aria-roledescription={t("map")} aria-label={label} onKeyDown={onKeyDown} onBlur={() => setAt(undefined)} {...handlers}>
        <svg class="world" viewBox={`0 0 ${world.width} ${world.height}`} aria-hidden="true" onPointerOver={(event) => setAt((event.target as SVGElement).dataset.country)} onPointerLeave={() => setAt(undefined)}>
          <g class={isMoving ? "world-part" : "world-part is-still"} style={{ transform: `scale(${view.scale}) translate(${-view.x}px, ${-view.y}px)` }}>
            {world.shapes.map(([code, path]) => (
              <path d={path} key={code} {...look(code)} />
            ))}
            {world.dots.map(([code, cx, cy]) => visits.get(code) && <circle cx={cx} cy={cy} r={8 / view.scale} key={code} {...look(code)} />)}
            {children?.(view.scale)}
          </g>
        </svg>
        {at && (
          <div class={left > 0.5 ? "chart-tip chart-tip-left" : "chart-tip"} style={{ left: `${100 * left}%`, top: `${100 * top}%` }} aria-hidden="true">
            <strong>
              <ValueIcon dimension="country" value={at} /> {name}
            </strong>
            <span>{count > 0 ? `${t("visits")}: ${formatCount(count)} · ${formatPart(count, sum)}` : t("panel.empty")}</span>
          </div>
        )}
        <p class="visually-hidden" aria-live="polite">
          {name ? `${name}: ${formatCount(count)}` : t("map.hint")}
        </p>
      </div>
      <div class="map-foot">
        <ul class="map-scale hint" aria-label={t("visits")}>
          {found.length > 0 &&
            stepsOf(max).map(([step, low, high]) => (
              <li key={step}>
                <i data-step={step} /> {low === high ? formatCount(low) : `${formatCount(low)}–${formatCount(high)}`}
              </li>
            ))}
        </ul>
        <div class="map-zoom" role="group" aria-label={t("map.zoom")}>
          <button type="button" class="icon-button" aria-label={t("map.whole")} title={`${t("map.whole")} (0)`} disabled={isWhole} onClick={reset}>
            <Icon name="whole" />
          </button>
          <button type="button" class="icon-button" aria-label={t("map.out")} title={`${t("map.out")} (−)`} disabled={isWhole} onClick={() => zoom(1 / ZOOM)}>
            <Icon name="minus" />
          </button>
          <button type="button" class="icon-button" aria-label={t("map.in")} title={`${t("map.in")} (+)`} onClick={() => zoom(ZOOM)}>
            <Icon name="plus" />
          </button>
        </div>
      </div>
    </div>
  );
}
