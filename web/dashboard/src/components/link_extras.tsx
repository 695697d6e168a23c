import { useId, useState } from "preact/hooks";
import type { ApiError, Link } from "../api/client";
import { currentZone } from "../app/settings";
import { currentLocale, t, tError } from "../i18n";
import { type Condition, DAYS, type Extras, newCondition, newRule, newVariant, type RuleDraft, sharesOf, type Subject, SUBJECTS, type VariantDraft } from "../lib/extras";
import { formatShare, formatValue } from "../lib/format";
import { intl } from "../lib/intl";
import { DecisionTester } from "./decision_tester";
import { Field, SelectField, TextField } from "./field";
import { Fold } from "./fold";
import { Icon } from "./icons";

/** What visitors' browsers and phones usually say; another value can be typed. */
const SUGGESTED: Partial<Record<Subject, readonly string[]>> = {
  device: ["desktop", "mobile", "tablet"],
  os: ["iOS", "Android", "Windows", "Mac OS X", "Linux", "Chrome OS"],
  browser: ["Chrome", "Chrome Mobile", "Safari", "Mobile Safari", "Firefox", "Firefox Mobile", "Edge", "Samsung Internet"],
  language: ["ar", "cs", "da", "de", "el", "en", "es", "fi", "fr", "he", "hi", "hu", "id", "it", "ja", "ko", "nl", "no", "pl", "pt", "ro", "ru", "sv", "tr", "uk", "vi", "zh"],
};

/** What browsers name too, and what is no country of ISO 3166-1. */
const NO_COUNTRIES = ["AC", "CP", "CQ", "DG", "EA", "EU", "EZ", "IC", "QO", "TA", "UN", "XA", "XB", "XK", "ZZ"];

/** All countries that the browser can name. A code of the past, as DD, has the name of what it became. */
function countries(): string[] {
  const letters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];
  const names = intl("DisplayNames", currentLocale(), { type: "region", fallback: "none" });
  const isCurrent = (code: string) => new Intl.Locale(`und-${code}`).region === code && !NO_COUNTRIES.includes(code);
  return letters.flatMap((first) => letters.map((second) => first + second)).filter((code) => names.of(code) && isCurrent(code));
}

const suggestionsOf = (subject: Subject): readonly string[] => (subject === "country" ? countries() : (SUGGESTED[subject] ?? []));
const nameOf = (subject: Subject, value: string) => (["country", "device", "language"].includes(subject) ? formatValue(subject, value) : value);

