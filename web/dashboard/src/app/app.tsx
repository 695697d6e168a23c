import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type ApiError, asApiError, type Workspace } from "../api/client";
import { Empty, ErrorBox, PageSkeleton, Skeleton } from "../components/feedback";
import { type Key, loadMoreTexts, t, useLanguage } from "../i18n";
import { loadCode } from "../lib/load_code";
import { awaitBox, HelpDialog, useGlobalKeys } from "./keyboard";
import { currentWorkspaceId } from "../lib/workspace";
import { currentPlace, href, navigate, usePlace } from "./router";
import { type PageProps, roleNeeded, type Route, routeOf } from "./routes";
import { can, currentWorkspace, lastRole, refreshRoles, sessionError, useFactorNeeded, useSessionOver, useUser, useWorkspaces } from "./session";
import { useZoneSetting } from "./settings";
import { Shell } from "./shell";
import { Toasts } from "./toasts";
import { lazy } from "../lib/lazy";

const Command = lazy(() => import("./command"), 0);
const Relogin = lazy(() => import("./relogin"), 0);
const FactorNeeded = lazy(() => import("../pages/factor_needed"), 6);

interface Loaded {
  route: Route;
  Page?: ComponentType<PageProps>;
  error?: ApiError;
}

/** Where a visitor of this page goes who is not logged in. The login returns to it. */
function placeWithoutLogin(): string {
  const { path, workspace } = currentPlace();
  if (path === "/" && !workspace) return href("/start");
  return href("/login", { next: location.pathname.slice("/app".length) + location.search });
}

const isHere = (workspace: number | undefined) => !workspace || workspace === currentWorkspaceId();

/** Why the person may not see the page of the address. Nobody learns of a workspace of others whether it exists. */
function whyMissing(workspaces: readonly Workspace[], isLoggedIn: boolean): [title: Key, text: Key] {
  const { workspace } = currentPlace();
  if (workspaces.some((each) => each.id === workspace && each.deleted_at)) return ["workspace.deleted", "problem.workspace-deleted"];
  const isLost = currentWorkspaceId() !== 0 && !currentWorkspace() && workspaces.some((each) => !each.deleted_at); // the person is no member any more
  if (!isHere(workspace) || isLost) return ["workspace.missing", "workspace.missing.text"];
  return currentWorkspace() || !isLoggedIn ? ["missing.title", "missing.text"] : ["workspaces.none", "workspaces.none.text"];
}

function Missing() {
  const [title, text] = whyMissing(useWorkspaces(), Boolean(useUser()));
  const isOfPage = title === "missing.title";
  return (
    <Empty icon="search" isPage title={t(title)} text={t(text)}>
      <a class="button button-primary" href={href(isOfPage ? "/" : "/workspaces")}>
        {t(isOfPage ? "missing.action" : "workspaces")}
      </a>
    </Empty>
  );
}

/** started: once the server has said who is logged in and what it offers, or has failed to. */
export function App({ started }: { started: Promise<unknown> }) {
  useLanguage();
  useZoneSetting();
  const { path, workspace } = usePlace();
  const user = useUser();
  const isSessionOver = useSessionOver();
  const isFactorNeeded = useFactorNeeded() && path !== "/account";
  const workspaces = useWorkspaces();
  const [loaded, setLoaded] = useState<Loaded>();
  const [isStarted, setStarted] = useState(false);
  const [isHelpOpen, setHelpOpen] = useState(false);
  const [isCommandOpen, setCommandOpen] = useState(false);
  const openCommand = () => {
    if (!user) return;
    awaitBox();
    setCommandOpen(true);
  };
  useGlobalKeys(() => setHelpOpen(true), openCommand);

  const route = routeOf(path);
  const role = roleNeeded(route);
  const isAllowed = route?.access === "anyone" || (user && (role ? isHere(workspace) && can(role) : route?.access !== "administrator" || user.role === "admin"));
  /** Code is no secret: that of the page is there once the session is known. */
  const mayLoad = isAllowed || (user === undefined && lastRole !== undefined);
  const isFramed = !route?.isBare && (user || (user === undefined && lastRole !== undefined));
  const fault = user === undefined && !isAllowed ? sessionError() : undefined;
  const needsLogin = route !== undefined && route.access !== "anyone" && user === null;

  useEffect(() => void started.then(() => setStarted(true)), []);

  useEffect(() => {
    // Who logs out may have gone on to a page of guests already.
    if (needsLogin && currentPlace().path === path) navigate(placeWithoutLogin(), { replace: true });
  }, [needsLogin, path]);

  useEffect(() => refreshRoles(), [path]);

  // Who goes on from somebody else's workspace that they cannot see is back in their own.
  useEffect(() => void (isFactorNeeded && !role && currentWorkspace()?.members === 0 && location.reload()), [path]);

  useEffect(() => {
    if (isAllowed && role && !workspace) navigate(href(path) + location.search, { replace: true });
  }, [isAllowed, role, workspace, path]);

  useEffect(() => {
    if (!route || !mayLoad) return;
    let isCurrent = true;
    loadCode(() => Promise.all([route.load(), route.isFirst ? undefined : loadMoreTexts()])).then(
      ([{ default: Page }]) => isCurrent && setLoaded({ route, Page }),
      (cause) => isCurrent && setLoaded({ route, error: asApiError(cause) }),
    );
    return () => void (isCurrent = false);
  }, [route, mayLoad]);

  useEffect(() => {
    const names = [route && t(route.title), role && workspaces.length > 1 && currentWorkspace()?.name, "Waymark"];
    document.title = names.filter(Boolean).join(" · ");
  });

  const { Page, error } = loaded?.route === route && loaded ? loaded : {};
  const id = route?.pattern.exec(path)?.[1] ?? "";
  return (
    <>
      <Shell isGuest={!isFramed} isBare={route?.isBare ?? false} isStarted={isStarted} onHelp={() => setHelpOpen(true)} onCommand={openCommand}>
        {user && isFactorNeeded && (role || !currentWorkspace()) ? (
          <FactorNeeded />
        ) : isStarted && !fault && (!route || (user && !isAllowed)) ? (
          <Missing />
        ) : isStarted && Page && isAllowed ? (
          <Page id={id} key={path} />
        ) : isFramed ? (
          <PageSkeleton title={route?.icon && t(route.title)} look={path === "/live" ? "live" : /^\/(links)?$/.test(path) ? "links" : /^\/(statistics|links\/\d+)$/.test(path) ? "figures" : "rows"} error={error ?? fault} retry={() => location.reload()} />
        ) : error ?? fault ? (
          <ErrorBox error={(error ?? fault) as ApiError} retry={() => location.reload()} />
        ) : (
          <Skeleton lines={6} height={24} />
        )}
      </Shell>
      <Toasts />
      {isCommandOpen && user && <Command onClose={() => setCommandOpen(false)} />}
      {isSessionOver && user && <Relogin />}
      {isHelpOpen && <HelpDialog onClose={() => setHelpOpen(false)} />}
    </>
  );
}
