import { useState } from "preact/hooks";
import { api, type Link, type Schemas, unwrap } from "../api/client";
import { useQuery } from "../api/use_query";
import { currentWorkspace } from "../app/session";
import { type Key, t } from "../i18n";
import type { Rule } from "../lib/extras";
import { formatTime, readableUrl } from "../lib/format";
import { useCreators } from "../lib/members";
import { sayRule } from "../lib/summary";
import { ErrorBox, Skeleton } from "./feedback";

const KEPT = 100; // by the server, for each link

type Change = Schemas["LinkHistoryEntry"];
type Field = Change["fields"][number];

const changeNames: Record<Change["change"], Key> = {
  created: "created",
  updated: "history.updated",
  disabled: "state.disabled",
  enabled: "history.enabled",
  expired: "state.expired",
  deleted: "state.deleted",
  restored: "history.restored",
  claimed: "history.claimed",
  moved: "history.moved",
};

const fieldNames: Partial<Record<Field["name"], Key>> = {
  original_url: "destination",
  title: "title",
  tags: "tags",
  redirect_status: "redirect",
  starts_at: "starts",
  expires_at: "expires",
  expired_url: "expired.url",
  blocked_reason: "blocked",
  slug: "slug",
  aliases: "aliases",
  rules: "rules",
  split: "split",
  forward_query: "forward.query",
  forward_path: "forward.path",
  max_visits: "limit",
  password: "password",
  preview: "preview",
};

/** A list of rules or variants without those that another list has too; all of them if only the order differs. */
function onlyIn(list: readonly object[], other: readonly object[]): readonly object[] {
  const has = (of: readonly object[], each: object) => of.some((one) => JSON.stringify(one) === JSON.stringify(each));
  const isMoved = list.every((each) => has(other, each)) && other.every((each) => has(list, each));
  return isMoved ? list : list.filter((each) => !has(other, each));
}

/** Rules and variants by their names and what they say, other objects by what they say. */
function describe(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  if ("when" in value) return `${(value as Rule).name} (${sayRule(value as Rule, "")})`;
  if ("weight" in value && "name" in value && "url" in value) return `${value.name} (${value.weight}: ${readableUrl(String(value.url))})`;
  if ("name" in value) return String(value.name);
  return (Array.isArray(value) ? value : Object.values(value).flat()).filter((each) => each !== null && each !== "").map(describe).join(", ");
}

/** "Updated: Destination, Tags". */
export function nameOfChange(change: Change): string {
  const fields = change.fields.map((field) => fieldNames[field.name]).filter((name) => name !== undefined);
  return t(changeNames[change.change]) + (change.change === "updated" && fields.length > 0 ? `: ${fields.map((name) => t(name)).join(", ")}` : "");
}

function authorOf({ by }: Change, nameOf: (id: number | null) => string | undefined): string {
  if (by.type === "api_key") return t("history.key", { name: by.key_name ?? `#${by.key_id}` });
  const name = by.type === "user" && nameOf(by.user_id);
  if (name) return name;
  const user = (currentWorkspace()?.members ?? 1) > 1 ? "history.member" : "history.owner";
  return t(({ user, administrator: "role.admin", former_member: "history.former", system: "history.system", unknown: "unknown" } as const)[by.type]);
}

const isList = (value: unknown): value is object[] => Array.isArray(value) && typeof value[0] === "object";
const listOf = (value: unknown): unknown => (typeof value === "object" && value && "variants" in value ? value.variants : value);

function valueOf({ name }: Field, value: Field["from"], other: Field["from"]): string {
  if (value === null || value === "" || (Array.isArray(value) && value.length === 0)) return "–";
  if (typeof value === "boolean") return value ? t("yes") : t("no");
  const [own, others] = [listOf(value), listOf(other)];
  if (isList(own) && isList(others)) return onlyIn(own, others).map(describe).join(", ") || "–";
  return name.endsWith("_at") ? formatTime(value as string) : describe(value);
}

/** The name of a change says what became of the state, which is therefore not repeated. */
function Fields({ change }: { change: Change }) {
  return (
    <ul>
      {change.fields.map((field) => {
        const name = fieldNames[field.name];
        return (
          name && (
            <li key={field.name}>
              {t(name)}: <del>{valueOf(field, field.from, field.to)}</del> → <ins>{valueOf(field, field.to, field.from)}</ins>
            </li>
          )
        );
      })}
    </ul>
  );
}

function Changes({ changes }: { changes: Change[] }) {
  const nameOf = useCreators();
  if (changes.length === 0) return <p class="muted panel-empty">{t("history.none")}</p>;
  return (
    <table class="table history">
      <thead>
        <tr>
          <th scope="col">{t("time")}</th>
          <th scope="col">{t("change")}</th>
          <th scope="col">{t("history.by")}</th>
        </tr>
      </thead>
      <tbody>
        {changes.map((change) => (
          <tr key={change.at}>
            <td class="muted">{formatTime(change.at)}</td>
            <td>
              {t(changeNames[change.change])}
              <Fields change={change} />
            </td>
            <td>{authorOf(change, nameOf)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** What changed in a link, when, and by whom. Loaded when it is opened, and again after each change. */
export function History({ link }: { link: Link }) {
  const [isOpen, setOpen] = useState(false);
  const { data, error, reload } = useQuery(isOpen ? `history ${link.id} ${link.version}` : null, (signal) =>
    unwrap(api.GET("/api/links/{id}/history", { params: { path: { id: link.id }, query: { limit: KEPT } }, signal })),
  );
  return (
    <details class="card table-card disclosure" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary class="card-head">{t("history")}</summary>
      {error && <ErrorBox error={error} retry={reload} />}
      {isOpen && !data && !error && <Skeleton lines={3} height={28} />}
      {data && <Changes changes={data.changes} />}
    </details>
  );
}
