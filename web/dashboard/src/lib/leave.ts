import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

/** Lets an element that was removed fade: it is back for a moment, last in its home, and nobody can press, focus or hear it. */
export function leave(element: Element, home: Element | null): void {
  element.classList.add("is-leaving");
  element.setAttribute("inert", "");
  element.setAttribute("aria-hidden", "true");
  // The same dialog may open again meanwhile, with the same ids and labels.
  for (const each of [element, ...element.querySelectorAll("[id], [aria-label]")]) ["id", "aria-label"].forEach((name) => each.removeAttribute(name));
  home?.append(element);
  // None, where somebody wants no motion.
  void Promise.allSettled(element.getAnimations().map((each) => each.finished)).then(() => element.remove());
}

/** For what leaves together with its component. */
export function useLeaving(root: RefObject<Element | null>): void {
  useLayoutEffect(() => {
    const element = root.current;
    return () => {
      const home = element?.parentElement ?? null;
      queueMicrotask(() => element && leave(element, home));
    };
  }, []);
}
