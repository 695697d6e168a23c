import { useEffect, useId, useRef, useState } from "preact/hooks";
import { api, type ApiError, asApiError, type Link, newIdempotencyKey, type Schemas, unwrap } from "../api/client";
import { pageTitle, shortBase } from "../app/instance";
import { useQuery } from "../api/use_query";
import { type Key, t } from "../i18n";
import { isSame } from "../lib/drafts";
import { type Extras, extrasBody, extrasOf, rulesBody, splitBody } from "../lib/extras";
import { hostAndSlug, readableUrl } from "../lib/format";
import { lazy } from "../lib/lazy";
import type { Ways } from "../lib/summary";
import { normalizeUrl, settleUtm, UTM_FIELDS, type Utm, type UtmField, utmOf, withUtm } from "../lib/urls";
import { fromLocalInput, toLocalInput } from "../lib/zone";
import { Dialog } from "./dialog";
import { ErrorBox } from "./feedback";
import { Field, SelectField, SubmitButton, TextField } from "./field";
import { Fold } from "./fold";
import { TagInput } from "./tag_input";
import { Conflict, useTyped } from "./typed";
import { useAction } from "./use_action";

const LinkExtras = lazy(() => import("./link_extras"), 4);
const QrDesigner = lazy(async () => ({ default: (await import("./qr_designer")).QrDesigner }), 6);

type RedirectStatus = Schemas["RedirectStatus"];

export interface Draft {
  original_url: string;
  /** The address as it was when its field was last left. */
  settled_url: string;
  /** As the fields of the campaign show it. original_url has it too, except while it is empty or being typed. */
  utm: Utm;
  slug: string;
  title: string;
  tags: string[];
  notes: string;
  redirect_status: RedirectStatus;
  /** As <input type=datetime-local> has them, in the zone of the account. */
  starts: string;
  expires: string;
  expired_url: string;
  extras: Extras;
}

const inputOf = (time: string | null | undefined) => (time ? toLocalInput(time) : "");

/** An unchanged time keeps its seconds. */
function timeOf(input: string, last: string | null | undefined): string | null {
  if (input === inputOf(last)) return last ?? null;
  return input === "" ? null : fromLocalInput(input);
}

function draftOf(link: Link | null): Draft {
  return {
    original_url: link?.original_url ?? "",
    settled_url: link?.original_url ?? "",
    utm: utmOf(link?.original_url ?? ""),
    slug: link?.slug ?? "",
    title: link?.title ?? "",
    tags: link?.tags ?? [],
    notes: link?.notes ?? "",
    redirect_status: link?.redirect_status ?? 302,
    starts: inputOf(link?.starts_at),
    expires: inputOf(link?.expires_at),
    expired_url: link?.expired_url ?? "",
    extras: extrasOf(link),
  };
}

function settle(draft: Draft): Draft {
  const { url, utm } = settleUtm(draft.settled_url, draft.original_url, draft.utm);
  return { ...draft, original_url: url, settled_url: url, utm };
}

function bodyOf(draft: Draft, first: Draft, link: Link | null) {
  const expires_at = timeOf(draft.expires, link?.expires_at);
  return {
    original_url: normalizeUrl(draft.original_url),
    title: draft.title,
    tags: draft.tags,
    ...(link?.notes === null ? {} : { notes: draft.notes }),
    redirect_status: draft.redirect_status,
    starts_at: timeOf(draft.starts, link?.starts_at),
    ...(link?.state === "expired" && expires_at === link.expires_at ? {} : { expires_at }),
    expired_url: draft.expired_url === "" ? null : normalizeUrl(draft.expired_url),
    ...(draft.slug === (link?.slug ?? "") ? {} : { slug: draft.slug }),
    ...extrasBody(draft.extras, first.extras),
  };
}

/** What decides where the link leads, as the form has it. */
export function waysOf(draft: Draft, link: Link | null): Ways {
  const { original_url, starts, expires, expired_url, extras } = draft;
  return {
    original_url: normalizeUrl(original_url),
    rules: rulesBody(extras.rules),
    split: splitBody(extras) as Ways["split"],
    starts_at: timeOf(starts, link?.starts_at),
    expires_at: timeOf(expires, link?.expires_at),
    expired_url: expired_url === "" ? null : normalizeUrl(expired_url),
    max_visits: Number(extras.max_visits) || null,
    forward_query: extras.forward_query,
  };
}

