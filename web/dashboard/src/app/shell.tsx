import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon, Logo } from "../components/icons";
import { SelectField } from "../components/field";
import { Menu, type MenuItem } from "../components/menu";
import { languages, setLanguage, t, useLanguage } from "../i18n";
import { useInstance, useMayCreateWorkspace } from "./instance";
import { isMac, useKeys } from "./keyboard";
import { href, inWorkspace, navigate, usePlace } from "./router";
import { routeOf } from "./routes";
import { asApiError } from "../api/client";
import { explain } from "../components/feedback";
import { can, currentUser, currentWorkspace, logout, useUser, useWorkspaces } from "./session";
import { keepSetting, showTheme, type Theme, useTheme } from "./settings";
import { notify } from "./toasts";

const isAt = (here: string, path: string) => here === path || here.startsWith(`${path}/`) || (path === "/links" && here === "/");

function NavLink({ path, text, isTab = false }: { path: string; text: string; isTab?: boolean }) {
  const isHere = isAt(usePlace().path, path);
  const icon = routeOf(path)?.icon;
  return (
    <a class={isTab ? undefined : "nav-link"} href={href(path)} aria-current={isHere ? "page" : undefined}>
      {icon && <Icon name={icon} />}
      {text}
    </a>
  );
}

/** Shows the workspace that all pages are about, and opens another one. */
function Switcher() {
  const here = currentWorkspace();
  const open = useWorkspaces().filter((each) => !each.deleted_at);
  const mayCreate = useMayCreateWorkspace(currentUser());
  const items: MenuItem[] = open.map((each) => ({ text: each.name, icon: each === here ? "check" : "home", run: () => navigate(inWorkspace(each.id)) }));
  return (
    <div class="switcher">
      <Menu label={t("workspace.switch")} items={[...items, ...(mayCreate ? [{ text: t("workspace.create"), icon: "plus", run: () => navigate(href("/workspaces", { new: 1 })) } as const] : []), { text: t("workspaces.manage"), icon: "list", run: () => navigate(href("/workspaces")) }]}>
        <Logo />
        <span>
          <span class="visually-hidden">{t("workspace")}:</span> {here?.name ?? t("none")}
        </span>
        <Icon name="switch" />
      </Menu>
    </div>
  );
}

function Navigation({ isAdmin }: { isAdmin: boolean }) {
  return (
    <nav class="nav" aria-label={t("navigation")}>
      {can("viewer") && (
        <>
          <NavLink path="/links" text={t("links")} />
          <NavLink path="/statistics" text={t("overview")} />
          <NavLink path="/live" text={t("live")} />
          <NavLink path="/tags" text={t("tags")} />
          <NavLink path="/shares" text={t("shares")} />
          <p class="nav-title">{t("workspace")}</p>
          <NavLink path="/members" text={t("members")} />
        </>
      )}
      {can("editor") && <NavLink path="/keys" text={t("keys")} />}
      {can("viewer") && <NavLink path="/workspace" text={t("settings")} />}
      {isAdmin && (
        <>
          <p class="nav-title">{t("administration")}</p>
          <NavLink path="/admin/health" text={t("health")} />
          <NavLink path="/admin/users" text={t("users")} />
          <NavLink path="/admin/hosts" text={t("hosts")} />
          <NavLink path="/admin/reports" text={t("reports")} />
          <NavLink path="/admin/mail" text={t("mail")} />
          <NavLink path="/admin/apps" text={t("apps")} />
          <NavLink path="/admin/audit" text={t("audit")} />
        </>
      )}
    </nav>
  );
}

/** On a phone: what people do most, under the thumb. */
function TabBar() {
  if (!can("viewer")) return null;
  return (
    <nav class="tabbar" aria-label={t("navigation.short")}>
      <NavLink isTab path="/links" text={t("links")} />
      {can("editor") ? (
        <a href={href("/links", { edit: "new" })}>
          <Icon name="plus" />
          {t("new")}
        </a>
      ) : (
        <NavLink isTab path="/tags" text={t("tags")} />
      )}
      <NavLink isTab path="/statistics" text={t("overview")} />
      <NavLink isTab path="/live" text={t("live")} />
    </nav>
  );
}

