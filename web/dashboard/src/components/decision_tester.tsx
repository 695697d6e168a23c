import { useState } from "preact/hooks";
import { api, type Schemas, unwrap } from "../api/client";
import { t } from "../i18n";
import { type Extras, rulesBody, splitBody } from "../lib/extras";
import { formatShare } from "../lib/format";
import { normalizeUrl } from "../lib/urls";
import { fromLocalInput } from "../lib/zone";
import { ErrorBox } from "./feedback";
import { SelectField, TextField } from "./field";
import { useAction } from "./use_action";

type Decision = Schemas["LinkDecision"];

const EMPTY = { country: "", device: "", os: "", language: "", query: "", at: "" };

function sayDecision({ kind, rule, url, variants }: Decision): string {
  const by = rule ? t("tester.by", { rule }) : t("tester.no.rule");
  if (kind === "gone") return `${by} ${t("rule.then.gone")}.`;
  if (variants.length > 0) return `${by} ${variants.map((each) => `${formatShare(each.share)} → ${each.url} (${each.name})`).join(", ")}`;
  return `${by} → ${url}`;
}

/** Says where a visitor would go by the rules as they stand in the form. */
export function DecisionTester({ url, extras }: { url: string; extras: Extras }) {
  const [visitor, setVisitor] = useState(EMPTY);
  const [decision, setDecision] = useState<Decision>();
  const { error, isBusy, run } = useAction();
  const set = (part: Partial<typeof EMPTY>) => {
    setVisitor({ ...visitor, ...part });
    setDecision(undefined);
  };
  const ask = async () => {
    const { at, ...facts } = visitor;
    const known = Object.fromEntries(Object.entries(facts).filter(([, value]) => value.trim() !== ""));
    const body = { original_url: normalizeUrl(url), rules: rulesBody(extras.rules), split: splitBody(extras), visitor: { ...known, ...(at && { at: fromLocalInput(at) }) } };
    setDecision(await unwrap(api.POST("/api/link-decisions", { body: body as never })));
  };
  const devices = [["", t("unknown")], ["desktop", t("device.desktop")], ["mobile", t("device.mobile")], ["tablet", t("device.tablet")]] as const;
  return (
    <section class="card rule" aria-label={t("tester")}>
      <h3>{t("tester")}</h3>
      <div class="field-grid">
        <TextField label={t("dimension.country")} placeholder="DE" maxLength={2} autocomplete="off" value={visitor.country} onInput={(country) => set({ country: country.toUpperCase() })} />
        <SelectField label={t("dimension.device")} value={visitor.device} options={devices} onChange={(device) => set({ device })} />
        <TextField label={t("dimension.os")} placeholder="iOS" autocomplete="off" value={visitor.os} onInput={(os) => set({ os })} />
        <TextField label={t("dimension.language")} placeholder="de" autocomplete="off" value={visitor.language} onInput={(language) => set({ language })} />
        <TextField label={t("rule.subject.query")} placeholder="ref=a" autocomplete="off" value={visitor.query} onInput={(query) => set({ query })} />
        <TextField label={t("time")} type="datetime-local" value={visitor.at} onInput={(at) => set({ at })} />
      </div>
      {error && <ErrorBox error={error} />}
      <div class="row">
        <button type="button" class="button" disabled={isBusy} onClick={() => void run(ask)}>
          {t("tester.ask")}
        </button>
        <output class="row-main">{decision && sayDecision(decision)}</output>
      </div>
    </section>
  );
}
