import { useState } from "preact/hooks";
import { api, type Schemas, unwrap } from "../api/client";
import { href } from "../app/router";
import { currentZone } from "../app/settings";
import { notify } from "../app/toasts";
import { t } from "../i18n";
import { readLogo } from "../lib/logo";
import { addDays, dateIn, PRESETS } from "../lib/range";
import { apiUrl } from "../lib/workspace";
import { fromLocalInput, toLocalInput } from "../lib/zone";
import { Dialog } from "./dialog";
import { ErrorBox } from "./feedback";
import { Field, SelectField, SubmitButton, TextField } from "./field";
import { SecretDialog } from "./secret_dialog";
import { useAction } from "./use_action";

export interface ShareDialogProps {
  /** Of a new share. */
  subject?: { link_id: number } | { tag: string };
  /** That is edited. */
  share?: Schemas["Share"];
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

/** Makes a share and shows its address, which the server does not show again; or edits one. */
export default function ShareDialog({ subject, share, name, onClose }: ShareDialogProps) {
  const [title, setTitle] = useState(share?.title ?? "");
  const [text, setText] = useState(share?.text ?? "");
  const [range, setRange] = useState<string>(share?.range ?? "30d");
  /** In base64; null: none; undefined: as it is. */
  const [logo, setLogo] = useState<string | null>();
  const lastDay = share?.expires_at ? toLocalInput(share.expires_at).slice(0, 10) : "";
  const [expires, setExpires] = useState(lastDay);
  const [password, setPassword] = useState("");
  const [isRemoved, setRemoved] = useState(false);
  const [url, setUrl] = useState("");
  // While it is made, the dialog stays: nothing else shows the address.
  const { error, isBusy, run } = useAction();
  const shownLogo = logo ? `data:image/png;base64,${logo}` : logo === undefined && share?.has_logo ? apiUrl(`/api/shares/${share.id}/logo`) : "";

  const chooseLogo = async (file: File | undefined) => {
    const next = file && (await readLogo(file));
    if (next) setLogo(next);
    else if (file) notify(t("shares.logo.wrong"), { isError: true });
  };
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      // What is left out stays as it is.
      const body = {
        title,
        text,
        range: range as Range,
        logo,
        password: password || (isRemoved ? null : undefined),
        expires_at: expires === lastDay ? undefined : expires === "" ? null : fromLocalInput(`${expires}T23:59:59`),
      };
      if (share) {
        const params = { path: { id: share.id }, header: { "If-Match": `"v${share.version}"` } };
        await unwrap(api.PATCH("/api/shares/{id}", { params, body }));
        notify(t("saved"));
        return onClose();
      }
      const { url: path } = await unwrap(api.POST("/api/shares", { body: { ...subject, ...body } }));
      setUrl(new URL(path, location.origin).href);
    });
  };

  if (url) return <SecretDialog title={t("shares.made")} text={t(password === "" ? "shares.once" : "shares.once.password")} secret={url} label={t("shares.copy")} onClose={onClose} />;
  return (
    <Dialog title={share ? `${t("edit")}: ${name}` : t("shares.make.title", { name })} onClose={() => isBusy || onClose()}>
      <form class="form" onSubmit={submit}>
        {error && <ErrorBox error={error} />}
        <p>{t("shares.text")}</p>
        <TextField label={t("title")} hint={t("shares.title.hint")} autofocus maxLength={200} value={title} error={error?.fields.title} onInput={setTitle} />
        <Field label={t("shares.words")} error={error?.fields.text}>
          {(control) => <textarea class="input notes" rows={3} maxLength={2000} value={text} onInput={(event) => setText(event.currentTarget.value)} {...control} />}
        </Field>
        <Field label={t("shares.logo")} error={error?.fields.logo}>
          {(control) => <input type="file" accept="image/*" class="input" onChange={(event) => void chooseLogo(event.currentTarget.files?.[0])} {...control} />}
        </Field>
        {shownLogo && (
          <div class="button-row">
            <img class="report-logo" src={shownLogo} alt={t("shares.logo")} />
            <button type="button" class="button" onClick={() => setLogo(null)}>
              {t("qr.logo.remove")}
            </button>
          </div>
        )}
        <RangeField value={range} error={error?.fields.range} onChange={setRange} />
        <TextField label={t("shares.expires")} hint={t("shares.expires.hint")} type="date" value={expires} error={error?.fields.expires_at} onInput={setExpires} />
        <TextField label={t("password")} hint={t(share?.has_password ? "shares.password.keep" : "shares.password.hint")} autocomplete="off" spellcheck={false} minLength={8} maxLength={72} value={password} error={error?.fields.password} onInput={setPassword} />
        {share?.has_password && (
          <label class="check">
            <input type="checkbox" checked={isRemoved} onChange={(event) => setRemoved(event.currentTarget.checked)} />
            {t("shares.password.remove")}
          </label>
        )}
        <footer class="dialog-foot">
          {!share && (
            <a class="button button-quiet" href={href("/shares")}>
              {t("shares.all")}
            </a>
          )}
          <SubmitButton isBusy={isBusy}>{t(share ? "save" : "shares.make")}</SubmitButton>
        </footer>
      </form>
    </Dialog>
  );
}
