import { api, ApiError, asApiError, setRejectionHandlers, unwrap, type User } from "../api/client";
import { createStore, useStore } from "../lib/store";
import { adoptSettings, leaveZone } from "./settings";

/** undefined: not known yet; null: nobody is logged in. The session itself is a cookie that no script can read. */
const user = createStore<User | null | undefined>(undefined);

const RETRY_MS = 3_000;

/** Why it is not known who is logged in: the session may well go on. */
let startError: ApiError | undefined;
export const sessionError = (): ApiError | undefined => startError;

export const useUser = (): User | null | undefined => useStore(user);
export const currentUser = (): User | null | undefined => user.get();

export function setUser(next: User | null): void {
  if (next) adoptSettings(next);
  user.set(next);
}

/** Finds out who is logged in. If that fails, it goes on trying until it is known. */
export async function startSession(): Promise<void> {
  setRejectionHandlers(() => setUser(null), leaveZone);
  try {
    const answer = await unwrap(api.GET("/api/auth/session"));
    if (user.get() === undefined) setUser(answer.user); // nobody has logged in meanwhile
  } catch (cause) {
    startError = asApiError(cause);
    if (user.get() === undefined) setTimeout(startSession, RETRY_MS);
  }
}

export async function login(email: string, password: string): Promise<void> {
  await unwrap(api.POST("/api/auth/session", { body: { email, password } }));
  const answer = await unwrap(api.GET("/api/auth/session"));
  // The browser keeps no cookies here, or keeps this one over https only.
  if (!answer.user) throw new ApiError(401, { type: "/problems/no-cookie", title: "", status: 401, detail: "", instance: "" }, "", 0);
  setUser(answer.user);
}

export async function register(email: string, password: string, name: string): Promise<void> {
  await unwrap(api.POST("/api/auth/register", { body: { email, password, name } }));
  await login(email, password);
}

/** Ends the session on the server first: only that makes its cookie worthless. */
export async function logout(): Promise<void> {
  await unwrap(api.DELETE("/api/auth/session"));
  setUser(null);
}
