import { useMemo, useState } from "preact/hooks";
import { api, type ApiError, asApiError, unwrap } from "../api/client";
import { useQuery } from "../api/use_query";
import { href } from "../app/router";
import { ErrorBox, explain } from "../components/feedback";
import { Field, SelectField } from "../components/field";
import { Icon } from "../components/icons";
import { TagInput } from "../components/tag_input";
import { t, tn } from "../i18n";
import { type Answers, type Bulk, type BulkItem, isoDate, parseBulk } from "../lib/bulk";
import { type BulkResult, createBulk } from "../lib/create_bulk";
import { textOf } from "../lib/csv";
import { formatCsv, saveCsv } from "../lib/download";
import { formatCount, formatDate, formatTime, hostAndSlug, shortenUrl } from "../lib/format";
import { fromLocalInput } from "../lib/zone";

const PREVIEW_ROWS = 50;
const FILE_BYTES_MAX = 4 * 1024 * 1024;

/** What else a line says about its link. */
function describe({ title, tags, starts_at, expires_at }: BulkItem["link"]): string {
  const times = [starts_at && t("starts.at", { time: formatTime(starts_at) }), expires_at && t("expires.at", { time: formatTime(expires_at) })];
  return [title, tags?.join(", "), ...times].filter(Boolean).join(" · ");
}

