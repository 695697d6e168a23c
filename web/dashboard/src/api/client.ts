import createClient from "openapi-fetch";
import type { components, paths } from "../generated/api";
import { tError } from "../i18n";

export type Schemas = components["schemas"];
export type Link = Schemas["Link"];
export type Problem = Schemas["Problem"];
export type User = Schemas["User"];

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

  /** Whether the same request may well succeed in a moment. */
  get isTemporary(): boolean {
    return this.status === 0 || this.status === 503;
  }

  /** Field errors by the name of the field: the first part of the JSON pointer. */
  get fields(): Record<string, string> {
    return Object.fromEntries((this.problem?.errors ?? []).map((each) => [each.pointer.split("/")[1] ?? "", tError(each)]));
  }
}

export const api = createClient<paths>({ baseUrl: location.origin, credentials: "same-origin" });

let onUnauthorized: () => void = () => {};

/** Called when a request is rejected because the session has ended. */
export function setUnauthorizedHandler(handler: () => void): void {
  onUnauthorized = handler;
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

/** The result of a call, or an ApiError. rejected is called if the credentials are no longer valid. */
export async function unwrap<T>(call: Promise<Outcome<T>>, rejected = onUnauthorized): Promise<T> {
  let outcome: Outcome<T>;
  try {
    outcome = await call;
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
    throw new ApiError(0, undefined, "", 0);
  }
  if (outcome.response.ok) return outcome.data as T;
  const error = toApiError(outcome.response, outcome.error);
  if (error.status === 401 && error.kind === "") rejected();
  throw error;
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  throw error;
}

/** A key for Idempotency-Key: repeats of a request with it run once. */
export function newIdempotencyKey(): string {
  return crypto.randomUUID();
}
