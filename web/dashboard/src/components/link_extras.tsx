import { useState } from "preact/hooks";
import type { ApiError, Link } from "../api/client";
import { currentZone } from "../app/settings";
import { type Key, t, tError, tn } from "../i18n";
import { type Condition, DAYS, type Extras, newCondition, newRule, newVariant, type RuleDraft, RULES_MAX, rulesBody, sharesOf, type Subject, SUBJECTS, type VariantDraft, whenOf } from "../lib/extras";
import { formatShare, readableUrl } from "../lib/format";
import { dayName, sayRule, sayWays, sayWhen } from "../lib/summary";
import { DEVICES, nameOf } from "../lib/values";
import { DecisionTester } from "./decision_tester";
import { Field, SelectField, TextField } from "./field";
import { Fold, type Goal } from "./fold";
import { Icon } from "./icons";
import { type Draft, waysOf } from "./link_form";
import { ValuesField } from "./values_field";

function WeekFields({ condition, change }: { condition: Condition; change: (part: Partial<Condition>) => void }) {
  const toggle = (day: string) => change({ days: DAYS.filter((each) => condition.days.includes(each) !== (each === day)) });
  return (
    <div class="form">
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
    </div>
  );
}

/** Any of the few devices, at least one. */
function DeviceFields({ values, onChange }: { values: string[]; onChange: (values: string[]) => void }) {
  const toggle = (device: string) => {
    const next = DEVICES.filter((each) => values.includes(each) !== (each === device));
    if (next.length > 0) onChange(next);
  };
  return (
    <div class="segments segments-small" role="group" aria-label={t("device")}>
      {DEVICES.map((device) => (
        <button type="button" key={device} aria-pressed={values.includes(device)} onClick={() => toggle(device)}>
          {nameOf("device", device)}
        </button>
      ))}
    </div>
  );
}

function ConditionFields({ condition, error, change }: { condition: Condition; error?: string; change: (part: Partial<Condition>) => void }) {
  const { subject, values } = condition;
  if (subject === "visitor") return <SelectField label={t("rule.visitor")} value={values[0] ?? "human"} options={[["human", t("rule.human")], ["bot", t("bot")]]} onChange={(value) => change({ values: [value] })} />;
  if (subject === "device") return <DeviceFields values={values} onChange={(list) => change({ values: list })} />;
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
      <ValuesField subject={subject} label={subject === "query" ? t("rule.values.any") : t(`rule.subject.${subject}`)} values={values} required={subject !== "query"} error={subject === "query" ? undefined : error} onChange={(list) => change({ values: list })} />
    </div>
  );
}

/** What the server says about a part of the extras: the detail of the first fault at or below a pointer. */
function faultAt(error: ApiError | undefined, pointer: string): string | undefined {
  const fault = error?.problem?.errors?.find((each) => each.pointer === pointer || each.pointer.startsWith(`${pointer}/`));
  return fault && tError(fault);
}

const POINTERS: Partial<Record<Subject, string>> = { period: "until", week: "time_zone" };

const isComplete = ({ url, then, conditions }: RuleDraft) => (url !== "" || then !== "redirect") && conditions.every((each) => sayWhen(whenOf([each])) !== "");

interface RuleProps {
  rule: RuleDraft;
  at: number;
  count: number;
  /** Where the link leads without it. */
  base: string;
  error: ApiError | undefined;
  change: (part: Partial<RuleDraft>) => void;
  move: (by: number) => void;
  remove: () => void;
}

