import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { api, type ApiError, type Link, newIdempotencyKey, type Schemas, unwrap } from "../api/client";
import { currentZone } from "../app/settings";
import { t } from "../i18n";
import { type Extras, extrasBody, extrasOf } from "../lib/extras";
import { hostAndSlug } from "../lib/format";
import { lazy } from "../lib/lazy";
import { normalizeUrl, settleUtm, UTM_FIELDS, type Utm, type UtmField, utmOf, withUtm } from "../lib/urls";
import { fromLocalInput, toLocalInput } from "../lib/zone";
import { Confirm, Dialog } from "./dialog";
import { ErrorBox } from "./feedback";
import { Field, SelectField, SubmitButton, TextField } from "./field";
import { TagInput } from "./tag_input";
import { useAction } from "./use_action";

const LinkExtras = lazy(() => import("./link_extras"), 6);

type RedirectStatus = Schemas["RedirectStatus"];

interface Draft {
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

async function save(draft: Draft, first: Draft, link: Link | null): Promise<Link> {
  const body = bodyOf(draft, first, link);
  if (link) {
    const header = { "If-Match": `"v${link.version}"` };
    return (await unwrap(api.PATCH("/api/links/{id}", { params: { path: { id: link.id }, header }, body }))).link;
  }
  const header = { "Idempotency-Key": newIdempotencyKey() };
  return (await unwrap(api.POST("/api/links", { params: { header }, body }))).link;
}

/** A part of a form. It opens for a field that the browser refuses, and never folds by itself. */
function Section({ title, isOpen, children }: { title: string; isOpen: boolean; children: ComponentChildren }) {
  const [open] = useState(isOpen);
  return (
    <details class="disclosure" open={open} onInvalidCapture={(event) => (event.currentTarget.open = true)}>
      <summary>{title}</summary>
      {children}
    </details>
  );
}

function UtmBuilder({ draft, change }: { draft: Draft; change: (part: Partial<Draft>) => void }) {
  const set = (field: UtmField, value: string) => {
    const url = draft.original_url.trim() === "" ? "" : withUtm(draft.original_url, field, value);
    change({ utm: { ...draft.utm, [field]: value }, original_url: url, settled_url: url });
  };
  return (
    <Section title={t("utm.title")} isOpen={Object.values(draft.utm).some((value) => value !== "")}>
      <p class="hint">{t("utm.hint")}</p>
      <div class="field-grid">
        {UTM_FIELDS.map((field) => (
          <TextField key={field} label={t(`dimension.${field}`)} value={draft.utm[field]} autocomplete="off" onInput={(value) => set(field, value)} />
        ))}
      </div>
    </Section>
  );
}

function More({ draft, change, error }: { draft: Draft; change: (part: Partial<Draft>) => void; error: ApiError | undefined }) {
  const statuses = [302, 301, 307, 308].map((status) => [String(status), `${status} – ${t(`status.${status as 301}`)}`] as const);
  return (
    <Section title={t("link.more")} isOpen={draft.starts !== "" || draft.expires !== "" || draft.redirect_status !== 302}>
      <div class="field-row">
        <TextField label={t("starts")} hint={t("starts.hint", { zone: currentZone() })} type="datetime-local" value={draft.starts} error={error?.fields.starts_at} onInput={(starts) => change({ starts })} />
        <TextField label={t("expires")} hint={`${t("expires.hint", { zone: currentZone() })} ${t("expires.deleted")}`} type="datetime-local" value={draft.expires} error={error?.fields.expires_at} onInput={(expires) => change({ expires })} />
      </div>
      <SelectField label={t("redirect")} hint={t("redirect.hint")} value={String(draft.redirect_status)} options={statuses} onChange={(status) => change({ redirect_status: Number(status) as RedirectStatus })} />
      <TextField label={t("expired.url")} hint={t("expired.hint")} inputMode="url" autocomplete="off" value={draft.expired_url} error={error?.fields.expired_url} onInput={(expired_url) => change({ expired_url })} />
    </Section>
  );
}

interface Props {
  /** null: a new link. */
  link: Link | null;
  onSaved: (link: Link) => void;
  onClose: () => void;
}

export function LinkForm({ link, onSaved, onClose }: Props) {
  const [first] = useState(() => draftOf(link));
  const [draft, setDraft] = useState(first);
  const [isLeaving, setLeaving] = useState(false);
  const { error, isBusy, run } = useAction();
  const change = (part: Partial<Draft>) => setDraft((last) => ({ ...last, ...part }));

  const close = () => (JSON.stringify(draft) === JSON.stringify(first) ? onClose() : setLeaving(true));
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => onSaved(await save(settle(draft), first, link)));
  };

  return (
    <>
      <Dialog isSheet title={link ? t("link.edit", { url: hostAndSlug(link.short_url) }) : t("link.create")} onClose={close}>
        <form class="form" onSubmit={submit}>
          {error && <ErrorBox error={error} />}
          <TextField label={t("destination")} inputMode="url" autocomplete="off" required autofocus placeholder={t("example.url")} value={draft.original_url} error={error?.fields.original_url} onInput={(original_url) => change({ original_url })} onChange={() => setDraft(settle)} />
          {link?.link_type !== "temporary" && (
            <TextField label={t("slug")} hint={link ? t("slug.change.hint") : t("slug.hint")} required={link !== null} pattern="[A-Za-z0-9_\-]([A-Za-z0-9_.\-]{0,98}[A-Za-z0-9_\-])?" title={t("error.slug")} maxLength={100} autocomplete="off" autocapitalize="off" spellcheck={false} value={draft.slug} error={error?.problem?.errors?.[0]?.code === "slug-taken" ? t("slug.taken") : error?.fields.slug} onInput={(slug) => change({ slug })} />
          )}
          <TextField label={t("title")} hint={t("optional")} maxLength={200} autocomplete="off" value={draft.title} error={error?.fields.title} onInput={(title) => change({ title })} />
          <TagInput label={t("tags")} hint={t("tags.hint")} error={error?.fields.tags} tags={draft.tags} onChange={(tags) => change({ tags })} />
          {link?.notes !== null && (
            <Field label={t("notes")} hint={t("notes.hint")} error={error?.fields.notes}>
              {(control) => <textarea class="input notes" rows={2} maxLength={2000} value={draft.notes} onInput={(event) => change({ notes: event.currentTarget.value })} {...control} />}
            </Field>
          )}
          <UtmBuilder draft={draft} change={change} />
          <LinkExtras link={link} url={draft.original_url} extras={draft.extras} error={error} change={(part) => setDraft((last) => ({ ...last, extras: { ...last.extras, ...part } }))} />
          <More draft={draft} change={change} error={error} />
          <footer class="dialog-foot">
            <button type="button" class="button" onClick={close}>
              {t("cancel")}
            </button>
            <SubmitButton isBusy={isBusy}>{link ? t("save") : t("link.create")}</SubmitButton>
          </footer>
        </form>
      </Dialog>
      {isLeaving && <Confirm title={t("discard.title")} text={t("discard.text")} action={t("discard")} cancel={t("discard.not")} onConfirm={onClose} onClose={() => setLeaving(false)} />}
    </>
  );
}
