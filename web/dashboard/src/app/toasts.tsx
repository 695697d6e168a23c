import { useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "../components/icons";
import { t } from "../i18n";
import { useLeaving } from "../lib/leave";
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

/** After a change, what an earlier message offers would undo more than the last one, or nothing; also for the end of a session. */
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

/** Into the topmost dialog, as what lies behind one can be neither pressed nor heard, and above a bar at the foot of the window. */
export function homeToasts(): void {
  const box = document.querySelector(".toasts");
  box?.classList.toggle("is-raised", document.querySelector(".selection-bar:not(.is-leaving), .action-bar") !== null);
  const home = (box?.childElementCount && [...document.querySelectorAll("dialog[open]")].pop()) || document.querySelector(".toasts-home");
  if (box && box.parentNode !== home) home?.append(box);
}

function Message({ toast }: { toast: Toast }) {
  const element = useRef<HTMLDivElement>(null);
  useLeaving(element);
  useLayoutEffect(homeToasts, []);
  return (
    <div ref={element} class={toast.isError ? "toast toast-error" : "toast"}>
      <Icon name={toast.isError ? "info" : "check"} />
      <span>{toast.text}</span>
      {toast.undo && (
        <button
          type="button"
          class="button toast-undo"
          onClick={() => {
            dismiss(toast.id);
            toast.undo?.();
          }}
        >
          {t("undo")} <kbd>Z</kbd>
        </button>
      )}
      <button type="button" class="icon-button" aria-label={t("close")} onClick={() => dismiss(toast.id)}>
        <Icon name="close" />
      </button>
    </div>
  );
}

export function Toasts() {
  return (
    <div class="toasts-home">
      <div class="toasts" role="status" aria-live="polite">
        {useStore(toasts).map((toast) => (
          <Message toast={toast} key={toast.id} />
        ))}
      </div>
    </div>
  );
}
