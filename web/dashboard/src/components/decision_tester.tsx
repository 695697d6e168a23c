import { useEffect, useRef, useState } from "preact/hooks";
import { type ApiError, api, asApiError, type Link, type Schemas, unwrap } from "../api/client";
import { t, tn } from "../i18n";
import { formatShare } from "../lib/format";
import { sayAfter, sayClosed, type Ways } from "../lib/summary";
import { DEVICES, nameOf } from "../lib/values";
import { fromLocalInput } from "../lib/zone";
import { SelectField, TextField } from "./field";
import { ValuesField } from "./values_field";

type Decision = Schemas["LinkDecision"];

const EMPTY = { country: "", device: "", os: "", language: "", query: "", at: "" };

function sayDecision({ kind, rule, url, variants }: Decision): string {
  const by = rule ? t("tester.by", { rule }) : t("tester.no.rule");
  if (kind === "gone") return `${by} ${t("rule.then.gone")}.`;
  if (variants.length > 0) return `${by} ${variants.map((each) => `${formatShare(each.share)} → ${each.url} (${each.name})`).join(", ")}`;
  return `${by} → ${url}`;
}

interface Props {
  /** As it is saved; null: a new one. */
  link: Link | null;
  ways: Ways;
  /** What was refused belongs to the fields of the form, as when it is sent. undefined: nothing any more. */
  onError: (error: ApiError | undefined) => void;
}

/** Says where a visitor would go by what stands in the form. */
export function DecisionTester({ link, ways, onError }: Props) {
  const section = useRef<HTMLElement>(null);
  const [visitor, setVisitor] = useState(EMPTY);
  const [decision, setDecision] = useState<Decision>();
  const [isBusy, setBusy] = useState(false);
  const said = JSON.stringify([ways, visitor]);
  useEffect(() => setDecision(undefined), [said]);
  const set = (part: Partial<typeof EMPTY>) => setVisitor({ ...visitor, ...part });
  const one = (name: "country" | "os" | "language") => <ValuesField subject={name} label={t(`dimension.${name}`)} values={visitor[name] === "" ? [] : [visitor[name]]} onChange={(values) => set({ [name]: values.at(-1) ?? "" })} />;
  const ask = async () => {
    if (!section.current?.closest("form")?.reportValidity()) return;
    const { at, ...facts } = visitor;
    const known = Object.fromEntries(Object.entries(facts).filter(([, value]) => value.trim() !== ""));
    const { original_url, rules, split } = ways;
    onError(undefined);
    setBusy(true);
    try {
      setDecision(await unwrap(api.POST("/api/link-decisions", { body: { original_url, rules, split, visitor: { ...known, ...(at && { at: fromLocalInput(at) }) } } as never })));
    } catch (cause) {
      onError(asApiError(cause));
    }
    setBusy(false);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.defaultPrevented || event.target instanceof HTMLButtonElement) return;
    event.preventDefault(); // it would send the form
    void ask();
  };
  const closed = decision && sayClosed(ways, link, visitor.at ? Date.parse(fromLocalInput(visitor.at)) : Date.now());
  return (
    <section class="card rule" aria-label={t("tester")} ref={section} onKeyDown={onKeyDown}>
      <h3>{t("tester")}</h3>
      <div class="field-grid">
        {one("country")}
        <SelectField label={t("dimension.device")} value={visitor.device} options={[["", t("unknown")], ...DEVICES.map((device) => [device, nameOf("device", device)] as const)]} onChange={(device) => set({ device })} />
        {one("os")}
        {one("language")}
        <TextField label={t("rule.subject.query")} autocomplete="off" value={visitor.query} onInput={(query) => set({ query })} />
        <TextField label={t("time")} type="datetime-local" value={visitor.at} onInput={(at) => set({ at })} />
      </div>
      <div class="row">
        <button type="button" class="button" disabled={isBusy} onClick={() => void ask()}>
          {t("tester.ask")}
        </button>
        <output class="row-main">
          {closed && <p class="strong">{closed}</p>}
          {decision && <p class={closed ? "hint" : undefined}>{closed ? t("tester.else", { decision: sayDecision(decision) }) : sayDecision(decision)}</p>}
          {decision && !closed && ways.max_visits && <p class="hint">{`${tn("ways.visits", ways.max_visits)} ${sayAfter(ways)}`}</p>}
        </output>
      </div>
    </section>
  );
}
