import { currentLocale } from "../i18n";
import type { Subject } from "./extras";
import { formatValue } from "./format";
import { intl } from "./intl";

/** Of these there are no others. */
export const DEVICES = ["mobile", "tablet", "desktop", "bot", "other"] as const;

/** What visitors' browsers and phones usually say; another value can be typed. */
const SUGGESTED: Partial<Record<Subject, readonly string[]>> = {
  os: ["iOS", "Android", "Windows", "Mac OS X", "Linux", "Chrome OS"],
  browser: ["Chrome", "Chrome Mobile", "Safari", "Mobile Safari", "Firefox", "Firefox Mobile", "Edge", "Samsung Internet"],
  language: ["ar", "cs", "da", "de", "el", "en", "es", "fi", "fr", "he", "hi", "hu", "id", "it", "ja", "ko", "nl", "no", "pl", "pt", "ro", "ru", "sv", "tr", "uk", "vi", "zh"],
};

/** What browsers name too, and what is no country. */
const NO_COUNTRIES = ["AC", "CP", "CQ", "DG", "EA", "EU", "EZ", "IC", "QO", "TA", "UN", "XA", "XB", "ZZ"];

/** What people call some countries, in small letters. */
const ALSO_CALLED: Readonly<Record<string, string>> = { usa: "US", america: "US", amerika: "US", uk: "GB", england: "GB", "great britain": "GB", großbritannien: "GB", holland: "NL" };

/** All countries that the browser can name. A code of the past, as DD, has the name of what it became. */
function countries(): string[] {
  const letters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];
  const names = intl("DisplayNames", currentLocale(), { type: "region", fallback: "none" });
  const isCurrent = (code: string) => new Intl.Locale(`und-${code}`).region === code && !NO_COUNTRIES.includes(code);
  return letters.flatMap((first) => letters.map((second) => first + second)).filter((code) => names.of(code) && isCurrent(code));
}

export const suggestionsOf = (subject: Subject): readonly string[] => (subject === "country" ? countries() : (SUGGESTED[subject] ?? []));
export const nameOf = (subject: Subject, value: string): string => (["country", "device", "language"].includes(subject) ? formatValue(subject, value) : value);

/** What somebody means who types a name or a code; undefined: no country, or no language. */
export function valueOf(subject: Subject, typed: string, known = suggestionsOf(subject)): string | undefined {
  const wanted = (subject === "country" && ALSO_CALLED[typed.trim().toLowerCase()]) || typed.trim();
  const value = known.find((each) => [each, nameOf(subject, each)].some((name) => name.toLowerCase() === wanted.toLowerCase()));
  if (value || !["country", "language"].includes(subject)) return value ?? wanted;
  return subject === "language" && /^[a-z]{2,3}(-[a-z\d]{2,8})*$/i.test(wanted) ? wanted : undefined;
}
