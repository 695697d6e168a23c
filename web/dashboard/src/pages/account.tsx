import { useState } from "preact/hooks";
import { api, type ApiError, type Schemas, unwrap } from "../api/client";
import { href, navigate } from "../app/router";
import { useQuery } from "../api/use_query";
import { useInstance } from "../app/instance";
import { currentUser, setUser, useUser } from "../app/session";
import { browserZone, currentName, keepSetting, showZone, useZoneSetting } from "../app/settings";
import { Preferences } from "../app/shell";
import { notify } from "../app/toasts";
import { Confirm } from "../components/dialog";
import { ErrorBox, Skeleton } from "../components/feedback";
import { SelectField, SubmitButton, TextField } from "../components/field";
import { SecondFactor } from "../components/second_factor";
import { Ties } from "../components/sign_in";
import { useAction } from "../components/use_action";
import { t, tn } from "../i18n";
import { browserName, formatRelative, formatTime } from "../lib/format";

function Profile() {
  const [name, setName] = useState(currentUser()?.name ?? "");
  const { error, isBusy, run } = useAction();
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      setUser((await unwrap(api.PATCH("/api/auth/me", { body: { name } }))).user);
      notify(t("saved"));
    });
  };
  return (
    <form class="card form" onSubmit={submit}>
      <h2>{t("profile")}</h2>
      {error && <ErrorBox error={error} />}
      <TextField label={t("name")} autocomplete="name" maxLength={100} value={name} error={error?.fields.name} onInput={setName} />
      <div class="button-row">
        <SubmitButton isBusy={isBusy}>{t("save")}</SubmitButton>
      </div>
    </form>
  );
}

/** With mail, the address is another one once its owner confirms it; the own address again is a new mail. */
function Address() {
  const user = useUser();
  const [email, setEmail] = useState(user?.email ?? "");
  const [password, setPassword] = useState("");
  const [sentTo, setSentTo] = useState("");
  const hasMail = useInstance()?.mail ?? false;
  const { error, isBusy, run } = useAction();
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      const answer = await unwrap(api.POST("/api/auth/email", { body: { email, password } }));
      setPassword("");
      setUser(answer.user);
      if (hasMail) setSentTo(email);
      else notify(t("saved"));
    });
  };
  return (
    <form class="card form" onSubmit={submit}>
      <h2>{t("email")}</h2>
      {error && <ErrorBox error={error} />}
      {hasMail && <p class="hint">{t(user?.email_confirmed_at ? "address.confirmed" : "address.unconfirmed", { email: user?.email ?? "" })}</p>}
      <TextField label={t("email")} type="email" autocomplete="email" required value={email} error={error?.fields.email} onInput={setEmail} />
      <TextField label={t("password.current")} type="password" autocomplete="current-password" required value={password} error={wrongPassword(error) ?? error?.fields.password} onInput={setPassword} />
      <p role="status">{sentTo && t("address.sent", { email: sentTo })}</p>
      <div class="button-row">
        <SubmitButton isBusy={isBusy}>{t(hasMail && email === user?.email ? "address.confirm" : "address.change")}</SubmitButton>
      </div>
    </form>
  );
}

function Display() {
  const zone = useZoneSetting();
  const zones = [...new Set([...Intl.supportedValuesOf("timeZone"), ...(zone ? [zone] : [])].map(currentName))].sort();
  const options = zones.map((each) => [each, each.replaceAll("_", " ")] as const);
  const choose = (next: string) => {
    showZone(next);
    void keepSetting({ tz: next === "" ? null : next });
  };
  return (
    <section class="card form">
      <h2>{t("display")}</h2>
      <Preferences hasLabels />
      <SelectField label={t("zone")} hint={t("zone.hint")} value={zone} options={[["", t("zone.browser", { zone: browserZone() })], ...options]} onChange={choose} />
    </section>
  );
}

/** Mails that nobody asks for each time. */
function Mails() {
  const user = useUser();
  const hasMail = useInstance()?.mail;
  const { error, run } = useAction();
  if (!user || !hasMail) return null;
  const change = (body: Schemas["AccountChange"]) => void run(async () => setUser((await unwrap(api.PATCH("/api/auth/me", { body }))).user));
  return (
    <section class="card form">
      <h2>{t("mails")}</h2>
      {error && <ErrorBox error={error} />}
      <label class="check">
        <input type="checkbox" checked={user.mail_dead_links} onChange={(event) => change({ mail_dead_links: event.currentTarget.checked })} /> {t("mails.dead_links")}
      </label>
      <label class="check">
        <input type="checkbox" checked={user.mail_monthly_report} onChange={(event) => change({ mail_monthly_report: event.currentTarget.checked })} /> {t("mails.monthly_report")}
      </label>
    </section>
  );
}

/** Stands at the field of the current password. */
const wrongPassword = (error: ApiError | undefined) => (error?.kind === "wrong-password" ? t("password.current.wrong") : undefined);

