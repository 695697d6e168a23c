import type { Params } from "../app/router";
import { currentZone } from "../app/settings";
import { toLocalInput } from "./zone";

export const PRESETS = ["today", "yesterday", "week", "7d", "30d", "90d", "month", "year", "custom"] as const;
export type Preset = (typeof PRESETS)[number];
export type Interval = "hour" | "day" | "week" | "month";

const DAY_MS = 86_400_000;

export interface Range {
  preset: Preset;
  /** Dates in the zone; "to" is exclusive. */
  from: string;
  to: string;
  interval: Interval;
  /** The earlier period that it is compared with: months with months, years with years, others with as many days before. */
  compare: "previous" | "month" | "year";
}

/** 2026-11-20 in the zone. */
export function dateIn(zone: string, time = Date.now()): string {
  return toLocalInput(time, zone).slice(0, 10);
}

export function addDays(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);
}

/** The first day of the month that is some months later. */
function monthStart(date: string, months: number): string {
  const [year = 0, month = 1] = date.split("-").map(Number);
  return new Date(Date.UTC(year, month - 1 + months, 1)).toISOString().slice(0, 10);
}

const daysBetween = (from: string, to: string) => Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS);

function isDate(text: string | null): text is string {
  return text !== null && /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));
}

const thisMonday = (today: string) => addDays(today, -((new Date(`${today}T00:00:00Z`).getUTCDay() + 6) % 7));

function firstDay(preset: Preset, today: string): string {
  const days = { today: 0, yesterday: -1, "7d": -6, "30d": -29, "90d": -89 } as Partial<Record<Preset, number>>;
  if (preset === "week") return addDays(thisMonday(today), -7);
  if (preset === "month") return `${today.slice(0, 7)}-01`;
  if (preset === "year") return `${today.slice(0, 4)}-01-01`;
  return addDays(today, days[preset] ?? -29);
}

/** The first day after the range. */
const endDay = (preset: Preset, today: string) => (preset === "yesterday" ? today : preset === "week" ? thisMonday(today) : addDays(today, 1));

function intervalOf(days: number): Interval {
  if (days <= 2) return "hour";
  if (days <= 92) return "day";
  return days <= 370 ? "week" : "month";
}

function compareOf(preset: Preset, from: string, to: string): Range["compare"] {
  if (preset === "year" || (from.endsWith("-01-01") && to === monthStart(from, 12))) return "year";
  return preset === "month" || (from.endsWith("-01") && to === monthStart(from, 1)) ? "month" : "previous";
}

/** What the address bar says, or the last 30 days. In custom ranges "to" is the last day that is included. */
export function rangeOf(params: URLSearchParams, now = Date.now()): Range {
  const today = dateIn(currentZone(), now);
  const [start, end] = [params.get("from"), params.get("to")];
  const named = PRESETS.find((each) => each === params.get("range"));
  const isCustom = isDate(start) && isDate(end) && start <= end;
  const preset = isCustom ? "custom" : named === undefined || named === "custom" ? "30d" : named;
  const from = isCustom ? start : firstDay(preset, today);
  const to = isCustom ? addDays(end, 1) : endDay(preset, today);
  return { preset, from, to, interval: intervalOf(daysBetween(from, to)), compare: compareOf(preset, from, to) };
}

/** Parameters of the range before (-1) or after (1) this one: whole months and years, or as many days. undefined: it has not begun. */
export function stepRange(range: Range, step: -1 | 1, now = Date.now()): Params | undefined {
  const today = dateIn(currentZone(), now);
  const months = { previous: 0, month: 1, year: 12 }[range.compare];
  const days = daysBetween(range.from, range.to);
  const from = months > 0 ? monthStart(range.from, months * step) : addDays(range.from, days * step);
  const to = months > 0 ? monthStart(range.from, months * (step + 1)) : addDays(range.to, days * step);
  if (from > today) return undefined;
  const isNow = (preset: Preset) => {
    if (months > 0) return preset === range.compare && firstDay(preset, today) === from;
    return !["month", "year", "custom"].includes(preset) && firstDay(preset, today) === from && endDay(preset, today) === to;
  };
  const preset = PRESETS.find(isNow);
  return preset ? { range: preset, from: "", to: "" } : { range: "", from, to: addDays(to, -1) };
}
