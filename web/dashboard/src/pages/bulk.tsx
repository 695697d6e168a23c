import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { api, type ApiError, asApiError, newIdempotencyKey, unwrap } from "../api/client";
import { useQuery } from "../api/use_query";
import { href, useGuard } from "../app/router";
import { currentUser } from "../app/session";
import { EditsDialog } from "../components/bulk_edit";
import { ErrorBox, explain } from "../components/feedback";
import { Field, SelectField } from "../components/field";
import { Fold } from "../components/fold";
import { Icon } from "../components/icons";
import { TagInput } from "../components/tag_input";
import { currentLocale, t, tn } from "../i18n";
import { type Answers, type Bulk, type BulkItem, CHANGED, CREATED, isoDate, looksLikeAddress, parseBulk, parseChanges, SHOWN } from "../lib/bulk";
import { findEdits } from "../lib/change_bulk";
import { type BulkResult, createBulk } from "../lib/create_bulk";
import { textOf } from "../lib/csv";
import { formatCsv, saveCsv } from "../lib/download";
import { keepDraft, readDraft } from "../lib/drafts";
import { formatCount, formatDate, formatTime, hostAndSlug, shortenUrl } from "../lib/format";
import { intl } from "../lib/intl";
import { isChange as isEdit } from "../lib/link_actions";
import { currentWorkspaceId } from "../lib/workspace";
import { fromLocalInput } from "../lib/zone";

const PREVIEW_ROWS = 50;
const FILE_BYTES_MAX = 4 * 1024 * 1024;

