import { useMemo, useRef, useState } from "preact/hooks";
import type { Link } from "../api/client";
import { href, navigate } from "../app/router";
import { can, useMoveTargets } from "../app/session";
import { type Key, t, tn } from "../i18n";
import { formatCount, formatRelative, formatTime, hostAndSlug, readableUrl } from "../lib/format";
import { lazy } from "../lib/lazy";
import { remove, restore, sayPurge, setState } from "../lib/link_actions";
import { useCreators } from "../lib/members";
import { formatEnd } from "../lib/starts";
import { useTagColors } from "../lib/tags";
import { canSend, CopyButton, send } from "./copy_button";
import { Icon, type IconName } from "./icons";
import { Menu, type MenuItem } from "./menu";
import { Site } from "./site";
import { Sparkline } from "./sparkline";
import { Dotted } from "./tag_chip";
import { Ticking } from "./ticking";

const QrDialog = lazy(async () => ({ default: (await import("./qr_dialog")).QrDialog }), 0);
const MoveDialog = lazy(async () => ({ default: (await import("./selection_bar")).MoveDialog }), 0);

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
  const [isMoving, setMoving] = useState(false);
  const targets = useMoveTargets();
  const url = hostAndSlug(link.short_url);
  const qr: MenuItem = { text: t("qr.title"), icon: "qr", run: () => setQrOpen(true) };
  if (link.state === "deleted")
    return can("editor") ? (
      <button type="button" class={isMenuOnly ? "icon-button restore" : "button restore"} aria-label={`${t("restore")} ${url}`} title={t("restore")} onClick={() => void restore([link], onChanged)}>
        {isMenuOnly ? <Icon name="undo" /> : t("restore")}
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
        ...(targets.length > 0 ? [{ text: t("move.one"), icon: "external", run: () => setMoving(true) } as const] : []),
        { text: t("delete"), icon: "trash", isDanger: true, run: () => void remove([link], onChanged) },
      ];
  return (
    <div class="row-actions">
      {!isMenuOnly && <CopyButton text={link.short_url} label={t("copy.link", { url })} />}
      <Menu label={t("actions.of", { url })} items={items} />
      {isQrOpen && <QrDialog shortUrl={link.short_url} slug={link.slug} onClose={() => setQrOpen(false)} />}
      {isMoving && <MoveDialog links={[link]} onClose={() => setMoving(false)} onDone={isMenuOnly ? () => navigate(href("/links")) : onChanged} />}
    </div>
  );
}

const TAGS_SHOWN = 2;

/** What else decides where visitors go: "2 rules · A/B · 123 of 500 left", and the icon of the first; nothing for a plain link. */
function Deciding({ rules, split, max_visits, visits_left, has_password }: Link) {
  const isApp = [...rules, ...(split?.variants ?? [])].some(({ url }) => url && !/^https?:/.test(url));
  const parts: [boolean, IconName, string][] = [
    [rules.length > 0, "branch", tn("row.rules", rules.length)],
    [!!split, "fork", "A/B/C/D/E".slice(0, (split?.variants.length ?? 0) * 2 - 1)],
    [isApp, "phone", t("row.app")],
    [max_visits !== null, "clock", t("row.left", { left: formatCount(visits_left ?? 0), max: formatCount(max_visits ?? 0) })],
    [has_password, "lock", t("password")],
  ];
  const [first, ...others] = parts.filter(([is]) => is);
  if (!first) return null;
  const text = [first, ...others].map((part) => part[2]).join(" · ");
  return (
    <span class="link-deciding" title={text}>
      <Icon name={first[1]} />
      <span class="bar-text">{text}</span>
    </span>
  );
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
          {link.tags.slice(0, TAGS_SHOWN).map((tag) => (
            <button type="button" class="tag-dot" title={t("tag.filter", { tag })} key={tag} onClick={() => onTag(tag)}>
              <Dotted tag={tag} />
            </button>
          ))}
          {link.tags.length > TAGS_SHOWN && (
            <span class="tag-dot" title={link.tags.slice(TAGS_SHOWN).join(", ")}>
              +{link.tags.length - TAGS_SHOWN}
            </span>
          )}
        </div>
        <div class="link-line muted" title={link.original_url}>
          {link.title && <span class="link-title">{link.title}</span>}
          <span class="link-target">→ {readableUrl(link.original_url)}</span>
          <Deciding {...link} />
          {notes.length > 0 && <span class="link-note">{notes.join(" · ")}</span>}
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
        <Icon name={isOn && order.isAscending ? "up" : "down"} />
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
  selected: ReadonlySet<number>;
  order: Order;
  onSort: (sort: Sort) => void;
  onSelect: (ids: Set<number>) => void;
  onEdit: (link: Link) => void;
  onTag: (tag: string) => void;
  onChanged: (link: Link, deleted?: Link[]) => void;
}

