import { useState } from "preact/hooks";
import { api, type Schemas, unwrap } from "../api/client";
import { useQuery } from "../api/use_query";
import { useInstance } from "../app/instance";
import { href, inWorkspace } from "../app/router";
import { currentUser, logout, register, useUser } from "../app/session";
import { Empty, ErrorBox, explain, Skeleton } from "../components/feedback";
import { SubmitButton, TextField } from "../components/field";
import { useAction } from "../components/use_action";
import { YourRole } from "../components/your_role";
import { t } from "../i18n";
import { formatTime } from "../lib/format";

type Invitation = Schemas["InvitationLook"];

/** The login, perhaps at a provider, leads back here in the same tab. A fragment does not: this keeps the token meanwhile. */
const KEPT = "waymark.invitation";

function givenToken(): string {
  const given = location.hash.slice(1);
  try {
    if (given) sessionStorage.setItem(KEPT, given);
    return given || (sessionStorage.getItem(KEPT) ?? "");
  } catch {
    return given; // the browser stores nothing: who logs in opens the invitation again
  }
}

function forgetToken(): void {
  try {
    sessionStorage.removeItem(KEPT);
  } catch {
    // Nothing was kept.
  }
}

function Heading({ invitation }: { invitation: Invitation }) {
  const { workspace, role, invited_by_name: by, email_hint: email, expires_at } = invitation;
  const operator = useInstance()?.operator_name || location.host;
  return (
    <>
      <h1>{t("invitation.title", { name: workspace?.name ?? operator })}</h1>
      <p>{t(workspace ? "invitation.by" : "invitation.by.instance", { by, email })}</p>
      {role && <YourRole role={role} />}
      {workspace?.requires_second_factor && !currentUser()?.second_factor && <p>{t("invitation.factor")}</p>}
      <p class="hint">{t("invitation.until", { time: formatTime(expires_at) })}</p>
    </>
  );
}

/** Whether it may be the address that the server shows in part. */
const isFor = ({ email_hint: hint }: Invitation, email: string) => email.toLowerCase().replace(/^(.).*?@/, "$1…@") === hint.toLowerCase();

/** Opens the workspace of the invitation, which has been accepted. */
function openWorkspace({ workspace }: Invitation): void {
  forgetToken();
  location.assign(inWorkspace(workspace?.id ?? 0));
}

/** Somebody who is logged in, perhaps with another address than the invited one. */
function Accept({ invitation, token, email }: { invitation: Invitation; token: string; email: string }) {
  const { error, isBusy, run } = useAction();
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => openWorkspace(await unwrap(api.POST("/api/invitations/accept", { body: { token } }))));
  };
  if (!invitation.workspace) return <a href={href("/")}>{t("invitation.have")}</a>;
  if (!isFor(invitation, email) || error?.kind === "invitation-for-another") {
    return (
      <>
        <p>{t("invitation.other", { email, invited: invitation.email_hint, by: invitation.invited_by_name })}</p>
        <button type="button" class="button button-primary" disabled={isBusy} onClick={() => void run(logout)}>
          {t("logout")}
        </button>
        <a class="button" href={href("/")}>
          {t("invitation.stay")}
        </a>
      </>
    );
  }
  return (
    <form class="form" onSubmit={submit}>
      {error && <ErrorBox error={error} />}
      <p>{t("invitation.as", { email })}</p>
      <SubmitButton isBusy={isBusy}>{t("invitation.accept")}</SubmitButton>
    </form>
  );
}

/** Somebody who has no account yet, or is not logged in. */
function Enter({ invitation, token, onEnter }: { invitation: Invitation; token: string; onEnter: (isEntering: boolean) => void }) {
  const [email, setEmail] = useState("");
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const { error, isBusy, run } = useAction();
  const [isWrong, setWrong] = useState(false);
  const instance = useInstance();
  const hasForm = instance?.registration !== "closed" && instance?.password_login;
  const submit = async (event: Event) => {
    event.preventDefault();
    if (!isFor(invitation, email)) return setWrong(true);
    onEnter(true);
    const isIn = await run(async () => {
      await register(email, password, name, token);
      openWorkspace(invitation);
    });
    if (!isIn) onEnter(false);
  };
  const login = (
    <a class={hasForm ? undefined : "button button-primary"} href={href("/login", { next: "/invitation" })}>
      {t("login")}
    </a>
  );
  if (!hasForm)
    return (
      <>
        {login}
        {instance?.registration === "closed" && <p class="hint">{t("register.closed")}</p>}
      </>
    );
  return (
    <form class="form" onSubmit={submit}>
      {error && <ErrorBox error={error} />}
      <p>{t("invitation.new")}</p>
      <TextField label={t("name")} hint={t("optional")} autocomplete="name" maxLength={100} value={name} error={error?.fields.name} onInput={setName} />
      <TextField label={t("email")} hint={t("invitation.email.hint", { email: invitation.email_hint })} type="email" autocomplete="username" required value={email} error={isWrong && !isFor(invitation, email) ? t("problem.invitation-for-another") : error?.fields.email} onInput={setEmail} />
      <TextField label={t("password")} hint={t("password.hint")} type="password" autocomplete="new-password" required minLength={8} value={password} error={error?.fields.password} onInput={setPassword} />
      <SubmitButton isBusy={isBusy}>{t("invitation.register")}</SubmitButton>
      <p class="hint">
        {t("register.other")} {login}
      </p>
    </form>
  );
}

/** What an invitation is for, and how to take it. */
export default function InvitationPage() {
  const [token] = useState(givenToken);
  const user = useUser();
  const [isEntering, setEntering] = useState(false);
  const { data, error, reload } = useQuery(token, (signal) => unwrap(api.POST("/api/invitations/look", { body: { token }, signal })));
  if (error?.status === 404 || token === "") {
    const ended = error && error.kind !== "no-invitation" ? error.problem : undefined;
    return (
      <Empty isPage title={t("invitation.ended")} text={ended && error ? explain(error) : t("invitation.ended.text")}>
        {ended && error?.kind !== "invitation-used" && <p>{t("invitation.again", { name: ended.workspace ?? location.host, by: ended.invited_by_name ?? t("invitation.somebody") })}</p>}
        <a class="button" href={href(user ? "/" : "/login")}>
          {t(user ? "missing.action" : "login")}
        </a>
      </Empty>
    );
  }
  if (error) return <ErrorBox error={error} retry={reload} />;
  if (!data) return <Skeleton lines={6} height={32} />;
  return (
    <div class="card auth">
      <Heading invitation={data} />
      {user && !isEntering ? <Accept invitation={data} token={token} email={user.email} /> : <Enter invitation={data} token={token} onEnter={setEntering} />}
    </div>
  );
}
