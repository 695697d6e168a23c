import { useState } from "preact/hooks";
import { api, unwrap } from "../api/client";
import { href } from "../app/router";
import { t } from "../i18n";
import { fromLocalInput } from "../lib/zone";
import { Dialog } from "./dialog";
import { ErrorBox } from "./feedback";
import { SubmitButton, TextField } from "./field";
import { SecretDialog } from "./secret_dialog";
import { useAction } from "./use_action";

export interface ShareDialogProps {
  subject: { link_id: number } | { tag: string };
  name: string;
  onClose: () => void;
}

/** Makes a share and shows its address, which the server does not show again. */
export default function ShareDialog({ subject, name, onClose }: ShareDialogProps) {
  const [title, setTitle] = useState("");
  const [expires, setExpires] = useState("");
  const [password, setPassword] = useState("");
  const [url, setUrl] = useState("");
  // While it is made, the dialog stays: nothing else shows the address.
  const { error, isBusy, run } = useAction();

  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      const expires_at = expires === "" ? null : fromLocalInput(`${expires}T23:59:59`);
      const body = { ...subject, title, expires_at, password: password === "" ? null : password };
      const { url: path } = await unwrap(api.POST("/api/shares", { body }));
      setUrl(new URL(path, location.origin).href);
    });
  };

  if (url) return <SecretDialog title={t("shares.made")} text={t(password === "" ? "shares.once" : "shares.once.password")} secret={url} label={t("shares.copy")} onClose={onClose} />;
  return (
    <Dialog title={t("shares.make.title", { name })} onClose={() => isBusy || onClose()}>
      <form class="form" onSubmit={submit}>
        {error && <ErrorBox error={error} />}
        <p>{t("shares.text")}</p>
        <TextField label={t("title")} hint={t("shares.title.hint")} autofocus maxLength={200} value={title} error={error?.fields.title} onInput={setTitle} />
        <TextField label={t("shares.expires")} hint={t("shares.expires.hint")} type="date" value={expires} error={error?.fields.expires_at} onInput={setExpires} />
        <TextField label={t("password")} hint={t("shares.password.hint")} autocomplete="off" spellcheck={false} minLength={8} maxLength={72} value={password} error={error?.fields.password} onInput={setPassword} />
        <footer class="dialog-foot">
          <a class="button button-quiet" href={href("/shares")}>
            {t("shares.all")}
          </a>
          <SubmitButton isBusy={isBusy}>{t("shares.make")}</SubmitButton>
        </footer>
      </form>
    </Dialog>
  );
}