function Preview({ items }: { items: BulkItem[] }) {
  return (
    <div class="card table-card">
      <table class="table preview">
        <caption class="card-head">{tn("bulk.preview", items.length)}</caption>
        <thead>
          <tr>
            <th scope="col" class="number">
              {t("bulk.line")}
            </th>
            <th scope="col">{t("destination")}</th>
            <th scope="col">{t("slug")}</th>
          </tr>
        </thead>
        <tbody>
          {items.slice(0, PREVIEW_ROWS).map((item, at) => (
            <tr key={at}>
              <td class="number muted">{item.line}</td>
              <td class="cell-link">
                <div class="ellipsis">{shortenUrl(item.link.original_url)}</div>
                <div class="muted">{describe(item.link)}</div>
              </td>
              <td class="mono" translate={false}>{item.link.slug ?? <span class="muted">{t("random")}</span>}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {items.length > PREVIEW_ROWS && <p class="table-note muted">{tn("bulk.more", items.length - PREVIEW_ROWS)}</p>}
    </div>
  );
}

interface Faulty {
  item: BulkItem;
  reason: string;
}

const faultyOf = (items: BulkItem[]): Faulty[] => items.flatMap((item) => (item.fault ? [{ item, reason: t(`error.${item.fault}`) }] : []));

/** Lines with what is wrong with each. */
function FaultyLines({ lines }: { lines: Faulty[] }) {
  return (
    <>
      <ul class="rows">
        {lines.slice(0, PREVIEW_ROWS).map(({ item, reason }, at) => (
          <li class="row" key={at}>
            <span class="row-main">
              <span class="ellipsis">
                <strong>{t("bulk.line.n", { line: item.line })}</strong> <span class="mono">{item.text}</span>
              </span>
              <span class="field-error">{reason}</span>
            </span>
          </li>
        ))}
      </ul>
      {lines.length > PREVIEW_ROWS && <p class="muted">{tn("bulk.more", lines.length - PREVIEW_ROWS)}</p>}
    </>
  );
}

/** What the text does not say: which column is the destination, and which day 04/05/2027 is. */
function Questions({ bulk: { unclear, date }, answers, onAnswer }: { bulk: Bulk; answers: Answers; onAnswer: (answers: Answers) => void }) {
  const columns = [...(unclear?.[0]?.cells ?? []).keys()].map((at) => {
    const [name = "", ...samples] = (unclear ?? []).map(({ cells }) => cells[at] ?? "");
    return [String(at), `${name} (${samples.find(Boolean) ?? ""})`] as const;
  });
  const dayOf = (isDayFirst: boolean) => formatDate(fromLocalInput(`${isoDate(date ?? "", isDayFirst)}T12:00`));
  const choose = ["", t("bulk.choose")] as const;
  return (
    <>
      {unclear && (
        <>
          <pre class="first-rows">{unclear.map(({ text }) => text).join("\n")}</pre>
          <SelectField
            label={t("bulk.unclear")}
            value={String(answers.destination ?? "")}
            options={[choose, ...columns, ["-1", t("bulk.unclear.none")]]}
            onChange={(value) => onAnswer({ destination: value ? Number(value) : undefined })}
          />
        </>
      )}
      {date && (
        <SelectField
          label={t("bulk.date", { date })}
          value={String(answers.isDayFirst ?? "")}
          options={[choose, ["false", dayOf(false)], ["true", dayOf(true)]]}
          onChange={(value) => onAnswer({ ...answers, isDayFirst: value ? value === "true" : undefined })}
        />
      )}
    </>
  );
}

interface OutcomeProps {
  results: BulkResult[];
  /** Those that were not created, also because they were left out or not reached. */
  failed: Faulty[];
  /** How many of them were refused. */
  refused: number;
  total: number;
  isBusy: boolean;
  onEdit: () => void;
}

function Outcome({ results, failed, refused, total, isBusy, onEdit }: OutcomeProps) {
  const created = results.filter((result) => result.shortUrl);
  const done = created.length + refused;
  const save = () => {
    const rows = [
      ...created.map(({ item, shortUrl }) => [item.line, item.link.original_url, shortUrl ?? "", ""]),
      ...failed.map(({ item, reason }) => [item.line, item.link.original_url, "", reason]),
    ].sort((a, b) => Number(a[0]) - Number(b[0]));
    saveCsv(formatCsv([["line", "original_url", "short_url", "problem"], ...rows]), "waymark-links");
  };
  return (
    <section class="card form" aria-label={t("bulk.result")}>
      <label class="progress">
        <span role="status">{t("bulk.progress", { created: formatCount(created.length), refused: formatCount(refused), open: formatCount(total - done) })}</span>
        <progress max={total} value={done} />
      </label>
      {!isBusy && (
        <p>
          <strong>{tn("bulk.created", created.length)}</strong> {created[0]?.shortUrl && t("bulk.first", { url: hostAndSlug(created[0].shortUrl) })}
        </p>
      )}
      {failed.length > 0 && (
        <>
          <p>{tn("bulk.failed", failed.length)}</p>
          <FaultyLines lines={failed} />
        </>
      )}
      {!isBusy && (
        <div class="button-row">
          {failed.length > 0 && (
            <button type="button" class="button button-primary" onClick={onEdit}>
              <Icon name="edit" /> {tn("bulk.edit", failed.length)}
            </button>
          )}
          <a class={failed.length > 0 ? "button" : "button button-primary"} href={href("/links")}>
            {t("bulk.show")}
          </a>
          <button type="button" class="button" onClick={save}>
            <Icon name="download" /> {t("bulk.save")}
          </button>
        </div>
      )}
    </section>
  );
}

export default function BulkPage() {
  const [text, setText] = useState("");
  const [tags, setTags] = useState<string[]>([]);
  const [results, setResults] = useState<BulkResult[]>();
  const [error, setError] = useState<ApiError>();
  const [fileFault, setFileFault] = useState<"bulk.toolarge" | "bulk.workbook">();
  const [answers, setAnswers] = useState<Answers>({});
  const [isBusy, setBusy] = useState(false);
  const bulk = useMemo(() => parseBulk(text, tags, answers), [text, tags, answers]);
  const { header, unknown, visits, items } = bulk;
  const good = items.filter((item) => !item.fault);
  const quota = useQuery(results ? null : "quota", (signal) => unwrap(api.GET("/api/links/quota", { signal }))).data;
  const over = good.length - (quota?.left ?? good.length);
  const faulty = faultyOf(items);

  const write = (written: string) => {
    setText(written);
    setAnswers({});
  };
  const readFile = async (file: File | undefined) => {
    if (!file) return;
    const written = file.size > FILE_BYTES_MAX ? "" : textOf(await file.arrayBuffer());
    setFileFault(written === undefined ? "bulk.workbook" : file.size > FILE_BYTES_MAX ? "bulk.toolarge" : undefined);
    if (written) write(written);
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

  /** In the order of the lines: refused here, refused by the server, or not reached because of an error. */
  const refused = [...faulty, ...(results ?? []).flatMap(({ item, shortUrl, problem = "" }) => (shortUrl ? [] : [{ item, reason: problem }]))];
  const missed = error ? good.slice(results?.length).map((item) => ({ item, reason: explain(error) })) : [];
  const failed = [...refused, ...missed].sort((a, b) => a.item.line - b.item.line);
  const editFailed = () => {
    setText([header, ...failed.map(({ item }) => item.text)].filter(Boolean).join("\n"));
    setResults(undefined);
    setError(undefined);
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
          <Field label={t("bulk.lines")} hint={`${t("bulk.hint")} ${t("expires.deleted")}`} error={fileFault && t(fileFault)}>
            {(control) => <textarea class="input textarea mono" rows={8} placeholder={t("bulk.example")} value={text} onInput={(event) => write(event.currentTarget.value)} {...control} />}
          </Field>
          <Field label={t("bulk.file")}>
            {(control) => <input type="file" class="file" accept=".csv,.tsv,.txt,text/csv,text/plain" onChange={(event) => void readFile(event.currentTarget.files?.[0])} {...control} />}
          </Field>
          <TagInput label={t("bulk.tags")} hint={t("tags.hint")} tags={tags} onChange={setTags} />
          <div class="button-row">
            <button type="button" class="button button-primary" disabled={good.length === 0} onClick={create}>
              {good.length === 0 ? t("bulk.create.none") : tn("bulk.create", good.length)}
            </button>
            {faulty.length > 0 && <span class="field-error">{tn("bulk.skipped", faulty.length)}</span>}
          </div>
          {over > 0 && (
            <p class="field-error" role="status">
              {t("bulk.quota", { limit: formatCount(quota?.limit ?? 0), left: formatCount(quota?.left ?? 0), over: formatCount(over) })}
            </p>
          )}
          <Questions bulk={bulk} answers={answers} onAnswer={setAnswers} />
          {visits.length > 0 && <p class="muted">{t("bulk.visits", { names: visits.join(", ") })}</p>}
          {unknown.length > 0 && <p class="field-error">{t("bulk.unknown", { names: unknown.join(", ") })}</p>}
          {faulty.length > 0 && <FaultyLines lines={faulty} />}
        </section>
      )}
      {error && <ErrorBox error={error} />}
      {results && <Outcome results={results} failed={failed} refused={refused.length} total={items.length} isBusy={isBusy} onEdit={editFailed} />}
      {!results && good.length > 0 && <Preview items={good} />}
    </>
  );
}
