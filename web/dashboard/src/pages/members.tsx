import { useState } from "preact/hooks";
import { api, type Schemas, unwrap } from "../api/client";
import { useQuery } from "../api/use_query";
import { useInstance } from "../app/instance";
import { href } from "../app/router";
import { can, changeWorkspace, currentUser, currentWorkspace } from "../app/session";
import { notify } from "../app/toasts";
import { Confirm, Dialog } from "../components/dialog";
import { ErrorBox, Skeleton } from "../components/feedback";
import { SubmitButton, TextField } from "../components/field";
import { Icon } from "../components/icons";
import { Menu, type MenuItem } from "../components/menu";
import { SecretDialog } from "../components/secret_dialog";
import { useAction } from "../components/use_action";
import { t } from "../i18n";
import { formatDate, formatTime } from "../lib/format";
import { loadMembers, type Member, memberName } from "../lib/members";
import { ROLES, type Role } from "../lib/roles";

type Invitation = Schemas["Invitation"];

/** Only an owner makes owners. */
function RoleField({ role, onChange }: { role: Role; onChange: (role: Role) => void }) {
  return (
    <fieldset class="fieldset">
      <legend>{t("role")}</legend>
      {ROLES.filter((each) => each !== "owner" || can("owner")).map((each) => (
        <label class="check" key={each}>
          <input type="radio" name="role" checked={each === role} onChange={() => onChange(each)} />
          {t(`role.${each}`)}
          <span class="hint">{t(`role.${each}.text`)}</span>
        </label>
      ))}
    </fieldset>
  );
}

function InviteDialog({ onClose, onMade }: { onClose: () => void; onMade: () => void }) {
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<Role>("editor");
  const hasMail = useInstance()?.mail;
  const [made, setMade] = useState<{ invitation: Invitation; url: string }>();
  // While it is made, the dialog stays: nothing else shows the address.
  const { error, isBusy, run } = useAction();

  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      setMade(await unwrap(api.POST("/api/invitations", { body: { email, role } })));
      onMade();
    });
  };
  if (made) {
    const text = t(hasMail ? "invitation.made.mail" : "invitation.made.text", { email: made.invitation.email, time: formatTime(made.invitation.expires_at) });
    return <SecretDialog title={t("invitation.made")} text={text} secret={new URL(made.url, location.origin).href} label={t("invitation.copy")} onClose={onClose} />;
  }
  return (
    <Dialog title={t("invite.title", { name: currentWorkspace()?.name ?? "" })} onClose={() => isBusy || onClose()}>
      <form class="form" onSubmit={submit}>
        {error && <ErrorBox error={error} />}
        <TextField label={t("email")} hint={t("invite.hint")} type="email" required autofocus autocomplete="off" maxLength={254} value={email} error={error?.fields.email} onInput={setEmail} />
        <RoleField role={role} onChange={setRole} />
        <footer class="dialog-foot">
          <SubmitButton isBusy={isBusy}>{t("invite.action")}</SubmitButton>
        </footer>
      </form>
    </Dialog>
  );
}

function RoleDialog({ member, onClose, onSaved }: { member: Member; onClose: () => void; onSaved: (role: Role) => void }) {
  const [role, setRole] = useState(member.role);
  const { error, isBusy, run } = useAction();
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      await unwrap(api.PATCH("/api/members/{id}", { params: { path: { id: member.user_id } }, body: { role } }));
      onSaved(role);
    });
  };
  return (
    <Dialog title={t("role.of", { name: memberName(member) })} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        {error && <ErrorBox error={error} />}
        <RoleField role={role} onChange={setRole} />
        <footer class="dialog-foot">
          <button type="button" class="button" onClick={onClose}>
            {t("cancel")}
          </button>
          <SubmitButton isBusy={isBusy}>{t("save")}</SubmitButton>
        </footer>
      </form>
    </Dialog>
  );
}

function MemberRow({ member, items }: { member: Member; items: MenuItem[] }) {
  return (
    <tr>
      <td class="cell-link">
        <strong>{memberName(member)}</strong> {member.user_id === currentUser()?.id && <span class="badge">{t("member.you")}</span>}
        {member.name && <div class="muted">{member.email}</div>}
      </td>
      <td class="nowrap">{t(`role.${member.role}`)}</td>
      <td class="wide-only muted nowrap">{formatDate(member.created_at)}</td>
      <td class="cell-actions">{items.length > 0 && <Menu label={t("actions.of", { url: memberName(member) })} items={items} />}</td>
    </tr>
  );
}

