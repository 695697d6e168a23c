import type { ComponentType } from "preact";
import type { IconName } from "../components/icons";
import type { Key } from "../i18n";
import { ROLES, type Role } from "../lib/roles";

export interface PageProps {
  /** What the pattern of the path captured. */
  id: string;
}

export interface Route {
  pattern: RegExp;
  title: Key;
  /** Of a page that menus lead to. */
  icon?: IconName;
  /** Anyone, any person who is logged in, an administrator of the instance, or the least role in the workspace that the page shows. */
  access: "anyone" | "person" | "administrator" | Role;
  /** Without the account's menu, also for somebody who is logged in. */
  isBare?: boolean;
  /** It may be in the first view: its texts are in the first catalogue. */
  isFirst?: boolean;
  load: () => Promise<{ default: ComponentType<PageProps> }>;
}

const admin = (name: keyof typeof import("../pages/admin")) => import("../pages/admin").then(({ [name]: page }) => ({ default: page }));

export const ROUTES: readonly Route[] = [
  { pattern: /^\/start$/, title: "start", access: "anyone", isFirst: true, load: () => import("../pages/start") },
  { pattern: /^\/login$/, title: "login", access: "anyone", isFirst: true, load: () => import("../pages/login") },
  { pattern: /^\/register$/, title: "register", access: "anyone", isFirst: true, load: () => import("../pages/login") },
  { pattern: /^\/reset$/, title: "reset", access: "anyone", load: () => import("../pages/reset") },
  { pattern: /^\/confirm$/, title: "confirm", access: "anyone", load: () => import("../pages/confirm") },
  { pattern: /^\/shared$/, title: "shared", access: "anyone", isBare: true, load: () => import("../pages/shared") },
  { pattern: /^\/invitation$/, title: "invitation", access: "anyone", isBare: true, load: () => import("../pages/invitation") },
  { pattern: /^\/statistics$/, title: "overview", icon: "chart", access: "viewer", load: () => import("../pages/overview") },
  { pattern: /^\/(?:links)?$/, title: "links", icon: "link", access: "viewer", isFirst: true, load: () => import("../pages/links") },
  { pattern: /^\/links\/bulk$/, title: "bulk", icon: "upload", access: "editor", load: () => import("../pages/bulk") },
  { pattern: /^\/links\/(\d+)$/, title: "link", access: "viewer", load: () => import("../pages/link") },
  { pattern: /^\/tags$/, title: "tags", icon: "tag", access: "viewer", load: () => import("../pages/tags") },
  { pattern: /^\/live$/, title: "live", icon: "pulse", access: "viewer", load: () => import("../pages/live") },
  { pattern: /^\/keys$/, title: "keys", icon: "key", access: "editor", load: () => import("../pages/keys") },
  { pattern: /^\/shares$/, title: "shares", icon: "send", access: "viewer", load: () => import("../pages/shares") },
  { pattern: /^\/members$/, title: "members", icon: "users", access: "viewer", load: () => import("../pages/members") },
  { pattern: /^\/workspace$/, title: "settings", icon: "settings", access: "viewer", load: () => import("../pages/workspace") },
  { pattern: /^\/audit$/, title: "audit", icon: "list", access: "admin", load: () => admin("Audit") },
  { pattern: /^\/workspaces$/, title: "workspaces", icon: "home", access: "person", load: () => import("../pages/workspaces") },
  { pattern: /^\/account$/, title: "account", icon: "user", access: "person", load: () => import("../pages/account") },
  { pattern: /^\/admin\/health$/, title: "health", icon: "server", access: "administrator", load: () => admin("Health") },
  { pattern: /^\/admin\/users$/, title: "users", icon: "user", access: "administrator", load: () => admin("Users") },
  { pattern: /^\/admin\/users\/(\d+)$/, title: "users", access: "administrator", load: () => admin("User") },
  { pattern: /^\/admin\/hosts$/, title: "hosts", icon: "shield", access: "administrator", load: () => admin("Hosts") },
  { pattern: /^\/admin\/reports$/, title: "reports", icon: "flag", access: "administrator", load: () => admin("Reports") },
  { pattern: /^\/admin\/mail$/, title: "mail", icon: "mail", access: "administrator", load: () => admin("Mail") },
  { pattern: /^\/admin\/apps$/, title: "apps", icon: "phone", access: "administrator", load: () => admin("Apps") },
  { pattern: /^\/admin\/audit$/, title: "audit", icon: "list", access: "administrator", load: () => admin("Audit") },
];

export const routeOf = (path: string): Route | undefined => ROUTES.find((each) => each.pattern.test(path));

/** The least role that a page of a workspace needs; undefined for other pages. */
export const roleNeeded = (route: Route | undefined): Role | undefined => ROLES.find((each) => each === route?.access);

/** The pages with an address of their own and no part that varies, which the person may see, by path. */
export function pagesOf(isAllowed: (access: Route["access"]) => boolean): (readonly [path: string, route: Route])[] {
  const paths = ROUTES.map((each) => [each.pattern.source.replaceAll(/[\^$\\?]|\(\?:|\)/g, ""), each] as const);
  return paths.filter(([path, each]) => each.access !== "anyone" && !/[(\[]/.test(path) && isAllowed(each.access));
}

export const isOfWorkspace = (path: string): boolean => roleNeeded(routeOf(path)) !== undefined;