/** Texts, of which each can be typed as its name or as its code. */
function ValuesField({ subject, label, values, error, onChange }: { subject: Subject; label: string; values: string[]; error?: string; onChange: (values: string[]) => void }) {
  const [text, setText] = useState("");
  const list = useId();
  const known = suggestionsOf(subject);
  const add = (typed: string) => {
    const wanted = typed.trim();
    if (wanted === "") return;
    const value = known.find((each) => [each, nameOf(subject, each)].some((name) => name.toLowerCase() === wanted.toLowerCase())) ?? wanted;
    if (!values.includes(value)) onChange([...values, value]);
    setText("");
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" || (event.key === "," && text.trim() !== "")) {
      event.preventDefault();
      add(text);
    } else if (event.key === "Backspace" && text === "") {
      onChange(values.slice(0, -1));
    }
  };
  return (
    <Field label={label} error={error}>
      {(control) => (
        <div class="tag-input">
          {values.map((value) => (
            <span class="tag" key={value}>
              {nameOf(subject, value)}
              <button type="button" aria-label={t("tag.remove", { tag: nameOf(subject, value) })} onClick={() => onChange(values.filter((each) => each !== value))}>
                ×
              </button>
            </span>
          ))}
          <input value={text} list={list} autocomplete="off" onInput={(event) => (known.some((each) => nameOf(subject, each) === event.currentTarget.value) ? add(event.currentTarget.value) : setText(event.currentTarget.value))} onKeyDown={onKeyDown} onBlur={() => add(text)} {...control} />
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

const dayName = (day: string) => intl("DateTimeFormat", currentLocale(), { weekday: "short", timeZone: "UTC" }).format(Date.UTC(2024, 0, 1 + DAYS.indexOf(day as "mon"))); // 1 January 2024 was a Monday

function WeekFields({ condition, change }: { condition: Condition; change: (part: Partial<Condition>) => void }) {
  const toggle = (day: string) => change({ days: DAYS.filter((each) => condition.days.includes(each) !== (each === day)) });
  return (
    <>
      <div class="segments segments-small" role="group" aria-label={t("rule.days")}>
        {DAYS.map((day) => (
          <button type="button" key={day} aria-pressed={condition.days.includes(day)} onClick={() => toggle(day)}>
            {dayName(day)}
          </button>
        ))}
      </div>
      <div class="field-row">
        <TextField label={t("rule.time.from")} type="time" value={condition.timeFrom} onInput={(timeFrom) => change({ timeFrom })} />
        <TextField label={t("rule.time.until")} type="time" value={condition.timeUntil} onInput={(timeUntil) => change({ timeUntil })} />
        <TextField label={t("zone")} value={condition.zone} onInput={(zone) => change({ zone })} />
      </div>
    </>
  );
}

function ConditionFields({ condition, error, change }: { condition: Condition; error?: string; change: (part: Partial<Condition>) => void }) {
  const { subject, values } = condition;
  if (subject === "visitor") return <SelectField label={t("rule.visitor")} value={values[0] ?? "human"} options={[["human", t("rule.human")], ["bot", t("bot")]]} onChange={(value) => change({ values: [value] })} />;
  if (subject === "week") return <WeekFields condition={condition} change={change} />;
  if (subject === "period") {
    return (
      <div class="field-row">
        <TextField label={t("rule.from")} hint={t("starts.hint", { zone: currentZone() })} type="datetime-local" value={condition.from} onInput={(from) => change({ from })} />
        <TextField label={t("rule.until")} type="datetime-local" value={condition.until} error={error} onInput={(until) => change({ until })} />
      </div>
    );
  }
  return (
    <div class="field-row">
      {subject === "query" && <TextField label={t("rule.parameter")} required value={condition.name} autocomplete="off" error={error} onInput={(name) => change({ name })} />}
      <ValuesField subject={subject} label={subject === "query" ? t("rule.values.any") : t(`rule.subject.${subject}`)} values={values} error={subject === "query" ? undefined : error} onChange={(list) => change({ values: list })} />
    </div>
  );
}

/** What the server says about a part of the extras: the detail of the first fault at or below a pointer. */
function faultAt(error: ApiError | undefined, pointer: string): string | undefined {
  const fault = error?.problem?.errors?.find((each) => each.pointer === pointer || each.pointer.startsWith(`${pointer}/`));
  return fault && tError(fault);
}

const POINTERS: Partial<Record<Subject, string>> = { period: "until", week: "time_zone" };

interface RuleProps {
  rule: RuleDraft;
  at: number;
  count: number;
  error: ApiError | undefined;
  change: (part: Partial<RuleDraft>) => void;
  move: (by: number) => void;
  remove: () => void;
}

function RuleFields({ rule, at, count, error, change, move, remove }: RuleProps) {
  const setCondition = (key: number, part: Partial<Condition>) => change({ conditions: rule.conditions.map((each) => (each.key === key ? { ...each, ...part } : each)) });
  const isApp = rule.url !== "" && !/^(https?:|[^:]*$)/i.test(rule.url);
  return (
    <fieldset class="card rule">
      <legend class="visually-hidden">{t("rule.number", { number: at + 1 })}</legend>
      <div class="rule-head">
        <span class="badge">{at + 1}</span>
        <TextField label={t("rule.name")} required maxLength={50} autocomplete="off" value={rule.name} error={faultAt(error, `/rules/${at}/name`)} onInput={(name) => change({ name })} />
        <span class="row-actions">
          <button type="button" class="icon-button" disabled={at === 0} aria-label={t("rule.earlier", { name: rule.name })} onClick={() => move(-1)}>
            ↑
          </button>
          <button type="button" class="icon-button" disabled={at === count - 1} aria-label={t("rule.later", { name: rule.name })} onClick={() => move(1)}>
            ↓
          </button>
          <button type="button" class="icon-button" aria-label={t("rule.remove", { name: rule.name })} onClick={remove}>
            <Icon name="trash" />
          </button>
        </span>
      </div>
      <p class="hint">{rule.conditions.length === 0 ? t("rule.always") : t("rule.all")}</p>
      {rule.conditions.map((condition) => (
        <div class="rule-condition" key={condition.key}>
          <div class="rule-head">
            <SelectField label={t("rule.about")} value={condition.subject} options={SUBJECTS.map((subject) => [subject, t(`rule.subject.${subject}`)] as const)} onChange={(subject) => setCondition(condition.key, { ...newCondition(subject as Subject), key: condition.key })} />
            <button type="button" class="icon-button" aria-label={t("rule.condition.remove")} onClick={() => change({ conditions: rule.conditions.filter((each) => each !== condition) })}>
              <Icon name="close" />
            </button>
          </div>
          <ConditionFields condition={condition} error={faultAt(error, `/rules/${at}/when/${POINTERS[condition.subject] ?? condition.subject}`)} change={(part) => setCondition(condition.key, part)} />
        </div>
      ))}
      <div>
        <button type="button" class="button button-quiet" onClick={() => change({ conditions: [...rule.conditions, newCondition("device")] })}>
          <Icon name="plus" /> {t("rule.condition.add")}
        </button>
      </div>
      <SelectField label={t("rule.then")} value={rule.then} options={[["redirect", t("rule.then.redirect")], ["gone", t("rule.then.gone")], ["as_usual", t("rule.then.usual")]]} onChange={(then) => change({ then: then as RuleDraft["then"] })} />
      {rule.then === "redirect" && <TextField label={t("destination")} inputMode="url" autocomplete="off" required value={rule.url} error={faultAt(error, `/rules/${at}/url`)} onInput={(url) => change({ url })} />}
      {rule.then === "redirect" && (isApp || rule.fallback_url !== "") && (
        <TextField label={t("rule.fallback")} hint={t("rule.fallback.hint")} inputMode="url" autocomplete="off" value={rule.fallback_url} error={faultAt(error, `/rules/${at}/fallback_url`)} onInput={(fallback_url) => change({ fallback_url })} />
      )}
    </fieldset>
  );
}

function Rules({ rules, error, onChange }: { rules: RuleDraft[]; error: ApiError | undefined; onChange: (rules: RuleDraft[]) => void }) {
  const move = (at: number, by: number) => {
    const next = [...rules];
    const [moved] = next.splice(at, 1);
    if (moved) next.splice(at + by, 0, moved);
    onChange(next);
  };
  return (
    <>
      <p class="hint">{t("rules.hint")}</p>
      {rules.map((rule, at) => (
        <RuleFields key={rule.key} rule={rule} at={at} count={rules.length} error={error} move={(by) => move(at, by)} remove={() => onChange(rules.filter((each) => each !== rule))} change={(part) => onChange(rules.map((each) => (each.key === rule.key ? { ...each, ...part } : each)))} />
      ))}
      {rules.length < 20 && (
        <button type="button" class="button" onClick={() => onChange([...rules, newRule(t("rule.number", { number: rules.length + 1 }))])}>
          <Icon name="plus" /> {t("rule.add")}
        </button>
      )}
    </>
  );
}

interface SplitProps {
  variants: VariantDraft[];
  winner: string;
  /** Where the link leads so far. */
  url: string;
  error: ApiError | undefined;
  onChange: (part: Pick<Extras, "variants"> & Partial<Extras>) => void;
}

function Split({ variants, winner, url, error, onChange }: SplitProps) {
  const shares = sharesOf(variants);
  const set = (key: number, part: Partial<VariantDraft>) => onChange({ variants: variants.map((each) => (each.key === key ? { ...each, ...part } : each)) });
  const add = () => onChange({ variants: variants.length === 0 ? [newVariant("A", url), newVariant("B")] : [...variants, newVariant(String.fromCharCode(65 + variants.length))] });
  /** A split has at least two. */
  const remove = (key: number) => onChange({ variants: variants.length > 2 ? variants.filter((each) => each.key !== key) : [] });
  return (
    <>
      <p class="hint">{t("split.hint")}</p>
      {variants.map((variant, at) => (
        <fieldset class="rule-condition" key={variant.key}>
          <legend class="visually-hidden">{t("split.variant", { name: variant.name })}</legend>
          <div class="rule-head">
            <TextField label={t("rule.name")} required maxLength={50} value={variant.name} error={faultAt(error, `/split/variants/${at}/name`)} onInput={(name) => set(variant.key, { name })} />
            <TextField label={`${t("split.weight")} (${formatShare(shares[at] ?? 0)})`} type="number" min={1} max={1000} required value={variant.weight} error={faultAt(error, `/split/variants/${at}/weight`)} onInput={(weight) => set(variant.key, { weight })} />
            <button type="button" class="icon-button" aria-label={t("split.remove", { name: variant.name })} onClick={() => remove(variant.key)}>
              <Icon name="trash" />
            </button>
          </div>
          <TextField label={t("destination")} inputMode="url" autocomplete="off" required value={variant.url} error={faultAt(error, `/split/variants/${at}/url`)} onInput={(to) => set(variant.key, { url: to })} />
        </fieldset>
      ))}
      {variants.length < 5 && (
        <button type="button" class="button" onClick={add}>
          <Icon name="plus" /> {variants.length === 0 ? t("split.begin") : t("split.add")}
        </button>
      )}
      {variants.length > 0 && <SelectField label={t("split.winner")} hint={t("split.winner.hint")} value={winner} options={[["", t("split.winner.none")], ...variants.map(({ name }) => [name, name] as const)]} onChange={(name) => onChange({ variants, winner: name })} />}
    </>
  );
}

function Check({ label, hint, isOn, onChange }: { label: string; hint: string; isOn: boolean; onChange: (isOn: boolean) => void }) {
  return (
    <label class="check">
      <input type="checkbox" checked={isOn} onChange={(event) => onChange(event.currentTarget.checked)} />
      {label}
      <span class="hint">{hint}</span>
    </label>
  );
}

function Password({ hasPassword, password, error, onChange }: { hasPassword: boolean; password: string | undefined; error: string | undefined; onChange: (password: string | undefined) => void }) {
  const isRemoved = password === "" && hasPassword;
  return (
    <>
      <TextField label={t("password")} hint={isRemoved ? t("link.password.removed") : hasPassword ? t("link.password.kept") : t("link.password.hint")} type="password" autocomplete="new-password" minLength={4} maxLength={72} value={password ?? ""} error={error} onInput={(typed) => onChange(typed === "" ? undefined : typed)} />
      {hasPassword && <Check label={t("link.password.remove")} hint="" isOn={isRemoved} onChange={(isOn) => onChange(isOn ? "" : undefined)} />}
    </>
  );
}

interface Props {
  link: Link | null;
  /** The destination, as it is typed. */
  url: string;
  extras: Extras;
  error: ApiError | undefined;
  change: (part: Partial<Extras>) => void;
}

/** Everything of a link beyond where it leads: rules, a split, a limit, a password, what is passed on, and its preview. */
export default function LinkExtras({ link, url, extras, error, change }: Props) {
  return (
    <>
      <Fold icon="branch" title={t("rules")} summary={extras.rules.map((rule) => rule.name).join(" · ")} isOpen={faultAt(error, "/rules") !== undefined}>
        <Rules rules={extras.rules} error={error} onChange={(rules) => change({ rules })} />
      </Fold>
      <Fold icon="switch" title={t("split")} summary={extras.variants.map((variant, at) => `${variant.name} ${formatShare(sharesOf(extras.variants)[at] ?? 0)}`).join(" · ")} isOpen={faultAt(error, "/split") !== undefined}>
        <Split variants={extras.variants} winner={extras.winner} url={url} error={error} onChange={change} />
      </Fold>
      {(extras.rules.length > 0 || extras.variants.length > 0) && <DecisionTester url={url} extras={extras} />}
      <Fold icon="users" title={t("limit")} summary={extras.max_visits} isOpen={faultAt(error, "/max_visits") !== undefined}>
        <TextField label={t("limit.people")} hint={t("limit.hint")} type="number" min={1} value={extras.max_visits} error={faultAt(error, "/max_visits")} onInput={(max_visits) => change({ max_visits })} />
      </Fold>
      <Fold icon="lock" title={t("password")} summary={extras.password || (link?.has_password && extras.password === undefined) ? t("yes") : ""} isOpen={faultAt(error, "/password") !== undefined}>
        <Password hasPassword={Boolean(link?.has_password)} password={extras.password} error={faultAt(error, "/password")} onChange={(password) => change({ password })} />
      </Fold>
      <Fold icon="right" title={t("forward")} summary={[extras.forward_query && t("forward.query"), extras.forward_path && t("forward.path")].filter(Boolean).join(" · ")}>
        <Check label={t("forward.query")} hint={t("forward.query.hint")} isOn={extras.forward_query} onChange={(forward_query) => change({ forward_query })} />
        <Check label={t("forward.path")} hint={t("forward.path.hint")} isOn={extras.forward_path} onChange={(forward_path) => change({ forward_path })} />
      </Fold>
      <Fold icon="send" title={t("preview")} summary={extras.preview_title} isOpen={faultAt(error, "/preview") !== undefined}>
        <TextField label={t("preview.title")} maxLength={200} value={extras.preview_title} error={faultAt(error, "/preview/title")} onInput={(preview_title) => change({ preview_title })} />
        <TextField label={t("preview.description")} maxLength={500} value={extras.preview_description} error={faultAt(error, "/preview/description")} onInput={(preview_description) => change({ preview_description })} />
        <TextField label={t("preview.image")} inputMode="url" value={extras.preview_image_url} error={faultAt(error, "/preview/image_url")} onInput={(preview_image_url) => change({ preview_image_url })} />
      </Fold>
    </>
  );
}
