import { useState } from "preact/hooks";
import { api, type Schemas, unwrap } from "../api/client";
import { useQuery } from "../api/use_query";
import { href } from "../app/router";
import { can } from "../app/session";
import { notify } from "../app/toasts";
import { canSend, CopyButton, send } from "../components/copy_button";
import { Confirm } from "../components/dialog";
import { Empty, ErrorBox, Skeleton } from "../components/feedback";
import { Icon } from "../components/icons";
import { Menu, type MenuItem } from "../components/menu";
import type { ShareDialogProps, ShareSubject } from "../components/share_dialog";
import { Table } from "../components/table";
import { useAction } from "../components/use_action";
import { t } from "../i18n";
import { keepShareUrl, shareUrl } from "../lib/drafts";
import { formatDate, formatTime, hostAndSlug } from "../lib/format";
import { lazy } from "../lib/lazy";
import { useCreators } from "../lib/members";
import { loadTags } from "../lib/tags";

const ShareDialog = lazy(() => import("../components/share_dialog"), 0);
const LINKS_MAX = 100;

type Share = Schemas["Share"];

const subjectOf = (share: Share) => (share.link ? hostAndSlug(share.link.short_url) : t("tag.title", { tag: share.tag ?? "" }));
const nameOf = (share: Share) => share.title || subjectOf(share);

/** Of what statistics can be shared here: of each tag, and of the newest links. */
async function loadSubjects(signal: AbortSignal): Promise<[ShareSubject, string][]> {
  const [{ tags }, { links }] = await Promise.all([loadTags(), unwrap(api.GET("/api/links", { params: { query: { limit: LINKS_MAX } }, signal }))]);
  const ofLinks = links.map(({ id, short_url, title }): [ShareSubject, string] => [{ link_id: id }, [hostAndSlug(short_url), title].filter(Boolean).join(" · ")]);
  return [...tags.map(({ name }): [ShareSubject, string] => [{ tag: name }, t("tag.title", { tag: name })]), ...ofLinks];
}

interface RowProps {
  share: Share;
  creator: string | undefined;
  onEdit: () => void;
  /** Makes another one of the same link or tag: the address of this one is not shown again. */
  onAgain: () => void;
  onRevoke: () => void;
}

function ShareRow({ share, creator, onEdit, onAgain, onRevoke }: RowProps) {
  const password = t(share.has_password ? "shares.password.yes" : "shares.password.no");
  const used = share.last_used_at ? formatTime(share.last_used_at) : t("never");
  const ends = share.expires_at ? formatDate(share.expires_at) : t("never");
  const url = share.active ? shareUrl(share.id) : undefined;
  const items = (address: string | undefined): MenuItem[] => [
    ...(address && canSend() ? [{ text: t("send"), icon: "send", run: () => send(address) } as const] : []),
    { text: t("edit"), icon: "edit", run: onEdit },
    ...(address ? [] : [{ text: t("shares.again"), icon: "link", run: onAgain } as const]),
    { text: t("revoke"), icon: "trash", isDanger: true, run: onRevoke },
  ];
  const place = share.link ? href(`/links/${share.link.id}`) : href("/statistics", { tag: share.tag });
  return (
    <tr>
      <td>
        {share.title && <strong>{share.title} </strong>}
        {!share.active && <span class="badge badge-expired">{t("shares.ended")}</span>}
        <div>
          <a href={place}>{subjectOf(share)}</a>
        </div>
        <div class="narrow-only hint">
          {t("password")}: {password} · {t("last.used")}: {used} · {t("expires")}: {ends}
        </div>
        <div class="hint">{creator ? t("created.by", { name: creator, time: formatDate(share.created_at) }) : t("created.at", { time: formatDate(share.created_at) })}</div>
      </td>
      <td class="wide-only muted">{password}</td>
      <td class="wide-only muted">{used}</td>
      <td class="wide-only muted">{ends}</td>
      <td class="cell-actions">
        {can("editor") && (
          <div class="row-actions">
            {url && <CopyButton isSecret withText text={url} label={`${t("shares.copy")}: ${nameOf(share)}`} />}
            <Menu label={t("actions.of", { url: nameOf(share) })} items={items(url)} />
          </div>
        )}
      </td>
    </tr>
  );
}

export default function SharesPage() {
  const { data, error, reload } = useQuery("shares", (signal) => unwrap(api.GET("/api/shares", { signal })));
  const [editing, setEditing] = useState<Share>();
  const [making, setMaking] = useState<Pick<ShareDialogProps, "subject" | "choices" | "name">>();
  const [revoking, setRevoking] = useState<Share>();
  const subjects = useQuery(can("editor") ? "share subjects" : null, loadSubjects).data;
  const action = useAction();
  const creatorOf = useCreators();
  const revoke = (share: Share) =>
    void action.run(async () => {
      await unwrap(api.DELETE("/api/shares/{id}", { params: { path: { id: share.id } } }));
      keepShareUrl(share.id, undefined);
      notify(t("key.revoked", { name: nameOf(share) }));
      reload();
    });
  const closeForm = () => {
    setEditing(undefined);
    setMaking(undefined);
    reload();
  };
  const make = subjects && subjects.length > 0 && (
    <button type="button" class="button button-primary" onClick={() => setMaking({ choices: subjects, name: t("shares.new") })}>
      <Icon name="plus" /> {t("shares.new")}
    </button>
  );
  return (
    <>
      <header class="page-head">
        <h1>{t("shares")}</h1>
        {data && data.shares.length > 0 && make}
      </header>
      {can("editor") && data && data.shares.length > 0 && <p class="hint">{t("shares.how")}</p>}
      {(error ?? action.error) && <ErrorBox error={(error ?? action.error)!} retry={error && reload} />}
      {!data && !error && <Skeleton lines={4} height={44} />}
      {data?.shares.length === 0 && <Empty icon="send" title={t("shares.none")} text={t(can("editor") ? "shares.none.text" : "viewer.text")}>{subjects?.length === 0 ? <a class="button" href={href("/links")}>{t("overview.none.action")}</a> : make}</Empty>}
      {data && data.shares.length > 0 && (
        <Table class="shares" caption={t("shares")} columns={[t("title"), ...[t("password"), t("last.used"), t("expires")].map((head) => [head, "wide-only"] as const)]}>
          {data.shares.map((share) => (
            <ShareRow share={share} creator={creatorOf(share.created_by)} key={share.id} onEdit={() => setEditing(share)} onAgain={() => setMaking({ subject: share.link ? { link_id: share.link.id } : { tag: share.tag ?? "" }, name: subjectOf(share) })} onRevoke={() => setRevoking(share)} />
          ))}
        </Table>
      )}
      {editing && <ShareDialog share={editing} name={nameOf(editing)} onClose={closeForm} />}
      {making && <ShareDialog {...making} onClose={closeForm} />}
      {revoking && <Confirm title={t("key.revoke.title", { name: nameOf(revoking) })} text={t("shares.revoke.text")} action={t("revoke")} onConfirm={() => revoke(revoking)} onClose={() => setRevoking(undefined)} />}
    </>
  );
}
