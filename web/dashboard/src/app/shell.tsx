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
import { can, currentUser, currentWorkspace, lastServerRole, logout, useOpenReports, useUser, useWorkspaces } from "./session";
import { keepSetting, showTheme, type Theme, useTheme } from "./settings";
import { notify } from "./toasts";

const isAt = (here: string, path: string) => here === path || here.startsWith(`${path}/`) || (path === "/links" && here === "/");

function NavLink({ path, text, isTab = false, count = 0 }: { path: string; text: string; isTab?: boolean; count?: number }) {
  const isHere = isAt(usePlace().path, path);
  const icon = routeOf(path)?.icon;
  return (
    <a class={isTab ? undefined : "nav-link"} href={href(path)} aria-current={isHere ? "page" : undefined}>
      {icon && <Icon name={icon} />}
      {text}
      {count > 0 && (
        <span class="badge badge-blocked nav-count">
          {count > 99 ? "99+" : count}
          <span class="visually-hidden"> {t("report.state.open")}</span>
        </span>
      )}
    </a>
  );
}

/** Shows the workspace that all pages are about, and opens another one. */
function Switcher() {
  const here = currentWorkspace();
  const open = useWorkspaces().filter((each) => !each.deleted_at);
  const mayCreate = useMayCreateWorkspace(currentUser());
  const items: MenuItem[] = open.map((each) => ({ text: each.name, icon: "home", isOn: each === here, run: () => navigate(inWorkspace(each.id)) }));
  return (
    <div class="switcher">
      <Menu label={t("workspace.switch")} items={[...items, ...(mayCreate ? [{ text: t("workspace.create"), icon: "plus", run: () => navigate(href("/workspaces", { new: 1 })) } as const] : []), { text: t("workspaces.manage"), icon: "list", run: () => navigate(href("/workspaces")) }]}>
        <Logo />
        <span>
          <span class="visually-hidden">{t("workspace")}:</span> {currentUser() ? (here?.name ?? t("none")) : <i class="bone" />}
        </span>
        <Icon name="switch" />
      </Menu>
    </div>
  );
}

function Navigation({ isAdmin }: { isAdmin: boolean }) {
  const openReports = useOpenReports();
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
          <NavLink path="/admin/reports" text={t("reports")} count={openReports} />
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
export function Preferences({ hasLabels = false }: { hasLabels?: boolean }) {
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
    <div class={hasLabels ? "field-row" : "preferences"}>
      <SelectField isLabelHidden={!hasLabels} label={t("language")} value={language} options={Object.entries(languages).map(([code, { name }]) => [code, name])} onChange={chooseLanguage} />
      <SelectField
        isLabelHidden={!hasLabels}
        label={t("theme")}
        value={theme}
        options={(["system", "light", "dark"] as const).map((each) => [each, (hasLabels ? "" : `${t("theme")}: `) + t(`theme.${each}`)])}
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

function Guest({ children, isBare, isStarted }: Pick<ShellProps, "children" | "isBare" | "isStarted">) {
  const user = useUser(); // undefined: they may be logged in
  const operator = useInstance();
  const mayRegister = operator?.registration === "open";
  const { path } = usePlace();
  const offersLogin = ["/login", "/register"].includes(path);
  /** Its head is the client's. */
  const isReport = path === "/shared";
  const brand = (
    <a class="brand" href={href("/start")}>
      {isStarted ? operator?.operator_logo ? <img src={operator.operator_logo} alt="" /> : <Logo /> : <i class="bone" />}
      {isStarted && <span class={isBare ? "" : "brand-name"}>{operator?.operator_name || "Waymark"}</span>}
    </a>
  );
  return (
    <div class="guest">
      <header class="topbar">
        {!isReport && brand}
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
        {isReport && brand}
        <Preferences />
      </footer>
    </div>
  );
}

interface ShellProps {
  children: ComponentChildren;
  isGuest: boolean;
  isBare: boolean;
  /** Whether it is known who is logged in, and what the operator calls this. */
  isStarted: boolean;
  onHelp: () => void;
  onCommand: () => void;
}

export function Shell({ children, isGuest, isBare, isStarted, onHelp, onCommand }: ShellProps) {
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

  if (isGuest)
    return (
      <Guest isBare={isBare} isStarted={isStarted}>
        {children}
      </Guest>
    );
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
          <Navigation isAdmin={(user ? user.role : lastServerRole) === "admin"} />
          <div class="sidebar-foot">
            <p class="who" title={user?.email}>
              {user ? user.name || user.email : <i class="bone" />}
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
