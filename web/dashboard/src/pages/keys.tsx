import { useState } from "preact/hooks";
import { api, type Schemas, unwrap } from "../api/client";
import { useQuery } from "../api/use_query";
import { can, useUser } from "../app/session";
import { notify } from "../app/toasts";
import { Confirm, Dialog, DialogFoot } from "../components/dialog";
import { Empty, ErrorBox, Skeleton } from "../components/feedback";
import { SelectField, SubmitButton, TextField } from "../components/field";
import { Icon } from "../components/icons";
import { Menu, type MenuItem } from "../components/menu";
import { SecretDialog } from "../components/secret_dialog";
import { tagLinks } from "../components/tag_chip";
import { TagInput } from "../components/tag_input";
import { useAction } from "../components/use_action";
import { t } from "../i18n";
import { formatDate, formatRelative, formatTime } from "../lib/format";
import { fromLocalInput, toLocalInput } from "../lib/zone";

type ApiKey = Schemas["Key"];
type Scope = Schemas["Scope"];

const GROUPS = {
  links: ["links:read", "links:write"],
  statistics: ["stats:read", "visits:read"],
  shares: ["shares:read", "shares:write"],
  keys: ["keys:read", "keys:write"],
  workspace: ["workspace:read", "workspace:write"],
  admin: ["admin:read", "admin:write"],
} as const satisfies Record<string, readonly Scope[]>;

/** Seconds: none, an hour, a day, 7 and 30 days. */
const OVERLAPS = [0, 3600, 86400, 604800, 2592000] as const;

interface FormProps {
  /** The key to change; undefined: a new one. */
  apiKey?: ApiKey;
  onClose: () => void;
  onSaved: () => void;
}

function KeyForm({ apiKey, onClose, onSaved }: FormProps) {
  const user = useUser();
  const [name, setName] = useState(apiKey?.name ?? "");
  const [scopes, setScopes] = useState<Scope[]>(apiKey?.scopes ?? ["links:read"]);
  const [tags, setTags] = useState(apiKey?.tags ?? []);
  const day = apiKey?.expires_at ? toLocalInput(apiKey.expires_at).slice(0, 10) : "";
  const [expires, setExpires] = useState(day);
  const [secret, setSecret] = useState("");
  // While it is made, the dialog stays: nothing else shows the key.
  const { error, isBusy, run } = useAction();
  const title = t(apiKey ? "key.change" : "key.create");

  const save = async () => {
    const end = expires === "" ? null : fromLocalInput(`${expires}T23:59:59`);
    const body = { name, scopes, tags, expires_at: expires === day ? undefined : end };
    if (apiKey) await unwrap(api.PATCH("/api/keys/{id}", { params: { path: { id: apiKey.id } }, body }));
    else setSecret((await unwrap(api.POST("/api/keys", { body }))).secret);
    onSaved();
    if (apiKey) onClose();
  };
  const submit = (event: Event) => {
    event.preventDefault();
    void run(save);
  };
  const toggle = (scope: Scope, isChosen: boolean) => setScopes(isChosen ? [...scopes, scope] : scopes.filter((each) => each !== scope));
  const isOffered = (group: string) => group !== "admin" || user?.role === "admin" || scopes.some((scope) => scope.startsWith("admin:"));

  if (secret) return <SecretDialog title={t("key.made")} text={t("key.once")} secret={secret} label={t("key.copy")} onClose={onClose} />;
  return (
    <Dialog title={title} onClose={() => isBusy || onClose()}>
      <form class="form" onSubmit={submit}>
        {error && <ErrorBox error={error} />}
        <TextField label={t("name")} hint={t("key.name.hint")} required autofocus maxLength={100} value={name} error={error?.fields.name} onInput={setName} />
        <div class="field-grid">
          {Object.entries(GROUPS).filter(([group]) => isOffered(group)).map(([group, each]) => (
            <fieldset class="fieldset" key={group}>
              <legend>{t(`scopes.${group as keyof typeof GROUPS}`)}</legend>
              {each.filter((scope) => scope !== "workspace:write" || can("admin") || scopes.includes(scope)).map((scope: Scope) => (
                <label class="check" key={scope} title={scope}>
                  <input type="checkbox" checked={scopes.includes(scope)} aria-invalid={error?.fields.scopes ? true : undefined} aria-describedby={error?.fields.scopes && "scopes-error"} onChange={(event) => toggle(scope, event.currentTarget.checked)} />
                  {t(`scope.${scope}`)}
                </label>
              ))}
            </fieldset>
          ))}
        </div>
        {error?.fields.scopes && <p class="field-error" id="scopes-error">{error.fields.scopes}</p>}
        <TagInput label={t("key.tags")} hint={t("optional")} error={error?.fields.tags} tags={tags} onChange={setTags} />
        <TextField label={t("key.expires")} hint={t("optional")} type="date" value={expires} error={error?.fields.expires_at} onInput={setExpires} />
        <DialogFoot onClose={onClose} isBusy={isBusy}>
          <SubmitButton isBusy={isBusy}>{apiKey ? t("save") : title}</SubmitButton>
        </DialogFoot>
      </form>
    </Dialog>
  );
}

