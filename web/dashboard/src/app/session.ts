import { api, ApiError, asApiError, setHandlers, unwrap, type User, type Workspace } from "../api/client";
import { t } from "../i18n";
import { forgetDrafts } from "../lib/drafts";
import { forgetValues } from "../lib/filters";
import { isAtLeast, type Role } from "../lib/roles";
import { readLocal, writeLocal } from "../lib/local";
import { createStore, useStore } from "../lib/store";
import { currentWorkspaceId, setCurrentWorkspaceId, startIn } from "../lib/workspace";
import { currentPlace, href, navigate } from "./router";
import { adoptSettings, keepSetting, leaveZone } from "./settings";
import { forgetUndo } from "./toasts";

/** undefined: not known yet; null: nobody is logged in. The session itself is a cookie that no script can read. */
const user = createStore<User | null | undefined>(undefined);

/**
 * The roles in the workspace and on the server of whoever used this browser last; empty: nobody, or they logged out. Until the server has
 * answered, the frame of the page is drawn for them.
 */
export const [lastRole, lastServerRole] = readLocal<[Role?, string?]>("frame", []);

/** Those of the person, and the one that this document shows if an administrator of the instance looks at somebody else's. */
const workspaces = createStore<readonly Workspace[]>([]);

const RETRY_MS = 3_000;

/** Why it is not known who is logged in: the session may well go on. */
let startError: ApiError | undefined;
export const sessionError = (): ApiError | undefined => startError;

/** How many reports of abuse are open, as far as an administrator of the instance has been told. */
const openReports = createStore(0);
export const useOpenReports = (): number => useStore(openReports);
export const setOpenReports = (count = 0): void => openReports.set(count);

export const useUser = (): User | null | undefined => useStore(user);
export const currentUser = (): User | null | undefined => user.get();

export function setUser(next: User | null): void {
  if (next) adoptSettings(next);
  else {
    forgetValues();
    forgetUndo();
    setCurrentWorkspaceId(0);
  }
  writeLocal("frame", next ? [currentWorkspace()?.role ?? "", next.role] : []);
  user.set(next);
}

export const useWorkspaces = (): readonly Workspace[] => useStore(workspaces);
/** Where the person may move links to. */
export const useMoveTargets = (): readonly Workspace[] => useWorkspaces().filter((each) => !each.deleted_at && each.id !== currentWorkspaceId() && isAtLeast(each.role, "editor"));
/** The one that this document shows; undefined for somebody who has none, or once it is deleted. */
export const currentWorkspace = (): Workspace | undefined => workspaces.get().find((each) => each.id === currentWorkspaceId() && !each.deleted_at);

/** Whether the person may do in this workspace what needs that role. A change draws the page anew. */
export const can = (least: Role): boolean => isAtLeast(user.get() === undefined ? lastRole : currentWorkspace()?.role, least);

/** After a change of this workspace, or of the person's role in it. */
export function changeWorkspace(change: Partial<Workspace>): void {
  workspaces.set(workspaces.get().map((each) => (each.id === currentWorkspaceId() ? { ...each, ...change } : each)));
}

const unseen = (id: number): Workspace => ({
  id,
  name: `${t("workspace")} ${id}`,
  role: "viewer",
  sponsor_id: id,
  members: 0,
  requires_second_factor: true,
  default_forward_query: false,
  default_forward_path: false,
  created_at: "",
  deleted_at: null,
});

/**
 * Somebody else's workspace, which only an administrator of the instance may look at; without the second factor that it requires,
 * only its number.
 */
async function loadForeign(id: number): Promise<Workspace | undefined> {
  try {
    return (await startIn(id, () => unwrap(api.GET("/api/workspace")))).workspace;
  } catch (cause) {
    const { status, kind } = asApiError(cause);
    if (kind === "second-factor-required") return unseen(id);
    if (status === 404) return undefined;
    throw cause;
  }
}

/** Who has to set up a second factor before anything else sees none yet. */
async function loadWorkspaces(): Promise<readonly Workspace[]> {
  try {
    return (await unwrap(api.GET("/api/workspaces"))).workspaces;
  } catch (cause) {
    if (asApiError(cause).status === 403) return [];
    throw cause;
  }
}

/**
 * The workspace of the address; without one, or if the person may not see it, that of their last visit in any browser. Who was in
 * none yet comes to one that they share, or else to their own.
 */
export async function enterWorkspace(person: User): Promise<void> {
  const list = await loadWorkspaces();
  const asked = currentPlace().workspace;
  const isForeign = asked && person.role === "admin" && !list.some((each) => each.id === asked);
  const foreign = isForeign ? await loadForeign(asked) : undefined;
  const open = list.filter((each) => !each.deleted_at);
  const withId = (id: number | null | undefined) => open.find((each) => each.id === id);
  const own = withId(asked) ?? withId(person.workspace_id) ?? open.find((each) => each.members > 1) ?? withId(person.id) ?? open[0];
  const shown = foreign ?? own;
  workspaces.set(foreign ? [...list, foreign] : list);
  setCurrentWorkspaceId(shown?.id ?? 0);
  freshUntil = Date.now() + FRESH_MS;
  if (shown === own && own && own.id !== person.workspace_id) await keepSetting({ workspace_id: own.id });
}

