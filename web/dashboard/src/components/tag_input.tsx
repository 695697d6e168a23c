import { useId, useState } from "preact/hooks";
import { t } from "../i18n";
import { Field } from "./field";
import { Dotted } from "./tag_chip";

const knownTags = new Set<string>();

/** Tags that the user has seen on this page view are suggested. */
export function rememberTags(tags: readonly string[]): void {
  for (const tag of tags) knownTags.add(tag);
}

export const rememberedTags = (): string[] => [...knownTags].sort();

interface Props {
  label: string;
  hint?: string;
  error?: string;
  autofocus?: boolean;
  tags: string[];
  onChange: (tags: string[]) => void;
}

/** Enter or a comma adds the tag that is written, Backspace removes the last one. */
export function TagInput({ label, hint, error, autofocus, tags, onChange }: Props) {
  const [draft, setDraft] = useState("");
  const list = useId();

  const add = (text: string) => {
    const added = text.split(",").map((tag) => tag.trim()).filter((tag) => tag !== "" && !tags.includes(tag));
    if (added.length > 0) onChange([...tags, ...new Set(added)]);
    setDraft("");
  };

  const onKeyDown = (event: KeyboardEvent) => {
    if ((event.key === "Enter" || event.key === ",") && draft.trim() !== "") {
      event.preventDefault();
      add(draft);
    } else if (event.key === "Backspace" && draft === "") {
      onChange(tags.slice(0, -1));
    }
  };

  /** Another row of tags could move what is being pressed away from under the pointer, so the click comes first. A button may need the tag. */
  const onBlur = () => {
    if (draft === "") return;
    if (!document.querySelector(":active")) return add(draft);
    const onClick = (event: Event) => (event.target instanceof Element && event.target.closest("button") ? add(draft) : void setTimeout(() => add(draft)));
    addEventListener("click", onClick, { once: true, capture: true });
  };

  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => (
        <div class="tag-input">
          {tags.map((tag) => (
            <span class="tag" key={tag}>
              <Dotted tag={tag} />
              <button type="button" aria-label={t("tag.remove", { tag })} onClick={() => onChange(tags.filter((each) => each !== tag))}>
                ×
              </button>
            </span>
          ))}
          <input value={draft} list={list} autocomplete="off" autofocus={autofocus} onInput={(event) => setDraft(event.currentTarget.value)} onKeyDown={onKeyDown} onBlur={onBlur} {...control} />
          <datalist id={list}>
            {rememberedTags().filter((tag) => !tags.includes(tag)).map((tag) => <option value={tag} key={tag} />)}
          </datalist>
        </div>
      )}
    </Field>
  );
}
