import { useId, useState } from "preact/hooks";
import { t } from "../i18n";
import { ErrorBox } from "./feedback";
import { SubmitButton, useFault } from "./field";
import { useAction } from "./use_action";

/** A long address becomes a short link. */
export function ShortenForm({ label, onSend }: { label: string; onSend: (url: string) => Promise<unknown> }) {
  const id = useId();
  const [url, setUrl] = useState("");
  const { error, isBusy, run, forget } = useAction();
  const { fault, onInvalidCapture, forget: forgetFault } = useFault();
  const said = fault || error?.fields.original_url;
  const submit = async (event: Event) => {
    event.preventDefault();
    if (await run(() => onSend(url))) setUrl("");
  };
  return (
    <>
      <form class="shorten" onSubmit={submit} onInvalidCapture={onInvalidCapture}>
        <label class="visually-hidden" for={id}>
          {label}
        </label>
        <input
          id={id}
          class="input"
          inputMode="url"
          required
          autocomplete="off"
          placeholder={t("example.url")}
          aria-invalid={said ? true : undefined}
          aria-describedby={said ? `${id}-error` : undefined}
          value={url}
          onInput={(event) => {
            setUrl(event.currentTarget.value);
            forget();
            forgetFault();
          }}
        />
        <SubmitButton isBusy={isBusy}>{t("shorten")}</SubmitButton>
      </form>
      {said ? (
        <p class="field-error" role="alert" id={`${id}-error`}>
          {said}
        </p>
      ) : (
        error && <ErrorBox error={error} />
      )}
    </>
  );
}
