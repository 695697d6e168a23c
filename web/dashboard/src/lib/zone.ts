import { currentZone } from "../app/settings";

/** 2026-11-20T08:00, as <input type=datetime-local> has it, in the zone. */
export function toLocalInput(time: string | number, zone = currentZone()): string {
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone: zone, dateStyle: "short", timeStyle: "short" });
  return format.format(new Date(time)).replace(" ", "T").padStart(16, "0"); // years have four digits
}

/** The moment at which clocks in the zone show 2026-11-20T08:00 or, with seconds, 2026-11-20T23:59:59. */
export function fromLocalInput(text: string, zone = currentZone()): string {
  const wanted = Date.parse(`${text}Z`);
  const offset = (time: number) => Date.parse(`${toLocalInput(time, zone)}Z`) - Math.floor(time / 60_000) * 60_000;
  // The offset at the moment itself may be another one than at the first guess.
  const guess = wanted - offset(wanted);
  return new Date(wanted - offset(guess)).toISOString();
}
