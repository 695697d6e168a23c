import { useState } from "preact/hooks";
import type { Link } from "../api/client";
import { href, navigate } from "../app/router";
import { can } from "../app/session";
import { type Key, t, tn } from "../i18n";
import { formatCount, formatRelative, formatTime, hostAndSlug, readableUrl } from "../lib/format";
import { remove, restore, sayPurge, setState } from "../lib/link_actions";
import { useCreators } from "../lib/members";
import { formatEnd } from "../lib/starts";
import { useTagColor, useTagColors } from "../lib/tags";
import { canSend, CopyButton, send } from "./copy_button";
import { Icon } from "./icons";
import { Menu, type MenuItem } from "./menu";
import { QrDialog } from "./qr_dialog";
import { Site } from "./site";
import { Sparkline } from "./sparkline";
import { Ticking } from "./ticking";

/** What keeps visitors from the destination; nothing for an active link. */
export function StateBadges({ link }: { link: Link }) {
  return (
    <>
      {link.state !== "active" && <span class={`badge badge-${link.state}`}>{t(`state.${link.state}` as Key)}</span>}
      {(link.destination_blocked || link.blocked_reason) && <span class="badge badge-blocked">{t("blocked")}</span>}
    </>
  );
}

interface ActionProps {
  link: Link;
  /** Without the button that copies the address, where the page has one of its own. */
  isMenuOnly?: boolean;
  onEdit: (link: Link) => void;
  /** deleted: it was, and is so now. */
  onChanged: (deleted?: Link[]) => void;
}

export function LinkActions({ link, isMenuOnly = false, onEdit, onChanged }: ActionProps) {
  const [isQrOpen, setQrOpen] = useState(false);
  const url = hostAndSlug(link.short_url);
  const qr: MenuItem = { text: t("qr.title"), icon: "qr", run: () => setQrOpen(true) };
  if (link.state === "deleted")
    return can("editor") ? (
      <button type="button" class="button restore" aria-label={`${t("restore")} ${url}`} onClick={() => void restore([link], onChanged)}>
        {t("restore")}
      </button>
    ) : null;
  const sending: MenuItem[] = canSend() ? [{ text: t("send"), icon: "send", run: () => send(link.short_url) }] : [];
  const items: MenuItem[] = !can("editor")
    ? [...sending, qr]
    : [
        ...sending,
        { text: t("edit"), icon: "edit", run: () => onEdit(link) },
        qr,
        { text: t("duplicate"), icon: "duplicate", run: () => navigate(href("/links", { edit: "new", from: link.id })) },
        link.state === "disabled"
          ? { text: t("enable"), icon: "play", run: () => void setState(link, "active", onChanged) }
          : { text: t("disable"), icon: "pause", run: () => void setState(link, "disabled", onChanged) },
        { text: t("delete"), icon: "trash", isDanger: true, run: () => void remove([link], onChanged) },
      ];
  return (
    <div class="row-actions">
      {!isMenuOnly && <CopyButton text={link.short_url} label={t("copy.link", { url })} />}
      <Menu label={t("actions.of", { url })} items={items} />
      {isQrOpen && <QrDialog shortUrl={link.short_url} slug={link.slug} onClose={() => setQrOpen(false)} />}
    </div>
  );
}

const TAGS_SHOWN = 2;

/** A tag as a dot in its colour and its name. */
function TagDot({ tag, onTag }: { tag: string; onTag: (tag: string) => void }) {
  const color = useTagColor(tag);
  return (
    <button type="button" class="tag-dot" title={t("tag.filter", { tag })} onClick={() => onTag(tag)}>
      <span class="dot" style={color ? { background: color } : undefined} />
      {tag}
    </button>
  );
}

/** What else decides where visitors go: "2 rules · A/B · 123 of 500 left"; "" for a plain link. */
function sayDeciding({ rules, split, max_visits, visits_left, has_password }: Link): string {
  const isApp = [...rules, ...(split?.variants ?? [])].some(({ url }) => url && !/^https?:/.test(url));
  const parts = [
    rules.length > 0 && tn("row.rules", rules.length),
    split && "A/B/C/D/E".slice(0, split.variants.length * 2 - 1),
    isApp && t("row.app"),
    max_visits !== null && t("row.left", { left: formatCount(visits_left ?? 0), max: formatCount(max_visits) }),
    has_password && t("password"),
  ];
  return parts.filter(Boolean).join(" · ");
}

