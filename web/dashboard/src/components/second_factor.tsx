import { useEffect, useRef, useState } from "preact/hooks";
import { api, type ApiError, type Schemas, unwrap } from "../api/client";
import { useQuery } from "../api/use_query";
import { href, useGuard } from "../app/router";
import { currentUser, currentWorkspace, enterWorkspace, setUser } from "../app/session";
import { notify } from "../app/toasts";
import { t, tn } from "../i18n";
import { saveFile } from "../lib/download";
import { formatDate } from "../lib/format";
import { CopyButton } from "./copy_button";
import { Confirm } from "./dialog";
import { ErrorBox, Skeleton } from "./feedback";
import { CodeField, SubmitButton, TextField } from "./field";
import { QrImage } from "./qr_dialog";
import { useAction } from "./use_action";

const passwordError = (error: ApiError | undefined) => (error?.kind === "wrong-password" ? t("password.current.wrong") : error?.fields.password);

function RecoveryCodes({ codes, onDone }: { codes: string[]; onDone: () => void }) {
  const text = codes.join("\n");
  const [isKept, setKept] = useState(false);
  const [leave, setLeave] = useState<() => void>();
  useGuard(!isKept, (go) => setLeave(() => go));
  // In an effect: nothing asks any more by then.
  useEffect(() => void (isKept && onDone()), [isKept]);
  return (
    <>
      <p>{t("recovery.text")}</p>
      <pre class="secret mono" translate={false} tabIndex={-1}>{text}</pre>
      <div class="button-row">
        <CopyButton isSecret withText text={text} label={t("recovery.copy")} />
        <button type="button" class="button" onClick={() => saveFile(new Blob([`${location.host}\n\n${text}\n`], { type: "text/plain" }), "waymark-recovery-codes.txt")}>
          {t("recovery.save")}
        </button>
        <button type="button" class="button button-primary" onClick={() => setKept(true)}>
          {t("recovery.done")}
        </button>
      </div>
      {leave && <Confirm title={t("recovery.leave")} text={t("recovery.text")} action={t("recovery.done")} onConfirm={leave} onClose={() => setLeave(undefined)} />}
    </>
  );
}

function FirstCode({ offer, onCodes }: { offer: Schemas["SecondFactorSecret"]; onCodes: (codes: string[]) => void }) {
  const [code, setCode] = useState("");
  const { error, isBusy, run } = useAction();
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => onCodes((await unwrap(api.POST("/api/auth/second-factor/confirm", { body: { code } }))).recovery_codes));
  };
  return (
    <form class="form" onSubmit={submit}>
      {error && <ErrorBox error={error} />}
      {offer.replaces_earlier && <p>{t("factor.replaced", { host: location.host })}</p>}
      <p class="narrow-only">
        <a class="button" href={offer.otpauth_url}>
          {t("factor.open")}
        </a>
      </p>
      <p class="narrow-only">{t("factor.scan.phone")}</p>
      <p class="wide-only">{t("factor.scan")}</p>
      <div class="qr-preview">
        <QrImage text={offer.otpauth_url} label={t("factor.qr")} />
        <p class="mono" translate={false}>
          {offer.secret.replace(/(.{4})(?=.)/g, "$1 ")} <CopyButton isSecret text={offer.secret} label={t("factor.copy")} />
        </p>
      </div>
      <CodeField value={code} hint={t("factor.hint")} error={error} onInput={setCode} />
      <div class="button-row">
        <SubmitButton isBusy={isBusy}>{t("factor.confirm")}</SubmitButton>
      </div>
    </form>
  );
}

