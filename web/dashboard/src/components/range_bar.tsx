import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { useKeys } from "../app/keyboard";
import { currentPlace, setParams, usePlace } from "../app/router";
import { t } from "../i18n";
import { formatSpan } from "../lib/format";
import { addDays, PRESETS, type Preset, type Range, rangeOf, stepRange } from "../lib/range";
import { useOutside } from "../lib/use_outside";
import { Icon } from "./icons";

const KEYS: Record<string, Preset> = { d: "today", w: "7d", t: "30d", m: "month", y: "year" };

const choose = (preset: Preset) => setParams({ range: preset, from: "", to: "" });

/** From what the address says now: keys may be pressed faster than a page is drawn. */
function step(direction: -1 | 1): void {
  const next = stepRange(rangeOf(currentPlace().params), direction);
  if (next) setParams(next);
}

const toggleCompare = () => setParams({ compare: currentPlace().params.get("compare") === "1" ? "" : "1" });

/** What the range is called, or its dates. */
const nameOf = (range: Range) => (range.preset === "custom" ? formatSpan(range.from, range.to, "UTC") : t(`range.${range.preset}.long`));

/** To the ranges before and after this one. look: a class of the buttons. */
function Steps({ range, look = "", children }: { range: Range; look?: string; children: ComponentChildren }) {
  return (
    <div class="range-steps">
      <button type="button" class={`icon-button ${look}`} aria-label={t("range.earlier")} title={`${t("range.earlier")} (P)`} onClick={() => step(-1)}>
        <Icon name="left" />
      </button>
      {children}
      <button type="button" class={`icon-button ${look}`} aria-label={t("range.later")} title={`${t("range.later")} (N)`} disabled={!stepRange(range, 1)} onClick={() => step(1)}>
        <Icon name="right" />
      </button>
    </div>
  );
}

/** A button with the range, and below it all ranges and the dates of one's own. */
function RangeMenu({ range }: { range: Range }) {
  const [isOpen, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useOutside(root, isOpen, () => setOpen(false));
  useLayoutEffect(() => {
    if (!isOpen) return;
    root.current?.querySelector<HTMLElement>("[aria-pressed=true]")?.focus();
  }, [isOpen]);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  const last = addDays(range.to, -1);
  const dates = (change: { from?: string; to?: string }) => setParams({ range: "", from: range.from, to: last, ...change });
  return (
    <div class="menu" ref={root} onKeyDown={(event) => event.key === "Escape" && isOpen && (event.stopPropagation(), close())}>
      <button ref={button} type="button" class="button" aria-haspopup="dialog" aria-expanded={isOpen} aria-label={`${t("range")}: ${nameOf(range)}`} onClick={() => setOpen(!isOpen)}>
        <Icon name="calendar" /> <span class="bar-text">{nameOf(range)}</span> <Icon name="down" />
      </button>
      {isOpen && (
        <div class="menu-list range-menu" role="dialog" aria-label={t("range")}>
          <div class="narrow-only">
            <Steps range={range}>
              <span class="strong">{formatSpan(range.from, range.to, "UTC")}</span>
            </Steps>
          </div>
          {PRESETS.filter((preset) => preset !== "custom").map((preset) => (
            <button
              type="button"
              class="menu-item"
              key={preset}
              aria-pressed={range.preset === preset}
              onClick={() => {
                close();
                choose(preset);
              }}
            >
              {t(`range.${preset}.long`)}
              {range.preset === preset && <Icon name="check" />}
            </button>
          ))}
          <div class="range-dates">
            <input type="date" class="input" aria-label={t("range.from")} value={range.from} max={last} onChange={(event) => event.currentTarget.value && dates({ from: event.currentTarget.value })} />
            <span aria-hidden="true">–</span>
            <input type="date" class="input" aria-label={t("range.to")} value={last} min={range.from} onChange={(event) => event.currentTarget.value && dates({ to: event.currentTarget.value })} />
          </div>
        </div>
      )}
    </div>
  );
}

/** Whether the period before stands beside the figures. */
export function CompareButton() {
  const isCompared = usePlace().params.get("compare") === "1";
  return (
    <button type="button" class={isCompared ? "chip chip-on" : "chip chip-add"} aria-pressed={isCompared} title={`${t("keys.compare")} (X)`} onClick={toggleCompare}>
      {t("compare")}
    </button>
  );
}

/** The range of all figures of a page. It stands in the address. */
export function RangeBar({ range }: { range: Range }) {
  const keys = Object.entries(KEYS).map(([key, preset]) => [key, () => choose(preset)] as const);
  useKeys({ ...Object.fromEntries(keys), x: toggleCompare, p: () => step(-1), n: () => step(1) });
  return (
    <Steps range={range} look="wide-only">
      <RangeMenu range={range} />
    </Steps>
  );
}
