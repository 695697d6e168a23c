import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Link } from "../api/client";
import { currentZone } from "../app/settings";
import { t, tn } from "../i18n";
import { formatTime, hostAndSlug, readableUrl } from "../lib/format";
import { differs, editLinks, isChange, type LinkEdit } from "../lib/link_actions";
import { normalizeUrl, parseUrl } from "../lib/urls";
import { fromLocalInput } from "../lib/zone";
import { Dialog, DialogFoot } from "./dialog";
import { SelectField, TextField } from "./field";

const SHOWN = 50;
const KINDS = ["replace", "find", "expires", "starts"] as const;
type Kind = (typeof KINDS)[number];

/** What becomes of a link; undefined while the fields do not say it yet. */
function editOf(link: Link, kind: Kind, first: string, second: string): LinkEdit | undefined {
  if (kind === "replace") return first.trim() === "" ? undefined : { original_url: normalizeUrl(first) };
  if (kind === "find") return first === "" ? undefined : { original_url: link.original_url.replaceAll(first, second) };
  const time = first === "" ? null : fromLocalInput(first);
  return kind === "expires" ? { expires_at: time } : { starts_at: time };
}

function show(name: keyof LinkEdit, value: LinkEdit[keyof LinkEdit]): string {
  if (Array.isArray(value)) return value.join(", ");
  if (!value) return "–";
  if (name === "original_url") return readableUrl(value);
  if (name === "state") return t(`state.${value as "active"}`);
  return name === "title" ? value : formatTime(value);
}

/** What is different. */
function describe(link: Link, edit: LinkEdit): [before: string, after: string] {
  const names = (Object.keys(edit) as (keyof LinkEdit)[]).filter((name) => differs(link, edit, name));
  const join = (values: LinkEdit | Link) => names.map((name) => show(name, values[name] as LinkEdit[keyof LinkEdit])).join(" · ");
  return [join(link), join(edit)];
}

export interface Edit {
  link: Link;
  edit: LinkEdit;
  /** The destination would be no address. */
  isWrong: boolean;
}

interface EditsProps {
  title: string;
  edits: readonly Edit[];
  /** The fields that say what changes. */
  children?: ComponentChildren;
  onClose: () => void;
  onDone: () => void;
}

/** Changes of many links, of which all are checked and the first shown before they are made. The message afterwards undoes them. */
export function EditsDialog({ title, edits, children, onClose, onDone }: EditsProps) {
  const [done, setDone] = useState<number>();
  const wrong = edits.filter((each) => each.isWrong).length;
  const isBusy = done !== undefined;
  const submit = (event: Event) => {
    event.preventDefault();
    setDone(0);
    const chosen = new Map(edits.map(({ link, edit }) => [link, edit]));
    void editLinks([...chosen.keys()], (link) => chosen.get(link) ?? {}, onDone, () => setDone((count = 0) => count + 1)).then(onClose);
  };
  return (
    <Dialog isWide title={title} onClose={() => isBusy || onClose()}>
      <form class="form" onSubmit={submit}>
        {children}
        <p role="status" class={wrong > 0 ? "field-error" : "muted"}>
          {wrong > 0 ? tn("many.edit.wrong", wrong) : edits.length > 0 && tn("many.edit.count", edits.length)}
        </p>
        {edits.length > 0 && (
          <table class="table bulk-preview">
            <thead>
              <tr>
                <th scope="col">{t("link")}</th>
                <th scope="col">{t("many.edit.before")}</th>
                <th scope="col">{t("many.edit.after")}</th>
              </tr>
            </thead>
            <tbody>
              {edits.slice(0, SHOWN).map(({ link, edit, isWrong }) => {
                const [before, after] = describe(link, edit);
                return (
                  <tr key={link.id}>
                    <th scope="row">{hostAndSlug(link.short_url)}</th>
                    <td class="muted">{before}</td>
                    <td class={isWrong ? "field-error" : undefined}>{after}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        )}
        {edits.length > SHOWN && <p class="muted">{tn("bulk.more", edits.length - SHOWN)}</p>}
        {isBusy && <progress max={edits.length} value={done} aria-label={t("working")} />}
        <DialogFoot onClose={onClose} isBusy={isBusy}>
          <button type="submit" class="button button-primary" disabled={isBusy || edits.length === 0 || wrong > 0}>
            {isBusy ? t("working") : edits.length > 0 ? tn("many.edit.do", edits.length) : t("save")}
          </button>
        </DialogFoot>
      </form>
    </Dialog>
  );
}

interface Props {
  links: readonly Link[];
  onClose: () => void;
  onDone: () => void;
}

/** One change of many links, seen before it is made. */
export default function BulkEdit({ links, onClose, onDone }: Props) {
  const [kind, setKind] = useState<Kind>("replace");
  const [first, setFirst] = useState("");
  const [second, setSecond] = useState("");
  const isUrl = kind === "replace" || kind === "find";
  const edits = links.flatMap((link) => {
    const edit = editOf(link, kind, first, second);
    return edit && isChange(link, edit) ? [{ link, edit, isWrong: edit.original_url !== undefined && !parseUrl(edit.original_url) }] : [];
  });
  return (
    <EditsDialog title={tn("many.edit", links.length)} edits={edits} onClose={onClose} onDone={onDone}>
      <SelectField
        label={t("many.edit.what")}
        value={kind}
        options={KINDS.map((each) => [each, t(`many.edit.${each}`)] as const)}
        onChange={(next) => {
          setKind(next as Kind);
          setFirst("");
          setSecond("");
        }}
      />
      <div class="field-row">
        <TextField label={t(`many.edit.${kind}.first`)} hint={isUrl ? undefined : t("starts.zone", { zone: currentZone() })} type={isUrl ? "text" : "datetime-local"} autocomplete="off" autofocus required={isUrl} value={first} onInput={setFirst} />
        {kind === "find" && <TextField label={t("many.edit.find.second")} autocomplete="off" value={second} onInput={setSecond} />}
      </div>
    </EditsDialog>
  );
}
