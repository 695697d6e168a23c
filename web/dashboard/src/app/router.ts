import { useLayoutEffect } from "preact/hooks";
import { createStore, useStore } from "../lib/store";
import { currentWorkspaceId, setCurrentWorkspaceId } from "../lib/workspace";
import { isOfWorkspace } from "./routes";

const BASE = "/app";

export interface Place {
  /** What the address names: 7 in /app/w/7/links. */
  workspace?: number;
  /** Without the base and the workspace: "/links". */
  path: string;
  params: URLSearchParams;
}

function placeOf({ pathname, search }: Pick<URL, "pathname" | "search">): Place {
  const [, workspace, path = "/"] = /^\/app(?:\/w\/(\d+)(?=\/|$))?(\/.*)?$/.exec(pathname) ?? [];
  return { workspace: workspace ? Number(workspace) : undefined, path, params: new URLSearchParams(search) };
}

const here = () => placeOf(location);

const place = createStore(here());

export const usePlace = (): Place => useStore(place);
export const currentPlace = (): Place => place.get();

/** The address of a page: href("/links", { state: "active" }). Empty values are left out. It names the workspace if the page shows one. */
export function href(path: string, params: Params = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) append(search, name, value);
  const text = search.toString();
  return (isOfWorkspace(path) ? inWorkspace(currentWorkspaceId(), path) : BASE + path) + (text ? `?${text}` : "");
}

/** The address of a page in any workspace. 0: in the one that the server takes without a name. */
export const inWorkspace = (id: number, path = "/"): string => BASE + (id ? `/w/${id}` : "") + path;

export type Params = Record<string, string | string[] | number | undefined | null>;

function append(search: URLSearchParams, name: string, value: Params[string]): void {
  const values = Array.isArray(value) ? value : [value];
  for (const each of values) if (each !== undefined && each !== null && each !== "") search.append(name, String(each));
}

/** A form with changes takes over what would leave it: it asks, and goes on then. */
type Guard = (go: () => void) => void;
let guard: Guard | undefined;

export function useGuard(isOn: boolean, ask: Guard): void {
  useLayoutEffect(() => {
    if (!isOn) return;
    // The browser asks in its own words before a reload, or when the window is closed.
    const warn = (event: Event) => event.preventDefault();
    guard = ask;
    addEventListener("beforeunload", warn);
    return () => {
      guard = undefined;
      removeEventListener("beforeunload", warn);
    };
  });
}

/** Goes where the person wants to after they were asked. */
function leave(go: () => void): void {
  const asked = guard;
  if (!asked) return go();
  asked(() => {
    guard = undefined;
    go();
  });
}

let shown = location.href;

/** Back and forward have moved already: without a decision the address returns to the page that is shown. */
function followHistory(): void {
  const there = location.href;
  if (guard && there !== shown) {
    history.pushState(true, "", shown);
    return leave(() => {
      history.pushState(true, "", there);
      arrive();
    });
  }
  arrive();
}

function arrive(): void {
  shown = location.href;
  place.set(here());
}

export function navigate(to: string, options = { replace: false }): void {
  if (to === location.pathname + location.search) return;
  const isOtherPage = new URL(to, location.origin).pathname !== location.pathname;
  if (isOtherPage) leave(() => go(to, options));
  else go(to, options);
}

function go(to: string, { replace = false }): void {
  const url = new URL(to, location.origin);
  const { workspace } = placeOf(url);
  if (workspace && workspace !== currentWorkspaceId()) return location[replace ? "replace" : "assign"](to);
  const isOtherPage = url.pathname !== location.pathname;
  // The fragment of a page may be a token, which belongs to the page and not to its parameters.
  // The state: whether the entry before this one is another page of ours.
  history[replace ? "replaceState" : "pushState"](isOtherPage && !replace, "", isOtherPage ? to : to + location.hash);
  arrive();
  if (isOtherPage && !replace) scrollTo(0, 0);
}

/** Changes parameters of this page. An empty value removes one; an array repeats it. */
export function setParams(changes: Params, options = { replace: false }): void {
  const params = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    params.delete(name);
    append(params, name, value);
  }
  const text = params.toString();
  navigate(location.pathname + (text ? `?${text}` : ""), options);
}

/** Links of pages are plain <a href>; a click stays inside the program unless the user wants another tab. */
function followInside(event: MouseEvent): void {
  const target = event.target instanceof Element ? event.target.closest("a") : null;
  if (!target || event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const isOurs = target.origin === location.origin && `${target.pathname}/`.startsWith(`${BASE}/`);
  const isFile = /\.\w+$/.test(target.pathname);
  if (!isOurs || isFile || target.hasAttribute("download") || (target.target !== "" && target.target !== "_self")) return;
  if (target.hash !== "") return;
  event.preventDefault();
  navigate(target.pathname + target.search);
}

export function startRouter(): void {
  setCurrentWorkspaceId(here().workspace ?? 0); // until the server has said whether the person may see it
  addEventListener("popstate", followHistory);
  document.addEventListener("click", followInside);
}
