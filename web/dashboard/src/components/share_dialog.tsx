import { useState } from "preact/hooks";
import { api, asApiError, type Schemas, unwrap } from "../api/client";
import { href } from "../app/router";
import { currentZone } from "../app/settings";
import { notify } from "../app/toasts";
import { type Key, t } from "../i18n";
import { isSame, keepShareUrl } from "../lib/drafts";
import { readLogo } from "../lib/logo";
import { addDays, dateIn, type Preset, PRESETS } from "../lib/range";
import { apiUrl } from "../lib/workspace";
import { fromLocalInput, toLocalInput } from "../lib/zone";
import { Dialog } from "./dialog";
import { ErrorBox } from "./feedback";
import { Field, SelectField, SubmitButton, TextField } from "./field";
import { SecretDialog } from "./secret_dialog";
import { Conflict, useTyped } from "./typed";
import { useAction } from "./use_action";

type Share = Schemas["Share"];

export type ShareSubject = { link_id: number } | { tag: string };

export interface ShareDialogProps {
  /** Of a new share. */
  subject?: ShareSubject;
  /** Instead of one subject: those of which somebody chooses one. */
  choices?: readonly (readonly [subject: ShareSubject, name: string])[];
  /** That is edited. */
  share?: Share;
  name: string;
  onClose: () => void;
}

type Range = Schemas["ShareRange"];

/** A preset, or the dates of one's own: "2026-03-01/2026-03-31". */
function RangeField({ value, error, onChange }: { value: string; error: string | undefined; onChange: (value: string) => void }) {
  const [from, to] = value.split("/");
  const today = dateIn(currentZone());
  return (
    <>
      <SelectField label={t("range")} value={to ? "custom" : value} options={PRESETS.map((each) => [each, t(each === "custom" ? "range.custom" : `range.${each}.long`)] as const)} onChange={(next) => onChange(next === "custom" ? `${addDays(today, -29)}/${today}` : next)} />
      {to && (
        <div class="field-row">
          <TextField label={t("range.from")} type="date" required value={from ?? ""} onInput={(first) => onChange(`${first}/${to}`)} />
          <TextField label={t("range.to")} type="date" required value={to} error={error} onInput={(last) => onChange(`${from}/${last}`)} />
        </div>
      )}
    </>
  );
}

interface Draft {
  title: string;
  text: string;
  range: string;
  /** The last day; "": none. */
  expires: string;
  password: string;
  isRemoved: boolean;
  /** In base64; null: none; undefined: as it is. */
  logo: string | null | undefined;
}

const draftOf = (share: Share | undefined): Draft => ({
  title: share?.title ?? "",
  text: share?.text ?? "",
  range: share?.range ?? "30d",
  expires: share?.expires_at ? toLocalInput(share.expires_at).slice(0, 10) : "",
  password: "",
  isRemoved: false,
  logo: undefined,
});

const FIELDS = { title: "title", text: "shares.words", range: "range", expires: "shares.expires" } satisfies Partial<Record<keyof Draft, Key>>;

const show = (draft: Draft, field: keyof typeof FIELDS): string => (field !== "range" ? draft[field] : draft.range.includes("/") ? draft.range.replace("/", " – ") : t(`range.${draft.range as Exclude<Preset, "custom">}.long`));

/** What is left out stays as it is. */
const bodyOf = ({ title, text, range, expires, password, isRemoved, logo }: Draft, first: Draft) => ({
  title,
  text,
  range: range as Range,
  logo,
  password: password || (isRemoved ? null : undefined),
  expires_at: expires === first.expires ? undefined : expires === "" ? null : fromLocalInput(`${expires}T23:59:59`),
});

