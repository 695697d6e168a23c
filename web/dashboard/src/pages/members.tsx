import { useState } from "preact/hooks";
import { api, unwrap } from "../api/client";
import { useQuery } from "../api/use_query";
import { href, navigate } from "../app/router";
import { can, changeWorkspace, currentUser, currentWorkspace } from "../app/session";
import { notify } from "../app/toasts";
import { Confirm, Dialog, DialogFoot } from "../components/dialog";
import { ErrorBox, Skeleton } from "../components/feedback";
import { SubmitButton } from "../components/field";
import { Icon } from "../components/icons";
import { endsInvitations, Invitations, PEOPLE_POLL_MS, RoleField, useInvitations } from "../components/invitations";
import { Menu, type MenuItem } from "../components/menu";
import { Table } from "../components/table";
import { useAction } from "../components/use_action";
import { t } from "../i18n";
import { formatDate } from "../lib/format";
import { loadMembers, type Member, memberName } from "../lib/members";
import type { Role } from "../lib/roles";

function RoleDialog({ member, endsWith, onClose, onSaved }: { member: Member; endsWith: (role: Role) => string; onClose: () => void; onSaved: (role: Role) => void }) {
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
        <p role="status">{endsWith(role)}</p>
        <DialogFoot onClose={onClose}>
          <SubmitButton isBusy={isBusy}>{t("save")}</SubmitButton>
        </DialogFoot>
      </form>
    </Dialog>
  );
}

function MemberRow({ member, items }: { member: Member; items: MenuItem[] }) {
  return (
    <tr>
      <td class="cell-link">
        <strong>{memberName(member)}</strong> {member.user_id === currentUser()?.id && <span class="badge">{t("member.you")}</span>} {member.second_factor && <span class="badge">{t("factor")}</span>}
        {member.name && <div class="muted ellipsis" title={member.email}>{member.email}</div>}
      </td>
      <td class="nowrap">{t(`role.${member.role}`)}</td>
      <td class="wide-only muted nowrap">{formatDate(member.created_at)}</td>
      <td class="cell-actions">{items.length > 0 && <Menu label={t("actions.of", { url: memberName(member) })} items={items} />}</td>
    </tr>
  );
}

function MemberTable({ members, itemsOf }: { members: Member[]; itemsOf: (member: Member) => MenuItem[] }) {
  return (
    <Table class="users" caption={t("members")} columns={[t("member"), t("role"), [t("member.since"), "wide-only"]]}>
      {members.map((member) => (
        <MemberRow member={member} items={itemsOf(member)} key={member.user_id} />
      ))}
    </Table>
  );
}

export default function MembersPage() {
  const { data, error, reload } = useQuery("members", loadMembers, PEOPLE_POLL_MS);
  const invitations = useInvitations();
  const [isInviting, setInviting] = useState(false);
  const [changing, setChanging] = useState<Member>();
  const [removing, setRemoving] = useState<Member>();
  const action = useAction();
  const me = currentUser()?.id;
  const members = data?.members ?? [];
  const owners = members.filter((each) => each.role === "owner");
  const isLastOwner = owners.length === 1 && owners[0]?.user_id === me;

  const remove = (member: Member) =>
    void action.run(async () => {
      await unwrap(api.DELETE("/api/members/{id}", { params: { path: { id: member.user_id } } }));
      if (member.user_id === me) return location.assign(href("/workspaces"));
      notify(t("member.removed", { name: memberName(member) }));
      reload();
      invitations.reload();
    });
  /** The last owner has to make somebody else one before, and an administrator has no say about owners. */
  const itemsOf = (member: Member): MenuItem[] => {
    const isMe = member.user_id === me;
    const canChange = can(member.role === "owner" ? "owner" : "admin") && !(isMe && isLastOwner);
    const canLeave = isMe && !isLastOwner;
    return [
      ...(canChange ? [{ text: t("role.change"), icon: "shield", run: () => setChanging(member) } as const] : []),
      ...(can("admin") && !isMe ? [{ text: t("audit.of"), icon: "list", run: () => navigate(href("/audit", { actor: member.user_id })) } as const] : []),
      ...(canLeave || (canChange && !isMe) ? [{ text: t(isMe ? "member.leave" : "member.remove"), icon: isMe ? "logout" : "close", isDanger: true, run: () => setRemoving(member) } as const] : []),
    ];
  };
  const saved = (member: Member, role: Role) => {
    setChanging(undefined);
    if (member.user_id === me) changeWorkspace({ role });
    notify(t("saved"));
    reload();
    invitations.reload();
  };
  const shownError = error ?? action.error;
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
      {shownError && <ErrorBox error={shownError} retry={error && reload} />}
      {!data && !error && <Skeleton lines={4} height={44} />}
      {data && <MemberTable members={members} itemsOf={itemsOf} />}
      {isLastOwner && members.length > 1 && <p class="hint">{t("member.last")}</p>}
      {data && !can("admin") && <p class="hint">{t("members.ask")}</p>}
      {members.length === 1 && invitations.data?.invitations.every((each) => each.state !== "open") && <p class="hint">{t("members.none")}</p>}
      {can("admin") && <Invitations query={invitations} isInviting={isInviting} onClose={() => setInviting(false)} />}
      {changing && <RoleDialog member={changing} endsWith={(role) => endsInvitations(invitations, changing.user_id, role)} onClose={() => setChanging(undefined)} onSaved={(role) => saved(changing, role)} />}
      {removing && removal && (
        <Confirm
          title={t(`${removal}.title`, { name: removing.user_id === me ? (currentWorkspace()?.name ?? "") : memberName(removing) })}
          text={t(`${removal}.text`)}
          more={endsInvitations(invitations, removing.user_id)}
          action={t(removal)}
          onConfirm={() => remove(removing)}
          onClose={() => setRemoving(undefined)}
        />
      )}
    </>
  );
}
