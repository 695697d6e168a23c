import { api, unwrap } from "../api/client";
import { useQuery } from "../api/use_query";
import { href, inWorkspace, setParams, usePlace } from "../app/router";
import { currentWorkspace } from "../app/session";
import { Empty, ErrorBox, Skeleton } from "../components/feedback";
import { FilterField, SelectField } from "../components/field";
import { Icon } from "../components/icons";
import { CursorPages, Table } from "../components/table";
import { t } from "../i18n";
import { actionChoices, type AuditEntry, describeDetails, type NameOf, sentenceOf } from "../lib/audit";
import { formatTime } from "../lib/format";
import { loadMembers, memberName } from "../lib/members";

const PAGE_SIZE = 50;
const CHOICES_MAX = 8;

/** Where the subject of an entry is shown, if it is. */
function placeOf({ subject_type: type, subject_id: id, workspace_id: workspace, subject_name: name }: AuditEntry, isOfInstance: boolean): string | undefined {
  if (type === "link" && name && workspace) return inWorkspace(workspace, `/links/${id}`);
  return type === "user" && name && isOfInstance ? href(`/admin/users/${id}`) : undefined;
}

/** Chooses whose entries are shown: among the members of a workspace, or by a search among all accounts. actor: a number, or what is searched for. */
function ActorFilter({ actor, isOfInstance, members }: { actor: string; isOfInstance: boolean; members: readonly (readonly [string, string])[] }) {
  const isNumber = /^\d{1,15}$/.test(actor);
  const choose = (next: string | number) => setParams({ actor: next, cursor: "" }, { replace: true });
  const query = { q: actor, limit: CHOICES_MAX };
  const found = useQuery(isOfInstance && actor && !isNumber ? `accounts ${actor}` : null, (signal) => unwrap(api.GET("/api/admin/users", { params: { query }, signal })));
  const chosen = useQuery(isOfInstance && isNumber ? `account ${actor}` : null, (signal) => unwrap(api.GET("/api/admin/users/{id}", { params: { path: { id: Number(actor) } }, signal })));
  if (!isOfInstance) {
    const options = [["", t("audit.all.actors")] as const, ...members];
    if (isNumber && !members.some(([id]) => id === actor)) options.push([actor, t("audit.account", { id: actor })]);
    return <SelectField isLabelHidden label={t("actor")} value={actor} options={options} onChange={choose} />;
  }
  if (isNumber) {
    const name = chosen.data?.user.email ?? t("audit.account", { id: actor });
    return (
      <span class="chip chip-on">
        {name}
        <button type="button" aria-label={t("filter.remove", { name })} onClick={() => choose("")}>
          <Icon name="close" />
        </button>
      </span>
    );
  }
  return (
    <>
      <FilterField label={t("actor")} placeholder={t("audit.actor.find")} value={actor} onChange={choose} />
      {actor && found.data && (
        <div class="chips" role="group" aria-label={t("audit.actor.which")}>
          {found.data.users.map((user) => (
            <button type="button" class="button" key={user.id} onClick={() => choose(user.id)}>
              {user.email}
            </button>
          ))}
          {found.data.users.length === 0 && <span class="muted">{t("users.none")}</span>}
        </div>
      )}
    </>
  );
}

/** What was done in the workspace or, on the page of administrators, in the whole instance. */
export default function AuditPage() {
  const { path, params } = usePlace();
  const isOfInstance = path !== "/audit";
  const actor = params.get("actor") ?? "";
  const action = params.get("action") ?? "";
  const team = useQuery(isOfInstance || !currentWorkspace() ? null : "members", loadMembers);
  const query = { cursor: params.get("cursor") ?? undefined, action: action || undefined, actor_id: Number(actor) || undefined, limit: PAGE_SIZE };
  const { data, error, reload } = useQuery(JSON.stringify(query), (signal) => unwrap(api.GET(isOfInstance ? "/api/admin/audit" : "/api/audit", { params: { query }, signal })));
  const members = team.data?.members ?? [];
  const emails = new Map(data?.entries.flatMap((entry) => [[entry.actor_id, entry.actor_email] as const, ...(entry.subject_type === "user" ? [[entry.subject_id, entry.subject_name] as const] : [])]));
  const nameOf: NameOf = (id) => {
    const member = members.find((each) => each.user_id === id);
    return member ? memberName(member) : (emails.get(id) ?? undefined);
  };
  const about = (entry: AuditEntry) => {
    const [text, to] = [sentenceOf(entry, nameOf), placeOf(entry, isOfInstance)];
    return to ? <a href={to}>{text}</a> : text;
  };
  return (
    <>
      <header class="page-head">
        <h1>{t("audit")}</h1>
      </header>
      <p class="muted">{t("audit.text")}</p>
      <div class="filter-bar">
        <SelectField isLabelHidden label={t("action")} value={action} options={[["", t("audit.all.actions")], ...actionChoices()]} onChange={(next) => setParams({ action: next, cursor: "" })} />
        <ActorFilter actor={actor} isOfInstance={isOfInstance} members={members.map((each) => [String(each.user_id), memberName(each)] as const)} />
      </div>
      {error && <ErrorBox error={error} retry={reload} />}
      {!data && !error && <Skeleton lines={8} height={36} />}
      {data?.entries.length === 0 && (
        <Empty icon="search" title={t("audit.none")}>
          {(action || actor) && (
            <a class="button" href={href(path)}>
              {t("filters.clear")}
            </a>
          )}
        </Empty>
      )}
      {data && data.entries.length > 0 && (
        <Table caption={t("audit")} class="audit" columns={[t("time"), t("actor"), t("action"), [t("details"), "wide-only"], [t("request.id"), "wide-only"]]} hasActions={false}>
          {data.entries.map((entry) => (
            <tr key={entry.id}>
              <td class="muted time">{formatTime(entry.at)}</td>
              <td>
                {entry.actor_id ? <a href={href(path, { actor: entry.actor_id })}>{nameOf(entry.actor_id) ?? t("audit.account", { id: entry.actor_id })}</a> : t("audit.nobody")}
                {entry.key_id && <div class="muted">{t("audit.by.key")}</div>}
              </td>
              <td>
                {about(entry)}
                {isOfInstance && entry.workspace_name && <div class="muted">{entry.workspace_name}</div>}
              </td>
              <td class="wide-only muted">{describeDetails(entry, nameOf)}</td>
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
