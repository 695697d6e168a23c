import { useEffect, useMemo, useState } from "preact/hooks";
import { api, type ApiError, asApiError, type Schemas, unwrap } from "../api/client";
import { useQuery } from "../api/use_query";
import { currentPlace, setParams, usePlace } from "../app/router";
import { currentZone } from "../app/settings";
import { Empty, ErrorBox, Skeleton } from "../components/feedback";
import { SubmitButton, TextField } from "../components/field";
import { botsOf } from "../components/panel";
import { Statistics } from "../components/statistics";
import { TopLinks } from "../components/top_links";
import { t } from "../i18n";
import { filterQuery, filtersOf } from "../lib/filters";
import { formatTime, hostAndSlug } from "../lib/format";
import { readLocal, writeLocal } from "../lib/local";
import { rangeOf } from "../lib/range";
import { sharedSource } from "../lib/sources";

type Shared = Schemas["Shared"];

/** What the reader has: the access that the token gave, or why it gave none. */
interface Opened {
  access?: string;
  shared?: Shared;
  /** The address of the picture. */
  logo?: string;
  error?: ApiError;
}

const RETRY_MS = 5_000;
const POLL_MS = 10_000;

const nothing = () => {};

/** What the passwords that were typed in this browser have opened, by share. The latest is the last. */
const KEPT_MAX = 20;
const kept = () => readLocal<Record<string, string>>("shares", {});

function keep(token: string, access: string | undefined): void {
  const { [token]: _, ...others } = kept();
  const all = Object.entries(access ? { ...others, [token]: access } : others);
  writeLocal("shares", Object.fromEntries(all.slice(-KEPT_MAX)));
}

async function look(access: string): Promise<Opened> {
  const headers = { Authorization: `Bearer ${access}` };
  const shared = await unwrap(api.GET("/api/shared", { headers }), nothing);
  const logo = shared.has_logo ? await unwrap(api.GET("/api/shared/logo", { headers, parseAs: "blob" }), nothing).catch(() => undefined) : undefined;
  return { access, shared, logo: logo && URL.createObjectURL(logo as Blob) };
}

async function openShare(token: string, password: string): Promise<Opened> {
  try {
    const before = kept()[token];
    if (before) {
      try {
        return await look(before);
      } catch (cause) {
        if (asApiError(cause).status !== 401) throw cause;
        keep(token, undefined); // it has another password by now, or has ended
      }
    }
    const { access_token: access } = await unwrap(api.POST("/api/shared/access", { body: password === "" ? { token } : { token, password } }));
    if (password !== "") keep(token, access);
    return await look(access);
  } catch (cause) {
    return { error: asApiError(cause) };
  }
}

/** The page begins with the range of the share; the reader may choose another one. */
function begin({ shared }: Opened): void {
  const { params } = currentPlace();
  if (!shared?.range || params.has("range") || params.has("from")) return;
  const [from, to] = shared.range.split("/");
  setParams(to ? { from, to } : { range: from }, { replace: true });
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

function Heading({ shared, logo }: { shared: Shared; logo: string | undefined }) {
  const url = shared.link && hostAndSlug(shared.link.short_url);
  const subject = url ?? t("tag.title", { tag: shared.tag ?? "" });
  const title = shared.title || shared.link?.title || subject;
  // Of the file, too, that somebody prints it into.
  useEffect(() => void (document.title = title), [title]);
  return (
    <header class="page-head link-head">
      <div class="link-head-text">
        {logo && <img class="report-logo" src={logo} alt="" />}
        <h1>{title}</h1>
        {title !== subject && <p class="muted">{subject}</p>}
        {shared.expires_at && <p class="muted">{t("shared.until", { time: formatTime(shared.expires_at) })}</p>}
        {shared.text && <p class="notes">{shared.text}</p>}
      </div>
      <div class="page-actions">
        <button type="button" class="button" onClick={() => print()}>
          {t("print")}
        </button>
      </div>
    </header>
  );
}

/** The links of a shared tag, in the range and with the filters of the page. */
function SharedLinks({ access }: { access: string }) {
  const { params } = usePlace();
  const range = rangeOf(params);
  const bots = botsOf(params);
  const query = { from: range.from, to: range.to, tz: currentZone(), limit: 100, bots: bots || undefined, ...filterQuery(filtersOf(params)) };
  const { data, error } = useQuery(JSON.stringify([access, query]), (signal) => unwrap(api.GET("/api/shared/stats/top", { params: { query }, headers: { Authorization: `Bearer ${access}` }, signal }), nothing), POLL_MS);
  return <TopLinks links={data?.links} error={error} bots={bots} />;
}

function Share({ token }: { token: string }) {
  const [password, setPassword] = useState("");
  const [opened, setOpened] = useState<Opened>({});
  // The access lasts an hour. When it is rejected, the token gives another one, or the share has ended.
  const [turn, setTurn] = useState<unknown>();
  const { access, shared, logo, error } = opened;
  const source = useMemo(() => (access && shared ? sharedSource(access, shared.link?.short_url.split("/").pop() ?? shared.tag ?? "", () => setTurn(access)) : undefined), [access]);

  useEffect(() => {
    let isCurrent = true;
    void openShare(token, password).then((next) => {
      if (!isCurrent) return;
      begin(next);
      setOpened(next);
    });
    return () => void (isCurrent = false);
  }, [token, password, turn]);

  const retry = () => setTurn({});
  useEffect(() => {
    if (!error?.isTemporary) return;
    const timer = setTimeout(retry, RETRY_MS);
    return () => clearTimeout(timer);
  }, [error]);
  if (error?.kind === "no-share") return <Empty icon="lock" isPage title={t("shared.ended")} text={t("shared.ended.text")} />;
  if (error && (error.kind === "share-password" || password !== ""))
    return <PasswordForm error={error} onSubmit={(next) => (next === password ? retry() : setPassword(next))} />;
  if (error) return <ErrorBox error={error} retry={retry} />;
  if (!source || !shared || !access) return <Skeleton lines={8} height={40} />;
  return (
    <div class="shared">
      <Heading shared={shared} logo={logo} />
      <Statistics source={source}>{shared.tag !== null && <SharedLinks access={access} />}</Statistics>
      <p class="paper-only muted">
        {t("visits")}: {t("visits.hint")} {t("unique")}: {t("unique.hint")} {formatTime(new Date().toISOString())}
      </p>
    </div>
  );
}

/** Statistics behind a token. The token is the fragment of the address, which browsers do not send to servers. */
export default function SharedPage() {
  usePlace(); // also follows a changed fragment
  const token = location.hash.slice(1);
  return <Share token={token} key={token} />;
}
