import { ApiError } from "../api/client";

/** Whether the server now serves another version of the dashboard than the one that is running. */
async function isOutdated(): Promise<boolean> {
  const entry = document.querySelector<HTMLScriptElement>("script[type=module]")?.getAttribute("src");
  const response = await fetch(import.meta.env.BASE_URL, { cache: "no-cache" });
  return response.ok && entry != null && !(await response.text()).includes(entry);
}

const RETRY_MS = 3_000;

/** Once the server answers, the page begins again, unless the person has gone on without what was missing. */
function awaitServer(): void {
  const begin = () => document.querySelector(".error-box") && location.reload();
  setTimeout(() => fetch(import.meta.env.BASE_URL).then(begin, awaitServer), RETRY_MS);
}

/**
 * Loads a part of the program. After an update the server no longer has the files of an open page; the page then loads
 * itself again. Otherwise a part that cannot be loaded is an ApiError, like a request without a response.
 */
export async function loadCode<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch {
    if (await isOutdated().catch(() => false)) location.reload();
    awaitServer();
    throw new ApiError(0, undefined, "", 0);
  }
}