/** How old what is known of roles may be, for who opens a page or comes back to this window. */
const FRESH_MS = 5_000;
let freshUntil = 0;
let isRefreshing = false;

/**
 * Asks again what the person may do, as others may have changed it: when a page or the window is opened, and when the server refuses
 * something. At most once in FRESH_MS; a refusal waits for the rest of that time.
 */
export function refreshRoles(isRefused = false): void {
  const rest = freshUntil - Date.now();
  if (!user.get() || isRefreshing || (rest > 0 && !isRefused)) return;
  isRefreshing = true;
  setTimeout(async () => {
    await askRoles().catch(() => {}); // the next page asks again
    freshUntil = Date.now() + FRESH_MS;
    isRefreshing = false;
  }, Math.max(0, rest));
}

async function askRoles(): Promise<void> {
  const [{ user: person, open_reports }, { workspaces: list }] = await Promise.all([unwrap(api.GET("/api/auth/session")), unwrap(api.GET("/api/workspaces"))]);
  const known = user.get();
  if (!known || person?.id !== known.id) return;
  setOpenReports(open_reports);
  const id = currentWorkspaceId();
  const isForeign = id !== 0 && person.role === "admin" && !list.some((each) => each.id === id);
  const foreign = isForeign ? await loadForeign(id) : undefined;
  const next = foreign ? [...list, foreign] : list;
  if (JSON.stringify(next) !== JSON.stringify(workspaces.get())) workspaces.set(next);
  if (person.role !== known.role) user.set({ ...known, role: person.role });
}

/** The server has refused something for want of a second factor. */
const lacksFactor = createStore(false);

/** Whether nothing of the workspace that this document shows can be seen until a second factor is set up. Without one shown: of any. */
export function useFactorNeeded(): boolean {
  const isLacking = useStore(lacksFactor);
  const shown = useWorkspaces().find((each) => each.id === currentWorkspaceId());
  return isLacking && (shown?.requires_second_factor ?? true);
}

function refuse(kind: string): void {
  if (kind === "second-factor-required") lacksFactor.set(true);
  else navigate(href("/account"));
}

/** Requests that wait for the person to log in again: whether they have. */
let waiting: ((isBack: boolean) => void)[] = [];
const over = createStore(false);

/** Whether the session ended while a page was open. The page stays, with everything that was typed. */
export const useSessionOver = (): boolean => useStore(over);

function waitForLogin(): Promise<boolean> {
  if (!user.get()) return Promise.resolve(false);
  over.set(true);
  return new Promise((resolve) => waiting.push(resolve));
}

function endWaiting(isBack: boolean): void {
  over.set(false);
  for (const resolve of waiting.splice(0)) resolve(isBack);
}

/** Whether the same person is logged in again, in this window or another one. Then everything goes on where it was. */
export async function resumeSession(): Promise<boolean> {
  const answer = await unwrap(api.GET("/api/auth/session"));
  if (answer.user?.id !== user.get()?.id) return false;
  endWaiting(true);
  return true;
}

export function giveUpSession(): void {
  setUser(null);
  endWaiting(false);
}

/** Finds out who is logged in. If that fails, it goes on trying until it is known. */
export async function startSession(): Promise<void> {
  setHandlers({ onUnauthorized: waitForLogin, onUnknownZone: leaveZone, onLoginNeeds: refuse, onRefused: () => refreshRoles(true), onChanged: forgetUndo });
  addEventListener("focus", () => refreshRoles());
  try {
    const answer = await unwrap(api.GET("/api/auth/session"));
    setOpenReports(answer.open_reports);
    if (answer.user) await enterWorkspace(answer.user);
    if (user.get() === undefined) setUser(answer.user); // nobody has logged in meanwhile
  } catch (cause) {
    startError = asApiError(cause);
    if (user.get() === undefined) setTimeout(startSession, RETRY_MS);
  }
}

/** Only the cookie. code: of the second factor; empty: none, which fails with "second-factor" if it is needed. */
export const beginSession = (email: string, password: string, code = ""): Promise<unknown> => unwrap(api.POST("/api/auth/session", { body: { email, password, ...(code && { code }) } }));

export async function login(email: string, password: string, code = ""): Promise<void> {
  await beginSession(email, password, code);
  const answer = await unwrap(api.GET("/api/auth/session"));
  // The browser keeps no cookies here, or keeps this one over https only.
  if (!answer.user) throw new ApiError(401, { type: "/problems/no-cookie", title: "", status: 401, detail: "", instance: "" }, "", 0);
  setOpenReports(answer.open_reports);
  await enterWorkspace(answer.user);
  setUser(answer.user);
}

/** invitation: its token, which makes somebody who was invited a member at once. */
export async function register(email: string, password: string, name: string, invitation?: string): Promise<void> {
  await unwrap(api.POST("/api/auth/register", { body: { email, password, name, invitation } }));
  await login(email, password);
}

/** Ends the session on the server first: only that makes its cookie worthless. Then the one at the provider, if it began there. */
export async function logout(): Promise<void> {
  const { redirect_to } = await unwrap(api.POST("/api/auth/logout"));
  forgetDrafts();
  setUser(null);
  if (redirect_to) location.assign(redirect_to);
}
