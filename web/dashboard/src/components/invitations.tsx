import { useState } from "preact/hooks";
import { api, type Schemas, unwrap } from "../api/client";
import { type Query, useQuery } from "../api/use_query";
import { useInstance } from "../app/instance";
import { can, currentUser, currentWorkspace } from "../app/session";
import { notify } from "../app/toasts";
import { t } from "../i18n";
import { formatTime } from "../lib/format";
import { isAtLeast, ROLES, type Role } from "../lib/roles";
import { Confirm, Dialog, DialogFoot } from "./dialog";
import { ErrorBox } from "./feedback";
import { SubmitButton, TextField } from "./field";
import { SecretDialog } from "./secret_dialog";
import { useAction } from "./use_action";

type Invitation = Schemas["Invitation"];
type InvitationList = Query<Schemas["InvitationList"]>;

/** How often lists of people are asked for again: others accept, and change roles. */
export const PEOPLE_POLL_MS = 10_000;

/** Those of the workspace, or of the instance; for who may not invite, none. */
export function useInvitations(isOfInstance = false): InvitationList {
  const load = (signal: AbortSignal) => unwrap(isOfInstance ? api.GET("/api/admin/invitations", { signal }) : api.GET("/api/invitations", { signal }));
  return useQuery(isOfInstance || can("admin") ? `invitations ${isOfInstance}` : null, load, PEOPLE_POLL_MS);
}

/** The sentence that names the invitations of a member which end with another role. Without one: with the membership. */
export function endsInvitations({ data }: InvitationList, maker: number, role?: Role): string {
  const me = currentUser();
  if (maker === me?.id && me.role === "admin") return ""; // who may invite everywhere
  const keeps = (invited: Role | null) => isAtLeast(role, invited === "owner" ? "owner" : "admin");
  const ended = data?.invitations.filter((each) => each.state === "open" && each.invited_by === maker && !keeps(each.role)) ?? [];
  return ended.length > 0 ? t("invitations.end", { emails: ended.map((each) => each.email).join(", ") }) : "";
}

/** Only an owner makes owners. */
export function RoleField({ role, onChange }: { role: Role; onChange: (role: Role) => void }) {
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

interface Props {
  query: InvitationList;
  /** Into the instance alone, which administrators do, and so without a role. */
  isOfInstance?: boolean;
  isInviting: boolean;
  /** The invitation is made, or not wanted. */
  onClose: () => void;
}

/** again: one that has ended, or whose link is lost. */
function InviteDialog({ query, isOfInstance = false, again, onClose }: Omit<Props, "isInviting"> & { again?: Invitation }) {
  const [email, setEmail] = useState(again?.email ?? "");
  const [role, setRole] = useState<Role>(!again?.role || (again.role === "owner" && !can("owner")) ? "editor" : again.role);
  const instance = useInstance();
  const hasMail = instance?.mail;
  const [made, setMade] = useState<Schemas["InvitationCreationAnswer"]>();
  // While it is made, the dialog stays: nothing else shows the address.
  const { error, isBusy, run } = useAction();

  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      setMade(await unwrap(isOfInstance ? api.POST("/api/admin/invitations", { body: { email } }) : api.POST("/api/invitations", { body: { email, role } })));
      query.reload();
    });
  };
  if (made) {
    const text = t(hasMail ? "invitation.made.mail" : "invitation.made.text", { email: made.invitation.email, time: formatTime(made.invitation.expires_at) });
    return <SecretDialog title={t("invitation.made")} text={text} secret={new URL(made.url, location.origin).href} label={t("invitation.copy")} onClose={onClose} />;
  }
  // The box above says it.
  const isTaken = error?.kind === "already-member" || error?.kind === "email-taken";
  const isOpen = query.data?.invitations.some((each) => each.state === "open" && each.email.toLowerCase() === email.trim().toLowerCase());
  return (
    <Dialog title={t("invite.title", { name: (!isOfInstance && currentWorkspace()?.name) || location.host })} onClose={() => isBusy || onClose()}>
      <form class="form" onSubmit={submit}>
        {error && <ErrorBox error={error} />}
        <TextField label={t("email")} hint={t(isOpen ? "invite.replaces" : instance?.registration === "closed" ? "invite.closed" : "invite.hint")} type="email" required autofocus autocomplete="off" maxLength={254} value={email} error={isTaken ? undefined : error?.fields.email} onInput={setEmail} />
        {!isOfInstance && <RoleField role={role} onChange={setRole} />}
        <DialogFoot onClose={onClose} isBusy={isBusy}>
          <SubmitButton isBusy={isBusy}>{t("invite.action")}</SubmitButton>
        </DialogFoot>
      </form>
    </Dialog>
  );
}

function InvitationRow({ invitation, onRevoke, onAgain }: { invitation: Invitation; onRevoke: () => void; onAgain: () => void }) {
  const { email, role, state, expires_at } = invitation;
  const isOpen = state === "open";
  const until = t(isOpen ? "invitation.until" : state === "expired" ? "invitation.expired" : "invitation.void", { time: formatTime(expires_at) });
  return (
    <li class="row">
      <span class="row-main">
        <span>{email}</span>
        <span class="muted">
          {role && `${t(`role.${role}`)} · `}
          {until}
        </span>
      </span>
      <button type="button" class="button" aria-label={t("invite.again.one", { name: email })} onClick={onAgain}>
        {t("invite.again")}
      </button>
      {isOpen && (
        <button type="button" class="button" aria-label={t("key.revoke.one", { name: email })} onClick={onRevoke}>
          {t("revoke")}
        </button>
      )}
    </li>
  );
}

/** Those that nobody has accepted, and the dialog for another one. */
export function Invitations({ query, isOfInstance = false, isInviting, onClose }: Props) {
  const { data, error, reload } = query;
  const [again, setAgain] = useState<Invitation>();
  const [revoking, setRevoking] = useState<Invitation>();
  const action = useAction();
  const revoke = ({ id, email }: Invitation) =>
    void action.run(async () => {
      const path = { params: { path: { id } } };
      await unwrap(isOfInstance ? api.DELETE("/api/admin/invitations/{id}", path) : api.DELETE("/api/invitations/{id}", path));
      notify(t("key.revoked", { name: email }));
      reload();
    });
  const shownError = error ?? action.error;
  return (
    <>
      {shownError && <ErrorBox error={shownError} retry={error && reload} />}
      {data && data.invitations.length > 0 && (
        <section class="card" aria-label={t("invitations")}>
          <h2 class="card-head">{t("invitations")}</h2>
          <ul class="rows">
            {data.invitations.map((invitation) => (
              <InvitationRow invitation={invitation} onRevoke={() => setRevoking(invitation)} onAgain={() => setAgain(invitation)} key={invitation.id} />
            ))}
          </ul>
        </section>
      )}
      {isInviting && <InviteDialog query={query} isOfInstance={isOfInstance} onClose={onClose} />}
      {again && <InviteDialog query={query} isOfInstance={isOfInstance} again={again} onClose={() => setAgain(undefined)} />}
      {revoking && <Confirm title={t("key.revoke.title", { name: revoking.email })} text={t("invitation.revoke.text")} action={t("revoke")} onConfirm={() => revoke(revoking)} onClose={() => setRevoking(undefined)} />}
    </>
  );
}