/** What else a line says about its link. */
function describe({ title, tags, starts_at, expires_at, state }: BulkItem["link"]): string {
  const times = [starts_at && t("starts.at", { time: formatTime(starts_at) }), expires_at && t("expires.at", { time: formatTime(expires_at) })];
  return [title, tags?.join(", "), state && t(`state.${state as "active"}`), ...times].filter(Boolean).join(" · ");
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
                <div class="ellipsis">{shortenUrl(item.link.original_url) || t("bulk.unchanged")}</div>
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

/** Which column is what: as its name says, or as somebody chooses. */
function Mapping({ bulk: { names, columns }, wanted, onChoose }: { bulk: Bulk; wanted: typeof CREATED; onChoose: (columns: Answers["columns"]) => void }) {
  if (names.length < 2) return null;
  const options = [["-1", "–"] as const, ...names.map((name, at) => [String(at), name || String(at + 1)] as const)];
  const used = wanted.flatMap((column) => (columns[column]?.length ? [t(SHOWN[column][0] as "title")] : []));
  return (
    <Fold icon="list" title={t("bulk.columns")} summary={used.join(", ")} isOpen={wanted[0] !== undefined && !columns[wanted[0]]?.length}>
      <div class="field-grid">
        {wanted.map((column) => (
          <SelectField key={column} label={t(SHOWN[column][0] as "title")} value={String(columns[column]?.[0] ?? -1)} options={options} onChange={(at) => onChoose({ [column]: Number(at) })} />
        ))}
      </div>
    </Fold>
  );
}

/** What the text does not say: which column is the destination, and which day 04/05/2027 is. */
function Questions({ bulk: { unclear, date }, answers, onAnswer }: { bulk: Bulk; answers: Answers; onAnswer: (answers: Answers) => void }) {
  const columns = [...(unclear?.[0]?.cells ?? []).keys()].map((at) => {
    const [name = "", ...samples] = (unclear ?? []).map(({ cells }) => cells[at] ?? "");
    const sample = samples.find(Boolean);
    return [String(at), sample ? `${name} (${sample})` : name] as const;
  });
  const withAddress = columns.filter(([at]) => unclear?.some(({ cells }) => looksLikeAddress(cells[Number(at)] ?? "")));
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
            options={[choose, ...(withAddress.length > 0 ? withAddress : columns), ["-1", t("bulk.unclear.none")]]}
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

/** "3 min": how long it goes on at this rate. */
function formatLeft(seconds: number): string {
  const isLong = seconds > 90;
  return intl("NumberFormat", currentLocale(), { style: "unit", unit: isLong ? "minute" : "second", maximumFractionDigits: 0 }).format(isLong ? seconds / 60 : Math.ceil(seconds));
}

interface OutcomeProps {
  results: BulkResult[];
  /** Those that were not created, also because they were left out or not reached. */
  failed: Faulty[];
  /** How many of them were refused. */
  refused: number;
  total: number;
  isBusy: boolean;
  /** When these results were there and the rest began. */
  began: { at: number; count: number };
  onEdit: () => void;
  /** Where there are lines that were not reached. */
  onGoOn?: () => void;
}

function Outcome({ results, failed, refused, total, isBusy, began, onEdit, onGoOn }: OutcomeProps) {
  const created = results.filter((result) => result.shortUrl);
  const done = created.length + refused;
  const rate = (results.length - began.count) / ((Date.now() - began.at) / 1000);
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
      {isBusy && rate > 0 && <p class="muted">{t("bulk.rate", { rate: formatCount(Math.ceil(rate)), left: formatLeft((total - done) / rate) })}</p>}
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
          {onGoOn && (
            <button type="button" class="button button-primary" onClick={onGoOn}>
              {t("bulk.go_on")}
            </button>
          )}
          {failed.length > 0 && (
            <button type="button" class={onGoOn ? "button" : "button button-primary"} onClick={onEdit}>
              <Icon name="edit" /> {tn("bulk.edit", failed.length)}
            </button>
          )}
          <a class={failed.length > 0 || onGoOn ? "button" : "button button-primary"} href={href("/links")}>
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

/** What is kept in this browser until it is done. */
interface Kept {
  text: string;
  tags: string[];
  answers: Answers;
  isChange: boolean;
  /** A run that was begun: its key, and what became of the first lines. */
  run?: { key: string; done: Omit<BulkResult, "item">[] };
}

const EMPTY: Kept = { text: "", tags: [], answers: {}, isChange: false };
const KEEP_MS = 300;
/** Longer texts are read when somebody pauses, so that each key is quick. */
const QUICK_CHARS = 4_000;

/** The text as it is read. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  const isQuick = text.length < QUICK_CHARS;
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), isQuick ? 0 : KEEP_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return isQuick ? text : settled;
}

export default function BulkPage() {
  const name = [currentUser()?.id, currentWorkspaceId(), "bulk"].join(" ");
  const [kept, setKept] = useState<Kept>(() => readDraft<Kept>(name) ?? EMPTY);
  const [found, setFound] = useState<Awaited<ReturnType<typeof findEdits>>>();
  const [error, setError] = useState<ApiError>();
  const [fileFault, setFileFault] = useState<"bulk.toolarge" | "bulk.workbook">();
  const [isBusy, setBusy] = useState(false);
  const [isOver, setOver] = useState(false);
  const began = useRef({ at: 0, count: 0 });
  const isLeft = useRef(false);
  const { text, tags, answers, isChange, run } = kept;
  const read = useSettled(text);
  const bulk = useMemo(() => (isChange ? parseChanges(read, answers) : parseBulk(read, tags, answers)), [read, tags, answers, isChange]);
  const { header, unknown, visits, items } = bulk;
  const good = useMemo(() => items.filter((item) => !item.fault), [items]);
  const quota = useQuery(run || isChange ? null : "quota", (signal) => unwrap(api.GET("/api/links/quota", { signal }))).data;
  const over = good.length - (quota?.left ?? good.length);
  const faulty = faultyOf(items);
  const results = useMemo(() => run?.done.flatMap((each, at) => (good[at] ? [{ ...each, item: good[at] }] : [])), [run, good]);
  const isDone = run !== undefined && run.done.length >= good.length;

  useEffect(() => {
    const timer = setTimeout(() => keepDraft(name, text === "" || isDone ? undefined : kept), run ? 0 : KEEP_MS);
    return () => clearTimeout(timer);
  }, [kept]);
  // A run stops with the page, and goes on from there.
  useEffect(() => () => void (isLeft.current = true), []);
  useGuard(isBusy, (go) => go());

  const change = (part: Partial<Kept>) => setKept((last) => ({ ...last, ...part }));
  const write = (written: string) => change({ text: written, answers: {} });
  const readFile = async (file: File | undefined) => {
    if (!file) return;
    const written = file.size > FILE_BYTES_MAX ? "" : textOf(await file.arrayBuffer());
    setFileFault(written === undefined ? "bulk.workbook" : file.size > FILE_BYTES_MAX ? "bulk.toolarge" : undefined);
    if (written) write(written);
  };
  const act = async (action: () => Promise<void>) => {
    setBusy(true);
    setError(undefined);
    try {
      await action();
    } catch (cause) {
      setError(asApiError(cause));
    }
    setBusy(false);
  };
  const create = () =>
    act(async () => {
      const { key, done } = run ?? { key: newIdempotencyKey(), done: [] };
      began.current = { at: Date.now(), count: done.length };
      change({ run: { key, done } });
      await createBulk(good, key, results ?? [], () => isLeft.current, (now) => change({ run: { key, done: now.map(({ shortUrl, problem }) => ({ shortUrl, problem })) } }));
    });
  const check = () => act(async () => setFound(await findEdits(good)));

  /** In the order of the lines: refused here, refused by the server, or not reached because of an error. */
  const refused = [...faulty, ...(results ?? []).flatMap(({ item, shortUrl, problem = "" }) => (shortUrl ? [] : [{ item, reason: problem }]))];
  const missed = error && run ? good.slice(run.done.length).map((item) => ({ item, reason: explain(error) })) : [];
  const failed = [...refused, ...missed].sort((a, b) => a.item.line - b.item.line);
  const editFailed = () => {
    const lines = failed.length > 0 ? failed.map(({ item }) => item.text) : [];
    change({ text: [header, ...lines].filter(Boolean).join("\n"), run: undefined });
    setError(undefined);
  };
  const example = t(isChange ? "bulk.change.example" : "bulk.example");

  return (
    <>
      <header class="page-head">
        <h1>{t("bulk.title")}</h1>
      </header>
      {!run && (
        <section class="card form">
          <div class="tabs" role="group" aria-label={t("bulk.what")}>
            {([false, true] as const).map((each) => (
              <button type="button" key={String(each)} aria-pressed={each === isChange} onClick={() => change({ isChange: each, answers: {} })}>
                {t(each ? "bulk.what.change" : "bulk.what.create")}
              </button>
            ))}
          </div>
          <div
            class="dropzone"
            data-over={isOver}
            data-small={text !== ""}
            onDragOver={(event) => (event.preventDefault(), setOver(true))}
            onDragLeave={() => setOver(false)}
            onDrop={(event) => {
              event.preventDefault();
              setOver(false);
              void readFile(event.dataTransfer?.files[0]);
            }}
          >
            <Icon name="upload" />
            <span class="wide-only">{t("bulk.drop")}</span>
            <span class="button-row">
              <label class="button file-button">
                {t("bulk.file")}
                <input type="file" class="visually-hidden" accept=".csv,.tsv,.txt,text/csv,text/plain" onChange={(event) => void readFile(event.currentTarget.files?.[0])} />
              </label>
              <button type="button" class="button button-quiet" onClick={() => saveCsv(example.replaceAll("\n", "\r\n"), "waymark-template")}>
                <Icon name="download" /> {t("bulk.template")}
              </button>
            </span>
          </div>
          <Field label={t("bulk.lines")} hint={isChange ? t("bulk.change.hint") : `${t("bulk.hint")} ${t("expires.deleted")}`} error={fileFault && t(fileFault)}>
            {(control) => <textarea class="input textarea mono" rows={6} placeholder={example} value={text} onInput={(event) => write(event.currentTarget.value)} {...control} />}
          </Field>
          <Questions bulk={bulk} answers={answers} onAnswer={(now) => change({ answers: now })} />
          <Mapping bulk={bulk} wanted={isChange ? CHANGED : CREATED} onChoose={(columns) => change({ answers: { ...answers, columns: { ...answers.columns, ...columns } } })} />
          {(unknown.length > 0 || visits.length > 0) && (
            <p class="muted">
              {[unknown.length > 0 && t("bulk.unknown", { names: unknown.join(", ") }), visits.length > 0 && t("bulk.visits", { names: visits.join(", ") })].filter(Boolean).join(" · ")}
            </p>
          )}
          {!isChange && <TagInput label={t("bulk.tags")} hint={t("tags.hint")} tags={tags} onChange={(now) => change({ tags: now })} />}
          {faulty.length > 0 && <FaultyLines lines={faulty} />}
        </section>
      )}
      {!run && good.length > 0 && <Preview items={good} />}
      {!run && (
        <div class="action-bar">
          <span class={over > 0 ? "field-error" : "muted"} role="status">
            {faulty.length > 0 && <span class="field-error">{tn("bulk.skipped", faulty.length)} </span>}
            {over > 0 ? t("bulk.quota", { limit: formatCount(quota?.limit ?? 0), left: formatCount(quota?.left ?? 0), over: formatCount(over) }) : quota?.limit && t("bulk.quota.left", { limit: formatCount(quota.limit), left: formatCount(quota.left ?? 0) })}
          </span>
          <button type="button" class="button button-primary" disabled={good.length === 0 || isBusy} onClick={isChange ? check : create}>
            {isChange ? t("bulk.change.check") : good.length === 0 ? t("bulk.create.none") : tn("bulk.create", good.length)}
          </button>
        </div>
      )}
      {error && <ErrorBox error={error} />}
      {results && <Outcome results={results} failed={failed} refused={refused.length} total={items.length} isBusy={isBusy} began={began.current} onEdit={editFailed} onGoOn={isDone ? undefined : create} />}
      {found && (
        <EditsDialog title={t("bulk.what.change")} edits={found.edits.filter(({ link, edit }) => isEdit(link, edit))} onClose={() => setFound(undefined)} onDone={() => {}}>
          {found.left.length > 0 && (
            <>
              <p class="field-error">{tn("bulk.skipped", found.left.length)}</p>
              <FaultyLines lines={faultyOf(found.left)} />
            </>
          )}
        </EditsDialog>
      )}
    </>
  );
}
