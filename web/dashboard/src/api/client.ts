import type { Client } from "openapi-fetch";
import type { components, paths } from "../generated/api";
import { tError } from "../i18n";
import { apiUrl } from "../lib/workspace";

export type Schemas = components["schemas"];
export type Link = Schemas["Link"];
export type Problem = Schemas["Problem"];
export type User = Schemas["User"];
export type Workspace = Schemas["Workspace"];

/** What the server or the network answered instead of a result. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly problem: Problem | undefined,
    readonly requestId: string,
    readonly retryAfterS: number,
  ) {
    super(problem?.detail ?? problem?.title ?? `HTTP ${status}`);
  }

  /** The last part of the problem's type: "slug-taken". "network" without a response. */
  get kind(): string {
    if (this.status === 0) return "network";
    return this.problem?.type.match(/\/problems\/([a-z-]+)$/)?.[1] ?? "";
  }

  /** Whether the same request may well succeed in a moment: the server failed, or a proxy does not reach it. */
  get isTemporary(): boolean {
    return this.status === 0 || this.status >= 500;
  }

  /** Field errors by the name of the field: the first part of the JSON pointer. */
  get fields(): Record<string, string> {
    return Object.fromEntries((this.problem?.errors ?? []).map((each) => [each.pointer.split("/")[1] ?? "", tError(each)]));
  }
}

interface Options {
  params?: { path?: Record<string, string | number>; query?: Record<string, unknown>; header?: Record<string, string> };
  headers?: Record<string, string>;
  body?: unknown;
  signal?: AbortSignal;
  parseAs?: "blob";
}

async function send(method: string, path: string, { params = {}, headers, body, signal, parseAs }: Options = {}): Promise<Outcome<unknown>> {
  const place = apiUrl(path).replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params.path?.[name] ?? ""));
  const values = Object.entries(params.query ?? {}).flatMap(([name, value]) => [value].flat().map((each) => [name, each] as const));
  const query = values.filter(([, value]) => value !== undefined && value !== null).map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  const type: Record<string, string> = body === undefined ? {} : { "Content-Type": "application/json" };
  const response = await fetch(query.length > 0 ? `${place}?${query.join("&")}` : place, { method, body: JSON.stringify(body), signal, headers: { ...type, ...params.header, ...headers } });
  if (response.ok && method !== "GET" && /^\/api\/(links|tags)\/./.test(path)) handlers.onChanged();
  if (response.ok && parseAs === "blob") return { data: await response.blob(), response };
  const text = await response.text();
  if (response.ok) return { data: text === "" ? undefined : JSON.parse(text), response };
  try {
    return { error: JSON.parse(text), response };
  } catch {
    return { response }; // the page of a proxy
  }
}

/** Whether the session or the token has ended, and not a password that is wrong. */
const ENDED = ["credentials-missing", "session-ended", "share-token-invalid", "token-expired"];
const isSessionOver = ({ response, error }: Outcome<unknown>) => response.status === 401 && ENDED.includes(toApiError(response, error).kind);

/** Where the session has ended, the person logs in again above the page, and the request is sent once more. */
async function call(method: string, path: string, options?: Options): Promise<Outcome<unknown>> {
  const outcome = await send(method, path, options);
  if (!isSessionOver(outcome) || options?.headers?.Authorization || !(await handlers.onUnauthorized())) return outcome;
  return send(method, path, options);
}

const caller = (method: string) => (path: string, options?: Options) => call(method, path, options);

/** With the types of openapi-fetch and a tenth of its code. */
export const api = { GET: caller("GET"), POST: caller("POST"), PUT: caller("PUT"), PATCH: caller("PATCH"), DELETE: caller("DELETE") } as unknown as Client<paths>;

interface Handlers {
  /** The session has ended. Whether the person is logged in again. */
  onUnauthorized: () => Promise<boolean>;
  /** The server does not know the time zone. */
  onUnknownZone: () => void;
  /** A second factor or a confirmed address is missing. */
  onLoginNeeds: (kind: string) => void;
  /** The person may not do it, or may not see what it is about. */
  onRefused: () => void;
  /** A link or a tag is not what it was. */
  onChanged: () => void;
}

const nothing = () => {};
let handlers: Handlers = { onUnauthorized: async () => false, onUnknownZone: nothing, onLoginNeeds: nothing, onRefused: nothing, onChanged: nothing };

export function setHandlers(next: Handlers): void {
  handlers = next;
}

interface Outcome<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

export function toApiError(response: Response, body: unknown): ApiError {
  const problem = typeof body === "object" && body !== null && "type" in body ? (body as Problem) : undefined;
  const requestId = response.headers.get("X-Request-Id") ?? problem?.instance ?? "";
  return new ApiError(response.status, problem, requestId, Number(response.headers.get("Retry-After") ?? 0));
}

/** The result of a call, or an ApiError. rejected is called if the credentials that the call named are no longer valid. */
export async function unwrap<T>(call: Promise<Outcome<T>>, rejected = () => {}): Promise<T> {
  let outcome: Outcome<T>;
  try {
    outcome = await call;
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
    throw new ApiError(0, undefined, "", 0);
  }
  if (outcome.response.ok) return outcome.data as T;
  const error = toApiError(outcome.response, outcome.error);
  if (isSessionOver(outcome)) rejected();
  if (error.fields.tz) handlers.onUnknownZone();
  if (error.kind === "second-factor-required" || error.kind === "address-unconfirmed") handlers.onLoginNeeds(error.kind);
  else if (error.status === 403 || error.status === 404) handlers.onRefused();
  throw error;
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  throw error;
}

/** A key for Idempotency-Key: repeats of a request with it run once. Over plain http there is no crypto.randomUUID. */
export function newIdempotencyKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