function RuleFields({ rule, at, count, base, error, change, move, remove }: RuleProps) {
  const setCondition = (key: number, part: Partial<Condition>) => change({ conditions: rule.conditions.map((each) => (each.key === key ? { ...each, ...part } : each)) });
  const isApp = rule.url !== "" && !/^(https?:|[^:]*$)/i.test(rule.url);
  return (
    <fieldset class="card rule">
      <legend class="visually-hidden">{t("rule.number", { number: at + 1 })}</legend>
      <div class="rule-head">
        <span class="badge">{at + 1}</span>
        <span class="strong row-main">{isComplete(rule) ? rulesBody([rule]).map((each) => sayRule(each, base)) : t("rule.number", { number: at + 1 })}</span>
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
      {rule.conditions.length === 0 && <p class="hint">{t("rule.always")}</p>}
      {rule.conditions.map((condition, index) => (
        <div class="rule-condition" key={condition.key}>
          {index > 0 && <p class="strong">{t("rule.and")}</p>}
          <div class="rule-head">
            <SelectField label={t("rule.about")} value={condition.subject} options={SUBJECTS.map((subject) => [subject, t(`rule.subject.${subject}`)] as const)} onChange={(subject) => setCondition(condition.key, { ...newCondition(subject as Subject), key: condition.key })} />
            <ConditionFields condition={condition} error={faultAt(error, `/rules/${at}/when/${POINTERS[condition.subject] ?? condition.subject}`)} change={(part) => setCondition(condition.key, part)} />
            <button type="button" class="icon-button" aria-label={t("rule.condition.remove")} onClick={() => change({ conditions: rule.conditions.filter((each) => each !== condition) })}>
              <Icon name="close" />
            </button>
          </div>
        </div>
      ))}
      <div>
        <button type="button" class="button button-quiet" onClick={() => change({ conditions: [...rule.conditions, newCondition("device")] })}>
          <Icon name="plus" /> {t("rule.condition.add")}
        </button>
      </div>
      <div class="rule-head">
        <SelectField label={t("rule.then")} value={rule.then} options={[["redirect", t("rule.then.redirect")], ["gone", t("rule.then.gone")], ["as_usual", t("rule.then.usual")]]} onChange={(then) => change({ then: then as RuleDraft["then"] })} />
        {rule.then === "redirect" && <TextField label={t("destination")} inputMode="url" autocomplete="off" required placeholder={t("example.url")} value={rule.url} error={faultAt(error, `/rules/${at}/url`)} onInput={(url) => change({ url })} />}
      </div>
      {rule.then === "redirect" && (isApp || rule.fallback_url !== "") && (
        <TextField label={t("rule.fallback")} hint={t("rule.fallback.hint")} inputMode="url" autocomplete="off" value={rule.fallback_url} error={faultAt(error, `/rules/${at}/fallback_url`)} onInput={(fallback_url) => change({ fallback_url })} />
      )}
      <TextField label={t("rule.name")} required maxLength={50} autocomplete="off" value={rule.name} error={faultAt(error, `/rules/${at}/name`)} onInput={(name) => change({ name })} />
    </fieldset>
  );
}

/** By its first condition, until somebody names or saves it: statistics know a rule by its name. */
function defaultName({ key, conditions }: RuleDraft, at: number, rules: readonly RuleDraft[]): string {
  const said = [...sayWhen(whenOf(conditions.slice(0, 1)))].slice(0, 46).join("") || t("rule.number", { number: at + 1 });
  const isTaken = (name: string) => rules.some((each) => each.key !== key && each.name === name);
  return [said, ...rules.map((_, more) => `${said} ${more + 2}`)].find((name) => !isTaken(name)) ?? said;
}

type Preset = [text: Key, add: () => void];

function Presets({ presets }: { presets: Preset[] }) {
  return (
    <div class="chips">
      {presets.map(([text, add]) => (
        <button type="button" class="button" key={text} onClick={add}>
          {t(text)}
        </button>
      ))}
    </div>
  );
}

interface RulesProps {
  rules: RuleDraft[];
  saved: string[];
  base: string;
  presets: Preset[];
  error: ApiError | undefined;
  onChange: (rules: RuleDraft[]) => void;
}

function Rules({ rules, saved, base, presets, error, onChange }: RulesProps) {
  const move = (at: number, by: number) => {
    const next = [...rules];
    const [moved] = next.splice(at, 1);
    if (moved) next.splice(at + by, 0, moved);
    onChange(next);
  };
  const set = (at: number, rule: RuleDraft, part: Partial<RuleDraft>) => {
    const next = { ...rule, ...part };
    if (part.conditions && !saved.includes(rule.name) && rule.name === defaultName(rule, at, rules)) next.name = defaultName(next, at, rules);
    onChange(rules.map((each) => (each.key === rule.key ? next : each)));
  };
  return (
    <>
      <p class="hint">{t("rules.hint")}</p>
      {rules.map((rule, at) => (
        <RuleFields key={rule.key} rule={rule} at={at} count={rules.length} base={base} error={error} move={(by) => move(at, by)} remove={() => onChange(rules.filter((each) => each !== rule))} change={(part) => set(at, rule, part)} />
      ))}
      {rules.length < RULES_MAX && <Presets presets={presets} />}
    </>
  );
}

interface SplitProps {
  variants: VariantDraft[];
  winner: string;
  error: ApiError | undefined;
  onAdd: () => void;
  onChange: (part: Pick<Extras, "variants"> & Partial<Extras>) => void;
}

