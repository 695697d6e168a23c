import { useState } from "preact/hooks";
import { api, unwrap } from "../api/client";
import { useQuery } from "../api/use_query";
import { notify } from "../app/toasts";
import { Empty, ErrorBox, Skeleton } from "../components/feedback";
import { SubmitButton, TextField } from "../components/field";
import { Table } from "../components/table";
import { useAction } from "../components/use_action";
import { t } from "../i18n";
import { formatDate } from "../lib/format";
import { hostOf } from "../lib/urls";

function BlockForm({ onBlocked }: { onBlocked: () => void }) {
  const [text, setText] = useState("");
  const [reason, setReason] = useState("");
  const [withSubdomains, setWithSubdomains] = useState(true);
  const { error, isBusy, run } = useAction();
  const host = hostOf(text);
  const site = /^www\.(.+\..+)/i.exec(host)?.[1];
  const hint = host === text.trim() ? t("host.hint") : t("host.reduced", { host });
  const submit = async (event: Event) => {
    event.preventDefault();
    const isDone = await run(() => unwrap(api.POST("/api/admin/hosts", { body: { host, reason, with_subdomains: withSubdomains } })));
    if (!isDone) return;
    notify(t("host.blocked", { host }));
    setText("");
    setReason("");
    onBlocked();
  };
  return (
    <form class="card form" onSubmit={submit}>
      <h2>{t("host.block")}</h2>
      <p class="hint">{t("host.when")}</p>
      {error && <ErrorBox error={error} />}
      <div class="field-row">
        <TextField label={t("host")} hint={site ? t("host.www", { host, site }) : hint} required autocomplete="off" value={text} error={error?.fields.host} onInput={setText} />
        <TextField label={t("reason")} hint={t("reason.hint")} maxLength={200} value={reason} error={error?.fields.reason} onInput={setReason} />
      </div>
      <label class="check">
        <input type="checkbox" checked={withSubdomains} onChange={(event) => setWithSubdomains(event.currentTarget.checked)} /> {t("subdomains")}
      </label>
      <div class="button-row">
        <SubmitButton isBusy={isBusy}>{t("host.block")}</SubmitButton>
      </div>
    </form>
  );
}

export default function HostsPage() {
  const { data, error, reload } = useQuery("hosts", (signal) => unwrap(api.GET("/api/admin/hosts", { signal })));
  const action = useAction();
  const unblock = (id: number, host: string) =>
    void action.run(async () => {
      await unwrap(api.DELETE("/api/admin/hosts/{id}", { params: { path: { id } } }));
      notify(t("host.unblocked", { host }));
      reload();
    });
  const shownError = error ?? action.error;
  return (
    <>
      <header class="page-head">
        <h1>{t("hosts")}</h1>
      </header>
      <BlockForm onBlocked={reload} />
      {shownError && <ErrorBox error={shownError} retry={error && reload} />}
      {!data && !error && <Skeleton lines={4} height={44} />}
      {data?.hosts.length === 0 && <Empty icon="shield" title={t("hosts.none")} text={t("hosts.none.text")} />}
      {data && data.hosts.length > 0 && (
        <Table caption={t("hosts")} columns={[t("host"), t("reason"), [t("created"), "wide-only"]]}>
          {data.hosts.map((host) => (
            <tr key={host.id}>
              <td class="mono">{host.with_subdomains ? `*.${host.host}` : host.host}</td>
              <td>{host.reason}</td>
              <td class="wide-only muted">{formatDate(host.created_at)}</td>
              <td class="cell-actions">
                <button type="button" class="button" aria-label={t("host.unblock", { host: host.host })} onClick={() => unblock(host.id, host.host)}>
                  {t("unblock")}
                </button>
              </td>
            </tr>
          ))}
        </Table>
      )}
    </>
  );
}