async function save(draft: Draft, first: Draft, link: Link | null): Promise<Link> {
  const body = bodyOf(draft, first, link);
  if (link) {
    const header = { "If-Match": `"v${link.version}"` };
    return (await unwrap(api.PATCH("/api/links/{id}", { params: { path: { id: link.id }, header }, body }))).link;
  }
  const header = { "Idempotency-Key": newIdempotencyKey() };
  return (await unwrap(api.POST("/api/links", { params: { header }, body }))).link;
}

type Change = (part: Partial<Draft>) => void;

type UtmTemplate = Schemas["UtmTemplates"]["templates"][number];

/** The workspace's templates. One fills in what it has, and keeps what was typed elsewhere; what the fields say becomes one. */
function UtmTemplates({ utm, onPick }: { utm: Utm; onPick: (fields: Partial<Utm>) => void }) {
  const [name, setName] = useState("");
  const { error, isBusy, run } = useAction();
  const { data, reload } = useQuery("utm", (signal) => unwrap(api.GET("/api/utm-templates", { signal })));
  const templates = data?.templates ?? [];
  const filled = (from: Utm) => Object.fromEntries(UTM_FIELDS.flatMap((field) => (from[field] ? [[field, from[field]]] : []))) as Partial<Utm>;
  const current = templates.find((each) => UTM_FIELDS.every((field) => each[field] === utm[field]));
  const canSave = name.trim() !== "" && Object.values(utm).some(Boolean) && !isBusy;
  const put = (template: string, fields: Utm) =>
    void run(async () => {
      await unwrap(api.PUT("/api/utm-templates/{name}", { params: { path: { name: template } }, body: filled(fields) }));
      setName("");
      reload();
    });
  const remove = (template: UtmTemplate) =>
    void run(async () => {
      await unwrap(api.DELETE("/api/utm-templates/{name}", { params: { path: { name: template.name } } }));
      setName(template.name); // the fields still have the rest of it, so that it can be saved again
      reload();
    });
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter") return;
    event.preventDefault(); // it would send the form around it
    if (canSave) put(name.trim(), utm);
  };
  return (
    <>
      {templates.length > 0 && (
        <div class="field-act">
          <SelectField label={t("utm.template")} value={current?.name ?? ""} options={[["", t("bulk.choose")], ...templates.map((each) => [each.name, each.name] as const)]} onChange={(chosen) => onPick(filled(templates.find((each) => each.name === chosen) ?? utm))} />
          {current && (
            <button type="button" class="button" onClick={() => remove(current)}>
              {t("utm.template.delete")}
            </button>
          )}
        </div>
      )}
      <div class="field-act" onKeyDown={onKeyDown}>
        <TextField label={t("utm.template.name")} maxLength={50} autocomplete="off" value={name} onInput={setName} />
        <button type="button" class="button" disabled={!canSave} onClick={() => put(name.trim(), utm)}>
          {t("utm.template.save")}
        </button>
      </div>
      {error && <ErrorBox error={error} />}
    </>
  );
}

function UtmBuilder({ draft, change }: { draft: Draft; change: Change }) {
  const set = (fields: Partial<Utm>) => {
    const write = (url: string, [field, value]: [string, string]) => withUtm(url, field as UtmField, value);
    const { original_url, utm } = settle(draft);
    const url = original_url.trim() === "" ? "" : Object.entries(fields).reduce(write, original_url);
    change({ utm: { ...utm, ...fields }, original_url: url, settled_url: url });
  };
  return (
    <Fold icon="campaign" title={t("utm.title")} summary={Object.values(draft.utm).filter(Boolean).join(" · ")}>
      <p class="hint">{t("utm.hint")}</p>
      <div class="field-grid">
        {UTM_FIELDS.map((field) => (
          <TextField key={field} label={t(`dimension.${field}`)} value={draft.utm[field]} autocomplete="off" onInput={(value) => set({ [field]: value })} />
        ))}
      </div>
      <UtmTemplates utm={draft.utm} onPick={set} />
    </Fold>
  );
}

/** Where the name of a short link goes: "go.example/". */
const baseOf = (link: Link | null): string => (link ? hostAndSlug(link.short_url).slice(0, -link.slug.length) : `${hostAndSlug(shortBase())}/`);

const FIELDS = {
  original_url: "destination", slug: "slug", title: "title", tags: "tags", notes: "notes", redirect_status: "redirect", starts: "starts", expires: "expires", expired_url: "expired.url", extras: "conflict.extras",
} satisfies Partial<Record<keyof Draft, Key>>;

