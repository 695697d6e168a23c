import { useEffect, useMemo, useState } from "preact/hooks";
import { api, type ApiError, asApiError, type Schemas, unwrap } from "../api/client";
import { usePlace } from "../app/router";
import { Empty, ErrorBox, Skeleton } from "../components/feedback";
import { SubmitButton, TextField } from "../components/field";
import { Statistics } from "../components/statistics";
import { t } from "../i18n";
import { formatTime, hostAndSlug } from "../lib/format";
import { sharedSource } from "../lib/sources";

type Shared = Schemas["Shared"];

/** What the reader has: the access that the token gave, or why it gave none. */
interface Opened {
  access?: string;
  shared?: Shared;
  error?: ApiError;
}

const RETRY_MS = 5_000;

const nothing = () => {};

async function openShare(token: string, password: string): Promise<Opened> {
  try {
    const body = password === "" ? { token } : { token, password };
    const { access_token: access } = await unwrap(api.POST("/api/shared/access", { body }));
    const headers = { Authorization: `Bearer ${access}` };
    return { access, shared: await unwrap(api.GET("/api/shared", { headers }), nothing) };
  } catch (cause) {
    return { error: asApiError(cause) };
  }
}

function PasswordForm({ error, onSubmit }: { error: ApiError; onSubmit: (password: string) => void }) {
  const [password, setPassword] = useState("");
  const [isTried, setTried] = useState(false);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => setBusy(false), [error]);
  const submit = (event: Event) => {
    event.preventDefault();
    setTried(true);
    setBusy(true);
    onSubmit(password);
  };
  return (
    <form class="card auth" onSubmit={submit}>
      <h1>{t("shared")}</h1>
      {isTried && !isBusy && <ErrorBox error={error} />}
      <p>{t("shared.password.text")}</p>
      <TextField label={t("password")} type="password" autocomplete="off" required autofocus value={password} onInput={setPassword} />
      <SubmitButton isBusy={isBusy}>{t("shared.open")}</SubmitButton>
    </form>
  );
}

function Heading({ shared }: { shared: Shared }) {
  const url = shared.link && hostAndSlug(shared.link.short_url);
  const subject = url ?? t("shared.tag", { tag: shared.tag ?? "" });
  const title = shared.title || shared.link?.title || subject;
  return (
    <header class="page-head link-head">
      <div class="link-head-text">
        <h1>{title}</h1>
        {title !== subject && <p class="muted">{subject}</p>}
        {shared.expires_at && <p class="muted">{t("shared.until", { time: formatTime(shared.expires_at) })}</p>}
      </div>
    </header>
  );
}

function Share({ token }: { token: string }) {
  const [password, setPassword] = useState("");
  const [opened, setOpened] = useState<Opened>({});
  // The access lasts an hour. When it is rejected, the token gives another one, or the share has ended.
  const [turn, setTurn] = useState<unknown>();
  const { access, shared, error } = opened;
  const source = useMemo(() => (access && shared ? sharedSource(access, shared.link?.short_url.split("/").pop() ?? shared.tag ?? "", () => setTurn(access)) : undefined), [access]);

  useEffect(() => {
    let isCurrent = true;
    void openShare(token, password).then((next) => isCurrent && setOpened(next));
    return () => void (isCurrent = false);
  }, [token, password, turn]);

  const retry = () => setTurn({});
  useEffect(() => {
    if (!error?.isTemporary) return;
    const timer = setTimeout(retry, RETRY_MS);
    return () => clearTimeout(timer);
  }, [error]);
  if (error?.kind === "no-share") return <Empty isPage title={t("shared.ended")} text={t("shared.ended.text")} />;
  if (error && (error.kind === "share-password" || password !== ""))
    return <PasswordForm error={error} onSubmit={(next) => (next === password ? retry() : setPassword(next))} />;
  if (error) return <ErrorBox error={error} retry={retry} />;
  if (!source || !shared) return <Skeleton lines={8} height={40} />;
  return (
    <div class="shared">
      <Heading shared={shared} />
      <Statistics source={source} />
    </div>
  );
}

/** Statistics behind a token. The token is the fragment of the address, which browsers do not send to servers. */
export default function SharedPage() {
  usePlace(); // also follows a changed fragment
  const token = location.hash.slice(1);
  return <Share token={token} key={token} />;
}
