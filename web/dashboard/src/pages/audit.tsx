import { api, type Schemas, unwrap } from "../api/client";
import { useQuery } from "../api/use_query";
import { href, setParams, usePlace } from "../app/router";
import { Empty, ErrorBox, Skeleton } from "../components/feedback";
import { FilterField } from "../components/field";
import { CursorPages, Table } from "../components/table";
import { t, tMaybe } from "../i18n";
import { formatTime } from "../lib/format";
import { loadMembers, useCreators } from "../lib/members";

const PAGE_SIZE = 50;

type Entry = Schemas["AuditEntry"];

/** Members of details that the page names elsewhere, or that only programs read. */
const HIDDEN = ["slug", "host", "link_id", "version", "workspace_id"];

/** Details as people read them: names of members in the place of their numbers, where they are known. */
function describe(details: Entry["details"], nameOf: (id: number) => string | undefined): string {
  const show = (name: string, value: unknown): string => {
    if (typeof value === "boolean") return t(value ? "yes" : "no");
    if (/_by$/.test(name)) return nameOf(Number(value)) ?? String(value);
    if (/_at$/.test(name)) return formatTime(String(value));
    return tMaybe(`role.${String(value)}`) ?? (typeof value === "string" ? value : JSON.stringify(value));
  };
  return Object.entries(details as Record<string, unknown>)
    .sort()
    .filter(([name, value]) => !HIDDEN.includes(name) && value !== null)
    .map(([name, value]) => `${tMaybe(`audit.detail.${name}`) ?? tMaybe(name.replace(/^has_|_at$/, "")) ?? name}: ${show(name, value)}`)
    .join(", ");
}

/** What an entry is about: its name, also one that is in use no more, or its number. */
function subjectOf({ subject_id, subject_name, details }: Entry) {
  const { slug, host } = details as { slug?: string; host?: string };
  return subject_name ?? slug ?? host ?? subject_id;
}

/** The account with the number or the address that somebody typed; 0: there is none. */
async function findActor(typed: string, isOfInstance: boolean, signal: AbortSignal): Promise<number> {
  if (/^\d{1,15}$/.test(typed)) return Number(typed);
  const isMeant = ({ email }: { email: string | null }) => email?.toLowerCase() === typed.toLowerCase();
  if (!isOfInstance) return (await loadMembers(signal)).members.find(isMeant)?.user_id ?? 0;
  return (await unwrap(api.GET("/api/admin/users", { params: { query: { q: typed, limit: 100 } }, signal }))).users.find(isMeant)?.id ?? 0;
}

/** What was done in the workspace or, on the page of administrators, in the whole instance. */
export default function AuditPage() {
  const { path, params } = usePlace();
  const isOfInstance = path !== "/audit";
  const actor = params.get("actor") ?? "";
  const creatorOf = useCreators();
  const query = { cursor: params.get("cursor") ?? undefined, action: params.get("action") ?? undefined, limit: PAGE_SIZE };
  const load = async (signal: AbortSignal) => {
    const actor_id = actor ? await findActor(actor, isOfInstance, signal) : undefined;
    if (actor_id === 0) return null;
    return unwrap(api.GET(isOfInstance ? "/api/admin/audit" : "/api/audit", { params: { query: { ...query, actor_id } }, signal }));
  };
  const { data, error, reload } = useQuery(JSON.stringify([query, actor]), load);
  return (
    <>
      <header class="page-head">
        <h1>{t("audit")}</h1>
      </header>
      <div class="filter-bar">
        <FilterField label={t("action")} placeholder={t("audit.action")} value={query.action ?? ""} onChange={(action) => setParams({ action, cursor: "" })} />
        <FilterField label={t("actor")} placeholder={t("audit.actor.find")} value={actor} onChange={(actor) => setParams({ actor, cursor: "" })} />
      </div>
      {error && <ErrorBox error={error} retry={reload} />}
      {data === undefined && !error && <Skeleton lines={8} height={36} />}
      {(data === null || data?.entries.length === 0) && (
        <Empty icon="search" title={t(data ? "audit.none" : "users.none")}>
          {(query.action || actor) && (
            <a class="button" href={href(path)}>
              {t("filters.clear")}
            </a>
          )}
        </Empty>
      )}
      {data && data.entries.length > 0 && (
        <Table caption={t("audit")} class="audit" columns={[t("time"), t("action"), t("actor"), [t("details"), "wide-only"], [t("request.id"), "wide-only"]]} hasActions={false}>
          {data.entries.map((entry) => (
            <tr key={entry.id}>
              <td class="muted time">{formatTime(entry.at)}</td>
              <td>
                <code class="nowrap">{entry.action}</code>
                <div class="muted">
                  {entry.subject_type} {subjectOf(entry)}
                  {isOfInstance && entry.workspace_name && ` · ${entry.workspace_name}`}
                </div>
              </td>
              <td>{entry.actor_id ? <a href={href(path, { actor: entry.actor_id })}>{entry.actor_email ?? entry.actor_id}</a> : t("audit.nobody")}</td>
              <td class="wide-only muted">{describe(entry.details, isOfInstance ? () => undefined : creatorOf)}</td>
              <td class="wide-only mono muted">
                <span class="ellipsis" title={entry.request_id}>
                  {entry.request_id}
                </span>
              </td>
            </tr>
          ))}
        </Table>
      )}
      <CursorPages cursor={query.cursor} next={data?.pagination.next_cursor} />
    </>
  );
}
