import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon, type IconName } from "./icons";

/** A field to go to, by a selector. A new one goes there again. */
export interface Goal {
  to: string;
}

interface FoldProps {
  icon: IconName;
  title: string;
  /** What is set, in few words. */
  summary?: string;
  isOpen?: boolean;
  /** Opens it and leads there. */
  goal?: Goal | undefined;
  children: ComponentChildren;
}

/** A part of a form with what is set in its line. It opens for a field that the browser or the server refuses, and never folds by itself. Its fields are drawn when it first opens. */
export function Fold({ icon, title, summary, isOpen = false, goal, children }: FoldProps) {
  const [open] = useState(isOpen);
  const [isDrawn, setDrawn] = useState(isOpen);
  const details = useRef<HTMLDetailsElement>(null);
  const reached = useRef<Goal | undefined>(undefined);
  useEffect(() => {
    if (!goal || reached.current === goal || !details.current) return;
    details.current.open = true;
    setDrawn(true);
    const field = details.current.querySelector<HTMLElement>(goal.to);
    if (!field) return; // it is about to be drawn
    reached.current = goal;
    details.current.scrollIntoView({ block: "start" });
    (field.closest("fieldset") ?? field).scrollIntoView({ block: "nearest" });
    field.focus({ preventScroll: true });
  });
  return (
    <details class="fold" ref={details} open={open || isOpen} onInvalidCapture={(event) => (event.currentTarget.open = true)} onToggle={() => setDrawn(true)}>
      <summary>
        <Icon name={icon} />
        <span class="strong">{title}</span>
        <span class="fold-summary muted ellipsis">{summary}</span>
        <Icon name="down" />
      </summary>
      {(isDrawn || isOpen) && <div class="form">{children}</div>}
    </details>
  );
}
