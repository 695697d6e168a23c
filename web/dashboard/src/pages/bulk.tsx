import { useMemo, useState } from "preact/hooks";
import { type ApiError, asApiError } from "../api/client";
import { href } from "../app/router";
import { ErrorBox } from "../components/feedback";
import { Field } from "../components/field";
import { Icon } from "../components/icons";
import { t, tn } from "../i18n";
import { type BulkItem, type BulkResult, createBulk, parseBulk } from "../lib/bulk";
import { formatCsv } from "../lib/csv";
import { saveFile } from "../lib/download";
import { hostAndSlug, shortenUrl } from "../lib/format";

const PREVIEW_ROWS = 50;
const FILE_BYTES_MAX = 4 * 1024 * 1024;
const EXAMPLE = "original_url,slug,title,tags\nhttps://example.com/spring,spring,Spring sale,sale|newsletter\nhttps://example.com/about";

function Preview({ items }: { items: BulkItem[] }) {
  return (
    <div class="card table-card">
      <table class="table">
        <caption class="card-head">{tn("bulk.preview", items.length)}</caption>
        <thead>
          <tr>
            <th scope="col">{t("destination")}</th>
            <th scope="col">{t("slug")}</th>
            <th scope="col" class="wide-only">
              {t("title")}
            </th>
            <th scope="col" class="wide-only">
              {t("tags")}
            </th>
          </tr>
        </thead>
        <tbody>
          {items.slice(0, PREVIEW_ROWS).map((item, at) => (
            <tr key={at}>
              <td class="cell-link">
                <div class="ellipsis">{shortenUrl(item.link.original_url)}</div>
                {item.fault && <div class="field-error">{t(`bulk.fault.${item.fault}`)}</div>}
              </td>
              <td class="mono">{item.link.slug ?? <span class="muted">{t("random")}</span>}</td>
              <td class="wide-only">{item.link.title}</td>
              <td class="wide-only">{item.link.tags?.join(", ")}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {items.length > PREVIEW_ROWS && <p class="table-note muted">{tn("bulk.more", items.length - PREVIEW_ROWS)}</p>}
    </div>
  );
}

function Outcome({ results, total, isBusy }: { results: BulkResult[]; total: number; isBusy: boolean }) {
  const failed = results.filter((result) => result.problem);
  const save = () => {
    const rows = results.map((each) => [each.item.link.original_url, each.shortUrl ?? "", each.problem ?? ""]);
    saveFile(new Blob([formatCsv([["original_url", "short_url", "problem"], ...rows])], { type: "text/csv" }), "waymark-links.csv");
  };
  return (
    <section class="card" aria-label={t("bulk.result")}>
      <label class="progress">
        <span role="status">{t("bulk.progress", { done: results.length, total })}</span>
        <progress max={total} value={results.length} />
      </label>
      {!isBusy && (
        <>
          <p>
            <strong>{tn("bulk.created", results.length - failed.length)}</strong> {failed.length > 0 && tn("bulk.failed", failed.length)}
          </p>
          {failed.length > 0 && (
            <ul class="rows">
              {failed.slice(0, PREVIEW_ROWS).map((result, at) => (
                <li class="row" key={at}>
                  <span class="row-main">
                    <span class="ellipsis">{shortenUrl(result.item.link.original_url)}</span>
                    <span class="field-error">{result.problem}</span>
                  </span>
                </li>
              ))}
            </ul>
          )}
          {results[0]?.shortUrl && <p class="muted">{t("bulk.first", { url: hostAndSlug(results[0].shortUrl) })}</p>}
          <div class="button-row">
            <a class="button button-primary" href={href("/links")}>
              {t("bulk.show")}
            </a>
            <button type="button" class="button" onClick={save}>
              <Icon name="download" /> {t("bulk.save")}
            </button>
          </div>
        </>
      )}
    </section>
  );
}

export default function BulkPage() {
  const [text, setText] = useState("");
  const [results, setResults] = useState<BulkResult[]>();
  const [error, setError] = useState<ApiError>();
  const [isTooLarge, setTooLarge] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const items = useMemo(() => parseBulk(text), [text]);
  const good = items.filter((item) => !item.fault);

  const readFile = async (file: File | undefined) => {
    if (!file) return;
    setTooLarge(file.size > FILE_BYTES_MAX);
    if (file.size <= FILE_BYTES_MAX) setText(await file.text());
  };
  const create = async () => {
    setBusy(true);
    setError(undefined);
    setResults([]);
    try {
      await createBulk(good, setResults);
    } catch (cause) {
      setError(asApiError(cause));
    }
    setBusy(false);
  };

  return (
    <>
      <header class="page-head">
        <h1>{t("bulk.title")}</h1>
      </header>
      {!results && (
        <section
          class="card form"
          onDragOver={(event) => event.preventDefault()}
          onDrop={(event) => {
            event.preventDefault();
            void readFile(event.dataTransfer?.files[0]);
          }}
        >
          <Field label={t("bulk.lines")} hint={t("bulk.hint")} error={isTooLarge ? t("bulk.toolarge") : undefined}>
            {(control) => <textarea class="input textarea mono" rows={8} placeholder={EXAMPLE} value={text} onInput={(event) => setText(event.currentTarget.value)} {...control} />}
          </Field>
          <Field label={t("bulk.file")}>
            {(control) => <input type="file" class="file" accept=".csv,.tsv,.txt,text/csv,text/plain" onChange={(event) => void readFile(event.currentTarget.files?.[0])} {...control} />}
          </Field>
          <div class="button-row">
            <button type="button" class="button button-primary" disabled={good.length === 0} onClick={create}>
              {tn("bulk.create", good.length)}
            </button>
            {good.length < items.length && <span class="field-error">{tn("bulk.skipped", items.length - good.length)}</span>}
          </div>
        </section>
      )}
      {error && <ErrorBox error={error} />}
      {results && <Outcome results={results} total={good.length} isBusy={isBusy} />}
      {!results && items.length > 0 && <Preview items={items} />}
    </>
  );
}
