import { useId, useState } from "preact/hooks";
import { t } from "../i18n";
import type { Subject } from "../lib/extras";
import { nameOf, suggestionsOf, valueOf } from "../lib/values";
import { Field } from "./field";

interface Props {
  subject: Subject;
  label: string;
  values: string[];
  error?: string | undefined;
  /** Without a value the form is not sent. */
  required?: boolean;
  onChange: (values: string[]) => void;
}

/** Texts, of which each can be typed as its name or as its code. What is neither is refused at once. */
export function ValuesField({ subject, label, values, error, required = false, onChange }: Props) {
  const [text, setText] = useState("");
  const [refused, setRefused] = useState("");
  const list = useId();
  const known = suggestionsOf(subject);
  const say = (input: HTMLInputElement, message: string) => {
    input.setCustomValidity(message);
    setRefused(message);
  };
  const add = (input: HTMLInputElement) => {
    if (input.value.trim() === "") return;
    const value = valueOf(subject, input.value, known);
    if (value === undefined) return say(input, t(subject === "country" ? "rule.no.country" : "rule.no.language", { text: input.value.trim() }));
    if (!values.includes(value)) onChange([...values, value]);
    setText("");
  };
  const onInput = (event: InputEvent & { currentTarget: HTMLInputElement }) => {
    say(event.currentTarget, "");
    setText(event.currentTarget.value);
    // A suggestion was chosen. Typed names wait: Niger may become Nigeria.
    if ((event.inputType ?? "insertReplacementText") === "insertReplacementText") add(event.currentTarget);
  };
  const onKeyDown = (event: KeyboardEvent & { currentTarget: HTMLInputElement }) => {
    if (event.key === "Enter" || (event.key === "," && text.trim() !== "")) {
      event.preventDefault();
      add(event.currentTarget);
    } else if (event.key === "Backspace" && text === "") {
      onChange(values.slice(0, -1));
    }
  };
  return (
    <Field label={label} error={refused || error}>
      {(control) => (
        <div class="tag-input">
          {values.map((value, at) => (
            <span class="tag" key={value}>
              {at > 0 && <span class="muted">{t("rule.or")}</span>} {nameOf(subject, value)}
              <button type="button" aria-label={t("tag.remove", { tag: nameOf(subject, value) })} onClick={() => onChange(values.filter((each) => each !== value))}>
                ×
              </button>
            </span>
          ))}
          <input value={text} list={list} autocomplete="off" required={required && values.length === 0} onInput={onInput} onKeyDown={onKeyDown} onBlur={(event) => add(event.currentTarget)} {...control} />
          <datalist id={list}>
            {known.filter((value) => !values.includes(value)).map((value) => (
              <option value={nameOf(subject, value)} key={value} />
            ))}
          </datalist>
        </div>
      )}
    </Field>
  );
}
