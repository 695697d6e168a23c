import type { FunctionComponent } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useGuard } from "../app/router";
import { currentUser } from "../app/session";
import { t } from "../i18n";
import { isSame, keepDraft, readDraft } from "../lib/drafts";
import { lazy } from "../lib/lazy";
import { currentWorkspaceId } from "../lib/workspace";
import { Dialog } from "./dialog";

export const Conflict = lazy(async () => ({ default: (await import("./conflict")).Conflict as FunctionComponent<never> }), 4) as unknown as typeof import("./conflict").Conflict;

const KEEP_MS = 300;

interface Form<T> {
  /** Which form of this person in this workspace: another one at the same browser has their own. */
  name: string | number;
  /** What the form is without a change. */
  first: () => T;
  /** What it begins with, if that is something else. */
  from?: T | undefined;
  /** What of it may stay in this browser: a password never does. */
  keep: (draft: T) => T;
  onClose: () => void;
}

/** What somebody types into a form: kept in this browser until it is sent or discarded, and leaving asks. */
export function useTyped<T>({ name, first: open, from, keep, onClose }: Form<T>) {
  const key = [currentUser()?.id, currentWorkspaceId(), name].join(" ");
  const [kept] = useState(() => readDraft<{ first: T; draft: T }>(key));
  const [first, setFirst] = useState(open);
  const [base, setBase] = useState(kept?.first ?? first);
  const [draft, setDraft] = useState<T>(() => (kept ? { ...first, ...kept.draft } : (from ?? first)));
  const [isRestored, setRestored] = useState(kept !== undefined);
  const [isLeaving, setLeaving] = useState<() => void>();
  const [isDecided, setDecided] = useState(false);
  /** At once: a draft that is about to be kept must not come back after the form was sent. */
  const isSent = useRef(false);
  const isChanged = !isSame(draft, first) && !isDecided;
  useEffect(() => {
    if (isDecided) return;
    const timer = setTimeout(() => isSent.current || keepDraft(key, isChanged ? { first, draft: keep(draft) } : undefined), KEEP_MS);
    return () => clearTimeout(timer);
  }, [draft, isChanged]);
  useGuard(isChanged, (go) => setLeaving(() => go));

  const discard = () => {
    keepDraft(key, undefined);
    setDraft(first);
    setRestored(false);
  };
  /** They were asked: going back to the page before must not ask again. */
  const leave = () => {
    setDecided(true);
    isLeaving?.();
  };
  return {
    draft,
    setDraft,
    first,
    /** What the draft began with: of one that is back, perhaps an older version than first. */
    base,
    /** From here on, both are this one. */
    setFirst: (next: T) => (setFirst(next), setBase(next)),
    isChanged,
    close: () => (isChanged ? setLeaving(() => onClose) : onClose()),
    /** It was sent. */
    finish: () => {
      isSent.current = true;
      keepDraft(key, undefined);
      setDecided(true);
    },
    /** Above the fields. */
    note: isRestored && isChanged && (
      <p class="note" role="status">
        {t("draft.restored")}{" "}
        <button type="button" class="button button-quiet" onClick={discard}>
          {t("discard")}
        </button>
      </p>
    ),
    /** Beside the form's own dialog. */
    question: isLeaving && (
      <Dialog title={t("discard.title")} onClose={() => setLeaving(undefined)}>
        <footer class="dialog-foot">
          <button type="button" class="button button-danger" onClick={() => (discard(), leave())}>
            {t("discard")}
          </button>
          <button type="button" class="button" onClick={() => (keepDraft(key, { first, draft: keep(draft) }), leave())}>
            {t("draft.keep")}
          </button>
          <button type="button" class="button button-primary" onClick={() => setLeaving(undefined)}>
            {t("discard.not")}
          </button>
        </footer>
      </Dialog>
    ),
  };
}
