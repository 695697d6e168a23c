import { currentZone } from "../app/settings";
import { currentLocale, type Key, t, tMaybe } from "../i18n";
import { readableHost } from "./hosts";
import { intl } from "./intl";
import { dateIn } from "./range";

export const formatCount = (count: number): string => intl("NumberFormat", currentLocale()).format(count);

/** 12.3K: for places where the exact number stands beside or below. */
export const formatCompact = (count: number): string =>
  intl("NumberFormat", currentLocale(), { notation: "compact", maximumFractionDigits: 1 }).format(count);

export const formatShare = (share: number): string =>
  intl("NumberFormat", currentLocale(), { style: "percent", maximumFractionDigits: share > 0 && share < 0.1 ? 1 : 0 }).format(share);

/** In whole percent, so equal counts have equal shares; a list of them may add up to 99% or 101%. */
export const formatPart = (count: number, sum: number): string => {
  const whole = Math.round((count * 100) / Math.max(1, sum));
  return whole === 0 && count > 0 ? `<${formatShare(0.01)}` : formatShare(whole / 100);
};

/** A change of 1,000 % and more is told as a multiple, which is shorter. */
export const formatChange = (share: number): string => share >= 10 ? `× ${formatCompact(share + 1)}` :
  intl("NumberFormat", currentLocale(), { style: "percent", maximumFractionDigits: 0, signDisplay: "exceptZero" }).format(share);

const dates = (options: Intl.DateTimeFormatOptions) => (time: string | number) =>
  intl("DateTimeFormat", currentLocale(), { timeZone: currentZone(), ...options }).format(new Date(time));

export const formatDate = dates({ day: "numeric", month: "short", year: "numeric" });
export const formatDay = dates({ weekday: "short", day: "numeric", month: "short" });
export const formatMonth = dates({ month: "long", year: "numeric" });
/** As short as they can stand below a chart, by the length of its steps. */
export const formatTick = { hour: dates({ hour: "2-digit", minute: "2-digit" }), day: dates({ day: "numeric", month: "short" }), week: dates({ day: "numeric", month: "short" }), month: dates({ month: "short", year: "numeric" }) };
export const formatTime = dates({ dateStyle: "medium", timeStyle: "short" });
/** With the name of the zone, where somebody plans by this time. */
export const formatZonedTime = (time: string): string => `${formatTime(time)} (${currentZone()})`;
export const formatClock = dates({ hour: "2-digit", minute: "2-digit", second: "2-digit" });
export const formatHour = dates({ weekday: "short", hour: "2-digit", minute: "2-digit" });

/** "17 – 23 Nov 2026"; with the time of day if it does not end at midnight, unless isShort. The end is exclusive. */
export function formatSpan(from: string, to: string, zone = currentZone(), isShort = false): string {
  const [begin, end] = [Date.parse(from), Date.parse(to)];
  const isMidnight = dateIn(zone, end) !== dateIn(zone, end - 1);
  const format = intl("DateTimeFormat", currentLocale(), { timeZone: zone, dateStyle: "medium", ...(isMidnight || isShort ? {} : { timeStyle: "short" }) });
  return format.formatRange(begin, isMidnight ? end - 1 : end);
}

const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

/** "3 minutes ago", "in 7 hours". */
export function formatRelative(time: string, now = Date.now()): string {
  const seconds = (Date.parse(time) - now) / 1000;
  const step = STEPS.find(([, size]) => Math.abs(seconds) >= size);
  if (!step) return t("now");
  const format = intl("RelativeTimeFormat", currentLocale(), { numeric: "auto" });
  const amount = seconds / step[1];
  return format.format(amount > 0 ? Math.round(amount) : Math.trunc(amount), step[0]); // 8 hours from now are not 7 a second later
}

function named(type: "region" | "language", code: string): string {
  try {
    return intl("DisplayNames", currentLocale(), { type }).of(code) ?? code;
  } catch {
    return code; // not a code that the browser knows
  }
}

/** A visit's fact as people read it. */
export function formatValue(dimension: string, value: string): string {
  // Only well-known websites have a name.
  if (value === "" && dimension === "referrer_source") return t("direct.other");
  if (value === "") return t(NOTHING[dimension] ?? (dimension.startsWith("utm") ? "not.set" : "unknown"));
  if (dimension === "scan") return t("scan");
  if (dimension === "referrer_host") return readableHost(value);
  if (dimension === "country") return named("region", value);
  if (dimension === "language") return named("language", value);
  if (dimension === "device") return deviceNames()[value] ?? value;
  if (dimension === "bot_reason") return tMaybe(`bot.${value}`) ?? value;
  return value;
}

/** What it says of a visit that it has no value. */
const NOTHING: Partial<Record<string, Key>> = { referrer_host: "direct", rule: "rule.no", variant: "none", alias: "alias.no", scan: "scan.no" };

function deviceNames(): Record<string, string> {
  return { desktop: t("device.desktop"), mobile: t("device.mobile"), tablet: t("device.tablet"), bot: t("device.bot"), other: t("device.other") };
}

/** A destination without what every one has. */
export const shortenUrl = (url: string): string => hostAndSlug(url).replace(/\/$/, "");

/** Letters as people write them: "grün" for "gr%C3%BCn". What has a meaning in addresses, and what nobody sees, stays as it is. */
function readLetters(part: string): string {
  try {
    return decodeURIComponent(part).replaceAll(/[^\p{L}\p{M}\p{N}]/gu, encodeURIComponent);
  } catch {
    return part; // no UTF-8
  }
}

/** A destination as people read it. It is for eyes alone: the address itself is another text. */
export const readableUrl = (url: string): string =>
  shortenUrl(url)
    .replace(/^[^/:?#]+/, readableHost)
    .replaceAll(/(?:%[\da-f]{2})+/gi, readLetters);

export function hostAndSlug(shortUrl: string): string {
  return shortUrl.replace(/^https?:\/\//, "");
}

/** "Firefox, Linux" for a User-Agent, as far as people can recognize their own devices by it. */
export function browserName(userAgent: string): string {
  const browser = [["Firefox/", "Firefox"], ["Edg/", "Edge"], ["OPR/", "Opera"], ["Chrome/", "Chrome"], ["Safari/", "Safari"]].find(([mark]) => userAgent.includes(mark as string));
  const system = ["Android", "iPhone", "iPad", "Windows", "Mac OS", "Linux"].find((name) => userAgent.includes(name));
  return [browser?.[1], system].filter(Boolean).join(", ") || userAgent || t("unknown");
}
