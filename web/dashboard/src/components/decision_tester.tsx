import { useEffect, useRef, useState } from "preact/hooks";
import { type ApiError, api, asApiError, type Link, type Schemas, unwrap } from "../api/client";
import { t, tn } from "../i18n";
import { formatShare, formatTime, readableUrl } from "../lib/format";
import { sayAfter, type Ways } from "../lib/summary";
import { DEVICES, nameOf } from "../lib/values";
import { fromLocalInput } from "../lib/zone";
import { SelectField, TextField } from "./field";
import { ValuesField } from "./values_field";

type Decision = Schemas["LinkDecision"];

const EMPTY = { country: "", device: "", os: "", language: "", query: "", at: "" };

/** Who decided, and where the visitor goes: "Germany → /de". */
function sayDecision({ kind, state, rule, url, variants }: Decision, ways: Ways): string {
  const why =
    state === "scheduled" && ways.starts_at ? t("starts.at", { time: formatTime(ways.starts_at) })
    : kind === "not_found" || state === "expired" || (state === "used_up" && !rule) ? t(`state.${state}`)
    : rule ?? t("tester.no.rule");
  if (kind === "not_found") return `${why}: ${t("ways.none")}`;
  if (kind === "gone") return `${why}: ${t("rule.then.gone")}`;
  const places = variants.length > 0 ? variants.map((each) => `${formatShare(each.share)} ${readableUrl(each.url)} (${each.name})`).join(", ") : readableUrl(url ?? "");
  return `${why} → ${places}`;
}

interface Props {
  /** As it is saved; null: a new one. */
  link: Link | null;
  ways: Ways;
  /** What of it is complete, in words. */
  summary: string;
  /** What was refused belongs to the fields of the form, as when it is sent. undefined: nothing any more. */
  onError: (error: ApiError | undefined) => void;
}

/** Says where a visitor would go by what stands in the form. */
export function DecisionTester({ link, ways, summary, onError }: Props) {
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
    onError(undefined);
    setBusy(true);
    try {
      const visitor = { ...known, ...(at && { at: fromLocalInput(at) }) };
      setDecision(await unwrap(api.POST("/api/link-decisions", { body: { ...ways, ...(link && { link_id: link.id }), visitor } as never })));
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
  return (
    <section class="card rule tester" aria-label={t("tester")} ref={section} onKeyDown={onKeyDown} onInput={() => setDecision(undefined)}>
      <h3>{t("tester")}</h3>
      <p class="hint">{summary}</p>
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
          {decision && <p class="strong">{sayDecision(decision, ways)}</p>}
          {decision?.visits_left ? <p class="hint">{`${tn("ways.visits", decision.visits_left)} ${sayAfter(ways)}`}</p> : null}
        </output>
      </div>
    </section>
  );
}