interface RowProps extends Pick<Props, "onEdit" | "onTag" | "onChanged"> {
  link: Link;
  creator: string | undefined;
  isChosen: boolean;
  isKept: boolean;
  canSelect: boolean;
  onToggle: (isOn: boolean) => void;
}

/** Drawn again only if what it shows has changed: otherwise each form that opens above the list would draw all rows. */
function Row(props: RowProps) {
  const { link, creator, isChosen, isKept, canSelect } = props;
  const last = useRef(props);
  last.current = props;
  return useMemo(
    () => (
      <tr id={`link-${link.id}`} class={link.state === "deleted" ? "is-deleted" : isChosen ? "is-selected" : undefined}>
        {canSelect && (
          <td class="cell-check">
            {!isKept && (
              <label>
                <input type="checkbox" aria-label={t("select.one", { url: hostAndSlug(link.short_url) })} checked={isChosen} onChange={(event) => last.current.onToggle(event.currentTarget.checked)} />
              </label>
            )}
          </td>
        )}
        <td class="cell-link" title={t("created.at", { time: formatTime(link.created_at) })}>
          <LinkCell link={link} creator={creator} onTag={(tag) => last.current.onTag(tag)} />
        </td>
        <td class="wide-only cell-days">
          <div class="days">
            <Sparkline counts={link.daily_humans ?? []} />
            <span class="number">{formatCount((link.daily_humans ?? []).reduce((sum, count) => sum + count, 0))}</span>
          </div>
        </td>
        <td class={link.humans > 0 ? "number strong" : "number muted"} title={link.bots > 0 ? `${t("bots")} ${formatCount(link.bots)}` : undefined}>
          <Ticking count={link.humans} />
        </td>
        <td class="wide-only muted number" title={link.last_visited_at ? formatTime(link.last_visited_at) : undefined}>
          {link.last_visited_at ? formatRelative(link.last_visited_at) : t("never")}
        </td>
        <td class="cell-actions">
          <LinkActions isMenuOnly link={link} onEdit={(edited) => last.current.onEdit(edited)} onChanged={(deleted) => last.current.onChanged(link, deleted)} />
        </td>
      </tr>
    ),
    [link, creator, isChosen, isKept, canSelect],
  );
}

export function LinkTable({ links, drawn, kept, selected, order, onSort, onSelect, onEdit, onTag, onChanged }: Props) {
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
              <label>
                <input type="checkbox" aria-label={t("select.all")} checked={areAll} indeterminate={!areAll && selected.size > 0} onChange={(event) => onSelect(event.currentTarget.checked ? new Set(choosable.map((link) => link.id)) : new Set())} />
              </label>
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
          <Row key={link.id} link={link} creator={creatorOf(link.created_by)} isChosen={selected.has(link.id)} isKept={kept.has(link.id)} canSelect={canSelect} onToggle={(isOn) => toggle(link.id, isOn)} onEdit={onEdit} onTag={onTag} onChanged={onChanged} />
        ))}
      </tbody>
    </table>
  );
}
