import { useState } from "preact/hooks";
import { api, type Schemas, unwrap } from "../api/client";
import { useQuery } from "../api/use_query";
import { useInstance } from "../app/instance";
import { can, currentWorkspace } from "../app/session";
import { notify } from "../app/toasts";
import { t } from "../i18n";
import { formatTime } from "../lib/format";
import { ROLES, type Role } from "../lib/roles";
import { Confirm, Dialog } from "./dialog";
import { ErrorBox } from "./feedback";
import { SubmitButton, TextField } from "./field";
import { SecretDialog } from "./secret_dialog";
import { useAction } from "./use_action";

type Invitation = Schemas["Invitation"];

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
  /** Into the instance alone, which administrators do, and so without a role. */
  isOfInstance?: boolean;
  isInviting: boolean;
  /** The invitation is made, or not wanted. */
  onClose: () => void;
}

function InviteDialog({ isOfInstance = false, onClose, onMade }: Omit<Props, "isInviting"> & { onMade: () => void }) {
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<Role>("editor");
  const hasMail = useInstance()?.mail;
  const [made, setMade] = useState<Schemas["InvitationCreationAnswer"]>();
  // While it is made, the dialog stays: nothing else shows the address.
  const { error, isBusy, run } = useAction();

  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      setMade(await unwrap(isOfInstance ? api.POST("/api/admin/invitations", { body: { email } }) : api.POST("/api/invitations", { body: { email, role } })));
      onMade();
    });
  };
  if (made) {
    const text = t(hasMail ? "invitation.made.mail" : "invitation.made.text", { email: made.invitation.email, time: formatTime(made.invitation.expires_at) });
    return <SecretDialog title={t("invitation.made")} text={text} secret={new URL(made.url, location.origin).href} label={t("invitation.copy")} onClose={onClose} />;
  }
  return (
    <Dialog title={t("invite.title", { name: (!isOfInstance && currentWorkspace()?.name) || location.host })} onClose={() => isBusy || onClose()}>
      <form class="form" onSubmit={submit}>
        {error && <ErrorBox error={error} />}
        <TextField label={t("email")} hint={t("invite.hint")} type="email" required autofocus autocomplete="off" maxLength={254} value={email} error={error?.fields.email} onInput={setEmail} />
        {!isOfInstance && <RoleField role={role} onChange={setRole} />}
        <footer class="dialog-foot">
          <SubmitButton isBusy={isBusy}>{t("invite.action")}</SubmitButton>
        </footer>
      </form>
    </Dialog>
  );
}

/** Those that nobody has accepted yet, and the dialog for another one. */
export function Invitations({ isOfInstance = false, isInviting, onClose }: Props) {
  const { data, error, reload } = useQuery(`invitations ${isOfInstance}`, (signal) => unwrap(isOfInstance ? api.GET("/api/admin/invitations", { signal }) : api.GET("/api/invitations", { signal })));
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
              <li class="row" key={invitation.id}>
                <span class="row-main">
                  <span>{invitation.email}</span>
                  <span class="muted">
                    {invitation.role && `${t(`role.${invitation.role}`)} · `}
                    {t("invitation.until", { time: formatTime(invitation.expires_at) })}
                  </span>
                </span>
                <button type="button" class="button" aria-label={t("key.revoke.one", { name: invitation.email })} onClick={() => setRevoking(invitation)}>
                  {t("revoke")}
                </button>
              </li>
            ))}
          </ul>
        </section>
      )}
      {isInviting && <InviteDialog isOfInstance={isOfInstance} onClose={onClose} onMade={reload} />}
      {revoking && <Confirm title={t("key.revoke.title", { name: revoking.email })} text={t("invitation.revoke.text")} action={t("revoke")} onConfirm={() => revoke(revoking)} onClose={() => setRevoking(undefined)} />}
    </>
  );
}
