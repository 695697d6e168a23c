import { useState } from "preact/hooks";
import { api, type Link, newIdempotencyKey, unwrap } from "../api/client";
import { href } from "../app/router";
import { t } from "../i18n";
import { normalizeUrl } from "../lib/urls";
import { ErrorBox } from "./feedback";
import { SubmitButton } from "./field";
import Steps from "./steps";
import { useAction } from "./use_action";

/** An account without links: the first one is made here, and what follows is shown beside it. */
export default function FirstRun({ onMade }: { onMade: (link: Link) => void }) {
  const [url, setUrl] = useState("");
  const { error, isBusy, run } = useAction();
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      const header = { "Idempotency-Key": newIdempotencyKey() };
      onMade((await unwrap(api.POST("/api/links", { params: { header }, body: { original_url: normalizeUrl(url) } }))).link);
    });
  };
  return (
    <section class="card first-run">
      <h2>{t("links.none")}</h2>
      <form class="shorten" onSubmit={submit}>
        <label class="visually-hidden" for="new-url">
          {t("step.address")}
        </label>
        <input id="new-url" class="input" inputMode="url" required autocomplete="off" placeholder={t("example.url")} value={url} onInput={(event) => setUrl(event.currentTarget.value)} />
        <SubmitButton isBusy={isBusy}>{t("shorten")}</SubmitButton>
      </form>
      {error && (error.fields.original_url ? <p class="field-error" role="alert">{error.fields.original_url}</p> : <ErrorBox error={error} />)}
      <Steps />
      <a href={href("/links/bulk")}>{t("step.import")}</a>
    </section>
  );
}