/** Who has just logged in is not asked for the password again. */
function SetUp({ onOffer }: { onOffer: (offer: Schemas["SecondFactorSecret"]) => void }) {
  const [password, setPassword] = useState("");
  const [asksPassword, setAsksPassword] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current?.querySelector("input")?.focus(), [asksPassword]);
  const { error, isBusy, run } = useAction();
  const submit = (event: Event) => {
    event.preventDefault();
    void run(() =>
      unwrap(api.POST("/api/auth/second-factor", { body: password ? { password } : {} })).then(onOffer, (cause: ApiError) => {
        if (asksPassword || cause.kind !== "wrong-password") throw cause;
        setAsksPassword(true); // the login is too old to go without
      }),
    );
  };
  return (
    <form ref={form} class="form" onSubmit={submit}>
      <p>{t("factor.text")}</p>
      {error && <ErrorBox error={error} />}
      {asksPassword && <TextField label={t("password.current")} hint={t("factor.again")} type="password" autocomplete="current-password" required value={password} error={passwordError(error)} onInput={setPassword} />}
      <div class="button-row">
        <SubmitButton isBusy={isBusy}>{t("factor.set")}</SubmitButton>
      </div>
    </form>
  );
}

function Manage({ factor, onCodes, onRemoved }: { factor: Schemas["SecondFactor"]; onCodes: (codes: string[]) => void; onRemoved: () => void }) {
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const { error, isBusy, run } = useAction();
  const body = { password, code };
  const renew = (event: Event) => {
    event.preventDefault();
    void run(async () => onCodes((await unwrap(api.POST("/api/auth/second-factor/recovery-codes", { body }))).recovery_codes));
  };
  const remove = () =>
    void run(async () => {
      await unwrap(api.DELETE("/api/auth/second-factor", { body }));
      notify(t("factor.removed"));
      onRemoved();
    });
  return (
    <form class="form" onSubmit={renew}>
      <p>
        {t("factor.since", { time: formatDate(factor.since ?? "") })} {tn("recovery.left", factor.recovery_codes_left)}
      </p>
      {error && <ErrorBox error={error} />}
      <TextField label={t("password.current")} type="password" autocomplete="current-password" required value={password} error={passwordError(error)} onInput={setPassword} />
      <CodeField value={code} error={error} onInput={setCode} />
      <div class="button-row">
        <SubmitButton isBusy={isBusy}>{t("recovery.renew")}</SubmitButton>
        <button type="button" class="button button-danger" disabled={isBusy} onClick={remove}>
          {t("factor.remove")}
        </button>
      </div>
    </form>
  );
}

/** What has the focus after the button of the step before is gone. */
const FIRST = { codes: "pre", offer: "[autocomplete=one-time-code]", card: "h2" };

/** onDone: once one is on and its recovery codes are kept, where it is required. */
export function SecondFactor({ onDone = () => location.assign(href("/")) }: { onDone?: () => void }) {
  const { data, error, reload } = useQuery("second-factor", (signal) => unwrap(api.GET("/api/auth/second-factor", { signal })));
  const [offer, setOffer] = useState<Schemas["SecondFactorSecret"]>();
  const [codes, setCodes] = useState<string[]>();
  const card = useRef<HTMLElement>(null);
  const step = codes ? "codes" : offer ? "offer" : "card";
  const last = useRef(step);
  useEffect(() => {
    if (last.current !== step) card.current?.querySelector<HTMLElement>(FIRST[step])?.focus();
    last.current = step;
  }, [step]);
  const change = (second_factor: boolean) => {
    const user = currentUser();
    if (user) setUser({ ...user, second_factor });
    if (user && !currentWorkspace()) enterWorkspace(user).catch(() => {}); // where it is required, nobody sees one without
    setOffer(undefined);
    setCodes(undefined);
    reload();
  };
  return (
    <section class="card form" ref={card}>
      <h2 tabIndex={-1}>{t("factor")}</h2>
      {error && <ErrorBox error={error} retry={reload} />}
      {!data && !error && <Skeleton lines={2} height={40} />}
      {codes ? (
        <RecoveryCodes codes={codes} onDone={() => (data?.required ? onDone() : change(true))} />
      ) : offer ? (
        <FirstCode offer={offer} onCodes={setCodes} />
      ) : data?.since ? (
        <Manage factor={data} onCodes={setCodes} onRemoved={() => change(false)} />
      ) : (
        data && <SetUp onOffer={setOffer} />
      )}
    </section>
  );
}
