import type { ComponentChildren } from "preact";
import { href } from "../app/router";
import { t } from "../i18n";
import { textOn, useTagColor } from "../lib/tags";

export const chipStyle = (color: string | undefined | null) => (color ? { background: color, color: textOn(color) } : undefined);

interface Props {
  tag: string;
  /** Without it, the chip leads to the overview of the tag. */
  onPick?: (tag: string) => void;
}

/** A tag in its color. */
export function TagChip({ tag, onPick }: Props) {
  const color = useTagColor(tag);
  const look = { class: color ? "tag tag-colored" : "tag", style: chipStyle(color) };
  if (onPick) {
    return (
      <button type="button" {...look} title={t("tag.filter", { tag })} onClick={() => onPick(tag)}>
        {tag}
      </button>
    );
  }
  return (
    <a {...look} href={href("/statistics", { tag })} title={t("tag.overview", { tag })}>
      {tag}
    </a>
  );
}

export function TagList({ tags, onPick }: { tags: readonly string[]; onPick?: Props["onPick"] }): ComponentChildren {
  if (tags.length === 0) return null;
  return (
    <div class="tags">
      {tags.map((tag) => (
        <TagChip tag={tag} key={tag} onPick={onPick} />
      ))}
    </div>
  );
}