/** A field as two versions of it are compared. */
function show(draft: Draft, field: keyof typeof FIELDS): string {
  const value = draft[field];
  if (field === "extras") return [...draft.extras.rules.map((rule) => rule.name), ...draft.extras.variants.map((variant) => variant.name), draft.extras.max_visits, draft.extras.preview_title].filter(Boolean).join(", ");
  if (Array.isArray(value)) return value.join(", ");
  const text = String(value);
  return field.endsWith("url") ? readableUrl(text) : field === "starts" || field === "expires" ? text.replace("T", " ") : text;
}

const ASK_MS = 300;

/** Whether a link can have this slug, asked while it is typed: one request at a time, and none while somebody types on. */
function useSlugState(slug: string, link: Link | null): "own" | Schemas["SlugState"]["state"] | undefined {
  const [answer, setAnswer] = useState<Schemas["SlugState"] & { asked: string }>();
  const isAsked = slug !== "" && slug !== link?.slug;
  useEffect(() => {
    if (!isAsked) return;
    const controller = new AbortController();
    const ask = () => unwrap(api.GET("/api/slugs/{slug}", { params: { path: { slug } }, signal: controller.signal }));
    // What cannot be asked now is said when the form is sent.
    const timer = setTimeout(() => ask().then((state) => setAnswer({ ...state, asked: slug }), () => {}), ASK_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [slug, isAsked]);
  return isAsked && answer?.asked === slug ? (answer.link_id && answer.link_id === link?.id ? "own" : answer.state) : undefined;
}

function SlugField({ link, draft, error, change }: { link: Link | null; draft: Draft; error: ApiError | undefined; change: Change }) {
  const isTaken = error?.problem?.errors?.[0]?.code === "slug-taken";
  const refused = useRef({ error, slug: "" });
  if (refused.current.error !== error) refused.current = { error, slug: draft.slug };
  const isRefused = error?.fields.slug !== undefined && refused.current.slug === draft.slug;
  const state = useSlugState(draft.slug, link);
  const id = useId();
  const isWrong = state && state !== "free" && state !== "own";
  return (
    <Field label={t("slug")} hint={link ? t("slug.change.hint") : draft.slug ? undefined : t("slug.hint")} error={isTaken ? t("slug.taken") : error?.fields.slug}>
      {(control) => (
        <>
          <div class="input affix">
            <span class="muted" translate={false}>
              {baseOf(link)}
            </span>
            <input required={link !== null} pattern="[A-Za-z0-9_\-]([A-Za-z0-9_.\-]{0,98}[A-Za-z0-9_\-])?" title={t("error.slug")} maxLength={100} autocomplete="off" autocapitalize="off" spellcheck={false} placeholder={link ? undefined : t("slug.random")} value={draft.slug} onInput={(event) => change({ slug: event.currentTarget.value })} {...control} {...(isWrong && { "aria-invalid": true, "aria-describedby": id })} />
          </div>
          {!isRefused && (
            <p role="status" id={id} class={isWrong ? "field-error" : "hint"}>
              {state && t(`slug.is.${state}`)}
            </p>
          )}
        </>
      )}
    </Field>
  );
}

/** How a messenger shows the link, as far as it is known. */
function PreviewCard({ draft, base }: { draft: Draft; base: string }) {
  const { preview_title, preview_description, preview_image_url } = draft.extras;
  return (
    <div class="card preview-card">
      {preview_image_url && <div class="preview-image muted ellipsis">{readableUrl(preview_image_url)}</div>}
      <p class="hint" translate={false}>
        {base.replace(/\/$/, "")}
      </p>
      <p class="strong">{preview_title || draft.title || t("preview.of.page")}</p>
      {preview_description && <p class="hint">{preview_description}</p>}
    </div>
  );
}

/** Puts the title of the page into the field as long as nobody has typed there, if the operator allows it. What fails is not said. */
function usePageTitle(setDraft: (next: (last: Draft) => Draft) => void) {
  const field = useRef({ filled: "", isTyped: false }).current;
  const isFree = (draft: Draft) => !field.isTyped && draft.title === field.filled;
  const fillTitle = (draft: Draft) => {
    const url = normalizeUrl(draft.original_url);
    if (!isFree(draft)) return;
    void pageTitle(url).then((title) =>
      setDraft((last) => {
        if (!isFree(last) || normalizeUrl(last.original_url) !== url) return last;
        field.filled = title;
        return { ...last, title };
      }),
    );
  };
  return { fillTitle, noteTyping: () => (field.isTyped = true) };
}

interface Props {
  /** null: a new link. */
  link: Link | null;
  /** What a new link begins with. */
  from?: Link;
  onSaved: (link: Link) => void;
  onClose: () => void;
}

export function LinkForm({ link: opened, from, onSaved, onClose }: Props) {
  const [link, setLink] = useState(opened);
  const typed = useTyped<Draft>({ name: opened?.id ?? "new", first: () => draftOf(opened), from: from && { ...draftOf(from), slug: "" }, keep: (draft) => ({ ...draft, extras: { ...draft.extras, password: undefined } }), onClose });
  const { draft, setDraft, first, isChanged } = typed;
  const [theirs, setTheirs] = useState<Link | null>(isSame(typed.base, first) ? null : opened);
  const { error: refused, isBusy, run, forget } = useAction();
  /** What a try was refused for, before the form was sent. */
  const [tried, setTried] = useState<ApiError>();
  const error = tried ?? refused;
  /** Its box goes with the next change; each field keeps its mark until it is changed itself. */
  const [seen, setSeen] = useState<ApiError>();
  const { fillTitle, noteTyping } = usePageTitle(setDraft);
  const change = (part: Partial<Draft>) => {
    setDraft((last) => ({ ...last, ...part }));
    setSeen(error);
  };
  const changeExtras = (part: Partial<Extras>) => {
    setDraft((last) => ({ ...last, extras: { ...last.extras, ...part } }));
    setSeen(error);
  };
  const send = (now: Draft, base: Draft, target: Link | null) =>
    void run(async () => {
      try {
        const saved = await save(settle(now), base, target);
        typed.finish();
        onSaved(saved);
      } catch (cause) {
        if (!target || asApiError(cause).kind !== "stale") throw cause;
        setTheirs((await unwrap(api.GET("/api/links/{id}", { params: { path: { id: target.id } } }))).link);
      }
    });
  const submit = (event: Event) => {
    event.preventDefault();
    setTried(undefined);
    send(draft, first, link);
  };
  const merge = (merged: Draft, current: Link) => {
    const base = draftOf(current);
    const { settled_url, utm } = merged.original_url === draft.original_url ? draft : base;
    setLink(current);
    typed.setFirst(base);
    setDraft({ ...merged, settled_url, utm });
    setTheirs(null);
    send({ ...merged, settled_url, utm }, base, current);
  };
  const base = baseOf(link);
  const isFinal = link !== null && draft.slug === link.slug;
  return (
    <>
      <Dialog look="editor" title={link ? t("link.edit", { url: hostAndSlug(link.short_url) }) : t("link.new")} onClose={typed.close}>
        <form class="editor-form" onSubmit={submit}>
          <div class="editor-main form">
            {error && error !== seen && <ErrorBox error={error} />}
            {typed.note}
            <TextField label={t("destination")} inputMode="url" autocomplete="off" required autofocus placeholder={t("example.url")} value={draft.original_url} error={error?.fields.original_url} onInput={(original_url) => change({ original_url })} onChange={() => (setDraft(settle), fillTitle(draft))} />
            {link?.link_type !== "temporary" && <SlugField link={link} draft={draft} error={error} change={change} />}
            <div class="field-row">
              <TextField label={t("title")} maxLength={200} autocomplete="off" value={draft.title} error={error?.fields.title} onInput={(title) => (noteTyping(), change({ title }))} />
              <TagInput label={t("tags")} error={error?.fields.tags} tags={draft.tags} onChange={(tags) => change({ tags })} />
            </div>
            <div class="folds">
              <UtmBuilder draft={draft} change={change} />
              <LinkExtras link={link} draft={draft} error={error} change={change} changeExtras={changeExtras} onError={(fault) => (forget(), setTried(fault))} />
            </div>
          </div>
          <aside class="editor-side" aria-label={t("qr.title")}>
            <h3>{t("qr.title")}</h3>
            {draft.slug === "" && <p class="hint">{t("qr.later")}</p>}
            <div class={draft.slug === "" ? "qr-sample" : undefined}>
              <QrDesigner url={isFinal && link ? link.short_url : `${shortBase()}/${draft.slug}`} name={draft.slug} isDraft={!isFinal} />
            </div>
            <h3>{t("preview.shown")}</h3>
            <PreviewCard draft={draft} base={base} />
          </aside>
          <footer class="dialog-foot editor-foot">
            {isChanged && <span class="hint editor-note">{t("draft.kept")}</span>}
            <button type="button" class="button" onClick={typed.close}>
              {t("cancel")}
            </button>
            <SubmitButton isBusy={isBusy}>{link ? t("save") : t("link.create")}</SubmitButton>
          </footer>
        </form>
      </Dialog>
      {theirs && <Conflict base={typed.base} mine={draft} theirs={draftOf(theirs)} fields={FIELDS} show={show} onMerged={(merged) => merge(merged as Draft, theirs)} onClose={() => setTheirs(null)} />}
      {typed.question}
    </>
  );
}
