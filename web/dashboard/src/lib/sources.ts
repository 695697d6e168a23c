import { api, type Schemas, unwrap } from "../api/client";
import type { Dimension } from "./filters";
import type { Interval } from "./range";

export type Totals = Pick<Schemas["LinksStatistics"], "from" | "to" | "humans" | "bots" | "total" | "unique_visitors" | "compared">;
export type Series = Schemas["TimeSeries"];
export type Values = Schemas["DimensionStatistics"];

/** from, to, tz, compare and filters. */
export type Question = Record<string, string | string[] | number | undefined>;

/** Whose visits are shown: those of one link, of the workspace's links together, or of a share. */
export interface Source {
  /** Tells sources apart. */
  key: string;
  /** In the names of files. */
  name: string;
  totals: (query: Question, signal: AbortSignal) => Promise<Totals>;
  series: (query: Question, interval: Interval, signal: AbortSignal) => Promise<Series>;
  values: (dimension: Dimension, query: Question, signal: AbortSignal) => Promise<Values>;
  /** A text that changes with each visit, at little cost. */
  turn: (signal: AbortSignal) => Promise<string>;
  pollMs: number;
}

export function linkSource(id: number, slug: string): Source {
  const path = { id };
  return {
    key: `link ${id}`,
    name: `link-${slug}`,
    totals: async (query, signal) => (await unwrap(api.GET("/api/links/{id}/stats", { params: { path, query }, signal }))) as Totals, // of a range
    series: (query, interval, signal) => unwrap(api.GET("/api/links/{id}/stats/timeseries", { params: { path, query: { ...query, interval } }, signal })),
    values: (dimension, query, signal) => unwrap(api.GET("/api/links/{id}/stats/{dimension}", { params: { path: { id, dimension }, query }, signal })),
    turn: async (signal) => String((await unwrap(api.GET("/api/links/{id}/stats", { params: { path }, signal }))).total),
    pollMs: 2_000,
  };
}

/** All links of the workspace, or those with a tag. */
export function workspaceSource(tag: string | undefined): Source {
  const links = tag ? { tag } : {};
  return {
    key: `workspace ${tag ?? ""}`,
    name: tag ? `tag-${tag}` : "all",
    totals: (query, signal) => unwrap(api.GET("/api/stats/summary", { params: { query: { ...query, ...links } }, signal })),
    series: (query, interval, signal) => unwrap(api.GET("/api/stats/timeseries", { params: { query: { ...query, ...links, interval } }, signal })),
    values: (dimension, query, signal) => unwrap(api.GET("/api/stats/{dimension}", { params: { path: { dimension }, query: { ...query, ...links } }, signal })),
    turn: async (signal) => String((await unwrap(api.GET("/api/stats/summary", { params: { query: { from: startOfDay(), ...links } }, signal }))).total),
    pollMs: 3_000,
  };
}

/** What a share shows to its reader. rejected is called once the share or its access has ended. */
export function sharedSource(access: string, name: string, rejected: () => void): Source {
  const headers = { Authorization: `Bearer ${access}` };
  return {
    key: `share ${access}`,
    name,
    totals: (query, signal) => unwrap(api.GET("/api/shared/stats/summary", { params: { query }, headers, signal }), rejected),
    series: (query, interval, signal) => unwrap(api.GET("/api/shared/stats/timeseries", { params: { query: { ...query, interval } }, headers, signal }), rejected),
    values: (dimension, query, signal) => unwrap(api.GET("/api/shared/stats/{dimension}", { params: { path: { dimension }, query }, headers, signal }), rejected),
    turn: async (signal) => String((await unwrap(api.GET("/api/shared/stats/summary", { params: { query: { from: startOfDay() } }, headers, signal }), rejected)).total),
    pollMs: 5_000,
  };
}

/** Of the UTC day: the same for a whole day, and cheap to count from. */
const startOfDay = () => `${new Date().toISOString().slice(0, 10)}T00:00:00Z`;
