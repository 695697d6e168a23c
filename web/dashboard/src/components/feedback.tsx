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
  if (known) return known;
  if (error.status === 503) return t("problem.unavailable");
  if (error.status >= 500) return t("problem.server");
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
      {retry && error.status === 503 && <p>{t("retry.self")}</p>}
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

/** Grey lines in the place of content that is loading. */
export function Skeleton({ lines = 3, height = 16 }: { lines?: number; height?: number }) {
  return (
    <div class="skeleton" aria-busy="true">
      <span class="visually-hidden">{t("loading")}</span>
      {Array.from({ length: lines }, (_, line) => (
        <span class="skeleton-line" key={line} style={{ height: `${height}px` }} />
      ))}
    </div>
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
