import type { ComponentType } from "preact";
import type { Key } from "../i18n";

export interface PageProps {
  /** What the pattern of the path captured. */
  id: string;
}

interface Route {
  pattern: RegExp;
  title: Key;
  access: "anyone" | "user" | "admin";
  /** Without the account's menu, also for somebody who is logged in. */
  isBare?: boolean;
  load: () => Promise<{ default: ComponentType<PageProps> }>;
}

export const ROUTES: readonly Route[] = [
  { pattern: /^\/start$/, title: "start", access: "anyone", load: () => import("../pages/start") },
  { pattern: /^\/login$/, title: "login", access: "anyone", load: () => import("../pages/login") },
  { pattern: /^\/register$/, title: "register", access: "anyone", load: () => import("../pages/login") },
  { pattern: /^\/reset$/, title: "reset", access: "anyone", load: () => import("../pages/reset") },
  { pattern: /^\/shared$/, title: "shared", access: "anyone", isBare: true, load: () => import("../pages/shared") },
  { pattern: /^\/$/, title: "overview", access: "user", load: () => import("../pages/overview") },
  { pattern: /^\/links$/, title: "links", access: "user", load: () => import("../pages/links") },
  { pattern: /^\/links\/bulk$/, title: "bulk", access: "user", load: () => import("../pages/bulk") },
  { pattern: /^\/links\/(\d+)$/, title: "link", access: "user", load: () => import("../pages/link") },
  { pattern: /^\/tags$/, title: "tags", access: "user", load: () => import("../pages/tags") },
  { pattern: /^\/live$/, title: "live", access: "user", load: () => import("../pages/live") },
  { pattern: /^\/keys$/, title: "keys", access: "user", load: () => import("../pages/keys") },
  { pattern: /^\/shares$/, title: "shares", access: "user", load: () => import("../pages/shares") },
  { pattern: /^\/account$/, title: "account", access: "user", load: () => import("../pages/account") },
  { pattern: /^\/admin\/health$/, title: "health", access: "admin", load: () => import("../pages/health") },
  { pattern: /^\/admin\/users$/, title: "users", access: "admin", load: () => import("../pages/users") },
  { pattern: /^\/admin\/hosts$/, title: "hosts", access: "admin", load: () => import("../pages/hosts") },
  { pattern: /^\/admin\/audit$/, title: "audit", access: "admin", load: () => import("../pages/audit") },
];
