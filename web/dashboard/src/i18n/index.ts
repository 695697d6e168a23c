import type { Schemas } from "../api/client";
import { intl } from "../lib/intl";
import { readLocal, writeLocal } from "../lib/local";
import { createStore, useStore } from "../lib/store";
import { en } from "./en";
import type { enMore } from "./en_more";

export type Key = keyof typeof en | keyof typeof enMore;
/** What is wrong with a field, as the server names it. English has a text only where the server's detail is not clear enough. */
type ErrorKey = `error.${Schemas["FieldErrorCode"]}`;
type Stem<K> = K extends `${infer S}_other` ? S : never;
/** The forms of a number that English does not have. Each language has those of Intl.PluralRules, which the unit tests know; the text of _other stands in for one that is missing. */
type Forms<K> = { [F in `${Stem<K>}_${"zero" | "two" | "few" | "many"}`]?: string };
/** A catalogue has every key of English. Keys that end in _one and _other are forms of a number. */
export type Catalogue = Record<keyof typeof en | ErrorKey, string> & Forms<keyof typeof en>;
export type MoreTexts = Record<keyof typeof enMore, string> & Forms<keyof typeof enMore>;

interface Language {
  name: string;
  first: () => Promise<{ default: Record<keyof typeof en, string> & Partial<Catalogue> }>;
  /** Of the pages that are not in the first view. */
  more: () => Promise<{ default: MoreTexts }>;
}

/** A further language is two files of this folder and a line here. build/texts.mjs says which texts belong into which. */
export const languages: Record<string, Language> = {
  en: { name: "English", first: async () => ({ default: en }), more: () => import("./en_more") },
  de: { name: "Deutsch", first: () => import("./de"), more: () => import("./de_more") },
  fr: { name: "Français", first: () => import("./fr"), more: () => import("./fr_more") },
};

interface Loaded {
  locale: string;
  /** For dates and numbers. */
  region: string;
  texts: Partial<Catalogue & MoreTexts>;
}

const loaded = createStore<Loaded>({ locale: "en", region: regionOf("en"), texts: en });
let moreTexts: Promise<void> | undefined;

/** Renders the caller again when the language changes. */
export const useLanguage = (): string => useStore(loaded).locale;
export const currentLocale = (): string => loaded.get().region;

/** The browser's region decides about dates and numbers, if its language is the chosen one. Browsers also say "C", "en_US.UTF-8" or "en-US@posix", for which Intl throws. */
function regionOf(locale: string): string {
  try {
    const own = new Intl.Locale(navigator.language.replace(/[.@].*/, "").replaceAll("_", "-"));
    return own.language === locale ? own.toString() : locale;
  } catch {
    return locale;
  }
}

function preferred(): string {
  const chosen = readLocal("language", "");
  return [chosen, ...(navigator.languages ?? [])].map((tag) => tag.slice(0, 2)).find((tag) => tag in languages) ?? "en";
}

export async function loadLanguage(language = preferred()): Promise<void> {
  const catalogue = languages[language] as Language;
  const [first, more] = await Promise.all([catalogue.first(), moreTexts ? catalogue.more() : undefined]);
  document.documentElement.lang = language;
  loaded.set({ locale: language, region: regionOf(language), texts: { ...first.default, ...more?.default } });
}

/** Call it before a page that is not in the first view is shown. */
export function loadMoreTexts(): Promise<void> {
  if (moreTexts) return moreTexts;
  moreTexts = Promise.resolve(); // from now on a language has both
  moreTexts = loadLanguage(loaded.get().locale);
  moreTexts.catch(() => (moreTexts = undefined));
  return moreTexts;
}

export async function setLanguage(language: string): Promise<void> {
  writeLocal("language", language);
  await loadLanguage(language);
}

type Values = Record<string, string | number>;

/** The text of a key, with {names} replaced by values. */
export function t(key: Key, values: Values = {}): string {
  return (loaded.get().texts[key] ?? key).replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

/** Like t, in the form that the language has for the number: tn("links", 3). */
export function tn(stem: Stem<Key>, count: number, values: Values = {}): string {
  const key = `${stem}_${intl("PluralRules", loaded.get().locale).select(count)}`;
  return t((tMaybe(key) === undefined ? `${stem}_other` : key) as Key, { count: intl("NumberFormat", currentLocale()).format(count), ...values });
}

/** What the server says about a field, in the user's language. {n} and {m} are the numbers of its detail. */
export function tError({ code, detail }: { code: Schemas["FieldErrorCode"]; detail: string }): string {
  const [n = "", m = ""] = detail.match(/\d+/g) ?? [];
  return loaded.get().texts[`error.${code}`]?.replace("{n}", n).replace("{m}", m) ?? detail;
}

/** All keys that begin so. */
export const keysOf = (prefix: string): string[] => Object.keys(loaded.get().texts).filter((key) => key.startsWith(prefix));

/** The text for a server's problem or value, or undefined if the catalogue has none. */
export function tMaybe(key: string): string | undefined {
  return (loaded.get().texts as Record<string, string>)[key];
}
