import type { ComponentChildren } from "preact";
import { href } from "../app/router";
import { t } from "../i18n";
import { useTagColor } from "../lib/tags";

export function Dot({ tag }: { tag: string }) {
  const color = useTagColor(tag);
  return <span class="dot" style={color ? { background: color } : undefined} />;
}

/** A tag as a dot in its colour and its name. */
export const Dotted = ({ tag }: { tag: string }) => (
  <>
    <Dot tag={tag} />
    {tag}
  </>
);

/** Leads to the overview of the tag. */
export const TagLink = ({ tag }: { tag: string }) => (
  <a class="tag-dot" href={href("/statistics", { tag })} title={t("tag.overview", { tag })}>
    <Dotted tag={tag} />
  </a>
);

export const tagLinks = (tags: readonly string[]): ComponentChildren => tags.map((tag) => <TagLink tag={tag} key={tag} />);
