import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { homeToasts } from "../app/toasts";
import { t } from "../i18n";
import { leave } from "../lib/leave";
import { Icon } from "./icons";

/** In elements. */
const LARGE = 150;

interface Props {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  /** A sheet stands at the right edge and takes the height of the window. */
  isSheet?: boolean;
  isWide?: boolean;
  /** It cannot be closed. */
  isFirm?: boolean;
  /** A class of its own. */
  look?: string;
}

/** A modal dialog. The browser keeps the focus inside and returns it afterwards. Escape calls onClose, which may keep the dialog open. */
export function Dialog({ title, onClose, children, isSheet = false, isWide = false, isFirm = false, look = "" }: Props) {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();

  // Before the next key press is handled, however quick it is.
  useLayoutEffect(() => {
    const dialog = element.current;
    const opener = document.activeElement;
    if (!dialog) return;
    dialog.showModal();
    homeToasts();
    return () => {
      dialog.close();
      homeToasts();
      const home = dialog.parentElement?.closest("dialog[open]") ?? document.body;
      // Once a dialog above this one is closed too: nothing below it takes the focus.
      queueMicrotask(() => {
        if (opener instanceof HTMLElement) opener.focus();
        // To draw a large one again would keep the page from its next key for longer than the motion is worth.
        if (dialog.getElementsByTagName("*").length < LARGE) leave(dialog, home);
      });
    };
  }, []);

  // Without this, Chromium's second Escape closes every open dialog and fires no cancel event.
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const isTop = [...document.querySelectorAll("dialog[open]")].pop() === element.current;
      if (event.key !== "Escape" || event.isComposing || !isTop) return;
      event.preventDefault();
      onClose();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, [onClose]);

  return (
    <dialog
      ref={element}
      class={`dialog${isSheet ? " sheet" : ""}${isWide ? " dialog-wide" : ""} ${look}`}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      // A second gesture to go back closes it without a cancel event.
      onClose={() => {
        if (!element.current?.isConnected) return;
        element.current.showModal();
        onClose();
      }}
    >
      <header class="dialog-head">
        <h2 id={titleId}>{title}</h2>
        {!isFirm && (
          <button type="button" class="icon-button" aria-label={t("close")} onClick={onClose}>
            <Icon name="close" />
          </button>
        )}
      </header>
      <div class="dialog-body">{children}</div>
    </dialog>
  );
}

/** The buttons of a form: to leave it, and then what it does. */
export const DialogFoot = ({ onClose, isBusy = false, cancel = t("cancel"), children }: { onClose: () => void; isBusy?: boolean; cancel?: string; children: ComponentChildren }) => (
  <footer class="dialog-foot">
    <button type="button" class="button" disabled={isBusy} onClick={onClose}>
      {cancel}
    </button>
    {children}
  </footer>
);

interface ConfirmProps {
  title: string;
  text: string;
  /** A second paragraph. */
  more?: ComponentChildren;
  action: string;
  /** The text of the button that does nothing. */
  cancel?: string;
  onConfirm: () => void;
  onClose: () => void;
}

export function Confirm({ title, text, more, action, cancel, onConfirm, onClose }: ConfirmProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{text}</p>
      {more && <p>{more}</p>}
      <DialogFoot onClose={onClose} cancel={cancel}>
        <button
          type="button"
          class="button button-danger"
          onClick={() => {
            onConfirm();
            onClose();
          }}
        >
          {action}
        </button>
      </DialogFoot>
    </Dialog>
  );
}
