import { useEffect, useRef, useState } from "preact/hooks";
import { asApiError } from "../api/client";
import { useInstance } from "../app/instance";
import { href, navigate, usePlace } from "../app/router";
import { login, register, useUser } from "../app/session";
import { notify } from "../app/toasts";
import { ErrorBox } from "../components/feedback";
import { CodeField, SubmitButton, TextField } from "../components/field";
import { SignIn, SignInError } from "../components/sign_in";
import { useAction } from "../components/use_action";
import { claimTemporaryLinks } from "../lib/temporary_links";
import { t, tn } from "../i18n";

/** A page of this program only: "next" comes from the address bar. Those of guests say "Log in". */
function safeNext(next: string | null): string {
  const isOurs = next && /^\/(?![/\\])/.test(next);
  return isOurs && !/^\/(start|login|register|reset)\b/.test(next) ? `/app${next}` : href("/");
}

export default function LoginPage() {
  const { path, params } = usePlace();
  const isNew = path === "/register";
  const user = useUser();
  const instance = useInstance();
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [name, setName] = useState("");
  const [code, setCode] = useState("");
  const [asksCode, setAsksCode] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const { error, isBusy, run } = useAction();
  const next = params.get("next");

  useEffect(() => {
    if (user && !isBusy) navigate(safeNext(next), { replace: true });
  }, [user, isBusy]);

  useEffect(() => {
    if (asksCode) form.current?.querySelector<HTMLElement>("[autocomplete=one-time-code]")?.focus();
  }, [asksCode]);

  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      await (isNew ? register(email, password, name) : login(email, password, code)).catch((cause) => {
        if (asApiError(cause).kind === "second-factor") setAsksCode(true);
        throw cause;
      });
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
    <form class="card auth" ref={form} onSubmit={submit}>
      <h1>{isNew ? t("register.title") : t("login.title")}</h1>
      {error && error.kind !== "second-factor" && <ErrorBox error={error} />}
      {!error && <SignInError />}
      <SignIn />
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
      {asksCode && !isNew && <CodeField value={code} error={error} onInput={setCode} />}
      <SubmitButton isBusy={isBusy}>{isNew ? t("register") : t("login")}</SubmitButton>
      {!isNew && (
        <p class="hint">
          <a href={href("/reset")}>{t("login.forgotten")}</a>
        </p>
      )}
      {(isNew || registration === "open") && (
        <p class="hint">
          {isNew ? t("register.other") : t("login.other")}{" "}
          <a href={href(isNew ? "/login" : "/register", { next })}>{isNew ? t("login") : t("register")}</a>
        </p>
      )}
      {!isNew && registration && registration !== "open" && <p class="hint">{t(`register.${registration}`)}</p>}
    </form>
  );
}
