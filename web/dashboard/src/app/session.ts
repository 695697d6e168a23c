import { api, type ApiError, asApiError, setUnauthorizedHandler, unwrap, type User } from "../api/client";
import { createStore, useStore } from "../lib/store";
import { adoptSettings } from "./settings";

/** undefined: not known yet; null: nobody is logged in. The session itself is a cookie that no script can read. */
const user = createStore<User | null | undefined>(undefined);

/** Why it could not be found out who is logged in: the session may well go on. */
let startError: ApiError | undefined;
export const sessionError = (): ApiError | undefined => startError;

export const useUser = (): User | null | undefined => useStore(user);
export const currentUser = (): User | null | undefined => user.get();

export function setUser(next: User | null): void {
  if (next) adoptSettings(next);
  user.set(next);
}

export async function startSession(): Promise<void> {
  setUnauthorizedHandler(() => setUser(null));
  try {
    setUser((await unwrap(api.GET("/api/auth/session"))).user);
  } catch (cause) {
    startError = asApiError(cause);
    setUser(null);
  }
}

export async function login(email: string, password: string): Promise<void> {
  setUser((await unwrap(api.POST("/api/auth/session", { body: { email, password } }))).user);
  startError = undefined;
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