function Rotation({ apiKey, onClose, onSaved }: Required<FormProps>) {
  const [overlap, setOverlap] = useState(String(OVERLAPS[2]));
  const [secret, setSecret] = useState("");
  const { error, isBusy, run } = useAction();
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      setSecret((await unwrap(api.POST("/api/keys/{id}/rotate", { params: { path: { id: apiKey.id } }, body: { overlap_s: Number(overlap) } }))).secret);
      onSaved();
    });
  };
  if (secret) return <SecretDialog title={t("key.rotated", { name: apiKey.name })} text={t("key.once")} secret={secret} label={t("key.copy")} onClose={onClose} />;
  return (
    <Dialog title={t("key.rotate.title", { name: apiKey.name })} onClose={() => isBusy || onClose()}>
      <form class="form" onSubmit={submit}>
        {error && <ErrorBox error={error} />}
        <SelectField label={t("key.overlap")} hint={t("key.overlap.hint")} value={overlap} options={OVERLAPS.map((each) => [String(each), t(`key.overlap.${each}`)] as const)} onChange={setOverlap} />
        <DialogFoot onClose={onClose} isBusy={isBusy}>
          <SubmitButton isBusy={isBusy}>{t("key.rotate")}</SubmitButton>
        </DialogFoot>
      </form>
    </Dialog>
  );
}

type Task = "change" | "rotate" | "take" | "revoke";

function KeyRow({ apiKey, onTask }: { apiKey: ApiKey; onTask: (task: Task) => void }) {
  const isOwn = apiKey.created_by === useUser()?.id;
  const items: MenuItem[] = [
    ...(isOwn
      ? [
          { text: t("key.change"), icon: "edit", run: () => onTask("change") } as const,
          { text: t("key.rotate"), icon: "key", run: () => onTask("rotate") } as const,
        ]
      : [{ text: t("key.take"), icon: "user", run: () => onTask("take") } as const]),
    { text: t("revoke"), icon: "trash", isDanger: true, run: () => onTask("revoke") },
  ];
  return (
    <tr>
      <td>
        <strong>{apiKey.name}</strong> {apiKey.state !== "active" && <span class="badge badge-expired">{t(`key.state.${apiKey.state}`)}</span>}
        <div class="muted mono">{apiKey.hint}</div>
        {!isOwn && <div class="hint">{t("key.maker", { email: apiKey.created_by_email ?? t("key.maker.gone") })}</div>}
        {apiKey.old_secret_until && <div class="hint">{t("key.overlap.until", { time: formatTime(apiKey.old_secret_until) })}</div>}
      </td>
      <td>
        {apiKey.scopes.map((scope, at) => {
          const isUnusable = apiKey.unusable_scopes.includes(scope);
          return (
            <span key={scope} title={isUnusable ? t("key.scope.unusable") : scope}>
              {at > 0 && ", "}
              {isUnusable ? <s>{t(`scope.${scope}`)}</s> : t(`scope.${scope}`)}
            </span>
          );
        })}
        {apiKey.tags.length > 0 && <div class="tags">{tagLinks(apiKey.tags)}</div>}
      </td>
      <td class="wide-only muted">{apiKey.last_used_at ? formatRelative(apiKey.last_used_at) : t("never")}</td>
      <td class="wide-only muted">{apiKey.expires_at ? formatDate(apiKey.expires_at) : t("never")}</td>
      <td class="cell-actions">
        <Menu label={t("key.actions", { name: apiKey.name })} items={items} />
      </td>
    </tr>
  );
}

export default function KeysPage() {
  const { data, error, reload } = useQuery("keys", (signal) => unwrap(api.GET("/api/keys", { signal })));
  const user = useUser();
  const [isCreating, setCreating] = useState(false);
  const [task, setTask] = useState<{ task: Task; key: ApiKey }>();
  const action = useAction();
  const close = () => setTask(undefined);
  const revoke = (key: ApiKey) =>
    void action.run(async () => {
      await unwrap(api.DELETE("/api/keys/{id}", { params: { path: { id: key.id } } }));
      notify(t("key.revoked", { name: key.name }));
      reload();
    });
  const take = (key: ApiKey) =>
    void action.run(async () => {
      await unwrap(api.PATCH("/api/keys/{id}", { params: { path: { id: key.id } }, body: { created_by: user?.id } }));
      notify(t("key.taken", { name: key.name }));
      reload();
    });
  const create = (
    <button type="button" class="button button-primary" onClick={() => setCreating(true)}>
      <Icon name="plus" /> {t("key.create")}
    </button>
  );
  return (
    <>
      <header class="page-head">
        <h1>{t("keys")}</h1>
        {data && data.keys.length > 0 && create}
      </header>
      {(error ?? action.error) && <ErrorBox error={(error ?? action.error)!} retry={error && reload} />}
      {!data && !error && <Skeleton lines={4} height={44} />}
      {data?.keys.length === 0 && <Empty icon="key" title={t("keys.none")} text={t("keys.none.text")}>{create}</Empty>}
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
            <tbody>{data.keys.map((key) => <KeyRow apiKey={key} key={key.id} onTask={(each) => setTask({ task: each, key })} />)}</tbody>
          </table>
        </div>
      )}
      {isCreating && <KeyForm onClose={() => setCreating(false)} onSaved={reload} />}
      {task?.task === "change" && <KeyForm apiKey={task.key} onClose={close} onSaved={reload} />}
      {task?.task === "rotate" && <Rotation apiKey={task.key} onClose={close} onSaved={reload} />}
      {task?.task === "take" && <Confirm title={t("key.take.title", { name: task.key.name })} text={t("key.take.text")} action={t("key.take")} onConfirm={() => take(task.key)} onClose={close} />}
      {task?.task === "revoke" && <Confirm title={t("key.revoke.title", { name: task.key.name })} text={t("key.revoke.text")} action={t("revoke")} onConfirm={() => revoke(task.key)} onClose={close} />}
    </>
  );
}
