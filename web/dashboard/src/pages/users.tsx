import { useState } from "preact/hooks";
import { api, type Schemas, unwrap } from "../api/client";
import { useQuery } from "../api/use_query";
import { href, navigate, setParams, usePlace } from "../app/router";
import { currentUser } from "../app/session";
import { notify } from "../app/toasts";
import { Confirm, Dialog, DialogFoot } from "../components/dialog";
import { Empty, ErrorBox, Skeleton } from "../components/feedback";
import { FilterField, SelectField, SubmitButton, TextField } from "../components/field";
import { Icon } from "../components/icons";
import { Invitations, PEOPLE_POLL_MS, useInvitations } from "../components/invitations";
import { Menu, type MenuItem } from "../components/menu";
import { SecretDialog } from "../components/secret_dialog";
import { useAction } from "../components/use_action";
import { t } from "../i18n";
import { formatCount, formatDate, formatTime } from "../lib/format";

type Account = Schemas["AdministeredUser"];
type Reset = Schemas["PasswordResetAnswer"];

const PAGE_SIZE = 50;
const nameOf = (user: Account) => user.email ?? user.name;

function QuotaDialog({ user, onClose, onSaved }: { user: Account; onClose: () => void; onSaved: () => void }) {
  const own = user.links_per_day;
  const [kind, setKind] = useState(own === null ? "default" : own === "unlimited" ? own : "number");
  const [limit, setLimit] = useState(typeof own === "number" ? String(own) : "");
  const { error, isBusy, run } = useAction();
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      const links_per_day = kind === "default" ? null : kind === "unlimited" ? kind : Number(limit);
      await unwrap(api.PATCH("/api/admin/users/{id}", { params: { path: { id: user.id } }, body: { links_per_day } }));
      onSaved();
    });
  };
  return (
    <Dialog title={t("quota.title", { name: nameOf(user) })} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        {error && <ErrorBox error={error} />}
        <SelectField label={t("quota")} value={kind} options={[["default", t("default")], ["unlimited", t("unlimited")], ["number", t("quota.number")]]} onChange={setKind} />
        {kind === "number" && <TextField label={t("quota.number")} hint={t("quota.hint")} type="number" required min={0} max={1_000_000_000} autofocus value={limit} error={error?.fields.links_per_day} onInput={setLimit} />}
        <DialogFoot onClose={onClose} isBusy={isBusy}>
          <SubmitButton isBusy={isBusy}>{t("save")}</SubmitButton>
        </DialogFoot>
      </form>
    </Dialog>
  );
}

/** A fragment is not sent to the server, so that no log has it. */
const resetUrl = (reset: Reset) => `${location.origin}${href("/reset")}#${reset.token}`;

function UserRow({ user, items }: { user: Account; items: MenuItem[] }) {
  return (
    <tr>
      <td class="cell-link">
        <a href={href(`/admin/users/${user.id}`)}>{nameOf(user)}</a>
        <div class="muted">
          {user.name && `${user.name} · `}
          {t("audit.actor")} {user.id}
        </div>
      </td>
      <td>
        {user.role === "admin" && <span class="badge badge-admin">{t("role.admin")}</span>} {user.blocked && <span class="badge badge-disabled">{t("blocked")}</span>} {user.second_factor && <span class="badge">{t("factor")}</span>}
      </td>
      <td class="number wide-only">{user.links_per_day === null ? t("default") : user.links_per_day === "unlimited" ? t("unlimited") : formatCount(user.links_per_day)}</td>
      <td class="wide-only muted nowrap">{formatDate(user.created_at)}</td>
      <td class="cell-actions">{user.id !== currentUser()?.id && <Menu label={t("actions.of", { url: nameOf(user) })} items={items} />}</td>
    </tr>
  );
}

