import { useState } from "preact/hooks";
import { api, type Schemas, unwrap } from "../api/client";
import { useQuery } from "../api/use_query";
import { href } from "../app/router";
import { can } from "../app/session";
import { notify } from "../app/toasts";
import { Confirm } from "../components/dialog";
import { Empty, ErrorBox, Skeleton } from "../components/feedback";
import { useAction } from "../components/use_action";
import { t } from "../i18n";
import { formatDate, formatRelative, hostAndSlug } from "../lib/format";
import { useCreators } from "../lib/members";

type Share = Schemas["Share"];

const subjectOf = (share: Share) => (share.link ? hostAndSlug(share.link.short_url) : t("shared.tag", { tag: share.tag ?? "" }));
const nameOf = (share: Share) => share.title || subjectOf(share);

function ShareRow({ share, creator, onRevoke }: { share: Share; creator: string | undefined; onRevoke: () => void }) {
  const password = t(share.has_password ? "shares.password.yes" : "shares.password.no");
  const used = share.last_used_at ? formatRelative(share.last_used_at) : t("never");
  const ends = share.expires_at ? formatDate(share.expires_at) : t("never");
  const place = share.link ? href(`/links/${share.link.id}`) : href("/", { tag: share.tag });
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
          <button type="button" class="button" onClick={onRevoke} aria-label={t("key.revoke.one", { name: nameOf(share) })}>
            {t("revoke")}
          </button>
        )}
      </td>
    </tr>
  );
}

export default function SharesPage() {
  const { data, error, reload } = useQuery("shares", (signal) => unwrap(api.GET("/api/shares", { signal })));
  const [revoking, setRevoking] = useState<Share>();
  const action = useAction();
  const creatorOf = useCreators();
  const revoke = (share: Share) =>
    void action.run(async () => {
      await unwrap(api.DELETE("/api/shares/{id}", { params: { path: { id: share.id } } }));
      notify(t("key.revoked", { name: nameOf(share) }));
      reload();
    });
  return (
    <>
      <header class="page-head">
        <h1>{t("shares")}</h1>
      </header>
      {(error ?? action.error) && <ErrorBox error={(error ?? action.error)!} retry={error && reload} />}
      {!data && !error && <Skeleton lines={4} height={44} />}
      {data?.shares.length === 0 && <Empty title={t("shares.none")} text={t(can("editor") ? "shares.none.text" : "viewer.text")} />}
      {data && data.shares.length > 0 && (
        <div class="card table-card">
          <table class="table">
            <caption class="visually-hidden">{t("shares")}</caption>
            <thead>
              <tr>
                <th scope="col">{t("title")}</th>
                <th scope="col" class="wide-only">{t("password")}</th>
                <th scope="col" class="wide-only">{t("last.used")}</th>
                <th scope="col" class="wide-only">{t("expires")}</th>
                <th class="cell-actions"><span class="visually-hidden">{t("actions")}</span></th>
              </tr>
            </thead>
            <tbody>{data.shares.map((share) => <ShareRow share={share} creator={creatorOf(share.created_by)} key={share.id} onRevoke={() => setRevoking(share)} />)}</tbody>
          </table>
        </div>
      )}
      {revoking && <Confirm title={t("key.revoke.title", { name: nameOf(revoking) })} text={t("shares.revoke.text")} action={t("revoke")} onConfirm={() => revoke(revoking)} onClose={() => setRevoking(undefined)} />}
    </>
  );
}
