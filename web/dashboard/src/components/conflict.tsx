import { useState } from "preact/hooks";
import { type Key, t } from "../i18n";
import { isSame } from "../lib/drafts";
import { Dialog } from "./dialog";

interface Props<T, F extends keyof T & string> {
  /** What both began with. */
  base: T;
  mine: T;
  theirs: T;
  /** Those that can differ, with their labels. */
  fields: Record<F, Key>;
  show: (version: T, field: F) => string;
  /** Mine, with the fields that were chosen. */
  onMerged: (merged: T) => void;
  onClose: () => void;
}

/** Somebody else saved meanwhile: both versions side by side, and a choice for each field in which they differ. */
export function Conflict<T, F extends keyof T & string>({ base, mine, theirs, fields, show, onMerged, onClose }: Props<T, F>) {
  const names = Object.keys(fields) as F[];
  const differing = names.filter((field) => !isSame(mine[field], theirs[field]));
  // What only one of the two has changed is theirs or mine without a question.
  const [isMine, setMine] = useState<Partial<Record<F, boolean>>>(() => Object.fromEntries(differing.map((field) => [field, !isSame(mine[field], base[field])])) as Partial<Record<F, boolean>>);
  const asked = differing.filter((field) => !isSame(mine[field], base[field]) && !isSame(theirs[field], base[field]));
  const submit = (event: Event) => {
    event.preventDefault();
    onMerged({ ...mine, ...Object.fromEntries(names.map((field) => [field, (isMine[field] ? mine : theirs)[field]])) });
  };
  return (
    <Dialog isWide title={t("conflict.title")} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <p>{t(asked.length > 0 ? "conflict.text" : "conflict.none")}</p>
        <table class="table conflict" hidden={differing.length === 0}>
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
                <th scope="row">{t(fields[field])}</th>
                {[true, false].map((side) => (
                  <td key={String(side)}>
                    <label class="check">
                      <input type="radio" name={field} checked={Boolean(isMine[field]) === side} onChange={() => setMine({ ...isMine, [field]: side })} />
                      <span>{show(side ? mine : theirs, field) || "–"}</span>
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