function Password() {
  const [current, setCurrent] = useState("");
  const [next, setNext] = useState("");
  const { error, isBusy, run } = useAction();
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      await unwrap(api.POST("/api/auth/password", { body: { current_password: current, new_password: next } }));
      notify(t("password.changed"));
      setUser(null);
      navigate(href("/login"));
    });
  };
  return (
    <form class="card form" onSubmit={submit}>
      <h2>{t("password.change")}</h2>
      {error && <ErrorBox error={error} />}
      <TextField label={t("password.current")} type="password" autocomplete="current-password" required value={current} error={wrongPassword(error) ?? error?.fields.current_password} onInput={setCurrent} />
      <TextField label={t("password.new")} hint={t("password.hint")} type="password" autocomplete="new-password" required minLength={8} value={next} error={error?.fields.new_password} onInput={setNext} />
      <p class="hint">{t("password.revokes")}</p>
      <div class="button-row">
        <SubmitButton isBusy={isBusy}>{t("password.change")}</SubmitButton>
      </div>
    </form>
  );
}

type Session = Schemas["Session"];

/** Those of one kind of browser, the last used first. */
interface Browser {
  name: string;
  sessions: Session[];
}

/** This browser first, then equal ones as one. */
function browsersOf(sessions: readonly Session[]): Browser[] {
  const found = new Map<string, Browser>();
  for (const session of [...sessions].sort((a, b) => Number(b.current) - Number(a.current))) {
    const name = browserName(session.user_agent);
    const key = session.current ? "" : name;
    found.set(key, { name, sessions: [...(found.get(key)?.sessions ?? []), session] });
  }
  return [...found.values()];
}

function Sessions() {
  const { data, error, reload } = useQuery("sessions", (signal) => unwrap(api.GET("/api/auth/sessions", { signal })));
  const [revoking, setRevoking] = useState<Browser>();
  const action = useAction();
  const revoke = ({ sessions }: Browser) =>
    void action
      .run(async () => {
        for (const { id } of sessions) await unwrap(api.DELETE("/api/auth/sessions/{id}", { params: { path: { id } } }));
        notify(t("session.revoked"));
      })
      .then(reload);
  const shownError = error ?? action.error;
  const others = data?.sessions.filter((session) => !session.current) ?? [];
  return (
    <section class="card">
      <h2 class="card-head">{t("sessions")}</h2>
      {shownError && <ErrorBox error={shownError} retry={error && reload} />}
      {!data && !error && <Skeleton lines={2} height={40} />}
      <ul class="rows">
        {browsersOf(data?.sessions ?? []).map((browser) => {
          const [last] = browser.sessions as [Session];
          return (
            <li class="row" key={last.id}>
              <span class="row-main">
                <span title={last.user_agent}>{browser.name}</span>
                <span class="muted" title={formatTime(last.last_used_at)}>
                  {browser.sessions.length > 1 && `${tn("session.count", browser.sessions.length)} · `}
                  {t("session.used", { time: formatRelative(last.last_used_at) })}
                </span>
              </span>
              {last.current ? (
                <span class="badge badge-admin">{t("session.current")}</span>
              ) : (
                <button type="button" class="button" aria-label={t("session.end", { name: browser.name })} onClick={() => setRevoking(browser)}>
                  {t("revoke")}
                </button>
              )}
            </li>
          );
        })}
      </ul>
      {others.length > 1 && (
        <div class="button-row card-foot">
          <button type="button" class="button" onClick={() => setRevoking({ name: "", sessions: others })}>
            {t("session.end.others")}
          </button>
        </div>
      )}
      {revoking && (
        <Confirm
          title={revoking.name ? t("key.revoke.title", { name: revoking.name }) : t("session.end.others")}
          text={t(revoking.name ? "session.revoke.text" : "session.end.others.text")}
          action={t(revoking.name ? "revoke" : "session.end.others")}
          onConfirm={() => revoke(revoking)}
          onClose={() => setRevoking(undefined)}
        />
      )}
    </section>
  );
}

function Deletion() {
  const [password, setPassword] = useState("");
  const { error, isBusy, run } = useAction();
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      await unwrap(api.DELETE("/api/auth/me", { body: { password } }));
      setUser(null);
      notify(t("account.deleted"));
      navigate(href("/start"));
    });
  };
  return (
    <form class="card form card-danger" onSubmit={submit}>
      <h2>{t("account.delete")}</h2>
      <p>{t("account.delete.text")}</p>
      {error && <ErrorBox error={error} />}
      <TextField label={t("password.current")} type="password" autocomplete="current-password" required value={password} error={wrongPassword(error) ?? error?.fields.password} onInput={setPassword} />
      <div class="button-row">
        <button type="submit" class="button button-danger" disabled={isBusy}>
          {t("account.delete")}
        </button>
      </div>
    </form>
  );
}

export default function AccountPage() {
  return (
    <>
      <header class="page-head">
        <h1>{t("account")}</h1>
      </header>
      <div class="stack">
        <Profile />
        <Display />
        <Address />
        <Mails />
        <SecondFactor />
        <Sessions />
        <Ties />
        <Password />
        <Deletion />
      </div>
    </>
  );
}
