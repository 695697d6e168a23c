import { useState } from "preact/hooks";
import { api, unwrap, type Workspace } from "../api/client";
import { useQuery } from "../api/use_query";
import { useMayCreateWorkspace } from "../app/instance";
import { inWorkspace, setParams, usePlace } from "../app/router";
import { currentUser } from "../app/session";
import { Dialog, DialogFoot } from "../components/dialog";
import { Empty, ErrorBox, Skeleton } from "../components/feedback";
import { SubmitButton, TextField } from "../components/field";
import { Icon } from "../components/icons";
import { LeaveButton } from "../components/leave_button";
import { Table } from "../components/table";
import { useAction } from "../components/use_action";
import { t } from "../i18n";
import { formatCount, formatTime } from "../lib/format";
import { startIn } from "../lib/workspace";

function NewWorkspace({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const { error, isBusy, run } = useAction();
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      const { workspace } = await unwrap(api.POST("/api/workspaces", { body: { name } }));
      location.assign(inWorkspace(workspace.id, "/members"));
    });
  };
  return (
    <Dialog title={t("workspace.create")} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        {error && <ErrorBox error={error} />}
        <TextField label={t("name")} hint={t("workspace.name.hint")} required autofocus maxLength={100} autocomplete="off" value={name} error={error?.fields.name} onInput={setName} />
        <DialogFoot onClose={onClose} isBusy={isBusy}>
          <SubmitButton isBusy={isBusy}>{t("workspace.create")}</SubmitButton>
        </DialogFoot>
      </form>
    </Dialog>
  );
}

/** How long the server keeps a deleted one. */
const KEPT_MS = 7 * 24 * 60 * 60 * 1000;

function Row({ workspace, onRestore }: { workspace: Workspace; onRestore: () => void }) {
  const { name, role, members, deleted_at: deletedAt } = workspace;
  return (
    <tr>
      <td class="cell-link">
        {deletedAt ? <strong>{name}</strong> : <a href={inWorkspace(workspace.id)}>{name}</a>} {deletedAt && <span class="badge badge-deleted">{t("state.deleted")}</span>}
        {deletedAt && <div class="hint">{t("workspace.until", { time: formatTime(Date.parse(deletedAt) + KEPT_MS) })}</div>}
      </td>
      <td class="nowrap">{t(`role.${role}`)}</td>
      <td class="number">{formatCount(members)}</td>
      <td class="cell-actions">
        {deletedAt && role === "owner" && (
          <button type="button" class="button" aria-label={t("workspace.restore", { name })} onClick={onRestore}>
            {t("restore")}
          </button>
        )}
        {!deletedAt && role !== "owner" && <LeaveButton workspace={workspace} />}
      </td>
    </tr>
  );
}

/** The person's workspaces, also those that can still be restored. */
export default function WorkspacesPage() {
  const { data, error, reload } = useQuery("workspaces", (signal) => unwrap(api.GET("/api/workspaces", { signal })));
  const isCreating = usePlace().params.has("new");
  const setCreating = (is: boolean) => setParams({ new: is ? 1 : "" }, { replace: true });
  const action = useAction();
  const canCreate = useMayCreateWorkspace(currentUser());
  const restore = ({ id }: Workspace) =>
    void action.run(async () => {
      await startIn(id, () => unwrap(api.POST("/api/workspace/restore")));
      location.assign(inWorkspace(id));
    });
  const shownError = error ?? action.error;
  return (
    <>
      <header class="page-head">
        <h1>{t("workspaces")}</h1>
        {canCreate && (
          <button type="button" class="button button-primary" onClick={() => setCreating(true)}>
            <Icon name="plus" /> {t("workspace.create")}
          </button>
        )}
      </header>
      <p class="muted">{t("workspaces.text")}</p>
      {shownError && <ErrorBox error={shownError} retry={error && reload} />}
      {!data && !error && <Skeleton lines={3} height={44} />}
      {data?.workspaces.length === 0 && <Empty icon="home" title={t("workspaces.none")} text={t("workspaces.none.text")} />}
      {data && data.workspaces.length > 0 && (
        <Table caption={t("workspaces")} columns={[t("name"), t("role.your"), [t("members"), "number"]]}>
          {data.workspaces.map((workspace) => (
            <Row workspace={workspace} key={workspace.id} onRestore={() => restore(workspace)} />
          ))}
        </Table>
      )}
      {isCreating && canCreate && <NewWorkspace onClose={() => setCreating(false)} />}
    </>
  );
}
