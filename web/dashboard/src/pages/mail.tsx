import { api, type Schemas, unwrap } from "../api/client";
import { useQuery } from "../api/use_query";
import { useInstance } from "../app/instance";
import { notify } from "../app/toasts";
import { Empty, ErrorBox, Skeleton } from "../components/feedback";
import { Table } from "../components/table";
import { useAction } from "../components/use_action";
import { t } from "../i18n";
import { formatTime } from "../lib/format";

const POLL_MS = 5_000;

function Row({ mail }: { mail: Schemas["Mail"] }) {
  return (
    <tr>
      <td class="cell-link">
        <strong>{mail.to}</strong>
        <div class="muted">{mail.kind}</div>
      </td>
      <td>
        <span class={mail.state === "waiting" ? "badge" : "badge badge-blocked"}>{t(`mail.${mail.state}`)}</span>
        {mail.error && <div class="muted">{mail.error}</div>}
      </td>
      <td class="wide-only muted nowrap">{formatTime(mail.created_at)}</td>
      <td class="wide-only muted nowrap">{mail.next_attempt_at ? formatTime(mail.next_attempt_at) : "–"}</td>
    </tr>
  );
}

/** The mails that wait or were not sent: what was sent is not there any more. */
export default function MailPage() {
  const { data, error, reload } = useQuery("mail", (signal) => unwrap(api.GET("/api/admin/mail", { signal })), POLL_MS);
  const hasMail = useInstance()?.mail ?? true;
  const action = useAction();
  const test = () =>
    void action.run(async () => {
      const { to } = await unwrap(api.POST("/api/admin/mail-test"));
      notify(t("mail.tested", { to }));
      reload();
    });
  const shownError = error ?? action.error;
  return (
    <>
      <header class="page-head">
        <h1>{t("mail")}</h1>
        {hasMail && (
          <button type="button" class="button" disabled={action.isBusy} onClick={test}>
            {t("mail.test")}
          </button>
        )}
      </header>
      {hasMail && <p class="muted">{t("mail.text")}</p>}
      {shownError && <ErrorBox error={shownError} retry={error && reload} />}
      {!data && !error && <Skeleton lines={4} height={44} />}
      {data?.mails.length === 0 && <Empty icon="mail" title={t(hasMail ? "mail.none" : "mail.off")} text={t(hasMail ? "mail.none.text" : "mail.off.text")} />}
      {data && data.mails.length > 0 && (
        <Table caption={t("mail")} columns={[t("mail.to"), t("state"), [t("created"), "wide-only"], [t("mail.next"), "wide-only"]]} hasActions={false}>
          {data.mails.map((mail) => (
            <Row mail={mail} key={mail.id} />
          ))}
        </Table>
      )}
    </>
  );
}
