import { formatDay, formatHour, formatMonth } from "./format";
import type { Interval } from "./range";

/** The name of the hour, day, week or month that begins then. */
export function formatStart(interval: Interval, start: string): string {
  if (interval === "hour") return formatHour(start);
  return interval === "month" ? formatMonth(start) : formatDay(start);
}
