import { useEffect, useState } from "preact/hooks";
import { useInstance } from "../app/instance";
import { href, navigate, usePlace } from "../app/router";
import { login, register, useUser } from "../app/session";
import { notify } from "../app/toasts";
import { ErrorBox } from "../components/feedback";
import { SubmitButton, TextField } from "../components/field";
import { useAction } from "../components/use_action";
import { claimTemporaryLinks } from "../lib/temporary_links";
import { t, tn } from "../i18n";

/** A page of this program only: "next" comes from the address bar. */
function safeNext(next: string | null): string {
  return next && /^\/(?![/\\])/.test(next) ? `/app${next}` : href("/");
}

export default function LoginPage() {
  const { path, params } = usePlace();
  const isNew = path === "/register";
  const user = useUser();
  const instance = useInstance();
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [name, setName] = useState("");
  const { error, isBusy, run } = useAction();
  const next = params.get("next");

  useEffect(() => {
    if (user && !isBusy) navigate(safeNext(next), { replace: true });
  }, [user, isBusy]);

  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      await (isNew ? register(email, password, name) : login(email, password));
      const claimed = await claimTemporaryLinks();
      if (claimed > 0) notify(tn("claimed", claimed));
    });
  };

  const registration = instance?.registration;
  if (isNew && registration && registration !== "open")
    return (
      <div class="card auth">
        <h1>{t("register.title")}</h1>
        <p>{t(`register.${registration}`)}</p>
        <a class="button button-primary" href={href("/login", { next })}>
          {t("login")}
        </a>
      </div>
    );
  const domains = isNew ? instance?.registration_domains.join(", ") : "";
  return (
    <form class="card auth" onSubmit={submit}>
      <h1>{isNew ? t("register.title") : t("login.title")}</h1>
      {error && <ErrorBox error={error} />}
      {isNew && <TextField label={t("name")} hint={t("optional")} autocomplete="name" value={name} onInput={setName} error={error?.fields.name} maxLength={100} />}
      <TextField label={t("email")} hint={domains && t("register.domains", { domains })} type="email" autocomplete="username" required value={email} onInput={setEmail} error={error?.fields.email} />
      <TextField
        label={t("password")}
        hint={isNew ? t("password.hint") : undefined}
        type="password"
        autocomplete={isNew ? "new-password" : "current-password"}
        required
        minLength={8}
        value={password}
        onInput={setPassword}
        error={error?.fields.password}
      />
      <SubmitButton isBusy={isBusy}>{isNew ? t("register") : t("login")}</SubmitButton>
      {(isNew || registration === "open") && (
        <p class="hint">
          {isNew ? t("register.other") : t("login.other")}{" "}
          <a href={href(isNew ? "/login" : "/register", { next })}>{isNew ? t("login") : t("register")}</a>
        </p>
      )}
      {!isNew && (
        <p class="hint">
          {t("login.forgotten")} <a href={href("/reset")}>{t("reset.title")}</a>
        </p>
      )}
    </form>
  );
}
