import { useRef, useState } from "preact/hooks";
import { notify } from "../app/toasts";
import { t } from "../i18n";
import { Icon } from "./icons";

/** Without the clipboard's API, which browsers have over https only: copies what is selected beside the element. Whether it could. */
function copySelected(text: string, beside: Element): boolean {
  const field = document.createElement("textarea");
  const focused = document.activeElement;
  field.value = text;
  field.readOnly = true; // no keyboard appears on a phone
  field.className = "visually-hidden";
  beside.after(field); // outside of an open dialog, nothing can be selected
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return isCopied;
}

/** Whether it could. beside: where a browser without the clipboard's API may select the text. */
export async function copyText(text: string, beside: Element = document.activeElement ?? document.body): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text, beside);
  }
}

/** By the system's own sheet, where there is one, as on phones. */
export const canSend = (): boolean => typeof navigator.share === "function";
export const send = (url: string): void => void navigator.share({ url }).catch(() => {}); // closed without a choice

export function SendButton({ url }: { url: string }) {
  if (!canSend()) return null;
  return (
    <button type="button" class="button" onClick={() => send(url)}>
      <Icon name="send" /> {t("send")}
    </button>
  );
}

interface Props {
  text: string;
  label: string;
  withText?: boolean;
  /** No message repeats it. */
  isSecret?: boolean;
  /** It is what people came for. */
  isMain?: boolean;
}

export function CopyButton({ text, label, withText = false, isSecret = false, isMain = false }: Props) {
  const [isDone, setDone] = useState(false);
  const timer = useRef(0);
  const copy = async (button: Element) => {
    if (!(await copyText(text, button))) return notify(t("copy.failed", { text: isSecret ? "…" : text }), { isError: true });
    notify(isSecret ? t("copied.short") : t("copied", { text }));
    setDone(true);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => setDone(false), 2000);
  };
  return (
    <button type="button" class={isMain ? "button button-primary" : withText ? "button" : "icon-button"} aria-label={withText ? undefined : label} title={label} onClick={(event) => void copy(event.currentTarget)}>
      <Icon name={isDone ? "check" : "copy"} />
      {withText && (isDone ? t("copied.short") : t("copy"))}
    </button>
  );
}
