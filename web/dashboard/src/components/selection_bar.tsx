import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Link } from "../api/client";
import { useMoveTargets } from "../app/session";
import { homeToasts } from "../app/toasts";
import { t, tn } from "../i18n";
import { formatCount } from "../lib/format";
import { lazy } from "../lib/lazy";
import { useLeaving } from "../lib/leave";
import { changeTags, moveLinks, remove, restore, setStates } from "../lib/link_actions";
import { Dialog, DialogFoot } from "./dialog";
import { ErrorBox } from "./feedback";
import { SelectField, SubmitButton } from "./field";
import { Icon, type IconName } from "./icons";
import { TagInput } from "./tag_input";
import { useAction } from "./use_action";

const BulkEdit = lazy(() => import("./bulk_edit"), 0);

interface LinksDialogProps {
  links: Link[];
  onClose: () => void;
  onDone: () => void;
}

/** Tags to add to the links, and those that they have to remove from them. */
function TagsDialog({ links, onClose, onDone }: LinksDialogProps) {
  const [added, setAdded] = useState<string[]>([]);
  const [removed, setRemoved] = useState<string[]>([]);
  const present = [...new Set(links.flatMap((link) => link.tags))].sort();
  const submit = (event: Event) => {
    event.preventDefault();
    void changeTags(links, added, removed, onDone).then(onClose);
  };
  return (
    <Dialog title={tn("tags.change", links.length)} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <TagInput autofocus label={t("tags.add")} hint={t("tags.hint")} tags={added} onChange={setAdded} />
        {present.length > 0 && (
          <fieldset class="fieldset">
            <legend>{t("tags.remove")}</legend>
            {present.map((tag) => (
              <label class="check" key={tag}>
                <input type="checkbox" checked={removed.includes(tag)} onChange={(event) => setRemoved(event.currentTarget.checked ? [...removed, tag] : removed.filter((each) => each !== tag))} />
                {tag} <span class="muted">{tn("tag.links", links.filter((link) => link.tags.includes(tag)).length)}</span>
              </label>
            ))}
          </fieldset>
        )}
        <DialogFoot onClose={onClose}>
          <button type="submit" class="button button-primary">
            {t("save")}
          </button>
        </DialogFoot>
      </form>
    </Dialog>
  );
}

/** Moves the links to another workspace in which the person may edit. */
export function MoveDialog({ links, onClose, onDone }: LinksDialogProps) {
  const targets = useMoveTargets();
  const [target, setTarget] = useState(String(targets[0]?.id));
  const { error, isBusy, run } = useAction();
  const name = targets.find((each) => String(each.id) === target)?.name ?? "";
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      await moveLinks(links, Number(target), name, onDone);
      onClose();
    });
  };
  return (
    <Dialog title={tn("move", links.length)} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        {error && <ErrorBox error={error} />}
        <SelectField label={t("move.to")} value={target} options={targets.map((each) => [String(each.id), each.name] as const)} onChange={setTarget} />
        <p>{t("move.text", { name })}</p>
        <DialogFoot onClose={onClose}>
          <SubmitButton isBusy={isBusy}>{t("move.action")}</SubmitButton>
        </DialogFoot>
      </form>
    </Dialog>
  );
}

interface SelectionProps {
  links: Link[];
  /** How many match, if there are more than those of the page, and all of these are chosen. */
  all?: number;
  onAll: () => void;
  onClear: () => void;
  /** deleted: they were, and are so now. */
  onDone: (deleted?: Link[]) => void;
}

/** What can be done with the links that are chosen. It lies above the list, so that nothing moves. */
export default function SelectionBar({ links, all, onAll, onClear, onDone }: SelectionProps) {
  const root = useRef<HTMLDivElement>(null);
  useLeaving(root);
  useLayoutEffect(() => {
    homeToasts();
    return () => queueMicrotask(homeToasts);
  }, []);
  const [isEditing, setEditing] = useState(false);
  const [isTagging, setTagging] = useState(false);
  const [isMoving, setMoving] = useState(false);
  const targets = useMoveTargets();
  const act = (text: string, icon: IconName, run: () => void, look = "") => (
    <button type="button" class={`button button-quiet ${look}`} aria-label={text} onClick={run}>
      <Icon name={icon} /> <span>{text}</span>
    </button>
  );
  return (
    <div ref={root} class="selection-bar" role="region" aria-label={t("selection")}>
      <p>
        <strong>{tn("selected", links.length)}</strong>
        {all !== undefined && (
          <button type="button" class="button button-quiet" onClick={onAll}>
            {t("select.matching", { count: formatCount(all) })}
          </button>
        )}
      </p>
      {links.every((link) => link.state === "deleted") ? (
        act(t("restore"), "undo", () => void restore(links, onDone))
      ) : (
        <>
          {act(t("edit"), "edit", () => setEditing(true))}
          {act(t("tags"), "tag", () => setTagging(true))}
          {act(t("enable"), "play", () => void setStates(links, "active", onDone))}
          {act(t("disable"), "pause", () => void setStates(links, "disabled", onDone))}
          {targets.length > 0 && act(t("move.action"), "external", () => setMoving(true))}
          {act(t("delete"), "trash", () => void remove(links, onDone), "button-danger")}
        </>
      )}
      <button type="button" class="icon-button" aria-label={t("cancel")} title={t("cancel")} onClick={onClear}>
        <Icon name="close" />
      </button>
      {isEditing && <BulkEdit links={links} onClose={() => setEditing(false)} onDone={onDone} />}
      {isTagging && <TagsDialog links={links} onClose={() => setTagging(false)} onDone={onDone} />}
      {isMoving && <MoveDialog links={links} onClose={() => setMoving(false)} onDone={onDone} />}
    </div>
  );
}