/** Makes a share and shows its address, which the server does not show again; or edits one. */
export default function ShareDialog({ subject: given, choices, share: opened, name, onClose }: ShareDialogProps) {
  const [chosen, setChosen] = useState("0");
  const subject = choices ? choices[Number(chosen)]?.[0] : given;
  const [share, setShare] = useState(opened);
  const typed = useTyped<Draft>({ name: `share ${opened?.id ?? Object.values(given ?? {})}`, first: () => draftOf(opened), keep: (draft) => ({ ...draft, password: "", logo: undefined }), onClose });
  const { draft, setDraft, first, isChanged } = typed;
  const { title, text, range, expires, password, isRemoved, logo } = draft;
  const change = (part: Partial<Draft>) => setDraft((last) => ({ ...last, ...part }));
  const [theirs, setTheirs] = useState(isSame(typed.base, first) ? undefined : opened);
  const [url, setUrl] = useState("");
  // While it is made, the dialog stays: nothing else shows the address.
  const { error, isBusy, run } = useAction();
  const shownLogo = logo ? `data:image/png;base64,${logo}` : logo === undefined && share?.has_logo ? apiUrl(`/api/shares/${share.id}/logo`) : "";

  const chooseLogo = async (file: File | undefined) => {
    const next = file && (await readLogo(file));
    if (next) change({ logo: next });
    else if (file) notify(t("shares.logo.wrong"), { isError: true });
  };
  const edit = async (body: ReturnType<typeof bodyOf>, { id, version }: Share) => {
    try {
      await unwrap(api.PATCH("/api/shares/{id}", { params: { path: { id }, header: { "If-Match": `"v${version}"` } }, body }));
    } catch (cause) {
      if (asApiError(cause).kind !== "stale") throw cause;
      return setTheirs((await unwrap(api.GET("/api/shares/{id}", { params: { path: { id } } }))).share);
    }
    typed.finish();
    notify(t("saved"));
    onClose();
  };
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      if (share) return edit(bodyOf(draft, first), share);
      const { url: path, share: made } = await unwrap(api.POST("/api/shares", { body: { ...subject, ...bodyOf(draft, first) } }));
      typed.finish();
      const url = new URL(path, location.origin).href;
      keepShareUrl(made.id, url);
      setUrl(url);
    });
  };
  const merge = (merged: Draft, current: Share) => {
    setShare(current);
    typed.setFirst(draftOf(current));
    setDraft(merged);
    setTheirs(undefined);
    void run(() => edit(bodyOf(merged, draftOf(current)), current));
  };

  if (url) return <SecretDialog isSent title={t("shares.made")} text={t(password === "" ? "shares.once" : "shares.once.password")} secret={url} label={t("shares.copy")} onClose={onClose} />;
  return (
    <>
      <Dialog title={share ? `${t("edit")}: ${name}` : choices ? name : t("shares.make.title", { name })} onClose={() => isBusy || typed.close()}>
        <form class="form" onSubmit={submit}>
          {error && <ErrorBox error={error} />}
          {typed.note}
          <p>{t("shares.text")}</p>
          {choices && <SelectField label={t("shares.which")} value={chosen} options={choices.map(([, text], at) => [String(at), text] as const)} onChange={setChosen} />}
          <TextField label={t("title")} hint={t("shares.title.hint")} autofocus maxLength={200} value={title} error={error?.fields.title} onInput={(title) => change({ title })} />
          <Field label={t("shares.words")} error={error?.fields.text}>
            {(control) => <textarea class="input notes" rows={3} maxLength={2000} value={text} onInput={(event) => change({ text: event.currentTarget.value })} {...control} />}
          </Field>
          <Field label={t("shares.logo")} error={error?.fields.logo}>
            {(control) => <input type="file" accept="image/*" class="input" onChange={(event) => void chooseLogo(event.currentTarget.files?.[0])} {...control} />}
          </Field>
          {shownLogo && (
            <div class="button-row">
              <img class="report-logo" src={shownLogo} alt={t("shares.logo")} />
              <button type="button" class="button" onClick={() => change({ logo: null })}>
                {t("qr.logo.remove")}
              </button>
            </div>
          )}
          <RangeField value={range} error={error?.fields.range} onChange={(range) => change({ range })} />
          <TextField label={t("shares.expires")} hint={t("optional")} type="date" value={expires} error={error?.fields.expires_at} onInput={(expires) => change({ expires })} />
          <TextField label={t("password")} hint={t(share?.has_password ? "shares.password.keep" : "shares.password.hint")} autocomplete="off" spellcheck={false} minLength={8} maxLength={72} value={password} error={error?.fields.password} onInput={(password) => change({ password })} />
          {share?.has_password && (
            <label class="check">
              <input type="checkbox" checked={isRemoved} onChange={(event) => change({ isRemoved: event.currentTarget.checked })} />
              {t("shares.password.remove")}
            </label>
          )}
          <footer class="dialog-foot">
            {isChanged && <span class="hint editor-note">{t("draft.kept")}</span>}
            {!share && (
              <a class="button button-quiet foot-start" href={href("/shares")}>
                {t("shares.all")}
              </a>
            )}
            <button type="button" class="button" disabled={isBusy} onClick={typed.close}>
              {t("cancel")}
            </button>
            <SubmitButton isBusy={isBusy}>{t(share ? "save" : "shares.make")}</SubmitButton>
          </footer>
        </form>
      </Dialog>
      {theirs && <Conflict base={typed.base} mine={draft} theirs={draftOf(theirs)} fields={FIELDS} show={show} onMerged={(merged) => merge(merged, theirs)} onClose={() => setTheirs(undefined)} />}
      {typed.question}
    </>
  );
}
