import { useRef, useState } from "preact/hooks";
import { notify } from "../app/toasts";
import { t } from "../i18n";
import { Icon } from "./icons";

export function CopyButton({ text, label, withText = false }: { text: string; label: string; withText?: boolean }) {
  const [isDone, setDone] = useState(false);
  const timer = useRef(0);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      notify(t("copy.failed", { text }), { isError: true });
      return;
    }
    notify(t("copied", { text }));
    setDone(true);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => setDone(false), 2000);
  };
  return (
    <button type="button" class={withText ? "button" : "icon-button"} aria-label={withText ? undefined : label} title={label} onClick={copy}>
      <Icon name={isDone ? "check" : "copy"} />
      {withText && (isDone ? t("copied.short") : t("copy"))}
    </button>
  );
}
