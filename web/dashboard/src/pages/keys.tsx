import { useState } from "preact/hooks";
import { api, type Schemas, unwrap } from "../api/client";
import { useQuery } from "../api/use_query";
import { notify } from "../app/toasts";
import { CopyButton } from "../components/copy_button";
import { Confirm, Dialog } from "../components/dialog";
import { Empty, ErrorBox, Skeleton } from "../components/feedback";
import { SubmitButton, TextField } from "../components/field";
import { Icon } from "../components/icons";
import { useAction } from "../components/use_action";
import { t } from "../i18n";
import { formatDate, formatRelative } from "../lib/format";
import { fromLocalInput } from "../lib/zone";

type ApiKey = Schemas["Key"];
type Scope = Schemas["Scope"];

const SCOPES: readonly Scope[] = ["links:read", "links:write", "stats:read"];

function NewKey({ onClose, onMade }: { onClose: () => void; onMade: () => void }) {
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<Scope[]>(["links:read"]);
  const [expires, setExpires] = useState("");
  const [secret, setSecret] = useState("");
  // While it is made, the dialog stays: nothing else shows the key.
  const { error, isBusy, run } = useAction();

  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      const expires_at = expires === "" ? null : fromLocalInput(`${expires}T23:59:59`);
      setSecret((await unwrap(api.POST("/api/keys", { body: { name, scopes, expires_at } }))).secret);
      onMade();
    });
  };

  if (secret) {
    return (
      <Dialog title={t("key.made")} onClose={onClose}>
        <p>{t("key.once")}</p>
        <p class="secret mono" translate={false}>{secret}</p>
        <footer class="dialog-foot">
          <CopyButton withText text={secret} label={t("key.copy")} />
          <button type="button" class="button button-primary" onClick={onClose}>
            {t("done")}
          </button>
        </footer>
      </Dialog>
    );
  }
  return (
    <Dialog title={t("key.create")} onClose={() => isBusy || onClose()}>
      <form class="form" onSubmit={submit}>
        {error && <ErrorBox error={error} />}
        <TextField label={t("name")} hint={t("key.name.hint")} required autofocus maxLength={100} value={name} error={error?.fields.name} onInput={setName} />
        <fieldset class="fieldset">
          <legend>{t("scopes")}</legend>
          {SCOPES.map((scope) => (
            <label class="check" key={scope}>
              <input type="checkbox" checked={scopes.includes(scope)} onChange={(event) => setScopes(event.currentTarget.checked ? [...scopes, scope] : scopes.filter((each) => each !== scope))} />
              {t(`scope.${scope}`)} <code>{scope}</code>
            </label>
          ))}
        </fieldset>
        <TextField label={t("key.expires")} hint={t("optional")} type="date" value={expires} error={error?.fields.expires_at} onInput={setExpires} />
        <footer class="dialog-foot">
          <SubmitButton isBusy={isBusy}>{t("key.create")}</SubmitButton>
        </footer>
      </form>
    </Dialog>
  );
}

function KeyRow({ apiKey, onRevoke }: { apiKey: ApiKey; onRevoke: () => void }) {
  return (
    <tr>
      <td>
        <strong>{apiKey.name}</strong>
        <div class="muted mono">{apiKey.hint}…</div>
      </td>
      <td>{apiKey.scopes.map((scope) => <code class="scope" key={scope}>{scope}</code>)}</td>
      <td class="wide-only muted">{apiKey.last_used_at ? formatRelative(apiKey.last_used_at) : t("never")}</td>
      <td class="wide-only muted">{apiKey.expires_at ? formatDate(apiKey.expires_at) : t("never")}</td>
      <td class="cell-actions">
        <button type="button" class="button" onClick={onRevoke} aria-label={t("key.revoke.one", { name: apiKey.name })}>
          {t("revoke")}
        </button>
      </td>
    </tr>
  );
}

export default function KeysPage() {
  const { data, error, reload } = useQuery("keys", (signal) => unwrap(api.GET("/api/keys", { signal })));
  const [isCreating, setCreating] = useState(false);
  const [revoking, setRevoking] = useState<ApiKey>();
  const action = useAction();
  const revoke = (key: ApiKey) =>
    void action.run(async () => {
      await unwrap(api.DELETE("/api/keys/{id}", { params: { path: { id: key.id } } }));
      notify(t("key.revoked", { name: key.name }));
      reload();
    });
  return (
    <>
      <header class="page-head">
        <h1>{t("keys")}</h1>
        <button type="button" class="button button-primary" onClick={() => setCreating(true)}>
          <Icon name="plus" /> {t("key.create")}
        </button>
      </header>
      {(error ?? action.error) && <ErrorBox error={(error ?? action.error)!} retry={error && reload} />}
      {!data && !error && <Skeleton lines={4} height={44} />}
      {data?.keys.length === 0 && <Empty title={t("keys.none")} text={t("keys.none.text")} />}
      {data && data.keys.length > 0 && (
        <div class="card table-card">
          <table class="table">
            <caption class="visually-hidden">{t("keys")}</caption>
            <thead>
              <tr>
                <th scope="col">{t("name")}</th>
                <th scope="col">{t("scopes")}</th>
                <th scope="col" class="wide-only">{t("last.used")}</th>
                <th scope="col" class="wide-only">{t("expires")}</th>
                <th class="cell-actions"><span class="visually-hidden">{t("actions")}</span></th>
              </tr>
            </thead>
            <tbody>{data.keys.map((key) => <KeyRow apiKey={key} key={key.id} onRevoke={() => setRevoking(key)} />)}</tbody>
          </table>
        </div>
      )}
      {isCreating && <NewKey onClose={() => setCreating(false)} onMade={reload} />}
      {revoking && <Confirm title={t("key.revoke.title", { name: revoking.name })} text={t("key.revoke.text")} action={t("revoke")} onConfirm={() => revoke(revoking)} onClose={() => setRevoking(undefined)} />}
    </>
  );
}
