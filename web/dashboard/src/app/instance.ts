import { api, type Schemas, unwrap, type User } from "../api/client";
import { createStore, useStore } from "../lib/store";

/** What the operator allows. undefined: not known yet, and nothing is offered. */
const instance = createStore<Schemas["Instance"] | undefined>(undefined);

/** What short links begin with: "https://go.example". */
export const shortBase = (): string => instance.get()?.short_base ?? location.origin;

/** The title of the page at an address, if the operator allows to ask for it. */
export async function pageTitle(url: string): Promise<string> {
  if (!instance.get()?.page_titles || !/^https?:/.test(url)) return "";
  const page = await unwrap(api.POST("/api/page-titles", { body: { url } })).catch(() => undefined);
  return page?.title ?? "";
}

const RETRY_MS = 3_000;

export const useInstance = (): Schemas["Instance"] | undefined => useStore(instance);

/** Whether the operator lets this person make workspaces. */
export function useMayCreateWorkspace(person: User | null | undefined): boolean {
  const who = useInstance()?.workspace_creation;
  return who === "everyone" || (who === "admins" && person?.role === "admin");
}

/** If that fails, it goes on trying until it is known. */
export async function loadInstance(): Promise<void> {
  try {
    instance.set(await unwrap(api.GET("/api/instance")));
  } catch {
    setTimeout(loadInstance, RETRY_MS);
  }
}
