import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { leave } from "./leave";

/** Closes what is open, the last part of the root, when somebody presses, or moves the focus, outside of it. Before the next key press is handled, however quick it is. */
export function useOutside(root: RefObject<HTMLElement | null>, isOpen: boolean, close: () => void): void {
  useLayoutEffect(() => {
    if (!isOpen) return;
    root.current?.querySelector(".is-leaving")?.remove();
    const opened = root.current?.lastElementChild;
    const closeOutside = (event: Event) => {
      if (!root.current?.contains(event.target as Node)) close();
    };
    document.addEventListener("pointerdown", closeOutside);
    document.addEventListener("focusin", closeOutside);
    return () => {
      document.removeEventListener("pointerdown", closeOutside);
      document.removeEventListener("focusin", closeOutside);
      if (opened) leave(opened, root.current);
    };
  }, [isOpen]);
}
