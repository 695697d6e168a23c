import { useState } from "preact/hooks";
import { type Key, t } from "../i18n";
import { readableUrl } from "../lib/format";
import { Dialog } from "./dialog";
import type { Draft } from "./link_form";

type Field = Exclude<keyof Draft, "settled_url" | "utm">;
const FIELDS: Record<Field, Key> = {
  original_url: "destination", slug: "slug", title: "title", tags: "tags", notes: "notes", redirect_status: "redirect", starts: "starts", expires: "expires", expired_url: "expired.url", extras: "conflict.extras",
};

const same = (one: unknown, other: unknown) => JSON.stringify(one, (key, value) => (key === "key" ? undefined : value)) === JSON.stringify(other, (key, value) => (key === "key" ? undefined : value));

function show(field: Field, draft: Draft): string {
  const value = draft[field];
  if (field === "extras") return [...draft.extras.rules.map((rule) => rule.name), ...draft.extras.variants.map((variant) => variant.name), draft.extras.max_visits, draft.extras.preview_title].filter(Boolean).join(", ") || "–";
  if (Array.isArray(value)) return value.join(", ") || "–";
  const text = String(value);
  return (field.endsWith("url") ? readableUrl(text) : field === "starts" || field === "expires" ? text.replace("T", " ") : text) || "–";
}

interface Props {
  /** What both began with. */
  base: Draft;
  mine: Draft;
  theirs: Draft;
  onMerged: (draft: Draft) => void;
  onClose: () => void;
}

/** Somebody else saved meanwhile: both versions side by side, and a choice for each field in which they differ. */
export function Conflict({ base, mine, theirs, onMerged, onClose }: Props) {
  const names = Object.keys(FIELDS) as Field[];
  const differing = names.filter((field) => !same(mine[field], theirs[field]));
  // What only one of the two has changed is theirs or mine without a question.
  const [isMine, setMine] = useState<Partial<Record<Field, boolean>>>(() => Object.fromEntries(differing.map((field) => [field, !same(mine[field], base[field])])));
  const asked = differing.filter((field) => !same(mine[field], base[field]) && !same(theirs[field], base[field]));
  const submit = (event: Event) => {
    event.preventDefault();
    const chosen = Object.fromEntries(names.map((field) => [field, (isMine[field] ? mine : theirs)[field]])) as unknown as Draft;
    const address = isMine.original_url ? mine : theirs;
    onMerged({ ...chosen, settled_url: address.settled_url, utm: address.utm });
  };
  return (
    <Dialog isWide title={t("conflict.title")} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <p>{t(asked.length > 0 ? "conflict.text" : "conflict.none")}</p>
        <table class="table conflict">
          <thead>
            <tr>
              <td />
              <th scope="col">{t("conflict.mine")}</th>
              <th scope="col">{t("conflict.theirs")}</th>
            </tr>
          </thead>
          <tbody>
            {differing.map((field) => (
              <tr key={field}>
                <th scope="row">{t(FIELDS[field])}</th>
                {[true, false].map((side) => (
                  <td key={String(side)}>
                    <label class="check">
                      <input type="radio" name={field} checked={Boolean(isMine[field]) === side} onChange={() => setMine({ ...isMine, [field]: side })} />
                      <span>{show(field, side ? mine : theirs)}</span>
                    </label>
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
        <footer class="dialog-foot">
          <button type="button" class="button" onClick={onClose}>
            {t("cancel")}
          </button>
          <button type="submit" class="button button-primary">
            {t("conflict.save")}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
