import { api, type Schemas, unwrap, type User } from "../api/client";
import { languages, setLanguage } from "../i18n";
import { readLocal, writeLocal } from "../lib/local";
import { createStore, useStore } from "../lib/store";

export type Theme = Schemas["Theme"];

const theme = createStore<Theme>(readLocal<Theme>("theme", "system"));
const zone = createStore<string>(readLocal("zone", ""));

export const useTheme = (): Theme => useStore(theme);
export const useZoneSetting = (): string => useStore(zone);

/** The zone of all dates that are shown and of days in statistics. */
export const currentZone = (): string => zone.get() || browserZone();

export const browserZone = (): string => currentName(Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC");

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

/** A zone that this browser does not know would break every date. */
function isKnownZone(name: string): boolean {
  try {
    return Boolean(Intl.DateTimeFormat("en", { timeZone: name }));
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
