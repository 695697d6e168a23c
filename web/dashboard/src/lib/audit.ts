import type { Schemas } from "../api/client";
import { type Key, keysOf, t, tMaybe, tn } from "../i18n";
import { formatCount, formatTime } from "./format";

export type AuditEntry = Schemas["AuditEntry"];
type Details = Record<string, unknown>;

/** Names somebody; undefined: not known here. */
export type NameOf = (id: number) => string | undefined;

/** What the sentence says already, or only programs read. */
const HIDDEN = ["slug", "host", "link_id", "link_ids", "links", "version", "workspace_id", "tag", "kind", "blocked"];

const DID = "did.";

/** The actions that the log may have, each as a person reads it. */
export const actionChoices = (): [action: string, text: string][] =>
  keysOf(DID)
    .map((key) => key.slice(DID.length))
    .filter((action) => action.split(".").length === 2)
    .map((action) => [action, t(`${DID}${action}` as Key, { name: "…" })] as [string, string])
    .sort(([, a], [, b]) => a.localeCompare(b));

/** What an entry is about: its name, also one that is in use no more, the number of links, or its own number. */
function nameOfSubject({ action, subject_type, subject_id, subject_name, details }: AuditEntry, nameOf: NameOf): string {
  const { slug, host, tag, kind, name, links } = details as Details;
  if (action.startsWith("link.") && typeof links === "number") return tn("links", links, { count: formatCount(links) });
  const known = tag || (subject_type === "user" && nameOf(subject_id)) || subject_name || slug || host || kind || name;
  return known ? String(known) : subject_type === "user" ? t("audit.account", { id: subject_id }) : String(subject_id);
}

/** The same action may be two things to a person. */
function variantOf({ action, actor_id, subject_id, details }: AuditEntry): string {
  const { blocked, role } = details as Details;
  if (action === "member.delete" && actor_id === subject_id) return "self";
  if (action !== "user.update") return "";
  return typeof blocked === "boolean" ? (blocked ? "block" : "unblock") : typeof role === "string" ? role : "";
}

/** "changed the role of Tom", to be read behind who did it. An action without a text is named as it is. */
export function sentenceOf(entry: AuditEntry, nameOf: NameOf): string {
  const name = nameOfSubject(entry, nameOf);
  const keys = [`${DID}${entry.action}.${variantOf(entry)}`, `${DID}${entry.action}`];
  const key = keys.find((each) => tMaybe(each) !== undefined);
  return key ? t(key as Key, { name }) : `${entry.action} ${name}`;
}

/** The rest of the details, with names in the place of numbers where they are known. */
export function describeDetails({ action, details }: AuditEntry, nameOf: NameOf): string {
  const show = (name: string, value: unknown): string => {
    if (value === false) return t("no");
    if (name === "scopes") return String(value).split(",").map((scope) => tMaybe(`scope.${scope}`) ?? scope).join(" · ");
    if (/_by$/.test(name)) return nameOf(Number(value)) ?? t("audit.account", { id: Number(value) });
    if (/_at$/.test(name)) return formatTime(String(value));
    return tMaybe(`role.${String(value)}`) ?? (typeof value === "string" ? value : JSON.stringify(value));
  };
  const isSaid = (name: string) => HIDDEN.includes(name) || (action === "user.update" && name === "role");
  return Object.entries(details as Details)
    .sort()
    .filter(([name, value]) => !isSaid(name) && value !== null)
    .map(([name, value]) => {
      const label = tMaybe(`audit.detail.${name}`) ?? tMaybe(name.replace(/^has_|_at$/, "")) ?? name;
      return value === true ? label : `${label}: ${show(name, value)}`;
    })
    .join(", ");
}
