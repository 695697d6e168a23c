import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Icon, type IconName } from "./icons";

interface FoldProps {
  icon: IconName;
  title: string;
  /** What is set, in few words. */
  summary?: string;
  isOpen?: boolean;
  children: ComponentChildren;
}

/** A part of a form with what is set in its line. It opens for a field that the browser or the server refuses, and never folds by itself. Its fields are drawn when it first opens. */
export function Fold({ icon, title, summary, isOpen = false, children }: FoldProps) {
  const [open] = useState(isOpen);
  const [isDrawn, setDrawn] = useState(isOpen);
  return (
    <details class="fold" open={open || isOpen} onInvalidCapture={(event) => (event.currentTarget.open = true)} onToggle={() => setDrawn(true)}>
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
