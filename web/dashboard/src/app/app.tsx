import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type ApiError, asApiError } from "../api/client";
import { Empty, ErrorBox, Skeleton } from "../components/feedback";
import { t, useLanguage } from "../i18n";
import { loadCode } from "../lib/load_code";
import { HelpDialog, useGlobalKeys } from "./keyboard";
import { currentPlace, href, navigate, usePlace } from "./router";
import { type PageProps, ROUTES } from "./routes";
import { sessionError, useUser } from "./session";
import { useZoneSetting } from "./settings";
import { Shell } from "./shell";
import { Toasts } from "./toasts";

interface Loaded {
  route: (typeof ROUTES)[number];
  Page?: ComponentType<PageProps>;
  error?: ApiError;
}

/** Where a visitor goes who is not logged in. The login returns to the page that was asked for. */
function placeWithoutLogin(): string {
  const { path, params } = currentPlace();
  if (path === "/") return href("/start");
  const search = params.toString();
  return href("/login", { next: path + (search ? `?${search}` : "") });
}

export function App() {
  useLanguage();
  useZoneSetting();
  const { path } = usePlace();
  const user = useUser();
  const [loaded, setLoaded] = useState<Loaded>();
  const [isHelpOpen, setHelpOpen] = useState(false);
  useGlobalKeys(() => setHelpOpen(true));

  const route = ROUTES.find((each) => each.pattern.test(path));
  const isAllowed = route?.access === "anyone" || (user && (route?.access !== "admin" || user.role === "admin"));
  const fault = user === undefined && !isAllowed ? sessionError() : undefined;
  const needsLogin = route !== undefined && route.access !== "anyone" && user === null;

  useEffect(() => {
    if (needsLogin) navigate(placeWithoutLogin(), { replace: true });
  }, [needsLogin, path]);

  useEffect(() => {
    if (!route || !isAllowed) return;
    let isCurrent = true;
    loadCode(route.load).then(
      ({ default: Page }) => isCurrent && setLoaded({ route, Page }),
      (cause) => isCurrent && setLoaded({ route, error: asApiError(cause) }),
    );
    return () => void (isCurrent = false);
  }, [route, isAllowed]);

  useEffect(() => {
    document.title = route ? `${t(route.title)} · Waymark` : "Waymark";
  });

  const { Page, error } = loaded?.route === route && loaded ? loaded : {};
  const id = route?.pattern.exec(path)?.[1] ?? "";
  return (
    <>
      <Shell isBare={route?.isBare ?? false} onHelp={() => setHelpOpen(true)}>
        {!route || (user && !isAllowed) ? (
          <Empty isPage title={t("missing.title")} text={t("missing.text")}>
            <a class="button button-primary" href={href("/")}>
              {t("missing.action")}
            </a>
          </Empty>
        ) : Page && isAllowed ? (
          <Page id={id} key={path} />
        ) : (error ?? fault) ? (
          <ErrorBox error={(error ?? fault) as ApiError} retry={() => location.reload()} />
        ) : (
          <Skeleton lines={6} height={24} />
        )}
      </Shell>
      <Toasts />
      {isHelpOpen && <HelpDialog onClose={() => setHelpOpen(false)} />}
    </>
  );
}
