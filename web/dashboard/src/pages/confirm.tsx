import { useState } from "preact/hooks";
import { api, unwrap } from "../api/client";
import { href, navigate } from "../app/router";
import { setUser, useUser } from "../app/session";
import { notify } from "../app/toasts";
import { ErrorBox } from "../components/feedback";
import { SubmitButton } from "../components/field";
import { useAction } from "../components/use_action";
import { t } from "../i18n";

/** Kept during the login, whose address must not have it. */
let kept = "";

export default function ConfirmPage() {
  const user = useUser();
  const [token] = useState(() => (kept = location.hash.slice(1) || kept));
  const { error, isBusy, run } = useAction();
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      setUser((await unwrap(api.POST("/api/auth/email/confirm", { body: { token } }))).user);
      notify(t("confirm.done"));
      navigate(href("/account"));
    });
  };
  return (
    <form class="card auth" onSubmit={submit}>
      <h1>{t("confirm.title")}</h1>
      {error && <ErrorBox error={error} />}
      {user ? (
        <>
          <p>{t("confirm.as", { email: user.email })}</p>
          <SubmitButton isBusy={isBusy}>{t("confirm")}</SubmitButton>
        </>
      ) : (
        <>
          <p>{t("confirm.login")}</p>
          <a class="button button-primary" href={href("/login", { next: "/confirm" })}>
            {t("login")}
          </a>
        </>
      )}
    </form>
  );
}
