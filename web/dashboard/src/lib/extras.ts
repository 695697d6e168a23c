import type { Link, Schemas } from "../api/client";
import { currentZone } from "../app/settings";
import { normalizeUrl } from "./urls";
import { fromLocalInput, toLocalInput } from "./zone";

export type Rule = Schemas["LinkRule"];
export type When = Schemas["LinkConditions"];
export const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;

/** What a condition is about. Those of VALUES are lists of texts of which one must be the visitor's. */
export const VALUES = ["country", "region", "city", "device", "os", "browser", "language", "referrer_host"] as const;
export const SUBJECTS = [...VALUES, "query", "visitor", "period", "week"] as const;
export type Subject = (typeof SUBJECTS)[number];

export const RULES_MAX = 20;

export interface Condition {
  key: number;
  subject: Subject;
  values: string[];
  /** Of a query parameter. */
  name: string;
  /** As <input type=datetime-local> has them, in the zone of the account. */
  from: string;
  until: string;
  days: string[];
  timeFrom: string;
  timeUntil: string;
  zone: string;
}

export interface RuleDraft {
  key: number;
  name: string;
  conditions: Condition[];
  then: Rule["then"];
  url: string;
  fallback_url: string;
}

export interface VariantDraft {
  key: number;
  name: string;
  url: string;
  weight: string;
}

export interface Extras {
  rules: RuleDraft[];
  variants: VariantDraft[];
  /** "": by weight. */
  winner: string;
  forward_query: boolean;
  forward_path: boolean;
  max_visits: string;
  /** undefined: as it is; "": none. */
  password: string | undefined;
  preview_title: string;
  preview_description: string;
  preview_image_url: string;
}

let lastKey = 0;
export const newKey = (): number => ++lastKey;

export function newCondition(subject: Subject): Condition {
  return { key: newKey(), subject, values: subject === "visitor" ? ["human"] : subject === "device" ? ["mobile"] : [], name: "", from: "", until: "", days: [], timeFrom: "", timeUntil: "", zone: currentZone() };
}

export const newRule = (name: string): RuleDraft => ({ key: newKey(), name, conditions: [newCondition("country")], then: "redirect", url: "", fallback_url: "" });
export const newVariant = (name: string, url = ""): VariantDraft => ({ key: newKey(), name, url, weight: "1" });

function conditionsOf(when: When): Condition[] {
  const lists = VALUES.filter((subject) => when[subject]?.length).map((subject) => ({ ...newCondition(subject), values: [...(when[subject] as string[])] }));
  const queries = (when.query ?? []).map(({ name, values }) => ({ ...newCondition("query"), name, values: [...(values ?? [])] }));
  const visitor = when.visitor ? [{ ...newCondition("visitor"), values: [when.visitor] }] : [];
  const period = when.from || when.until ? [{ ...newCondition("period"), from: when.from ? toLocalInput(when.from) : "", until: when.until ? toLocalInput(when.until) : "" }] : [];
  const isWeek = when.days?.length || when.time_from || when.time_until;
  const week = isWeek ? [{ ...newCondition("week"), days: [...(when.days ?? [])], timeFrom: when.time_from ?? "", timeUntil: when.time_until ?? "", zone: when.time_zone ?? "UTC" }] : [];
  return [...lists, ...queries, ...visitor, ...period, ...week];
}

/** Two conditions about the same subject become one. */
export function whenOf(conditions: Condition[]): When {
  const when: Record<string, unknown> = {};
  for (const { subject, values, name, from, until, days, timeFrom, timeUntil, zone } of conditions) {
    if (subject === "query") when.query = [...((when.query as object[]) ?? []), values.length > 0 ? { name, values } : { name }];
    else if (subject === "visitor") when.visitor = values[0];
    else if (subject === "period") Object.assign(when, from && { from: fromLocalInput(from) }, until && { until: fromLocalInput(until) });
    else if (subject === "week") Object.assign(when, days.length > 0 && { days }, timeFrom && { time_from: timeFrom }, timeUntil && { time_until: timeUntil }, { time_zone: zone });
    else if (values.length > 0) when[subject] = [...new Set([...((when[subject] as string[]) ?? []), ...values])];
  }
  return when as When;
}

export function extrasOf(link: Link | null): Extras {
  return {
    rules: (link?.rules ?? []).map((rule) => ({ key: newKey(), name: rule.name, conditions: conditionsOf(rule.when), then: rule.then, url: rule.url ?? "", fallback_url: rule.fallback_url ?? "" })),
    variants: (link?.split?.variants ?? []).map(({ name, url, weight }) => ({ key: newKey(), name, url, weight: String(weight) })),
    winner: link?.split?.winner ?? "",
    forward_query: link?.forward_query ?? false,
    forward_path: link?.forward_path ?? false,
    max_visits: link?.max_visits ? String(link.max_visits) : "",
    password: undefined,
    preview_title: link?.preview?.title ?? "",
    preview_description: link?.preview?.description ?? "",
    preview_image_url: link?.preview?.image_url ?? "",
  };
}

export function rulesBody(rules: RuleDraft[]): Rule[] {
  return rules.map(({ name, conditions, then, url, fallback_url }) => ({
    name: name.trim(),
    when: whenOf(conditions),
    then,
    ...(then === "redirect" ? { url: normalizeUrl(url), ...(fallback_url.trim() === "" ? {} : { fallback_url: normalizeUrl(fallback_url) }) } : {}),
  }));
}

export function splitBody({ variants, winner }: Pick<Extras, "variants" | "winner">) {
  if (variants.length === 0) return null;
  return { variants: variants.map(({ name, url, weight }) => ({ name: name.trim(), url: normalizeUrl(url), weight: Number(weight) })), winner: variants.some(({ name }) => name === winner) ? winner : null };
}

/** Only what was changed, so that the rest of the link stays as somebody else may have left it. */
export function extrasBody(extras: Extras, first: Extras) {
  const changed = <T>(pick: (of: Extras) => unknown, body: T): Partial<T> => (JSON.stringify(pick(extras)) === JSON.stringify(pick(first)) ? {} : body);
  const preview = { title: extras.preview_title, description: extras.preview_description, image_url: extras.preview_image_url === "" ? null : normalizeUrl(extras.preview_image_url) };
  const hasPreview = extras.preview_title !== "" || extras.preview_description !== "" || extras.preview_image_url !== "";
  return {
    ...changed((of) => of.rules, { rules: rulesBody(extras.rules) }),
    ...changed((of) => [of.variants, of.winner], { split: splitBody(extras) }),
    ...changed((of) => of.forward_query, { forward_query: extras.forward_query }),
    ...changed((of) => of.forward_path, { forward_path: extras.forward_path }),
    ...changed((of) => of.max_visits, { max_visits: extras.max_visits === "" ? null : Number(extras.max_visits) }),
    ...changed((of) => of.password, { password: extras.password || null }),
    ...changed((of) => [of.preview_title, of.preview_description, of.preview_image_url], { preview: hasPreview ? preview : null }),
  };
}

/** The share of each variant as a part of 1. */
export function sharesOf(variants: readonly VariantDraft[]): number[] {
  const weights = variants.map(({ weight }) => Math.max(0, Number(weight) || 0));
  const sum = weights.reduce((all, weight) => all + weight, 0);
  return weights.map((weight) => (sum > 0 ? weight / sum : 0));
}
