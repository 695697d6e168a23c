import { useEffect, useRef, useState } from "preact/hooks";
import { asApiError } from "../api/client";
import { Dialog } from "../components/dialog";
import { ErrorBox } from "../components/feedback";
import { CodeField, SubmitButton, TextField } from "../components/field";
import { useAction } from "../components/use_action";
import { t } from "../i18n";
import { useInstance } from "./instance";
import { beginSession, currentUser, giveUpSession, resumeSession } from "./session";

const POLL_MS = 2_000;

/** The login above a page whose session has ended. Everything that was typed stays, and goes on afterwards. */
export default function Relogin() {
  const email = currentUser()?.email ?? "";
  const providers = useInstance()?.sign_in ?? [];
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [asksCode, setAsksCode] = useState(false);
  const { error, isBusy, run } = useAction();
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (asksCode) form.current?.querySelector<HTMLElement>("[autocomplete=one-time-code]")?.focus();
  }, [asksCode]);
  // They may log in in another window, by a provider for example.
  useEffect(() => {
    const timer = setInterval(() => void resumeSession().catch(() => {}), POLL_MS);
    return () => clearInterval(timer);
  }, []);
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      await beginSession(email, password, code).catch((cause) => {
        if (asApiError(cause).kind === "second-factor") setAsksCode(true);
        throw cause;
      });
      await resumeSession();
    });
  };
  return (
    <Dialog title={t("session.over")} onClose={() => {}} isFirm>
      <form class="form" ref={form} onSubmit={submit}>
        <p>{t("session.over.text", { email })}</p>
        {error && error.kind !== "second-factor" && <ErrorBox error={error} />}
        {providers.map(({ id, name }) => (
          <button type="button" class="button" key={id} onClick={() => open(`/api/auth/oidc/${id}`, "waymark-login", "width=520,height=680")}>
            {t("sign_in.with", { name })}
          </button>
        ))}
        <input type="email" class="visually-hidden" tabIndex={-1} aria-hidden="true" autocomplete="username" readOnly value={email} />
        <TextField label={t("password")} type="password" autocomplete="current-password" required autofocus value={password} onInput={setPassword} />
        {asksCode && <CodeField value={code} error={error} onInput={setCode} />}
        <footer class="dialog-foot">
          <button type="button" class="button button-quiet" onClick={giveUpSession}>
            {t("session.other")}
          </button>
          <SubmitButton isBusy={isBusy}>{t("login")}</SubmitButton>
        </footer>
      </form>
    </Dialog>
  );
}