const withVariant = (variants: VariantDraft[], url: string) => (variants.length === 0 ? [newVariant("A", url), newVariant("B")] : [...variants, newVariant(String.fromCharCode(65 + variants.length))]);

function Split({ variants, winner, error, onAdd, onChange }: SplitProps) {
  const shares = sharesOf(variants);
  const set = (key: number, part: Partial<VariantDraft>) => onChange({ variants: variants.map((each) => (each.key === key ? { ...each, ...part } : each)) });
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
          <TextField label={t("destination")} inputMode="url" autocomplete="off" required placeholder={t("example.url")} value={variant.url} error={faultAt(error, `/split/variants/${at}/url`)} onInput={(to) => set(variant.key, { url: to })} />
        </fieldset>
      ))}
      {variants.length < 5 && (
        <button type="button" class="button" onClick={onAdd}>
          <Icon name="plus" /> {t("split.add")}
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

function End({ draft, error, goal, change, changeExtras }: Pick<Props, "draft" | "error" | "change" | "changeExtras"> & { goal: Goal | undefined }) {
  const { starts, expires, expired_url, extras } = draft;
  const summary = [starts && `${t("starts")} ${starts.replace("T", " ")}`, expires && `${t("expires")} ${expires.replace("T", " ")}`, [extras.max_visits && tn("ways.visits", Number(extras.max_visits)), expired_url && `→ ${readableUrl(expired_url)}`].filter(Boolean).join(" ")];
  const isRefused = ["/starts_at", "/expires_at", "/expired_url", "/max_visits"].some((pointer) => faultAt(error, pointer));
  return (
    <Fold icon="clock" title={t("link.more")} summary={summary.filter(Boolean).join(" · ")} isOpen={isRefused} goal={goal}>
      <div class="field-row">
        <TextField label={t("starts")} hint={t("starts.hint", { zone: currentZone() })} type="datetime-local" value={starts} error={error?.fields.starts_at} onInput={(starts) => change({ starts })} />
        <TextField label={t("expires")} hint={`${t("expires.hint", { zone: currentZone() })} ${t("expires.deleted")}`} type="datetime-local" value={expires} error={error?.fields.expires_at} onInput={(expires) => change({ expires })} />
      </div>
      <TextField label={t("limit.label")} hint={t("limit.hint")} type="number" min={1} value={extras.max_visits} error={error?.fields.max_visits} onInput={(max_visits) => changeExtras({ max_visits })} />
      <TextField label={t("expired.url")} hint={t("expired.url.hint")} inputMode="url" autocomplete="off" value={expired_url} error={error?.fields.expired_url} onInput={(expired_url) => change({ expired_url })} />
    </Fold>
  );
}

/** What few links have, in one part: a password, another kind of redirect, a preview, notes. */
function More({ link, draft, error, change, changeExtras }: Omit<Props, "onError">) {
  const { extras, redirect_status } = draft;
  const statuses = [302, 301, 307, 308].map((status) => [String(status), `${status} – ${t(`status.${status as 301}`)}`] as const);
  const hasPassword = Boolean(extras.password) || Boolean(link?.has_password && extras.password === undefined);
  const summary = [hasPassword && t("password"), redirect_status !== 302 && String(redirect_status), extras.forward_query && t("forward.query"), extras.forward_path && t("forward.path"), extras.preview_title, draft.notes && t("notes")].filter(Boolean).join(" · ");
  const isRefused = ["/password", "/preview", "/notes"].some((pointer) => faultAt(error, pointer));
  return (
    <Fold icon="more" title={t("more.parts")} summary={summary || t("more.parts.all")} isOpen={isRefused}>
      <Password hasPassword={Boolean(link?.has_password)} password={extras.password} error={faultAt(error, "/password")} onChange={(password) => changeExtras({ password })} />
      <SelectField label={t("redirect.status")} hint={t("redirect.hint")} value={String(redirect_status)} options={statuses} onChange={(status) => change({ redirect_status: Number(status) as Draft["redirect_status"] })} />
      <Check label={t("forward.query")} hint={t("forward.query.hint")} isOn={extras.forward_query} onChange={(forward_query) => changeExtras({ forward_query })} />
      <Check label={t("forward.path")} hint={t("forward.path.hint")} isOn={extras.forward_path} onChange={(forward_path) => changeExtras({ forward_path })} />
      <div class="field-row">
        <TextField label={t("preview.title")} maxLength={200} value={extras.preview_title} error={faultAt(error, "/preview/title")} onInput={(preview_title) => changeExtras({ preview_title })} />
        <TextField label={t("preview.image")} inputMode="url" value={extras.preview_image_url} error={faultAt(error, "/preview/image_url")} onInput={(preview_image_url) => changeExtras({ preview_image_url })} />
      </div>
      <TextField label={t("preview.description")} maxLength={500} value={extras.preview_description} error={faultAt(error, "/preview/description")} onInput={(preview_description) => changeExtras({ preview_description })} />
      {link?.notes !== null && (
        <Field label={t("notes")} hint={t("notes.hint")} error={error?.fields.notes}>
          {(control) => <textarea class="input notes" rows={3} maxLength={2000} value={draft.notes} onInput={(event) => change({ notes: event.currentTarget.value })} {...control} />}
        </Field>
      )}
    </Fold>
  );
}

interface Props {
  link: Link | null;
  draft: Draft;
  error: ApiError | undefined;
  change: (part: Partial<Draft>) => void;
  changeExtras: (part: Partial<Extras>) => void;
  onError: (error: ApiError | undefined) => void;
}

/** Everything of a link beyond where it leads. Rules and a split have a part once there are any. */
export default function LinkExtras({ link, draft, error, change: changeDraft, changeExtras: change, onError }: Props) {
  const { extras } = draft;
  const ways = waysOf(draft, link);
  const [goal, setGoal] = useState<Goal & { part: "rules" | "split" | "end" }>();
  const goalIn = (part: string) => (goal?.part === part ? goal : undefined);
  const addRule = (subject: Subject, to: string) => {
    const rule = { ...newRule(""), conditions: [newCondition(subject)] };
    change({ rules: [...extras.rules, { ...rule, name: defaultName(rule, extras.rules.length, extras.rules) }] });
    setGoal({ part: "rules", to: `.rule:last-of-type ${to}` });
  };
  const addVariant = () => {
    change({ variants: withVariant(extras.variants, draft.original_url) });
    setGoal({ part: "split", to: "fieldset:last-of-type [inputmode=url]" });
  };
  const other: Preset = ["rule.add", () => addRule("country", "select")];
  const ofRules: Preset[] = [
    ["preset.country", () => addRule("country", ".tag-input input")],
    ["preset.device", () => addRule("device", "[inputmode=url]")],
    ["preset.language", () => addRule("language", ".tag-input input")],
    ...(extras.rules.length === 0 ? [other] : []),
  ];
  const presets: Preset[] = [
    ...(extras.rules.length < RULES_MAX ? ofRules : []),
    ["preset.split", extras.variants.length === 0 ? addVariant : () => setGoal({ part: "split", to: "[inputmode=url]" })],
    ["preset.limit", () => setGoal({ part: "end", to: "[type=number]" })],
  ];
  const complete = { ...ways, rules: ways.rules.filter((_, at) => isComplete(extras.rules[at] as RuleDraft)) };
  return (
    <>
      <div class="presets" role="group" aria-label={t("preset.title")}>
        <span class="strong">{t("preset.title")}</span>
        <Presets presets={presets} />
      </div>
      {extras.rules.length > 0 && (
        <Fold icon="branch" title={t("rules")} summary={complete.rules.map((rule) => sayRule(rule, ways.original_url)).join(" · ")} isOpen={faultAt(error, "/rules") !== undefined} goal={goalIn("rules")}>
          <Rules rules={extras.rules} saved={(link?.rules ?? []).map(({ name }) => name)} base={ways.original_url} presets={[other]} error={error} onChange={(rules) => change({ rules })} />
        </Fold>
      )}
      {extras.variants.length > 0 && (
        <Fold icon="fork" title={t("split")} summary={extras.variants.map((variant, at) => `${variant.name} ${formatShare(sharesOf(extras.variants)[at] ?? 0)}`).join(" · ")} isOpen={faultAt(error, "/split") !== undefined} goal={goalIn("split")}>
          <Split variants={extras.variants} winner={extras.winner} error={error} onAdd={addVariant} onChange={change} />
        </Fold>
      )}
      <End draft={draft} error={error} goal={goalIn("end")} change={changeDraft} changeExtras={change} />
      {sayWays(ways) !== "" && <DecisionTester link={link} ways={ways} summary={sayWays(complete)} onError={onError} />}
      <More link={link} draft={draft} error={error} change={changeDraft} changeExtras={change} />
    </>
  );
}
