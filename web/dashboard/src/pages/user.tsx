import { useState } from "preact/hooks";
import { api, type Link, unwrap, type Workspace } from "../api/client";
import { useQuery } from "../api/use_query";
import { href, inWorkspace, setParams, usePlace } from "../app/router";
import type { PageProps } from "../app/routes";
import { currentUser } from "../app/session";
import { notify } from "../app/toasts";
import { BlockDialog, type BlockTarget } from "../components/block_dialog";
import { Confirm } from "../components/dialog";
import { Empty, ErrorBox, Skeleton } from "../components/feedback";
import { SelectField } from "../components/field";
import { Icon } from "../components/icons";
import { Menu, type MenuItem } from "../components/menu";
import { CursorPages, Table } from "../components/table";
import { useAction } from "../components/use_action";
import { t, tn } from "../i18n";
import { formatTime, hostAndSlug, shortenUrl } from "../lib/format";
import { hostOf } from "../lib/urls";
import { startIn } from "../lib/workspace";

const PAGE_SIZE = 50;
const HIDEABLE = ["active", "scheduled"];

/** The hosts to which a link may lead, that of its destination first. */
function hostsOf({ original_url, expired_url, rules, split }: Link): string[] {
  const urls = [original_url, expired_url, ...(rules ?? []).flatMap((rule) => [rule.url, rule.fallback_url]), ...(split?.variants ?? []).map((variant) => variant.url)];
  return [...new Set(urls.filter((url) => url != null).map(hostOf))].filter(Boolean);
}

function Row({ link, workspace, userId, items }: { link: Link; workspace: Workspace; userId: number; items: MenuItem[] }) {
  const name = hostAndSlug(link.short_url);
  const [, ...others] = hostsOf(link);
  return (
    <tr>
      <td class="cell-link">
        <a class="short" translate={false} href={inWorkspace(workspace.id, `/links/${link.id}`)}>
          {name}
        </a>{" "}
        {link.blocked_reason && <span class="badge badge-blocked">{t("blocked")}</span>} {link.destination_blocked && <span class="badge badge-blocked">{t("host.is_blocked")}</span>}{" "}
        {!HIDEABLE.includes(link.state) && <span class={`badge badge-${link.state}`}>{t(`state.${link.state}`)}</span>}
        <div class="ellipsis" title={link.original_url} translate={false}>
          {shortenUrl(link.original_url)}
        </div>
        {others.length > 0 && <div class="muted">{t("user.hosts.more", { hosts: others.join(", ") })}</div>}
        {link.title && <div class="ellipsis muted">{link.title}</div>}
      </td>
      <td class="wide-only muted nowrap">
        {formatTime(link.created_at)}
        {workspace.members > 1 && <div>{t(link.created_by === userId ? "user.by.them" : "user.by.others")}</div>}
      </td>
      <td class="cell-actions">
        <Menu label={t("actions.of", { url: name })} items={items} />
      </td>
    </tr>
  );
}

