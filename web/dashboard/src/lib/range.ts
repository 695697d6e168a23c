import { currentZone } from "../app/settings";

export const PRESETS = ["today", "7d", "30d", "90d", "month", "year", "custom"] as const;
export type Preset = (typeof PRESETS)[number];
export type Interval = "hour" | "day" | "week" | "month";

const DAY_MS = 86_400_000;

export interface Range {
  preset: Preset;
  /** Dates in the zone; "to" is exclusive. */
  from: string;
  to: string;
  interval: Interval;
  /** The range of the same length before. It ends as early as this one is now. */
  previousFrom: string;
  previousTo: string;
}

/** 2026-11-20 in the zone. */
export function dateIn(zone: string, time = Date.now()): string {
  return new Intl.DateTimeFormat("en-CA", { timeZone: zone, year: "numeric", month: "2-digit", day: "2-digit" }).format(time);
}

export function addDays(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);
}

const daysBetween = (from: string, to: string) => Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS);

function isDate(text: string | null): text is string {
  return text !== null && /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));
}

function firstDay(preset: Preset, today: string): string {
  const days = { today: 0, "7d": -6, "30d": -29, "90d": -89 } as Partial<Record<Preset, number>>;
  if (preset === "month") return `${today.slice(0, 7)}-01`;
  if (preset === "year") return `${today.slice(0, 4)}-01-01`;
  return addDays(today, days[preset] ?? -29);
}

function intervalOf(days: number): Interval {
  if (days <= 2) return "hour";
  if (days <= 92) return "day";
  return days <= 370 ? "week" : "month";
}

/** What the address bar says, or the last 30 days. In custom ranges "to" is the last day that is included. */
export function rangeOf(params: URLSearchParams, now = Date.now()): Range {
  const today = dateIn(currentZone(), now);
  const [start, end] = [params.get("from"), params.get("to")];
  const named = PRESETS.find((each) => each === params.get("range"));
  const isCustom = isDate(start) && isDate(end) && start <= end;
  const preset = isCustom ? "custom" : named === undefined || named === "custom" ? "30d" : named;
  const from = isCustom ? start : firstDay(preset, today);
  const to = addDays(isCustom ? end : today, 1);
  const days = daysBetween(from, to);
  const isRunning = from <= today && today < to;
  // To the minute, so that the address of the request is the same for a while.
  const sameMoment = new Date(Math.floor(now / 60_000) * 60_000 - days * DAY_MS).toISOString();
  return { preset, from, to, interval: intervalOf(days), previousFrom: addDays(from, -days), previousTo: isRunning ? sameMoment : from };
}
