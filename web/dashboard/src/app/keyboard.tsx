import { useLayoutEffect, useState } from "preact/hooks";
import { Dialog } from "../components/dialog";
import { type Key, t } from "../i18n";
import { readLocal, writeLocal } from "../lib/local";
import { currentPlace, href, navigate } from "./router";
import { can, currentUser } from "./session";
import { undoLast } from "./toasts";

function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("input, textarea, select, [contenteditable]") !== null;
}

/** Single keys can be switched off: speech input and a shaky hand press them by mistake. */
const areLettersOn = () => readLocal("keys", true);

/** Calls the handler of a key that is pressed outside of fields and dialogs. */
export function useKeys(keys: Record<string, () => void>): void {
  // Before the next key press is handled, however quick it is.
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (document.querySelector("dialog[open]") || (event.key.length === 1 && !areLettersOn())) return;
      const run = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      if (!run) return;
      event.preventDefault();
      run();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  });
}

/** To the list of links with its search, or to the field at once if it is shown. */
function search(): void {
  const field = document.querySelector<HTMLInputElement>("input[type=search]");
  if (field) field.focus();
  else if (currentUser()) navigate(href("/links", { focus: "search" }));
}

function create(): void {
  if (!currentUser()) return document.querySelector<HTMLInputElement>(".shorten input")?.focus();
  if (can("editor") && currentPlace().path !== "/links") navigate(href("/links", { edit: "new" }));
}

const OPENS_WITHIN_MS = 5000;
let typedAhead = "";
let typesAheadUntil = 0;

/** What is typed or pasted after Ctrl+K is meant for the box, also while its code is on its way. */
function keepTyped(event: KeyboardEvent | ClipboardEvent): void {
  if (Date.now() > typesAheadUntil || document.querySelector("dialog[open]")) return;
  const text = "clipboardData" in event ? event.clipboardData?.getData("text") : event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey ? event.key : "";
  if (!text) return;
  event.preventDefault();
  event.stopPropagation();
  typedAhead += text;
}

/** The box of Ctrl+K is about to open. */
export function awaitBox(): void {
  typesAheadUntil = Date.now() + OPENS_WITHIN_MS;
}

/** What was typed for the box before it could take keys itself, once. */
export function takeTyped(): string {
  const text = typedAhead;
  typedAhead = "";
  typesAheadUntil = 0;
  return text;
}

/** Ctrl+K or ⌘K, wherever the focus is. */
function useCommandKey(run: () => void): void {
  useLayoutEffect(() => {
    addEventListener("keydown", keepTyped, true);
    addEventListener("paste", keepTyped, true);
    return () => {
      removeEventListener("keydown", keepTyped, true);
      removeEventListener("paste", keepTyped, true);
    };
  }, []);
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || event.altKey || event.shiftKey || event.ctrlKey === event.metaKey) return;
      event.preventDefault();
      run();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  });
}

export const isMac = (): boolean => /Mac|iPhone|iPad/.test(navigator.userAgent);

export function useGlobalKeys(onHelp: () => void, onCommand: () => void): void {
  useCommandKey(onCommand);
  useKeys({ "/": search, "?": onHelp, c: create, z: undoLast });
}

const KEYS: readonly (readonly [string, Key])[] = [
  [isMac() ? "⌘ K" : "Ctrl K", "command"],
  ["/", "keys.search"],
  ["C", "keys.create"],
  ["Z", "keys.undo"],
  ["D", "range.today"],
  ["W", "range.7d"],
  ["T", "range.30d"],
  ["M", "range.month"],
  ["Y", "range.year"],
  ["P", "range.earlier"],
  ["N", "range.later"],
  ["X", "keys.compare"],
  ["← →", "keys.chart"],
  ["?", "keys.help"],
];

export function HelpDialog({ onClose }: { onClose: () => void }) {
  const [areOn, setOn] = useState(areLettersOn);
  const switchKeys = (next: boolean) => {
    writeLocal("keys", next);
    setOn(next);
  };
  return (
    <Dialog title={t("keys.title")} onClose={onClose}>
      <dl class="key-list">
        {KEYS.map(([key, text]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{t(text)}</dd>
          </div>
        ))}
      </dl>
      <label class="check">
        <input type="checkbox" checked={areOn} onChange={(event) => switchKeys(event.currentTarget.checked)} /> {t("keys.single")}
      </label>
      <p class="hint">
        <a href="/docs">{t("help.api")}</a> · <a href="/app/licences.txt">{t("help.licences")}</a>
      </p>
    </Dialog>
  );
}