export default function UsersPage() {
  const { params } = usePlace();
  const q = params.get("q") ?? "";
  const cursor = params.get("cursor") ?? undefined;
  const query = { q: q || undefined, cursor, limit: PAGE_SIZE };
  const { data, error, reload } = useQuery(JSON.stringify(query), (signal) => unwrap(api.GET("/api/admin/users", { params: { query }, signal })), PEOPLE_POLL_MS);
  const [quotaOf, setQuotaOf] = useState<Account>();
  const [asked, setAsked] = useState<{ user: Account; kind: "admin.make" | "block" | "factor.remove" | "account.delete"; run: () => void }>();
  const [reset, setReset] = useState<Reset>();
  const [isInviting, setInviting] = useState(false);
  const invitations = useInvitations(true);
  const action = useAction();

  const act = (call: () => Promise<unknown>, done = t("saved")) =>
    void action.run(async () => {
      await call();
      notify(done);
      reload();
    });
  const of = (user: Account) => ({ params: { path: { id: user.id } } });
  const change = (user: Account, body: Schemas["UserChange"]) => act(() => unwrap(api.PATCH("/api/admin/users/{id}", { ...of(user), body })));
  const removeFactor = (user: Account) => act(() => unwrap(api.DELETE("/api/admin/users/{id}/second-factor", of(user))), t("factor.removed"));
  const remove = (user: Account) => act(() => unwrap(api.DELETE("/api/admin/users/{id}", of(user))), t("account.deleted"));
  const makeReset = (user: Account) =>
    void action.run(async () => setReset(await unwrap(api.POST("/api/admin/users/{id}/password-reset", of(user)))));
  const itemsOf = (user: Account): MenuItem[] => [
    user.role === "admin" ? { text: t("admin.remove"), icon: "user", run: () => change(user, { role: "user" }) } : { text: t("admin.make"), icon: "shield", run: () => setAsked({ user, kind: "admin.make", run: () => change(user, { role: "admin" }) }) },
    { text: t("quota.set"), icon: "filter", run: () => setQuotaOf(user) },
    { text: t("reset.make"), icon: "key", run: () => makeReset(user) },
    { text: t("user.links"), icon: "link", run: () => navigate(href(`/admin/users/${user.id}`)) },
    { text: t("audit.of"), icon: "list", run: () => navigate(href("/admin/audit", { actor: user.id })) },
    ...(user.second_factor ? [{ text: t("factor.remove"), icon: "shield", isDanger: true, run: () => setAsked({ user, kind: "factor.remove", run: () => removeFactor(user) }) } as const] : []),
    user.blocked ? { text: t("unblock"), icon: "play", run: () => change(user, { blocked: false }) } : { text: t("block"), icon: "pause", isDanger: true, run: () => setAsked({ user, kind: "block", run: () => change(user, { blocked: true }) }) },
    { text: t("account.delete"), icon: "trash", isDanger: true, run: () => setAsked({ user, kind: "account.delete", run: () => remove(user) }) },
  ];
  const shownError = error ?? action.error;
  return (
    <>
      <header class="page-head">
        <h1>{t("users")}</h1>
        <button type="button" class="button button-primary" onClick={() => setInviting(true)}>
          <Icon name="plus" /> {t("invite")}
        </button>
      </header>
      <div class="filter-bar">
        <div class="search">
          <Icon name="search" />
          <FilterField label={t("search.users")} placeholder={t("search.users")} value={q} onChange={(next) => setParams({ q: next, cursor: "" }, { replace: true })} />
        </div>
      </div>
      {shownError && <ErrorBox error={shownError} retry={error && reload} />}
      {!data && !error && <Skeleton lines={6} height={44} />}
      {data?.users.length === 0 && <Empty icon="search" title={t("users.none")} />}
      {data && data.users.length > 0 && (
        <div class="card table-card">
          <table class="table users">
            <caption class="visually-hidden">{t("users")}</caption>
            <thead>
              <tr>
                <th scope="col">{t("account")}</th>
                <th scope="col">{t("state")}</th>
                <th scope="col" class="number wide-only">{t("quota")}</th>
                <th scope="col" class="wide-only">{t("created")}</th>
                <th class="cell-actions"><span class="visually-hidden">{t("actions")}</span></th>
              </tr>
            </thead>
            <tbody>{data.users.map((user) => <UserRow user={user} items={itemsOf(user)} key={user.id} />)}</tbody>
          </table>
        </div>
      )}
      {data?.pagination.next_cursor && (
        <button type="button" class="button" onClick={() => setParams({ cursor: data.pagination.next_cursor })}>
          {t("next")}
        </button>
      )}
      <Invitations query={invitations} isOfInstance isInviting={isInviting} onClose={() => setInviting(false)} />
      {quotaOf && <QuotaDialog user={quotaOf} onClose={() => setQuotaOf(undefined)} onSaved={() => (setQuotaOf(undefined), notify(t("saved")), reload())} />}
      {asked && (
        <Confirm title={t(`${asked.kind}.title`, { name: nameOf(asked.user) })} text={t(`${asked.kind}.text`)} more={asked.kind === "block" && <a href={href(`/admin/users/${asked.user.id}`)}>{t("block.links")}</a>} action={t(asked.kind)} onConfirm={asked.run} onClose={() => setAsked(undefined)} />
      )}
      {reset && <SecretDialog title={t("reset.made")} text={t("reset.made.text", { time: formatTime(reset.expires_at) })} secret={resetUrl(reset)} label={t("shares.copy")} onClose={() => setReset(undefined)} />}
    </>
  );
}
