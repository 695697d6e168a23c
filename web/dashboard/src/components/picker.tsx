import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { t } from "../i18n";
import { useOutside } from "../lib/use_outside";
import { Icon } from "./icons";

export interface Choice {
  id: string;
  text: string;
  group: string;
  /** Before the text. */
  mark?: ComponentChildren;
  isOn?: boolean;
}

interface Props {
  label: string;
  /** Of the button. Without it, the list stands in the page, and stays open. */
  children?: ComponentChildren;
  class?: string;
  choices: readonly Choice[];
  onPick: (id: string) => void;
}

/** Above it, a list has a field that narrows it. */
const MANY = 9;

/** A button with a list of choices in groups. Letters narrow it, arrow keys move, Enter picks, Escape closes. */
export function Picker({ label, children, class: look = "chip", choices, onPick }: Props) {
  const isFixed = children === undefined;
  const [isOpen, setOpen] = useState(isFixed);
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const field = useRef<HTMLInputElement>(null);
  const id = useId();
  const shown = choices.filter((each) => `${each.group} ${each.text}`.toLowerCase().includes(text.trim().toLowerCase()));
  const chosen = shown[at];

  const leave = () => {
    setOpen(isFixed);
    setText("");
    setAt(0);
  };
  useOutside(root, isOpen && !isFixed, leave);
  useLayoutEffect(() => {
    if (isOpen && !isFixed) field.current?.focus();
  }, [isOpen]);
  const close = () => {
    leave();
    button.current?.focus();
  };
  const pick = (choice: Choice | undefined) => {
    if (!choice) return;
    close();
    onPick(choice.id);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const to = { ArrowDown: at + 1, ArrowUp: at - 1 }[event.key];
    if (event.key === "Escape" && !isFixed) close();
    else if (event.key === "Enter") pick(chosen);
    else if (event.key === "Tab") return leave();
    else if (to !== undefined && shown.length > 0) setAt((to + shown.length) % shown.length);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  useLayoutEffect(() => document.getElementById(`${id}-${at}`)?.scrollIntoView({ block: "nearest" }), [at, isOpen]);

  return (
    <div class="menu" ref={root}>
      {!isFixed && (
        <button ref={button} type="button" class={look} aria-haspopup="listbox" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <span class="visually-hidden">{label}: </span>
          {children}
        </button>
      )}
      {isOpen && (
        <div class={isFixed ? "picker-fixed" : "menu-list picker"} onKeyDown={onKeyDown}>
          <input
            ref={field}
            class={choices.length < MANY ? "visually-hidden" : "input"}
            role="combobox"
            aria-label={label}
            aria-expanded="true"
            aria-controls={id}
            aria-activedescendant={chosen && `${id}-${at}`}
            placeholder={t("search")}
            autocomplete="off"
            value={text}
            onInput={(event) => {
              setText(event.currentTarget.value);
              setAt(0);
            }}
          />
          {/* The field keeps the focus while a choice is pressed. */}
          <div class="picker-list" role="listbox" id={id} aria-label={label} onMouseDown={(event) => event.preventDefault()}>
            {shown.map((choice, index) => (
              <>
                {choice.group !== shown[index - 1]?.group && choice.group !== "" && (
                  <p class="picker-group" role="presentation" key={`group ${choice.group}`}>
                    {choice.group}
                  </p>
                )}
                <div class="menu-item" role="option" id={`${id}-${index}`} key={choice.id} aria-selected={index === at} onPointerMove={() => setAt(index)} onClick={() => pick(choice)}>
                  {choice.mark}
                  <span class="picker-text">{choice.text}</span>
                  {choice.isOn && <Icon name="check" />}
                </div>
              </>
            ))}
          </div>
          {shown.length === 0 && <p class="muted picker-group">{t("links.nomatch")}</p>}
        </div>
      )}
    </div>
  );
}
