import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useOutside } from "../lib/use_outside";
import { Icon, type IconName } from "./icons";

export interface MenuItem {
  text: string;
  icon: IconName;
  run: () => void;
  isDanger?: boolean;
  isOn?: boolean;
}

interface Props {
  label: string;
  items: MenuItem[];
  children?: ComponentChildren;
  /** The icon of a button without children. */
  icon?: IconName;
}

/** A button with a list of actions. Arrow keys move, Escape closes, and the focus returns to the button. */
export function Menu({ label, items, children, icon = "more" }: Props) {
  const [isOpen, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();
  useOutside(root, isOpen, () => setOpen(false));

  // Before the next key press is handled, however quick it is.
  useLayoutEffect(() => {
    if (!isOpen) return;
    root.current?.querySelector<HTMLElement>("[role=menuitem]")?.focus({ preventScroll: true });
    const list = root.current?.querySelector("[role=menu]");
    if (list && list.getBoundingClientRect().bottom > innerHeight) list.classList.add("is-up");
  }, [isOpen]);

  const close = () => {
    setOpen(false);
    button.current?.focus();
  };

  const move = (event: KeyboardEvent) => {
    const entries = [...(root.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
    const at = entries.indexOf(document.activeElement as HTMLElement);
    const last = entries.length - 1;
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: last }[event.key];
    if (event.key === "Escape") close();
    else if (event.key === "Tab") setOpen(false);
    else if (to !== undefined) entries[(to + entries.length) % entries.length]?.focus();
    else return;
    if (event.key !== "Tab") event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div class="menu" ref={root}>
      <button ref={button} type="button" class={children ? "button" : "icon-button"} aria-label={children ? undefined : label} aria-haspopup="menu" aria-expanded={isOpen} aria-controls={id} onClick={() => setOpen(!isOpen)}>
        {children ?? <Icon name={icon} />}
      </button>
      {isOpen && (
        <div class="menu-list" role="menu" id={id} aria-label={label} onKeyDown={move}>
          {items.map((item, at) => (
            <button
              type="button"
              role="menuitem"
              tabIndex={-1}
              key={at}
              class={item.isDanger ? "menu-item menu-danger" : "menu-item"}
              onClick={() => {
                close();
                item.run();
              }}
            >
              <Icon name={item.icon} />
              <span>{item.text}</span>
              {item.isOn && <Icon name="check" />}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