/** Language and theme: of the account if somebody is logged in. */
export function Preferences() {
  const theme = useTheme();
  const language = useLanguage();
  const chooseLanguage = (next: string) => {
    void setLanguage(next);
    if (currentUser()) void keepSetting({ locale: next });
  };
  const chooseTheme = (next: Theme) => {
    showTheme(next);
    if (currentUser()) void keepSetting({ theme: next });
  };
  return (
    <div class="preferences">
      <SelectField isLabelHidden label={t("language")} value={language} options={Object.entries(languages).map(([code, { name }]) => [code, name])} onChange={chooseLanguage} />
      <SelectField
        isLabelHidden
        label={t("theme")}
        value={theme}
        options={[["system", t("theme.system")], ["light", t("theme.light")], ["dark", t("theme.dark")]]}
        onChange={(next) => chooseTheme(next as Theme)}
      />
    </div>
  );
}

function leave(): void {
  logout().then(
    () => navigate(href("/start")),
    (error) => notify(explain(asApiError(error)), { isError: true }),
  );
}

function Guest({ children, isBare }: { children: ComponentChildren; isBare: boolean }) {
  const user = useUser(); // undefined: they may be logged in
  const operator = useInstance();
  const mayRegister = operator?.registration === "open";
  const offersLogin = ["/login", "/register"].includes(usePlace().path);
  return (
    <div class="guest">
      <header class="topbar">
        <a class="brand" href={href("/start")}>
          {operator?.operator_logo ? <img src={operator.operator_logo} alt="" /> : <Logo />} <span class={isBare ? "" : "brand-name"}>{operator?.operator_name || "Waymark"}</span>
        </a>
        {!isBare && user === null && !offersLogin && (
          <nav class="topbar-actions" aria-label={t("navigation")}>
            <a class="button button-quiet" href={href("/login")}>
              {t("login")}
            </a>
            {mayRegister && (
              <a class="button button-primary" href={href("/register")}>
                {t("register")}
              </a>
            )}
          </nav>
        )}
      </header>
      <main id="main" tabIndex={-1}>
        {children}
      </main>
      <footer class="guest-foot">
        <Preferences />
      </footer>
    </div>
  );
}

interface ShellProps {
  children: ComponentChildren;
  isBare: boolean;
  onHelp: () => void;
  onCommand: () => void;
}

export function Shell({ children, isBare, onHelp, onCommand }: ShellProps) {
  const user = useUser();
  const { path } = usePlace();
  const [isMenuOpen, setMenuOpen] = useState(false);
  const toggle = useRef<HTMLButtonElement>(null);
  useEffect(() => setMenuOpen(false), [path]);
  const closeMenu = () => {
    setMenuOpen(false);
    toggle.current?.focus();
  };
  useKeys(isMenuOpen ? { Escape: closeMenu } : {});
  const command = t(can("editor") ? "command" : "search");

  if (!user || isBare) return <Guest isBare={isBare}>{children}</Guest>;
  return (
    <div class="shell">
      <a class="skip" href="#main">
        {t("skip")}
      </a>
      <header class="sidebar">
        <div class="sidebar-head">
          <Switcher />
          <button type="button" class="icon-button phone-search" aria-label={command} onClick={onCommand}>
            <Icon name="search" />
          </button>
          <button ref={toggle} type="button" class="icon-button menu-toggle" aria-label={t("menu")} aria-expanded={isMenuOpen} onClick={() => setMenuOpen(!isMenuOpen)}>
            <Icon name={isMenuOpen ? "close" : "menu"} />
          </button>
        </div>
        <button type="button" class="command-button" onClick={onCommand}>
          <Icon name="search" /> <span>{command}</span> <kbd>{isMac() ? "⌘K" : "Ctrl K"}</kbd>
        </button>
        <div class={isMenuOpen ? "sidebar-body is-open" : "sidebar-body"}>
          <Navigation isAdmin={user.role === "admin"} />
          <div class="sidebar-foot">
            <p class="who" title={user.email}>
              {user.name || user.email}
            </p>
            <Menu
              label={t("account.menu")}
              items={[
                { text: t("account"), icon: "user", run: () => navigate(href("/account")) },
                { text: t("keys.title"), icon: "help", run: onHelp },
                { text: t("logout"), icon: "logout", run: leave },
              ]}
            />
          </div>
        </div>
      </header>
      <main class="main" id="main" tabIndex={-1}>
        {children}
      </main>
      <TabBar />
    </div>
  );
}
