import { api, type Schemas, unwrap, type User } from "../api/client";
import { languages, setLanguage } from "../i18n";
import { readLocal, writeLocal } from "../lib/local";
import { createStore, useStore } from "../lib/store";

export type Theme = Schemas["Theme"];

const theme = createStore<Theme>(readLocal<Theme>("theme", "system"));
const keptZone = readLocal("zone", "");
const zone = createStore<string>(isKnownZone(keptZone) ? keptZone : "");

export const useTheme = (): Theme => useStore(theme);
export const useZoneSetting = (): string => useStore(zone);

/** The zone of all dates that are shown and of days in statistics. */
export const currentZone = (): string => zone.get() || browserZone();

/** What the system's clock was when its zone was asked for: the answer takes long, and each date needs it. */
const clock = { zone: "", offset: 0 };

/** Of the system's clock. Chromium calls a zone that it does not know Etc/Unknown, and Intl throws for that. */
export function browserZone(): string {
  const offset = new Date().getTimezoneOffset();
  if (clock.zone && clock.offset === offset) return clock.zone;
  const name = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return Object.assign(clock, { zone: isKnownZone(name) ? currentName(name) : offsetZone(), offset }).zone;
}

/** The zone without summer time whose clocks agree with the system's now: Etc/GMT-3 is three hours ahead of UTC. */
function offsetZone(): string {
  const hours = -new Date().getTimezoneOffset() / 60;
  const name = `Etc/GMT${hours > 0 ? "-" : "+"}${Math.abs(hours)}`;
  return hours !== 0 && isKnownZone(name) ? name : "UTC";
}

/** For a zone that the server does not know: until the next login, days are those of the system's clock. */
export const leaveZone = (): void => zone.set(offsetZone());

/** Cities by the names of their zones that the IANA database has replaced. Chromium still uses the old ones. */
const CITIES: Record<string, string> = {
  Asmera: "Asmara", Buenos_Aires: "Argentina/Buenos_Aires", Calcutta: "Kolkata", Catamarca: "Argentina/Catamarca", Coral_Harbour: "Atikokan", Cordoba: "Argentina/Cordoba",
  Enderbury: "Kanton", Faeroe: "Faroe", Godthab: "Nuuk", Indianapolis: "Indiana/Indianapolis", Jujuy: "Argentina/Jujuy", Katmandu: "Kathmandu", Kiev: "Kyiv",
  Louisville: "Kentucky/Louisville", Mendoza: "Argentina/Mendoza", Ponape: "Pohnpei", Rangoon: "Yangon", Saigon: "Ho_Chi_Minh", Truk: "Chuuk",
};

/** The name of a zone as it is now, if this browser knows that name. */
export function currentName(name: string): string {
  const [area = "", city = "", more] = name.split("/");
  const next = CITIES[city] && more === undefined ? `${area}/${CITIES[city]}` : name;
  return next !== name && isKnownZone(next) ? next : name;
}

/** A zone that this browser does not know would break every date. An offset such as +03:00 is no name. */
function isKnownZone(name: string | undefined): name is string {
  try {
    return /^[a-z]/i.test(name ?? "") && Boolean(Intl.DateTimeFormat("en", { timeZone: name }));
  } catch {
    return false;
  }
}

export function showZone(next: string): void {
  const known = next === "" || isKnownZone(next) ? currentName(next) : "";
  writeLocal("zone", known);
  zone.set(known);
}

export function showTheme(next: Theme): void {
  writeLocal("theme", next);
  theme.set(next);
  applyTheme();
}

export function applyTheme(): void {
  const chosen = theme.get();
  if (chosen === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
  dispatchEvent(new Event("waymark-theme"));
}

/** The settings that the server keeps replace those of this browser. */
export function adoptSettings(user: User): void {
  showZone(user.tz ?? "");
  if (user.theme !== theme.get()) showTheme(user.theme);
  const language = user.locale?.slice(0, 2);
  if (language && language in languages) void setLanguage(language);
}

/** Keeps a setting on the server. It is already shown; if this fails, it lasts until the next login. */
export async function keepSetting(change: Schemas["AccountChange"]): Promise<void> {
  await unwrap(api.PATCH("/api/auth/me", { body: change })).catch(() => undefined);
}
