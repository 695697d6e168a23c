import { useState } from "preact/hooks";
import { api, unwrap } from "../api/client";
import { useInstance } from "../app/instance";
import { href, navigate } from "../app/router";
import { notify } from "../app/toasts";
import { ErrorBox } from "../components/feedback";
import { SubmitButton, TextField } from "../components/field";
import { useAction } from "../components/use_action";
import { t } from "../i18n";

function Request({ onToken }: { onToken: () => void }) {
  const [email, setEmail] = useState("");
  const [isSent, setSent] = useState(false);
  const { error, isBusy, run } = useAction();
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      await unwrap(api.POST("/api/auth/password-reset/request", { body: { email } }));
      setSent(true);
    });
  };
  return (
    <form class="card auth" onSubmit={submit}>
      <h1>{t("reset.title")}</h1>
      {error && <ErrorBox error={error} />}
      <TextField label={t("email")} type="email" autocomplete="username" required value={email} onInput={setEmail} error={error?.fields.email} />
      <SubmitButton isBusy={isBusy}>{t("reset.mail")}</SubmitButton>
      <p role="status">{isSent && t("reset.sent")}</p>
      <button type="button" class="button button-quiet" onClick={onToken}>
        {t("reset.have")}
      </button>
    </form>
  );
}

export default function ResetPage() {
  const [given] = useState(location.hash.slice(1));
  const [token, setToken] = useState(given);
  const [hasToken, setHasToken] = useState(given !== "");
  const [password, setPassword] = useState("");
  const { error, isBusy, run } = useAction();
  const hasMail = useInstance()?.mail ?? false;

  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      await unwrap(api.POST("/api/auth/password-reset", { body: { token: token.trim().replace(/^.*#/, ""), new_password: password } }));
      notify(t("password.changed"));
      navigate(href("/login"));
    });
  };

  if (hasMail && !hasToken) return <Request onToken={() => setHasToken(true)} />;
  return (
    <form class="card auth" onSubmit={submit}>
      <h1>{t("reset.title")}</h1>
      {error && <ErrorBox error={error} />}
      {!/^wmr_\w{43}$/.test(given) && <TextField label={t("reset.token")} hint={t(hasMail ? "reset.hint.mail" : "reset.hint")} required value={token} onInput={setToken} error={error?.fields.token} autocomplete="off" />}
      <TextField label={t("password.new")} hint={t("password.hint")} type="password" autocomplete="new-password" required minLength={8} value={password} onInput={setPassword} error={error?.fields.new_password} />
      <SubmitButton isBusy={isBusy}>{t("password.change")}</SubmitButton>
    </form>
  );
}
