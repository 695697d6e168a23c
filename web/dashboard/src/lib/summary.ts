import type { Link, Schemas } from "../api/client";
import { currentLocale, t, tn } from "../i18n";
import { DAYS, type Rule, VALUES, type When } from "./extras";
import { formatShare, formatTime, readableUrl } from "./format";
import { intl } from "./intl";
import { nameOf } from "./values";

type Split = Schemas["LinkSplit"];

/** What decides where a link leads, saved or as the form has it. */
export type Ways = Pick<Link, "original_url" | "starts_at" | "expires_at" | "expired_url" | "max_visits" | "forward_query"> & { rules: readonly Rule[]; split: Split | null };

export const dayName = (day: string): string => intl("DateTimeFormat", currentLocale(), { weekday: "short", timeZone: "UTC" }).format(Date.UTC(2024, 0, 1 + DAYS.indexOf(day as "mon"))); // 1 January 2024 was a Monday

const anyOf = (texts: readonly string[]) => texts.join(` ${t("rule.or")} `);
const span = (from: string | undefined, until: string | undefined) => [from && `${t("rule.from")} ${from}`, until && `${t("rule.until")} ${until}`].filter(Boolean).join(" ");
const timeOf = (time: string | null | undefined) => (time ? formatTime(time) : undefined);

/** "Germany or Austria and Smartphone"; "" if it always holds. */
export function sayWhen(when: When): string {
  const parts = [
    ...VALUES.map((subject) => anyOf((when[subject] ?? []).map((value) => nameOf(subject, value)))),
    ...(when.query ?? []).map(({ name, values }) => (values?.length ? `${name}=${anyOf(values)}` : `?${name}`)),
    when.visitor && t(when.visitor === "bot" ? "bot" : "rule.human"),
    span(timeOf(when.from), timeOf(when.until)),
    (when.days ?? []).map(dayName).join(", "),
    span(when.time_from ?? undefined, when.time_until ?? undefined),
  ];
  return parts.filter(Boolean).join(` ${t("rule.and")} `);
}

/** Without what it has in common with the destination of the link. */
function sayUrl(url: string, base: string): string {
  const host = (of: string) => /^https?:\/\/[^/?#]+/i.exec(of)?.[0];
  const isSame = host(url) !== undefined && host(url) === host(base);
  return isSame ? url.slice(host(url)?.length) || "/" : readableUrl(url);
}

function sayThen({ then, url }: Rule, base: string): string {
  if (then === "redirect") return `→ ${sayUrl(url ?? "", base)}`;
  return `: ${t(then === "gone" ? "rule.then.gone" : "rule.then.usual")}`;
}

/** "Germany → /de". */
export const sayRule = (rule: Rule, base: string): string => `${sayWhen(rule.when) || t("rule.everybody")} ${sayThen(rule, base)}`.replace(" :", ":");

/** "→ /over", or that it has ended. */
export const sayAfter = ({ expired_url, original_url }: Pick<Ways, "expired_url" | "original_url">): string => (expired_url ? `→ ${sayUrl(expired_url, original_url)}` : `(${t("rule.then.gone")})`);

function sayRest({ rules, split, original_url }: Ways): string {
  const rest = rules.length > 0 ? `${t("ways.rest")} ` : "";
  const winner = split?.variants.find(({ name }) => name === split.winner);
  if (!split || winner) return `${rest}→ ${sayUrl(winner?.url ?? original_url, winner ? original_url : "")}`;
  const sum = split.variants.reduce((all, { weight }) => all + weight, 0);
  return `${rest}→ ${split.variants.map(({ weight, url }) => `${formatShare(weight / sum)} ${sayUrl(url, original_url)}`).join(", ")}`;
}

/** "Germany → /de · Smartphone → /app · others → 50% /, 50% /b · after 500 visits → /over"; "" if the destination is all. */
export function sayWays(ways: Ways): string {
  const { rules, split, max_visits, expired_url, expires_at, original_url } = ways;
  const limit = max_visits && `${tn("ways.visits", max_visits)} ${sayAfter(ways)}`;
  const end = expires_at && expired_url && `${t("expires.at", { time: formatTime(expires_at) })} ${sayAfter(ways)}`;
  if (rules.length === 0 && !split && !limit && !end) return "";
  return [...rules.map((rule) => sayRule(rule, original_url)), sayRest(ways), limit, end].filter(Boolean).join(" · ");
}
