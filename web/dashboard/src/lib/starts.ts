import { t } from "../i18n";
import { formatDay, formatHour, formatMonth, formatTime } from "./format";
import type { Interval } from "./range";

/** Whether the hour, day, week or month that begins then is yet to come: its counts are empty, not zero. */
export const isFuture = (start: string): boolean => Date.parse(start) > Date.now();

/** When a link ends, or ended. */
export const formatEnd = (time: string, format: (time: string) => string = formatTime): string => t(isFuture(time) ? "expires.at" : "expired.at", { time: format(time) });

/** The name of the hour, day, week or month that begins then. */
export function formatStart(interval: Interval, start: string): string {
  if (interval === "hour") return formatHour(start);
  return interval === "month" ? formatMonth(start) : formatDay(start);
}
