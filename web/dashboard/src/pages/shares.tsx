import { useState } from "preact/hooks";
import { api, type Schemas, unwrap } from "../api/client";
import { useQuery } from "../api/use_query";
import { href } from "../app/router";
import { can } from "../app/session";
import { notify } from "../app/toasts";
import { CopyButton, SendButton } from "../components/copy_button";
import { Confirm } from "../components/dialog";
import { Empty, ErrorBox, Skeleton } from "../components/feedback";
import { Table } from "../components/table";
import { useAction } from "../components/use_action";
import { t } from "../i18n";
import { keepShareUrl, shareUrl } from "../lib/drafts";
import { formatDate, formatTime, hostAndSlug } from "../lib/format";
import { lazy } from "../lib/lazy";
import { useCreators } from "../lib/members";

const ShareDialog = lazy(() => import("../components/share_dialog"), 0);

type Share = Schemas["Share"];

const subjectOf = (share: Share) => (share.link ? hostAndSlug(share.link.short_url) : t("tag.title", { tag: share.tag ?? "" }));
const nameOf = (share: Share) => share.title || subjectOf(share);

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
  const place = share.link ? href(`/links/${share.link.id}`) : href("/statistics", { tag: share.tag });
  return (
    <tr>
      <td>
        <strong>{nameOf(share)}</strong> {!share.active && <span class="badge badge-expired">{t("shares.ended")}</span>}
        <div>
          <a href={place}>{subjectOf(share)}</a>
        </div>
        <div class="narrow-only hint">
          {t("password")}: {password} · {t("last.used")}: {used} · {t("expires")}: {ends}
        </div>
        {creator && <div class="hint">{t("created.by", { name: creator, time: formatDate(share.created_at) })}</div>}
      </td>
      <td class="wide-only muted">{password}</td>
      <td class="wide-only muted">{used}</td>
      <td class="wide-only muted">{ends}</td>
      <td class="cell-actions">
        {can("editor") && (
          <div class="button-row">
            {url && (
              <>
                <CopyButton isSecret withText text={url} label={`${t("shares.copy")}: ${nameOf(share)}`} />
                <SendButton url={url} />
              </>
            )}
            <button type="button" class="button" onClick={onEdit} aria-label={`${t("edit")}: ${nameOf(share)}`}>
              {t("edit")}
            </button>
            {!url && (
              <button type="button" class="button" onClick={onAgain} aria-label={`${t("shares.again")}: ${nameOf(share)}`}>
                {t("shares.again")}
              </button>
            )}
            <button type="button" class="button" onClick={onRevoke} aria-label={t("key.revoke.one", { name: nameOf(share) })}>
              {t("revoke")}
            </button>
          </div>
        )}
      </td>
    </tr>
  );
}

export default function SharesPage() {
  const { data, error, reload } = useQuery("shares", (signal) => unwrap(api.GET("/api/shares", { signal })));
  const [editing, setEditing] = useState<Share>();
  const [again, setAgain] = useState<Share>();
  const [revoking, setRevoking] = useState<Share>();
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
    setAgain(undefined);
    reload();
  };
  return (
    <>
      <header class="page-head">
        <h1>{t("shares")}</h1>
      </header>
      {can("editor") && <p class="hint">{t("shares.how")}</p>}
      {(error ?? action.error) && <ErrorBox error={(error ?? action.error)!} retry={error && reload} />}
      {!data && !error && <Skeleton lines={4} height={44} />}
      {data?.shares.length === 0 && (
        <Empty icon="send" title={t("shares.none")} text={t(can("editor") ? "shares.none.text" : "viewer.text")}>
          <a class="button" href={href("/links")}>
            {t("overview.none.action")}
          </a>
        </Empty>
      )}
      {data && data.shares.length > 0 && (
        <Table class="shares" caption={t("shares")} columns={[t("title"), ...[t("password"), t("last.used"), t("expires")].map((head) => [head, "wide-only"] as const)]}>
          {data.shares.map((share) => (
            <ShareRow share={share} creator={creatorOf(share.created_by)} key={share.id} onEdit={() => setEditing(share)} onAgain={() => setAgain(share)} onRevoke={() => setRevoking(share)} />
          ))}
        </Table>
      )}
      {editing && <ShareDialog share={editing} name={nameOf(editing)} onClose={closeForm} />}
      {again && <ShareDialog subject={again.link ? { link_id: again.link.id } : { tag: again.tag ?? "" }} name={subjectOf(again)} onClose={closeForm} />}
      {revoking && <Confirm title={t("key.revoke.title", { name: nameOf(revoking) })} text={t("shares.revoke.text")} action={t("revoke")} onConfirm={() => revoke(revoking)} onClose={() => setRevoking(undefined)} />}
    </>
  );
}
