import { useEffect, useState } from "preact/hooks";
import { ApiError, api, unwrap } from "../api/client";
import { useQuery } from "../api/use_query";
import { notify } from "../app/toasts";
import { Confirm } from "../components/dialog";
import { ErrorBox, Skeleton } from "../components/feedback";
import { Field, SubmitButton } from "../components/field";
import { useAction } from "../components/use_action";
import { t } from "../i18n";

const NAMES = ["apple-app-site-association", "assetlinks.json"] as const;
type Name = (typeof NAMES)[number];

const pathOf = (name: Name) => ({ params: { path: { name } } });

/** null: it is not set. */
async function load(name: Name, signal: AbortSignal) {
  try {
    return await unwrap(api.GET("/api/admin/app-documents/{name}", { ...pathOf(name), signal }));
  } catch (cause) {
    if (cause instanceof ApiError && cause.status === 404) return null;
    throw cause;
  }
}

/** What is wrong, each with its place in the document. */
const faultsOf = (error: ApiError | undefined) => error?.problem?.errors?.map(({ pointer, detail }) => `${pointer.replace(/^\/document\/?/, "/")} ${detail}`).join("\n");

function parse(text: string): { document: object } | undefined {
  try {
    return { document: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

function Document({ name }: { name: Name }) {
  const { data, error, reload } = useQuery(name, (signal) => load(name, signal));
  const [text, setText] = useState("");
  const [isMalformed, setMalformed] = useState(false);
  const [isDeleting, setDeleting] = useState(false);
  const action = useAction();
  useEffect(() => setText(data ? JSON.stringify(data.document, null, 2) : ""), [data]);
  const submit = async (event: Event) => {
    event.preventDefault();
    const body = parse(text);
    setMalformed(!body);
    if (!body) return;
    const isDone = await action.run(() => unwrap(api.PUT("/api/admin/app-documents/{name}", { ...pathOf(name), body: body as never })));
    if (!isDone) return;
    notify(t("saved"));
    reload();
  };
  const remove = () =>
    void action.run(async () => {
      await unwrap(api.DELETE("/api/admin/app-documents/{name}", pathOf(name)));
      notify(t("app.deleted"));
      reload();
    });
  const fault = isMalformed ? t("app.malformed") : faultsOf(action.error);
  return (
    <form class="card form" onSubmit={submit}>
      <h2>{t(`app.${name}`)}</h2>
      {error && <ErrorBox error={error} retry={reload} />}
      {action.error && !fault && <ErrorBox error={action.error} />}
      {data === undefined && !error && <Skeleton lines={3} height={24} />}
      {data !== undefined && (
        <>
          <Field label={`/.well-known/${name}`} error={fault}>
            {(control) => <textarea {...control} class="input textarea mono" rows={10} required spellcheck={false} value={text} onInput={(event) => setText(event.currentTarget.value)} />}
          </Field>
          <div class="button-row">
            <SubmitButton isBusy={action.isBusy}>{t("save")}</SubmitButton>
            {data && (
              <button type="button" class="button" onClick={() => setDeleting(true)}>
                {t("delete")}
              </button>
            )}
          </div>
        </>
      )}
      {isDeleting && <Confirm title={t("app.delete.title", { name })} text={t("app.delete.text")} action={t("delete")} onConfirm={remove} onClose={() => setDeleting(false)} />}
    </form>
  );
}

/** The documents by which phones learn which links an app opens. */
export default function AppsPage() {
  return (
    <>
      <header class="page-head">
        <h1>{t("apps")}</h1>
      </header>
      <p class="muted">{t("apps.text")}</p>
      {NAMES.map((name) => (
        <Document name={name} key={name} />
      ))}
    </>
  );
}
