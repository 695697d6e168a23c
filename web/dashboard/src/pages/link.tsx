import { useEffect, useMemo, useState } from "preact/hooks";
import { api, asApiError, type Link, unwrap } from "../api/client";
import { useQuery } from "../api/use_query";
import { href } from "../app/router";
import type { PageProps } from "../app/routes";
import { can } from "../app/session";
import { Aliases } from "../components/aliases";
import type { Mark } from "../components/chart";
import { CopyButton } from "../components/copy_button";
import { Empty, PageSkeleton } from "../components/feedback";
import { History, nameOfChange } from "../components/history";
import { Icon } from "../components/icons";
import { LinkForm } from "../components/link_form";
import { LinkActions, StateBadges } from "../components/link_table";
import { ShareButton } from "../components/share_button";
import { Site } from "../components/site";
import { Statistics } from "../components/statistics";
import { tagLinks } from "../components/tag_chip";
import { Visits } from "../components/visits";
import { t } from "../i18n";
import type { Dimension } from "../lib/filters";
import { formatCount, formatDate, formatZonedTime, hostAndSlug, readableUrl } from "../lib/format";
import { sayEdited, sayPurge } from "../lib/link_actions";
import { useCreators } from "../lib/members";
import { linkSource } from "../lib/sources";
import { formatEnd } from "../lib/starts";
import { sayWays } from "../lib/summary";
import { useTagColors } from "../lib/tags";

const POLL_MS = 3_000; // as the visits below

/** Which decisions of a link there are to see. */
function decisionsOf(link: Link): Dimension[] {
  return [...(link.rules.length > 0 ? (["rule"] as const) : []), ...(link.split ? (["variant"] as const) : []), ...(link.aliases.length > 0 ? (["alias"] as const) : [])];
}

/** Who is led where, and who is let in. */
function Extras({ link }: { link: Link }) {
  const ways = sayWays(link);
  const parts = [
    link.has_password && t("link.has.password"),
    link.max_visits !== null && t("link.visits.left", { left: formatCount(link.visits_left ?? 0), max: formatCount(link.max_visits) }),
  ].filter(Boolean);
  return (
    <>
      {ways && <p class="ways">{ways}</p>}
      {parts.length > 0 && <p class="muted">{parts.join(" · ")}</p>}
    </>
  );
}

interface HeadingProps {
  link: Link;
  creator: string | undefined;
  onEdit: () => void;
  onChanged: () => void;
}

function Heading({ link, creator, onEdit, onChanged }: HeadingProps) {
  const url = hostAndSlug(link.short_url);
  return (
    <>
      <nav class="crumbs" aria-label={t("breadcrumb")}>
        <a href={href("/links")}>
          <Icon name="left" /> {t("links")}
        </a>
      </nav>
      <header class={link.state === "deleted" ? "page-head link-head is-deleted" : "page-head link-head"}>
        <Site url={link.original_url} />
        <div class="link-head-text">
          <h1>
            <span translate={false}>{url}</span> <StateBadges link={link} />
          </h1>
          <p class="ellipsis">
            {link.title} <span class="muted">→</span>{" "}
            <a href={link.original_url} target="_blank" rel="noreferrer">
              {readableUrl(link.original_url)}
            </a>
          </p>
          <p class="tags muted">
            {tagLinks(link.tags)}
            {creator && t("created.by", { name: creator, time: formatDate(link.created_at) })}
          </p>
          {link.notes && <p class="notes">{link.notes}</p>}
          <Extras link={link} />
          {link.blocked_reason && <p class="field-error">{t("link.blocked", { reason: link.blocked_reason })}</p>}
          {link.destination_blocked && <p class="muted">{t("destination.blocked.hint")}</p>}
          {link.state === "scheduled" && <p class="muted">{t("starts.at", { time: formatZonedTime(link.starts_at ?? "") })}</p>}
          {link.expires_at && (
            <p class="muted">
              {formatEnd(link.expires_at, formatZonedTime)}. {!link.deleted_at && (sayPurge(link) || t("expires.deleted"))}
            </p>
          )}
          {link.deleted_at && <p class="muted">{t("deleted.at", { time: formatZonedTime(link.deleted_at) })} {sayPurge(link)}</p>}
        </div>
        <div class="page-actions">
          {link.state !== "deleted" && <CopyButton withText text={link.short_url} label={t("copy.link", { url })} />}
          {link.state !== "deleted" && can("editor") && (
            <button type="button" class="button" onClick={onEdit}>
              <Icon name="edit" /> {t("edit")}
            </button>
          )}
          {link.state !== "deleted" && can("editor") && <ShareButton subject={{ link_id: link.id }} name={url} />}
          <LinkActions isMenuOnly link={link} onEdit={onEdit} onChanged={() => onChanged()} />
        </div>
      </header>
      {link.aliases.length > 0 && <Aliases link={link} onChanged={onChanged} />}
    </>
  );
}

/** When the link changed, for the chart. */
function useMarks(linkId: number, version: number | undefined): Mark[] {
  const { data } = useQuery(version === undefined ? null : `marks ${linkId} ${version}`, (signal) => unwrap(api.GET("/api/links/{id}/history", { params: { path: { id: linkId }, query: { limit: 100 } }, signal })));
  return useMemo(() => (data?.changes ?? []).map((change) => ({ time: change.at, text: nameOfChange(change) })), [data]);
}

/** A deleted link is only in the list of those. */
async function loadLink(id: number, signal: AbortSignal): Promise<{ link: Link }> {
  try {
    return await unwrap(api.GET("/api/links/{id}", { params: { path: { id } }, signal }));
  } catch (cause) {
    const query = { filter: `id:${id}`, state: "deleted" as const };
    const [link] = asApiError(cause).kind === "link-deleted" ? (await unwrap(api.GET("/api/links", { params: { query }, signal }))).links : [];
    if (!link) throw cause;
    return { link };
  }
}

export default function LinkPage({ id }: PageProps) {
  const linkId = Number(id);
  useTagColors();
  const [isLimited, setLimited] = useState(false);
  const { data, error, reload } = useQuery(`link ${id}`, (signal) => loadLink(linkId, signal), isLimited ? POLL_MS : 0);
  useEffect(() => setLimited(typeof data?.link.max_visits === "number"), [data]);
  const [isEditing, setEditing] = useState(false);
  const creatorOf = useCreators();
  const marks = useMarks(linkId, data?.link.version);
  if (error?.status === 404) {
    return (
      <Empty icon="link" isPage title={t("link.missing")} text={t("link.missing.text")}>
        <a class="button button-primary" href={href("/links")}>
          {t("overview.none.action")}
        </a>
      </Empty>
    );
  }
  if (!data) return <PageSkeleton look="figures" error={error} retry={reload} />;
  const { link } = data;
  const heading = <Heading link={link} creator={creatorOf(link.created_by)} onEdit={() => setEditing(true)} onChanged={reload} />;
  if (link.state === "deleted") return heading;
  return (
    <>
      <Statistics
        source={linkSource(linkId, link.slug)}
        decisions={decisionsOf(link)}
        marks={marks}
        heading={heading}
      />
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
