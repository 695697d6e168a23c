import { t } from "../i18n";
import { createStore, useStore } from "../lib/store";

interface Toast {
  id: number;
  text: string;
  isError: boolean;
  undo?: () => void;
}

const PLAIN_MS = 5_000;
const UNDO_MS = 12_000;

const toasts = createStore<readonly Toast[]>([]);
let lastId = 0;

function dismiss(id: number): void {
  toasts.set(toasts.get().filter((toast) => toast.id !== id));
}

export function notify(text: string, options: { undo?: () => void; isError?: boolean } = {}): void {
  const id = ++lastId;
  toasts.set([...toasts.get().slice(-2), { id, text, isError: options.isError ?? false, undo: options.undo }]);
  setTimeout(() => dismiss(id), options.undo ? UNDO_MS : PLAIN_MS);
}

/** Undoes what the newest message offers to undo. */
export function undoLast(): void {
  const toast = [...toasts.get()].reverse().find((each) => each.undo);
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
