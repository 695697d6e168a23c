import { currentZone } from "../app/settings";
import { intl } from "./intl";

/** 2026-11-20T08:00, as <input type=datetime-local> has it, in the zone. */
export function toLocalInput(time: string | number, zone = currentZone()): string {
  const format = intl("DateTimeFormat", "en", { timeZone: zone, hourCycle: "h23", year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit" });
  // Not as a text: browsers write the dates of a locale in another way from time to time.
  const part = Object.fromEntries(format.formatToParts(new Date(time)).map(({ type, value }) => [type, value]));
  return `${part.year?.padStart(4, "0")}-${part.month}-${part.day}T${part.hour}:${part.minute}`;
}

/** The moment at which clocks in the zone show 2026-11-20T08:00 or, with seconds, 2026-11-20T23:59:59. */
export function fromLocalInput(text: string, zone = currentZone()): string {
  const wanted = Date.parse(`${text}Z`);
  const offset = (time: number) => Date.parse(`${toLocalInput(time, zone)}Z`) - Math.floor(time / 60_000) * 60_000;
  // The offset at the moment itself may be another one than at the first guess.
  const guess = wanted - offset(wanted);
  return new Date(wanted - offset(guess)).toISOString();
}
