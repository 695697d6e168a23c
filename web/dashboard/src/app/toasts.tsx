import { t } from "../i18n";
import { createStore, useStore } from "../lib/store";

interface Toast {
  id: number;
  text: string;
  isError: boolean;
  undo?: () => void;
}

const SHOWN_MS = 5_000;
const UNDO_MS = 30_000;
/** After the pointer or the focus has left it. */
const HELD_MS = 1_000;

/** The messages stay while the pointer or the focus is on one. */
const isHeld = () => document.querySelector(".toasts:is(:hover, :focus-within)") !== null;

const toasts = createStore<readonly Toast[]>([]);
let lastId = 0;

function dismiss(id: number): void {
  toasts.set(toasts.get().filter((toast) => toast.id !== id));
}

function dismissLater(id: number, ms: number): void {
  setTimeout(() => (isHeld() ? dismissLater(id, HELD_MS) : dismiss(id)), ms);
}

/** A message that offers to undo something stays longer, unless the next such message replaces it. */
export function notify(text: string, options: { undo?: () => void; isError?: boolean } = {}): void {
  const id = ++lastId;
  const others = options.undo ? toasts.get().filter((toast) => !toast.undo) : toasts.get();
  toasts.set([...others.slice(-2), { id, text, isError: options.isError ?? false, undo: options.undo }]);
  dismissLater(id, options.undo ? UNDO_MS : SHOWN_MS);
}

/** For a change after which what a message offers can no longer be undone, or has been; also for the end of a session. */
export function forgetUndo(): void {
  toasts.set(toasts.get().filter((toast) => !toast.undo));
}

/** Undoes what the message offers to undo. */
export function undoLast(): void {
  const toast = toasts.get().find((each) => each.undo);
  if (!toast) return;
  dismiss(toast.id);
  toast.undo?.();
}

export function Toasts() {
  const shown = useStore(toasts);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown.map((toast) => (
        <div class={toast.isError ? "toast toast-error" : "toast"} key={toast.id}>
          <span>{toast.text}</span>
          {toast.undo && (
            <button
              type="button"
              class="toast-undo"
              onClick={() => {
                dismiss(toast.id);
                toast.undo?.();
              }}
            >
              {t("undo")} <kbd>Z</kbd>
            </button>
          )}
          <button type="button" class="toast-close" aria-label={t("close")} onClick={() => dismiss(toast.id)}>
            ×
          </button>
        </div>
      ))}
    </div>
  );
}
