import type { Schemas } from "../api/client";
import { createStore, useStore } from "./store";

export type Dimension = Schemas["Dimension"];
export const DIMENSIONS = ["country", "region", "city", "referrer_source", "referrer_host", "device", "browser", "os", "language", "utm_source", "utm_medium", "utm_campaign", "rule", "variant", "alias", "scan", "bot_reason"] as const satisfies readonly Dimension[];

export interface Filter {
  dimension: Dimension;
  value: string;
  isExcluded: boolean;
}

/** An unknown value is the empty text, which an address cannot show well. */
const EMPTY = "-";

export function filtersOf(params: URLSearchParams): Filter[] {
  return DIMENSIONS.flatMap((dimension) =>
    [false, true].flatMap((isExcluded) =>
      params.getAll(isExcluded ? `not_${dimension}` : dimension).map((value) => ({ dimension, value: value === EMPTY ? "" : value, isExcluded })),
    ),
  );
}

/** Parameters of the address bar for these filters; those without a filter are removed. */
export function filterParams(filters: readonly Filter[]): Record<string, string[]> {
  const values = (dimension: Dimension, isExcluded: boolean) =>
    filters.filter((each) => each.dimension === dimension && each.isExcluded === isExcluded).map((each) => each.value || EMPTY);
  return Object.fromEntries(DIMENSIONS.flatMap((dimension) => [[dimension, values(dimension, false)], [`not_${dimension}`, values(dimension, true)]]));
}

/** Parameters of the API for these filters. */
export function filterQuery(filters: readonly Filter[]): Record<string, string[]> {
  const query: Record<string, string[]> = {};
  for (const { dimension, value, isExcluded } of filters) (query[isExcluded ? `not_${dimension}` : dimension] ??= []).push(value);
  return query;
}

export const isSame = (a: Filter, b: Filter): boolean => a.dimension === b.dimension && a.value === b.value;

const known = new Map<Dimension, Set<string>>();
const changes = createStore(0);

/** Of one dimension: a list to choose from must stay short. */
const KNOWN_MAX = 50;

/** The first values that the panels have shown are offered as filters. */
export function rememberValues(dimension: Dimension, values: readonly string[]): void {
  const kept = known.get(dimension) ?? new Set<string>();
  for (const value of values) if (kept.size < KNOWN_MAX) kept.add(value);
  known.set(dimension, kept);
  changes.set(changes.get() + 1);
}

/** The next person at this browser must not see them. */
export const forgetValues = (): void => known.clear();

/** To the server, a visit without a referrer has the source of one from an unknown website. Its website tells them apart. */
const isOffered = ({ dimension, value }: Filter) => dimension !== "referrer_source" || value !== "";

export function useRememberedValues(): readonly Filter[] {
  useStore(changes);
  return DIMENSIONS.flatMap((dimension) => [...(known.get(dimension) ?? [])].map((value) => ({ dimension, value, isExcluded: false }))).filter(isOffered);
}
