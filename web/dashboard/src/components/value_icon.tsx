import sprite from "virtual:sprite";
import type { Dimension } from "../lib/filters";

/** The picture of a value, in our own file, if there is one: a flag, a browser, a system, a website. */
export function ValueIcon({ dimension, value }: { dimension: Dimension; value: string }) {
  const name = sprite.nameOf(dimension, value);
  if (name === undefined) return null;
  return (
    <svg class={dimension === "country" ? "value-icon flag" : "value-icon"} aria-hidden="true">
      <use href={`${sprite.url}#${name}`} />
    </svg>
  );
}