/** For administrators: the links of an account, workspace by workspace, with what can be blocked of each. */
export default function UserPage({ id }: PageProps) {
  const { params } = usePlace();
  const account = useQuery(`user ${id}`, (signal) => unwrap(api.GET("/api/admin/users/{id}", { params: { path: { id: Number(id) } }, signal })));
  const { user, workspaces = [] } = account.data ?? {};
  const open = workspaces.filter((each) => !each.deleted_at);
  const workspace = open.find((each) => String(each.id) === params.get("workspace")) ?? open.find((each) => each.id === user?.id) ?? open[0];
  const query = { workspace: String(workspace?.id), cursor: params.get("cursor") ?? undefined, limit: PAGE_SIZE };
  const links = useQuery(workspace ? JSON.stringify(query) : null, (signal) => unwrap(api.GET("/api/links", { params: { query }, signal })));
  const [target, setTarget] = useState<BlockTarget>();
  const [isDisabling, setDisabling] = useState(false);
  const [isBlocking, setBlocking] = useState(false);
  const action = useAction();
  const unblock = (link: Link) =>
    void action.run(async () => {
      await unwrap(api.DELETE("/api/admin/links/{id}/block", { params: { path: { id: link.id } } }));
      notify(t("saved"));
      links.reload();
    });
  const setBlocked = (blocked: boolean) =>
    void action.run(async () => {
      await unwrap(api.PATCH("/api/admin/users/{id}", { params: { path: { id: Number(id) } }, body: { blocked } }));
      notify(t("saved"));
      account.reload();
    });
  // In the administrator's own workspace: only there may they surely change links, and those of any other with it.
  const disableAll = () =>
    void action.run(async () => {
      const answer = await startIn(currentUser()?.id ?? 0, () => unwrap(api.PATCH("/api/links", { params: { query: { workspace: query.workspace, filter: "state:active" } }, body: { state: "disabled" } })));
      notify(tn("user.disabled", answer.changed));
      links.reload();
    });
  const itemsOf = (link: Link): MenuItem[] => [
    link.blocked_reason
      ? { text: t("report.unblock"), icon: "play", run: () => unblock(link) }
      : { text: t("report.block.link"), icon: "shield", isDanger: true, run: () => setTarget({ kind: "link", name: hostAndSlug(link.short_url), id: link.id }) },
    ...hostsOf(link).map((host): MenuItem => ({ text: t("host.block.one", { host }), icon: "shield", isDanger: true, run: () => setTarget({ kind: "host", name: host }) })),
  ];
  const shownError = account.error ?? links.error ?? action.error;
  const rows = links.data?.links;
  return (
    <>
      <header class="page-head">
        <div class="title">
          <h1>{user ? t("user.links.of", { name: user.email ?? user.name }) : t("user.links")}</h1>
          {user?.blocked && <span class="badge badge-disabled">{t("blocked")}</span>}
        </div>
        <div class="page-actions">
          <a class="button" href={href("/admin/audit", { actor: id })}>
            <Icon name="list" /> {t("audit.of")}
          </a>
          {rows?.some((link) => link.state === "active") && (
            <button type="button" class="button button-danger" onClick={() => setDisabling(true)}>
              {t("user.disable")}
            </button>
          )}
          {user && user.id !== currentUser()?.id && (
            <button type="button" class={user.blocked ? "button" : "button button-danger"} onClick={() => (user.blocked ? setBlocked(false) : setBlocking(true))}>
              {t(user.blocked ? "unblock" : "block.account")}
            </button>
          )}
        </div>
      </header>
      {workspace && (
        <div class="filter-bar">
          <SelectField isLabelHidden label={t("workspace")} value={String(workspace.id)} options={open.map((each) => [String(each.id), `${each.name} · ${tn("workspace.members", each.members)}`] as const)} onChange={(next) => setParams({ workspace: next, cursor: "" })} />
        </div>
      )}
      {shownError && <ErrorBox error={shownError} retry={account.error ? account.reload : links.error && links.reload} />}
      {!shownError && (!account.data || (workspace && !rows)) && <Skeleton lines={6} height={44} />}
      {account.data && (!workspace || rows?.length === 0) && <Empty icon="link" title={t("links.nothing")} />}
      {workspace && rows && rows.length > 0 && (
        <Table caption={t("user.links")} columns={[t("link"), [t("created"), "wide-only"]]}>
          {rows.map((link) => (
            <Row link={link} workspace={workspace} userId={Number(id)} items={itemsOf(link)} key={link.id} />
          ))}
        </Table>
      )}
      <CursorPages cursor={query.cursor} next={links.data?.pagination.next_cursor} />
      {target && (
        <BlockDialog
          target={target}
          text={t(target.kind === "link" ? "report.block.link.text" : "host.block.text")}
          onClose={() => setTarget(undefined)}
          onBlocked={() => {
            notify(t("host.blocked", { host: target.name }));
            setTarget(undefined);
            links.reload();
          }}
        />
      )}
      {isBlocking && user && <Confirm title={t("block.title", { name: user.email ?? user.name })} text={t("block.text")} action={t("block.account")} onConfirm={() => setBlocked(true)} onClose={() => setBlocking(false)} />}
      {isDisabling && workspace && <Confirm title={t("user.disable.title", { name: workspace.name })} text={t("user.disable.text")} action={t("user.disable")} onConfirm={disableAll} onClose={() => setDisabling(false)} />}
    </>
  );
}