function MemberTable({ members, itemsOf }: { members: Member[]; itemsOf: (member: Member) => MenuItem[] }) {
  return (
    <div class="card table-card">
      <table class="table">
        <caption class="visually-hidden">{t("members")}</caption>
        <thead>
          <tr>
            <th scope="col">{t("member")}</th>
            <th scope="col">{t("role")}</th>
            <th scope="col" class="wide-only">
              {t("member.since")}
            </th>
            <th class="cell-actions">
              <span class="visually-hidden">{t("actions")}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {members.map((member) => (
            <MemberRow member={member} items={itemsOf(member)} key={member.user_id} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Those that nobody has accepted yet. */
function Invitations({ invitations, onRevoke }: { invitations: Invitation[]; onRevoke: (invitation: Invitation) => void }) {
  return (
    <section class="card" aria-label={t("invitations")}>
      <h2 class="card-head">{t("invitations")}</h2>
      <ul class="rows">
        {invitations.map((invitation) => (
          <li class="row" key={invitation.id}>
            <span class="row-main">
              <span>{invitation.email}</span>
              <span class="muted">
                {invitation.role && `${t(`role.${invitation.role}`)} · `}
                {t("invitation.until", { time: formatTime(invitation.expires_at) })}
              </span>
            </span>
            <button type="button" class="button" aria-label={t("key.revoke.one", { name: invitation.email })} onClick={() => onRevoke(invitation)}>
              {t("revoke")}
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

export default function MembersPage() {
  const { data, error, reload } = useQuery("members", loadMembers);
  const pending = useQuery(can("admin") ? "invitations" : null, (signal) => unwrap(api.GET("/api/invitations", { signal })));
  const [isInviting, setInviting] = useState(false);
  const [changing, setChanging] = useState<Member>();
  const [removing, setRemoving] = useState<Member>();
  const [revoking, setRevoking] = useState<Invitation>();
  const action = useAction();
  const me = currentUser()?.id;
  const members = data?.members ?? [];
  const owners = members.filter((each) => each.role === "owner");
  const isLastOwner = owners.length === 1 && owners[0]?.user_id === me;

  const remove = (member: Member) =>
    void action.run(async () => {
      await unwrap(api.DELETE("/api/members/{id}", { params: { path: { id: member.user_id } } }));
      if (member.user_id === me) return location.assign(href("/workspaces"));
      changeWorkspace({ members: members.length - 1 });
      notify(t("member.removed", { name: memberName(member) }));
      reload();
    });
  const revoke = (invitation: Invitation) =>
    void action.run(async () => {
      await unwrap(api.DELETE("/api/invitations/{id}", { params: { path: { id: invitation.id } } }));
      notify(t("key.revoked", { name: invitation.email }));
      pending.reload();
    });
  /** The last owner has to make somebody else one before, and an administrator has no say about owners. */
  const itemsOf = (member: Member): MenuItem[] => {
    const isMe = member.user_id === me;
    const canChange = can(member.role === "owner" ? "owner" : "admin") && !(isMe && isLastOwner);
    const canLeave = isMe && !isLastOwner;
    return [
      ...(canChange ? [{ text: t("role.change"), icon: "shield", run: () => setChanging(member) } as const] : []),
      ...(canLeave || (canChange && !isMe) ? [{ text: t(isMe ? "member.leave" : "member.remove"), icon: isMe ? "logout" : "close", isDanger: true, run: () => setRemoving(member) } as const] : []),
    ];
  };
  const saved = (member: Member, role: Role) => {
    setChanging(undefined);
    if (member.user_id === me) changeWorkspace({ role });
    notify(t("saved"));
    reload();
  };
  const shownError = error ?? pending.error ?? action.error;
  const removal = removing && (removing.user_id === me ? "member.leave" : "member.remove");
  return (
    <>
      <header class="page-head">
        <h1>{t("members")}</h1>
        {can("admin") && (
          <button type="button" class="button button-primary" onClick={() => setInviting(true)}>
            <Icon name="plus" /> {t("invite")}
          </button>
        )}
      </header>
      {shownError && <ErrorBox error={shownError} retry={error ? reload : pending.error && pending.reload} />}
      {!data && !error && <Skeleton lines={4} height={44} />}
      {data && <MemberTable members={members} itemsOf={itemsOf} />}
      {isLastOwner && members.length > 1 && <p class="hint">{t("member.last")}</p>}
      {pending.data && pending.data.invitations.length > 0 && <Invitations invitations={pending.data.invitations} onRevoke={setRevoking} />}
      {data && members.length === 1 && pending.data?.invitations.length === 0 && <p class="hint">{t("members.none")}</p>}
      {isInviting && <InviteDialog onClose={() => setInviting(false)} onMade={pending.reload} />}
      {changing && <RoleDialog member={changing} onClose={() => setChanging(undefined)} onSaved={(role) => saved(changing, role)} />}
      {removing && removal && (
        <Confirm
          title={t(`${removal}.title`, { name: removing.user_id === me ? (currentWorkspace()?.name ?? "") : memberName(removing) })}
          text={t(`${removal}.text`)}
          action={t(removal)}
          onConfirm={() => remove(removing)}
          onClose={() => setRemoving(undefined)}
        />
      )}
      {revoking && <Confirm title={t("key.revoke.title", { name: revoking.email })} text={t("invitation.revoke.text")} action={t("revoke")} onConfirm={() => revoke(revoking)} onClose={() => setRevoking(undefined)} />}
    </>
  );
}
