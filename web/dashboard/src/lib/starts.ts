import { formatDay, formatHour, formatMonth } from "./format";
import type { Interval } from "./range";

/** Whether the hour, day, week or month that begins then is yet to come: its counts are empty, not zero. */
export const isFuture = (start: string): boolean => Date.parse(start) > Date.now();

/** The name of the hour, day, week or month that begins then. */
export function formatStart(interval: Interval, start: string): string {
  if (interval === "hour") return formatHour(start);
  return interval === "month" ? formatMonth(start) : formatDay(start);
}
