import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { ApiError } from "../api/client";
import { currentLocale, t, tMaybe } from "../i18n";
import { intl } from "../lib/intl";
import { Icon, type IconName } from "./icons";

function retryText(seconds: number): string {
  const [unit, size] = ([["hour", 3600], ["minute", 60]] as const).find(([, each]) => seconds >= each) ?? (["second", 1] as const);
  return t("retry.after", { time: intl("RelativeTimeFormat", currentLocale()).format(Math.ceil(seconds / size), unit) });
}

/** What went wrong, in the user's language if the catalogue knows the problem, and what to do. */
export function explain(error: ApiError): string {
  const known = tMaybe(`problem.${error.kind}`);
  if (known && error.retryAfterS > 0) return `${known} ${retryText(error.retryAfterS)}`;
  if (known) return `${known} ${error.problem?.workspaces ?? ""}`.trim();
  if (error.status === 500) return t(error.requestId ? "problem.server" : "problem.unavailable");
  if (error.isTemporary) return t("problem.unavailable");
  return error.status === 404 ? t("problem.missing") : t("problem.other", { detail: error.message });
}

/**
 * In a form, the field that was refused gets the focus and comes into view with its error. A request id is for the operator: it is shown only where the server failed.
 * With retry, the page tries again by itself while the service is unavailable.
 */
export function ErrorBox({ error, retry }: { error: ApiError; retry?: () => void }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const form = box.current?.closest("form");
    const field = form?.querySelector<HTMLElement>("[aria-invalid]");
    field?.closest("details")?.setAttribute("open", "");
    field?.focus();
    field?.closest(".field")?.scrollIntoView({ block: "nearest" });
    if (form && !field) box.current?.scrollIntoView({ block: "center" });
  }, [error]);
  return (
    <div class="error-box" role="alert" ref={box}>
      <p>{explain(error)}</p>
      {retry && error.isTemporary && <p>{t("retry.self")}</p>}
      {error.requestId && error.status >= 500 && (
        <p class="request-id">
          {t("request.id")} <code>{error.requestId}</code>
        </p>
      )}
      {retry && (
        <button type="button" class="button" onClick={retry}>
          {t("retry")}
        </button>
      )}
    </div>
  );
}

interface SkeletonProps {
  lines?: number;
  height?: number;
  /** What comes: lines of text, rows of a list, bars with counts, or three figures above a chart. */
  look?: "text" | "rows" | "rows bones-links" | "bars" | "figures";
  /** Nothing is loading: it keeps the place of what could not be loaded. */
  isStill?: boolean;
}

/** Grey shapes in the place of content that is loading, as large as it will be. */
export function Skeleton({ lines = 3, height = 16, look = height > 40 ? "rows" : "text", isStill = false }: SkeletonProps) {
  return (
    <div class={`bones bones-${look}${isStill ? "" : " skeleton"}`} aria-busy={!isStill}>
      {!isStill && <span class="visually-hidden">{t("loading")}</span>}
      {Array.from({ length: look === "figures" ? 3 : lines }, (_, line) => (
        <i key={line} style={look === "figures" ? undefined : { height: `${height}px`, "--long": `${70 * 0.84 ** line}%` }} />
      ))}
    </div>
  );
}

interface PageSkeletonProps {
  title?: string;
  look: "rows" | "figures" | "live" | "links";
  error: ApiError | undefined;
  retry: () => void;
}

/** In the place of a page that is not known yet: its title, and the shapes of what it shows. With an error, these stand still below it. */
export function PageSkeleton({ title, look, error, retry }: PageSkeletonProps) {
  const shapes = <Skeleton look={look === "links" ? "rows bones-links" : look === "live" ? "rows" : look} lines={9} height={56} isStill={error !== undefined} />;
  return (
    <>
      <header class="page-head">
        <p class="page-title">{title ?? <i class="bone" />}</p>
      </header>
      {look === "figures" && (
        <div class="stat-bar">
          <i class="bone" />
        </div>
      )}
      {error && <ErrorBox error={error} retry={retry} />}
      {look === "links" ? (
        <>
          <div class="filter-bar">
            <i class="bone" />
          </div>
          {shapes}
        </>
      ) : look === "live" ? (
        <div class="live">
          <div class="card live-map">
            <dl class="live-counts">
              <dd class="metric-count">
                <i class="bone" />
              </dd>
            </dl>
            <i class="bone bone-map" />
          </div>
          <div class="card live-stream">{shapes}</div>
        </div>
      ) : (
        <div class="card figures">{shapes}</div>
      )}
      {look === "figures" && (
        <div class="panels">
          <div class="card panel panel-places">
            <div class="panel-head" />
            <i class="bone bone-map" />
            <div class="panel-body">
              <Skeleton look="bars" lines={10} height={32} isStill={error !== undefined} />
            </div>
          </div>
        </div>
      )}
    </>
  );
}

interface EmptyProps {
  icon?: IconName;
  title: string;
  /** The empty state is the whole page. */
  isPage?: boolean;
  text?: string;
  children?: ComponentChildren;
}

/** An empty list says what belongs into it and how to begin. */
export function Empty({ icon, title, text, isPage = false, children }: EmptyProps) {
  return (
    <div class="empty">
      {icon && <Icon name={icon} />}
      {isPage ? <h1>{title}</h1> : <h2>{title}</h2>}
      {text && <p>{text}</p>}
      {children}
    </div>
  );
}
