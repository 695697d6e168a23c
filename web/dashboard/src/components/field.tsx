import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { ApiError } from "../api/client";
import { t } from "../i18n";

interface FieldProps {
  label: string;
  hint?: string;
  error?: string;
  /** Renders the control, which must take id and aria attributes. */
  children: (control: ControlProps) => ComponentChildren;
}

export interface ControlProps {
  id: string;
  "aria-describedby"?: string;
  "aria-invalid"?: boolean;
}

/** A labelled control with a hint and its error, until what it says is changed. */
export function Field({ label, hint, error: refused, children }: FieldProps) {
  const id = useId();
  const changed = useRef<string | undefined>(undefined);
  if (!refused) changed.current = undefined;
  const error = refused === changed.current ? undefined : refused;
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  const control = { id, "aria-describedby": described || undefined, "aria-invalid": error ? true : undefined };
  return (
    // Before the control's own handler, after which the browser lets Preact render.
    <div class="field" onInputCapture={() => (changed.current = refused)}>
      <label for={id}>{label}</label>
      {children(control)}
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error && (
        <p class="field-error" id={`${id}-error`}>
          {error}
        </p>
      )}
    </div>
  );
}

interface InputProps {
  label: string;
  hint?: string;
  error?: string;
  value: string;
  onInput: (value: string) => void;
  /** When the value is complete: the field is left, or Enter pressed. */
  onChange?: () => void;
  type?: "text" | "email" | "password" | "number" | "date" | "datetime-local" | "time";
  inputMode?: "url";
  autocomplete?: string;
  autocapitalize?: string;
  autofocus?: boolean;
  spellcheck?: boolean;
  required?: boolean;
  placeholder?: string;
  pattern?: string;
  /** What the browser says if the pattern does not match. */
  title?: string;
  minLength?: number;
  maxLength?: number;
  min?: number;
  max?: number;
}

/** Without it, Chromium takes years of six digits, which no time of the API has. */
const LATEST: Record<string, string> = { date: "9999-12-31", "datetime-local": "9999-12-31T23:59" };

export function TextField({ label, hint, error, value, onInput, ...rest }: InputProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => <input max={LATEST[rest.type ?? ""]} {...(rest as object)} {...control} class="input" value={value} onInput={(event) => onInput(event.currentTarget.value)} />}
    </Field>
  );
}

/** A code of the second factor. */
export function CodeField({ value, hint = t("code.hint"), error, onInput }: { value: string; hint?: string; error?: ApiError; onInput: (value: string) => void }) {
  return <TextField label={t("code")} hint={hint} autocomplete="one-time-code" autocapitalize="off" spellcheck={false} maxLength={40} required value={value} error={error?.kind === "wrong-code" ? t("code.wrong") : error?.fields.code} onInput={onInput} />;
}

type SelectProps = {
  label: string;
  hint?: string;
  value: string;
  options: readonly (readonly [value: string, text: string])[];
  onChange: (value: string) => void;
  isLabelHidden?: boolean;
};

export function SelectField({ label, hint, value, options, onChange, isLabelHidden = false }: SelectProps) {
  const select = (control: Partial<ControlProps>) => (
    <select class="input select" value={value} aria-label={isLabelHidden ? label : undefined} onChange={(event) => onChange(event.currentTarget.value)} {...control}>
      {options.map(([each, text]) => (
        <option value={each} key={each} selected={each === value}>
          {text}
        </option>
      ))}
    </select>
  );
  if (isLabelHidden) return select({});
  return (
    <Field label={label} hint={hint}>
      {select}
    </Field>
  );
}

export function SubmitButton({ isBusy, children }: { isBusy: boolean; children: ComponentChildren }) {
  return (
    <button type="submit" class="button button-primary" disabled={isBusy}>
      {isBusy ? t("working") : children}
    </button>
  );
}

interface FilterProps {
  label: string;
  placeholder: string;
  value: string;
  onChange: (value: string) => void;
}

const SEARCH_DELAY_MS = 250;

/** Filters a list while somebody types. What they type stays when the list arrives meanwhile. */
export function FilterField({ label, placeholder, value, onChange }: FilterProps) {
  const [text, setText] = useState(value);
  const field = useRef<HTMLInputElement>(null);
  const timer = useRef(0);
  useEffect(() => {
    if (document.activeElement !== field.current) setText(value);
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const type = (next: string) => {
    setText(next);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => onChange(next.trim()), SEARCH_DELAY_MS);
  };
  return <input ref={field} class="input" aria-label={label} placeholder={placeholder} type="search" value={text} onInput={(event) => type(event.currentTarget.value)} />;
}