/** Two lines: the short link with what is special about it, and where it leads. */
function LinkCell({ link, creator, onTag }: { link: Link; creator: string | undefined; onTag: (tag: string) => void }) {
  const url = hostAndSlug(link.short_url);
  const name = (
    <>
      <span class="roomy-only">{url.slice(0, -link.slug.length)}</span>
      {link.slug}
    </>
  );
  const when =
    link.purge_at ? sayPurge(link)
    : link.state === "scheduled" ? t("starts.at", { time: formatTime(link.starts_at ?? "") })
    : link.expires_at && link.state !== "disabled" ? formatEnd(link.expires_at)
    : undefined;
  const deciding = sayDeciding(link);
  const notes = [when, creator].filter(Boolean);
  return (
    <div class="link-cell">
      <Site url={link.original_url} />
      <div class="link-lines">
        <div class="link-line">
          {link.state === "deleted" ? (
            <span class="short" translate={false}>{name}</span>
          ) : (
            <a class="short" translate={false} href={href(`/links/${link.id}`)}>
              {name}
            </a>
          )}
          {link.state !== "deleted" && <CopyButton text={link.short_url} label={t("copy.link", { url })} />}
          <StateBadges link={link} />
          {link.title && <span class="link-title muted">{link.title}</span>}
          {link.tags.slice(0, TAGS_SHOWN).map((tag) => (
            <TagDot tag={tag} key={tag} onTag={onTag} />
          ))}
          {link.tags.length > TAGS_SHOWN && (
            <span class="tag-dot" title={link.tags.slice(TAGS_SHOWN).join(", ")}>
              +{link.tags.length - TAGS_SHOWN}
            </span>
          )}
        </div>
        <div class="link-line muted" title={link.original_url}>
          <span class="link-target">→ {readableUrl(link.original_url)}</span>
          {deciding && (
            <span class="link-deciding" title={deciding}>
              <Icon name="branch" /> {deciding}
            </span>
          )}
          {notes.length > 0 && <span class="link-note">· {notes.join(" · ")}</span>}
        </div>
      </div>
    </div>
  );
}

export type Sort = "created_at" | "humans" | "last_visited_at";

interface SortHeadProps {
  name: string;
  sort: Sort;
  class?: string;
  order: Order;
  onSort: (sort: Sort) => void;
}

export interface Order {
  sort: Sort;
  isAscending: boolean;
}

function SortHead({ name, sort, class: className, order, onSort }: SortHeadProps) {
  const isOn = order.sort === sort;
  return (
    <th scope="col" class={className} aria-sort={isOn ? (order.isAscending ? "ascending" : "descending") : undefined}>
      <button type="button" class="sort" onClick={() => onSort(sort)}>
        {name}
        {isOn && <Icon name={order.isAscending ? "up" : "down"} />}
      </button>
    </th>
  );
}

interface Props {
  links: Link[];
  /** Those of them that have a row already. */
  drawn: readonly Link[];
  /** Those that were deleted here: they stay to be restored, and cannot be selected. */
  kept: ReadonlySet<number>;
  /** Visits by humans of the last days, by link. */
  days: ReadonlyMap<number, readonly number[]>;
  selected: ReadonlySet<number>;
  order: Order;
  onSort: (sort: Sort) => void;
  onSelect: (ids: Set<number>) => void;
  onEdit: (link: Link) => void;
  onTag: (tag: string) => void;
  onChanged: (link: Link, deleted?: Link[]) => void;
}

export function LinkTable({ links, drawn, kept, days, selected, order, onSort, onSelect, onEdit, onTag, onChanged }: Props) {
  useTagColors();
  const canSelect = can("editor");
  const creatorOf = useCreators();
  const toggle = (id: number, isOn: boolean) => {
    const next = new Set(selected);
    if (isOn) next.add(id);
    else next.delete(id);
    onSelect(next);
  };
  const choosable = links.filter((link) => !kept.has(link.id));
  const areAll = choosable.length > 0 && choosable.every((link) => selected.has(link.id));
  return (
    <table class={canSelect ? "table link-table" : "table link-table is-read"}>
      <caption class="visually-hidden">{t("links")}</caption>
      <thead>
        <tr>
          {canSelect && (
            <th class="cell-check">
              <input type="checkbox" aria-label={t("select.all")} checked={areAll} onChange={(event) => onSelect(event.currentTarget.checked ? new Set(choosable.map((link) => link.id)) : new Set())} />
            </th>
          )}
          <SortHead name={t("link")} sort="created_at" order={order} onSort={onSort} />
          <th scope="col" class="wide-only cell-days">{t("visits.days")}</th>
          <SortHead name={t("visits.ever")} sort="humans" class="number" order={order} onSort={onSort} />
          <SortHead name={t("last.visit")} sort="last_visited_at" class="number wide-only" order={order} onSort={onSort} />
          <th class="cell-actions">
            <span class="visually-hidden">{t("actions")}</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {drawn.map((link) => (
          <tr key={link.id} id={`link-${link.id}`} class={link.state === "deleted" ? "is-deleted" : selected.has(link.id) ? "is-selected" : undefined}>
            {canSelect && (
              <td class="cell-check">
                {!kept.has(link.id) && <input type="checkbox" aria-label={t("select.one", { url: hostAndSlug(link.short_url) })} checked={selected.has(link.id)} onChange={(event) => toggle(link.id, event.currentTarget.checked)} />}
              </td>
            )}
            <td class="cell-link" title={t("created.at", { time: formatTime(link.created_at) })}>
              <LinkCell link={link} creator={creatorOf(link.created_by)} onTag={onTag} />
            </td>
            <td class="wide-only cell-days">
              <div class="days">
                <Sparkline counts={days.get(link.id) ?? []} />
                <span class="number">{formatCount((days.get(link.id) ?? []).reduce((sum, count) => sum + count, 0))}</span>
              </div>
            </td>
            <td class="number strong" title={link.bots > 0 ? `${t("bots")} ${formatCount(link.bots)}` : undefined}>
              <Ticking count={link.humans} />
            </td>
            <td class="wide-only muted number" title={link.last_visited_at ? formatTime(link.last_visited_at) : undefined}>
              {link.last_visited_at ? formatRelative(link.last_visited_at) : t("never")}
            </td>
            <td class="cell-actions">
              <LinkActions isMenuOnly link={link} onEdit={onEdit} onChanged={(deleted) => onChanged(link, deleted)} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
