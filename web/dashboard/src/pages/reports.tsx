import { useEffect, useState } from "preact/hooks";
import { api, type Schemas, unwrap } from "../api/client";
import { useQuery } from "../api/use_query";
import { href, setParams, usePlace } from "../app/router";
import { setOpenReports } from "../app/session";
import { notify } from "../app/toasts";
import { BlockDialog, type BlockTarget } from "../components/block_dialog";
import { Empty, ErrorBox, Skeleton } from "../components/feedback";
import { SelectField } from "../components/field";
import { Menu, type MenuItem } from "../components/menu";
import { CursorPages, Table } from "../components/table";
import { useAction } from "../components/use_action";
import { t } from "../i18n";
import { formatTime, hostAndSlug, shortenUrl } from "../lib/format";
import { hostOf } from "../lib/urls";

const PAGE_SIZE = 50;
const STATES = ["open", "closed"] as const;

type Report = Schemas["Report"];

/** Whose link it is, with a way to the account. */
function Maker({ link }: { link: NonNullable<Report["link"]> }) {
  if (link.workspace_id === null) return <div class="muted">{t("report.of.nobody")}</div>;
  return (
    <div class="ellipsis muted">
      {link.created_by !== null && <a href={href(`/admin/users/${link.created_by}`)}>{link.created_by_email}</a>}
      {link.created_by !== null && " · "}
      {link.workspace_name}
    </div>
  );
}

function Row({ report, items }: { report: Report; items: MenuItem[] }) {
  const { link } = report;
  const name = link ? hostAndSlug(link.short_url) : report.slug;
  return (
    <tr>
      <td class="cell-link">
        <div class="link-line">
          <span class="short" translate={false}>
            {name}
          </span>
          {link?.blocked_reason && <span class="badge badge-blocked">{t("blocked")}</span>}
          {(!link || link.state === "deleted") && <span class="badge badge-deleted">{t("state.deleted")}</span>}
        </div>
        {link && (
          <div class="ellipsis muted" title={link.original_url}>
            {shortenUrl(link.original_url)}
          </div>
        )}
        {link && <Maker link={link} />}
      </td>
      <td class="report-reason">
        <strong>{t(`report.${report.reason}`)}</strong>
        {report.details && <div class="report-details">{report.details}</div>}
        {report.email && <div class="muted">{report.email}</div>}
      </td>
      <td class="wide-only muted nowrap">
        {formatTime(report.created_at)}
        {report.closed_at && <div>{t("report.closed.by", { time: formatTime(report.closed_at), name: report.closed_by_email ?? "–" })}</div>}
      </td>
      <td class="cell-actions">
        <Menu label={t("actions.of", { url: name })} items={items} />
      </td>
    </tr>
  );
}

/** What visitors reported. A link or its host is blocked from here. */
export default function ReportsPage() {
  const { params } = usePlace();
  const state = STATES.find((each) => each === params.get("state")) ?? "open";
  const query = { state, cursor: Number(params.get("cursor")) || undefined, limit: PAGE_SIZE };
  const { data, error, reload } = useQuery(JSON.stringify(query), (signal) => unwrap(api.GET("/api/admin/reports", { params: { query }, signal })));
  const isAll = state === "open" && !query.cursor && data?.pagination.next_cursor === null;
  useEffect(() => void (isAll && setOpenReports(data.reports.length)), [data]);
  const [target, setTarget] = useState<{ report: Report; what: BlockTarget }>();
  const [done, setDone] = useState<BlockTarget>();
  const action = useAction();
  const setState = ({ id }: Report, next: (typeof STATES)[number]) => unwrap(api.PATCH("/api/admin/reports/{id}", { params: { path: { id } }, body: { state: next } }));
  const change = (report: Report, next: (typeof STATES)[number]) =>
    void action.run(async () => {
      await setState(report, next);
      notify(t(next === "closed" ? "report.closed" : "report.reopened"));
      reload();
    });
  const unblock = (id: number) =>
    void action.run(async () => {
      await unwrap(api.DELETE("/api/admin/links/{id}/block", { params: { path: { id } } }));
      notify(t("saved"));
      reload();
    });
  const itemsOf = (report: Report): MenuItem[] => {
    const { link } = report;
    return [
      ...(link?.blocked_reason ? [{ text: t("report.unblock"), icon: "play", run: () => unblock(link.id) } as const] : []),
      ...(link && !link.blocked_reason && link.state !== "deleted" ? [{ text: t("report.block.link"), icon: "shield", isDanger: true, run: () => setTarget({ report, what: { kind: "link", name: hostAndSlug(link.short_url), id: link.id } }) } as const] : []),
      ...(link ? [{ text: t("report.block.host"), icon: "shield", isDanger: true, run: () => setTarget({ report, what: { kind: "host", name: hostOf(link.original_url) } }) } as const] : []),
      state === "open" ? { text: t("report.close"), icon: "check", run: () => change(report, "closed") } : { text: t("report.reopen"), icon: "play", run: () => change(report, "open") },
    ];
  };
  const blocked = () => {
    setDone(target?.what);
    setTarget(undefined);
    reload();
  };
  const shownError = error ?? action.error;
  return (
    <>
      <header class="page-head">
        <h1>{t("reports")}</h1>
        <SelectField isLabelHidden label={t("state")} value={state} options={STATES.map((each) => [each, t(`report.state.${each}`)] as const)} onChange={(next) => setParams({ state: next === "open" ? "" : next, cursor: "" })} />
      </header>
      <p role="status" class={done && "note"}>
        {done && `${t(`report.block.done.${done.kind}`, { name: done.name })} `}
        {done && state === "open" && <a href={href("/admin/reports", { state: "closed" })}>{t("report.show.closed")}</a>}
      </p>
      {shownError && <ErrorBox error={shownError} retry={error && reload} />}
      {!data && !error && <Skeleton lines={4} height={44} />}
      {data?.reports.length === 0 && <Empty icon="flag" title={t("reports.none")} text={t("reports.none.text", { url: `${location.host}/report` })} />}
      {data && data.reports.length > 0 && (
        <Table caption={t("reports")} columns={[t("link"), t("reason"), [t("time"), "wide-only"]]}>
          {data.reports.map((report) => (
            <Row report={report} items={itemsOf(report)} key={report.id} />
          ))}
        </Table>
      )}
      <CursorPages cursor={query.cursor} next={data?.pagination.next_cursor} />
      {target && <BlockDialog target={target.what} text={t(`report.block.${target.what.kind}.text`)} then={target.what.kind === "host" ? () => setState(target.report, "closed") : undefined} onClose={() => setTarget(undefined)} onBlocked={blocked} />}
    </>
  );
}
