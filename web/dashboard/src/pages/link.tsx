import { useState } from "preact/hooks";
import { api, type Link, unwrap } from "../api/client";
import { useQuery } from "../api/use_query";
import { href } from "../app/router";
import type { PageProps } from "../app/routes";
import { can } from "../app/session";
import { Aliases } from "../components/aliases";
import { CopyButton } from "../components/copy_button";
import { Empty, ErrorBox, Skeleton } from "../components/feedback";
import { History } from "../components/history";
import { LinkForm } from "../components/link_form";
import { LinkActions, StateBadges } from "../components/link_table";
import { ShareButton } from "../components/share_button";
import { Statistics } from "../components/statistics";
import { TagList } from "../components/tag_chip";
import { Visits } from "../components/visits";
import { t, tn } from "../i18n";
import type { Dimension } from "../lib/filters";
import { formatCount, formatDate, formatZonedTime, hostAndSlug, shortenUrl } from "../lib/format";
import { sayEdited } from "../lib/link_actions";
import { useCreators } from "../lib/members";
import { linkSource } from "../lib/sources";
import { formatEnd } from "../lib/starts";
import { useTagColors } from "../lib/tags";

/** What there may be to see of a link. QR codes are told apart for each. */
function decisionsOf(link: Link): Dimension[] {
  return [...(link.rules.length > 0 ? (["rule"] as const) : []), ...(link.split ? (["variant"] as const) : []), ...(link.aliases.length > 0 ? (["alias"] as const) : []), "scan"];
}

/** What is special about where a link leads, in words. */
function Extras({ link }: { link: Link }) {
  const parts = [
    link.rules.length > 0 && tn("link.rules", link.rules.length),
    link.split && tn("link.variants", link.split.variants.length),
    link.has_password && t("link.has.password"),
    link.max_visits !== null && t("link.visits.left", { left: formatCount(link.visits_left ?? 0), max: formatCount(link.max_visits) }),
  ].filter(Boolean);
  return parts.length > 0 ? <p class="muted">{parts.join(" · ")}</p> : null;
}

export default function LinkPage({ id }: PageProps) {
  const linkId = Number(id);
  useTagColors();
  const { data, error, reload } = useQuery(`link ${id}`, (signal) => unwrap(api.GET("/api/links/{id}", { params: { path: { id: linkId } }, signal })));
  const [isEditing, setEditing] = useState(false);
  const creatorOf = useCreators();
  if (error?.status === 404) {
    return (
      <Empty isPage title={t("link.missing")} text={t("link.missing.text")}>
        <a class="button button-primary" href={href("/links")}>
          {t("overview.none.action")}
        </a>
      </Empty>
    );
  }
  if (error && !data) return <ErrorBox error={error} retry={reload} />;
  if (!data) return <Skeleton lines={8} height={40} />;
  const { link } = data;
  const creator = creatorOf(link.created_by);
  return (
    <>
      <nav class="crumbs" aria-label={t("breadcrumb")}>
        <a href={href("/links")}>{t("links")}</a>
      </nav>
      <header class="page-head link-head">
        <div class="link-head-text">
          <h1>
            <span translate={false}>{hostAndSlug(link.short_url)}</span> <StateBadges link={link} />
          </h1>
          {link.title && <p class="link-title">{link.title}</p>}
          <p class="muted ellipsis">
            →{" "}
            <a href={link.original_url} target="_blank" rel="noreferrer">
              {shortenUrl(link.original_url)}
            </a>
          </p>
          <TagList tags={link.tags} />
          {creator && <p class="muted">{t("created.by", { name: creator, time: formatDate(link.created_at) })}</p>}
          {link.notes && <p class="notes">{link.notes}</p>}
          <Extras link={link} />
          {link.blocked_reason && <p class="field-error">{t("link.blocked", { reason: link.blocked_reason })}</p>}
          {link.destination_blocked && <p class="muted">{t("destination.blocked.hint")}</p>}
          {link.state === "scheduled" && <p class="muted">{t("starts.at", { time: formatZonedTime(link.starts_at ?? "") })}</p>}
          {link.expires_at && (
            <p class="muted">
              {formatEnd(link.expires_at, formatZonedTime)}. {t("expires.deleted")}
            </p>
          )}
        </div>
        <div class="page-actions">
          <CopyButton withText text={link.short_url} label={t("copy.link", { url: hostAndSlug(link.short_url) })} />
          {link.state !== "deleted" && can("editor") && <ShareButton subject={{ link_id: link.id }} name={hostAndSlug(link.short_url)} />}
          <LinkActions isMenuOnly link={link} onEdit={() => setEditing(true)} onChanged={reload} />
        </div>
      </header>
      {link.aliases.length > 0 && <Aliases link={link} onChanged={reload} />}
      <Statistics source={linkSource(linkId, link.slug)} decisions={decisionsOf(link)} />
      <Visits linkId={linkId} slug={link.slug} />
      <History link={link} />
      {isEditing && (
        <LinkForm
          link={link}
          onClose={() => setEditing(false)}
          onSaved={(saved) => {
            setEditing(false);
            sayEdited(link, saved, reload);
            reload();
          }}
        />
      )}
    </>
  );
}
