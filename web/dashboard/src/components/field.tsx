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

/** What the browser finds wrong with a control. */
function sayFault({ validity, validationMessage, title, type, min, max, minLength }: HTMLInputElement): string {
  if (validity.customError) return validationMessage;
  if (validity.valueMissing && !validity.badInput) return t("fault.missing");
  if (validity.patternMismatch) return title;
  if (validity.tooShort) return t("fault.short", { min: minLength });
  if (type === "email") return t("fault.email");
  return type !== "number" ? t("fault.date") : max ? t("fault.number", { min, max }) : t("fault.number.least", { min });
}

/** A form is not sent with a control that the browser finds wrong. The page says why, in the place of the browser's own bubble, until the control is changed; the first one gets the focus. */
export function useFault() {
  const [fault, setFault] = useState("");
  const onInvalidCapture = (event: Event) => {
    event.preventDefault();
    const control = event.target as HTMLInputElement;
    setFault(sayFault(control));
    if (control.form?.querySelector(":invalid:not(fieldset)") !== control) return;
    // Once the message is there, which describes the field that gets the focus.
    queueMicrotask(() => {
      control.focus();
      control.closest(".field")?.scrollIntoView({ block: "nearest" });
    });
  };
  return { fault, onInvalidCapture, forget: () => setFault("") };
}

/** A labelled control with a hint and its error, until what it says is changed. */
export function Field({ label, hint, error: refused, children }: FieldProps) {
  const id = useId();
  const changed = useRef<string | undefined>(undefined);
  const { fault, onInvalidCapture, forget } = useFault();
  if (!refused) changed.current = undefined;
  const error = fault || (refused === changed.current ? undefined : refused);
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  const control = { id, "aria-describedby": described || undefined, "aria-invalid": error ? true : undefined };
  return (
    // The browser lets Preact render after each handler: the control's own comes before forget, which would draw the value of before.
    <div class="field" onInvalidCapture={onInvalidCapture} onInputCapture={() => (changed.current = refused)} onInput={forget}>
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
