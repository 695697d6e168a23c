import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon, type IconName, Logo } from "../components/icons";
import { SelectField } from "../components/field";
import { Menu, type MenuItem } from "../components/menu";
import { languages, setLanguage, t, useLanguage } from "../i18n";
import { useInstance } from "./instance";
import { useKeys } from "./keyboard";
import { href, inWorkspace, navigate, usePlace } from "./router";
import { asApiError } from "../api/client";
import { explain } from "../components/feedback";
import { can, currentUser, currentWorkspace, logout, useUser, useWorkspaces } from "./session";
import { keepSetting, showTheme, type Theme, useTheme } from "./settings";
import { notify } from "./toasts";

function NavLink({ path, icon, text }: { path: string; icon: IconName; text: string }) {
  const { path: here } = usePlace();
  const isHere = here === path || (path !== "/" && here.startsWith(`${path}/`));
  return (
    <a class="nav-link" href={href(path)} aria-current={isHere ? "page" : undefined}>
      <Icon name={icon} />
      {text}
    </a>
  );
}

/** Shows the workspace that all pages are about, and opens another one. */
function Switcher() {
  const here = currentWorkspace();
  const open = useWorkspaces().filter((each) => !each.deleted_at);
  const items: MenuItem[] = open.map((each) => ({ text: each.name, icon: each === here ? "check" : "home", run: () => navigate(inWorkspace(each.id)) }));
  return (
    <div class="switcher">
      <Menu label={t("workspace.switch")} items={[...items, { text: t("workspaces.manage"), icon: "list", run: () => navigate(href("/workspaces")) }]}>
        <span>
          <span class="visually-hidden">{t("workspace")}:</span> {here?.name ?? t("none")}
        </span>
        <Icon name="switch" size={16} />
      </Menu>
    </div>
  );
}

function Navigation({ isAdmin }: { isAdmin: boolean }) {
  return (
    <nav class="nav" aria-label={t("navigation")}>
      {can("viewer") && (
        <>
          <NavLink path="/" icon="chart" text={t("overview")} />
          <NavLink path="/links" icon="link" text={t("links")} />
          <NavLink path="/tags" icon="tag" text={t("tags")} />
          <NavLink path="/live" icon="play" text={t("live")} />
        </>
      )}
      <p class="nav-title">{t("settings")}</p>
      {can("editor") && <NavLink path="/keys" icon="key" text={t("keys")} />}
      {can("viewer") && (
        <>
          <NavLink path="/shares" icon="external" text={t("shares")} />
          <NavLink path="/members" icon="users" text={t("members")} />
          <NavLink path="/workspace" icon="home" text={t("workspace")} />
        </>
      )}
      <NavLink path="/account" icon="user" text={t("account")} />
      {isAdmin && (
        <>
          <p class="nav-title">{t("administration")}</p>
          <NavLink path="/admin/health" icon="pulse" text={t("health")} />
          <NavLink path="/admin/users" icon="users" text={t("users")} />
          <NavLink path="/admin/hosts" icon="shield" text={t("hosts")} />
          <NavLink path="/admin/reports" icon="flag" text={t("reports")} />
          <NavLink path="/admin/mail" icon="mail" text={t("mail")} />
          <NavLink path="/admin/apps" icon="phone" text={t("apps")} />
          <NavLink path="/admin/audit" icon="list" text={t("audit")} />
        </>
      )}
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
      <SelectField isLabelHidden label={t("language")} value={language} options={Object.entries(languages)} onChange={chooseLanguage} />
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
  const mayRegister = useInstance()?.registration === "open";
  return (
    <div class="guest">
      <header class="topbar">
        <a class="brand" href={href("/start")}>
          <Logo /> <span class={isBare ? "" : "brand-name"}>Waymark</span>
        </a>
        {!isBare && user === null && (
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

export function Shell({ children, isBare, onHelp }: { children: ComponentChildren; isBare: boolean; onHelp: () => void }) {
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

  if (!user || isBare) return <Guest isBare={isBare}>{children}</Guest>;
  return (
    <div class="shell">
      <a class="skip" href="#main">
        {t("skip")}
      </a>
      <header class="sidebar">
        <div class="sidebar-head">
          <a class="brand" href={href("/")}>
            <Logo /> Waymark
          </a>
          <button ref={toggle} type="button" class="icon-button menu-toggle" aria-label={t("menu")} aria-expanded={isMenuOpen} onClick={() => setMenuOpen(!isMenuOpen)}>
            <Icon name={isMenuOpen ? "close" : "menu"} />
          </button>
        </div>
        <div class={isMenuOpen ? "sidebar-body is-open" : "sidebar-body"}>
          <Switcher />
          <Navigation isAdmin={user.role === "admin"} />
          <div class="sidebar-foot">
            <p class="who" title={user.email}>
              {user.name || user.email}
            </p>
            <div class="sidebar-actions">
              <button type="button" class="icon-button" aria-label={t("keys.title")} title={t("keys.title")} onClick={onHelp}>
                <Icon name="help" />
              </button>
              <button
                type="button"
                class="icon-button"
                aria-label={t("logout")}
                title={t("logout")}
                onClick={leave}
              >
                <Icon name="logout" />
              </button>
            </div>
          </div>
        </div>
      </header>
      <main class="main" id="main" tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}
