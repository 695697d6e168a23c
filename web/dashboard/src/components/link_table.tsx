import { useState } from "preact/hooks";
import type { Link } from "../api/client";
import { href } from "../app/router";
import { can } from "../app/session";
import { type Key, t } from "../i18n";
import { formatCount, formatDate, formatRelative, formatTime, hostAndSlug, shortenUrl } from "../lib/format";
import { remove, restore, setState } from "../lib/link_actions";
import { useCreators } from "../lib/members";
import { formatEnd } from "../lib/starts";
import { useTagColors } from "../lib/tags";
import { CopyButton } from "./copy_button";
import { Menu, type MenuItem } from "./menu";
import { QrDialog } from "./qr_dialog";
import { TableHead } from "./table";
import { TagList } from "./tag_chip";

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
  onChanged: () => void;
}

export function LinkActions({ link, isMenuOnly = false, onEdit, onChanged }: ActionProps) {
  const [isQrOpen, setQrOpen] = useState(false);
  const url = hostAndSlug(link.short_url);
  const qr: MenuItem = { text: t("qr.title"), icon: "qr", run: () => setQrOpen(true) };
  const items: MenuItem[] = !can("editor")
    ? [qr].filter(() => link.state !== "deleted")
    : link.state === "deleted"
      ? [{ text: t("restore"), icon: "play", run: () => void restore([link], onChanged) }]
      : [
          { text: t("edit"), icon: "edit", run: () => onEdit(link) },
          qr,
          link.state === "disabled"
            ? { text: t("enable"), icon: "play", run: () => void setState(link, "active", onChanged) }
            : { text: t("disable"), icon: "pause", run: () => void setState(link, "disabled", onChanged) },
          { text: t("delete"), icon: "trash", isDanger: true, run: () => void remove([link], onChanged) },
        ];
  return (
    <div class="row-actions">
      {!isMenuOnly && <CopyButton text={link.short_url} label={t("copy.link", { url })} />}
      {items.length > 0 && <Menu label={t("actions.of", { url })} items={items} />}
      {isQrOpen && <QrDialog shortUrl={link.short_url} slug={link.slug} onClose={() => setQrOpen(false)} />}
    </div>
  );
}

interface Props {
  links: Link[];
  selected: ReadonlySet<number>;
  onSelect: (ids: Set<number>) => void;
  onEdit: (link: Link) => void;
  onTag: (tag: string) => void;
  onChanged: (link: Link) => void;
}

function LinkCell({ link, onTag }: { link: Link; onTag: (tag: string) => void }) {
  const name = (
    <>
      <span class="roomy-only">{hostAndSlug(link.short_url).slice(0, -link.slug.length)}</span>
      {link.slug}
    </>
  );
  return (
    <>
      <div class="link-line">
        {link.state === "deleted" ? (
          <span class="short" translate={false}>{name}</span>
        ) : (
          <a class="short" translate={false} href={href(`/links/${link.id}`)}>
            {name}
          </a>
        )}
        <StateBadges link={link} />
      </div>
      {link.title && <div class="link-title">{link.title}</div>}
      <div class="ellipsis muted" title={link.original_url}>
        {shortenUrl(link.original_url)}
      </div>
      {link.state === "scheduled" && <div class="hint">{t("starts.at", { time: formatTime(link.starts_at ?? "") })}</div>}
      {(link.state === "active" || link.state === "expired") && link.expires_at && <div class="hint">{formatEnd(link.expires_at)}</div>}
      {link.deleted_at && <div class="hint">{t("deleted.at", { time: formatTime(link.deleted_at) })}</div>}
      <TagList tags={link.tags} onPick={onTag} />
    </>
  );
}

export function LinkTable({ links, selected, onSelect, onEdit, onTag, onChanged }: Props) {
  useTagColors();
  const canSelect = can("editor");
  const creatorOf = useCreators();
  const toggle = (id: number, isOn: boolean) => {
    const next = new Set(selected);
    if (isOn) next.add(id);
    else next.delete(id);
    onSelect(next);
  };
  const areAll = links.length > 0 && links.every((link) => selected.has(link.id));
  return (
    <table class="table link-table">
      <caption class="visually-hidden">{t("links")}</caption>
      <TableHead
        first={
          canSelect ? (
            <th class="cell-check">
              <input type="checkbox" aria-label={t("select.all")} checked={areAll} onChange={(event) => onSelect(event.currentTarget.checked ? new Set(links.map((link) => link.id)) : new Set())} />
            </th>
          ) : (
            <td class="cell-check" />
          )
        }
        columns={[t("link"), [t("visits"), "number"], [t("last.visit"), "wide-only"], [t("created"), "wide-only"]]}
      />
      <tbody>
        {links.map((link) => (
          <tr key={link.id} id={`link-${link.id}`} class={selected.has(link.id) ? "is-selected" : undefined}>
            <td class="cell-check">
              {canSelect && <input type="checkbox" aria-label={t("select.one", { url: hostAndSlug(link.short_url) })} checked={selected.has(link.id)} onChange={(event) => toggle(link.id, event.currentTarget.checked)} />}
            </td>
            <td class="cell-link">
              <LinkCell link={link} onTag={onTag} />
            </td>
            <td class="number">
              <span class="strong">{formatCount(link.humans)}</span>
              {link.bots > 0 && (
                <div class="hint">
                  {t("bots")} {formatCount(link.bots)}
                </div>
              )}
            </td>
            <td class="wide-only muted nowrap" title={link.last_visited_at ? formatTime(link.last_visited_at) : undefined}>
              {link.last_visited_at ? formatRelative(link.last_visited_at) : t("never")}
            </td>
            <td class="wide-only muted nowrap">
              {formatDate(link.created_at)}
              <div class="who creator" title={creatorOf(link.created_by)}>
                {creatorOf(link.created_by)}
              </div>
            </td>
            <td class="cell-actions">
              <LinkActions link={link} onEdit={onEdit} onChanged={() => onChanged(link)} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
