import { useState } from "preact/hooks";
import { api, unwrap, type Workspace } from "../api/client";
import { useQuery } from "../api/use_query";
import { href } from "../app/router";
import { can, changeWorkspace, currentUser, currentWorkspace } from "../app/session";
import { notify } from "../app/toasts";
import { Confirm } from "../components/dialog";
import { ErrorBox } from "../components/feedback";
import { SelectField, SubmitButton, TextField } from "../components/field";
import { Icon } from "../components/icons";
import { endsInvitations, useInvitations } from "../components/invitations";
import { LeaveButton } from "../components/leave_button";
import { useAction } from "../components/use_action";
import { t, tn } from "../i18n";
import { loadMembers, type Member, memberName } from "../lib/members";
import type { Role } from "../lib/roles";

function Settings({ workspace, onSaved }: { workspace: Workspace; onSaved: () => void }) {
  const [name, setName] = useState(workspace.name);
  const [requires, setRequires] = useState(workspace.requires_second_factor);
  const { error, isBusy, run } = useAction();
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      changeWorkspace((await unwrap(api.PATCH("/api/workspace", { body: { name, requires_second_factor: requires } }))).workspace);
      notify(t(requires && !workspace.requires_second_factor ? "workspace.factor.saved" : "saved"));
      onSaved();
    });
  };
  return (
    <form class="card form" onSubmit={submit}>
      <h2>{t("workspace")}</h2>
      {error && <ErrorBox error={error} />}
      <TextField label={t("name")} required maxLength={100} autocomplete="off" value={name} error={error?.fields.name} onInput={setName} />
      <label class="check">
        <input type="checkbox" checked={requires} onChange={(event) => setRequires(event.currentTarget.checked)} />
        {t("workspace.factor")}
        <span class="hint">{t("workspace.factor.text")}</span>
      </label>
      {requires && !workspace.requires_second_factor && !currentUser()?.second_factor && <p role="status">{t("workspace.factor.you")}</p>}
      <div class="button-row">
        <SubmitButton isBusy={isBusy}>{t("save")}</SubmitButton>
      </div>
    </form>
  );
}

/** Another owner first, so that there is one at any time: if the second step fails, there are two. */
async function handOver(member: Member): Promise<void> {
  const change = (id: number, role: Role) => unwrap(api.PATCH("/api/members/{id}", { params: { path: { id } }, body: { role } }));
  await change(member.user_id, "owner");
  await change(currentUser()?.id ?? 0, "admin");
}

function HandOver({ members }: { members: Member[] }) {
  const [chosen, setChosen] = useState(String(members[0]?.user_id));
  const invitations = useInvitations();
  const [isAsking, setAsking] = useState(false);
  const { error, run } = useAction();
  const member = members.find((each) => String(each.user_id) === chosen);
  const name = member ? memberName(member) : "";
  const act = () =>
    void run(async () => {
      if (!member) return;
      await handOver(member);
      changeWorkspace({ role: "admin" });
      notify(t("handover.done", { name }));
    });
  return (
    <section class="card form">
      <h2>{t("handover")}</h2>
      <p>{t("handover.text")}</p>
      {error && <ErrorBox error={error} />}
      <SelectField label={t("handover.to")} value={chosen} options={members.map((each) => [String(each.user_id), memberName(each)] as const)} onChange={setChosen} />
      <div class="button-row">
        <button type="button" class="button" onClick={() => setAsking(true)}>
          {t("handover")}
        </button>
      </div>
      {isAsking && <Confirm title={t("handover.title", { name })} text={t("handover.ask")} more={endsInvitations(invitations, currentUser()?.id ?? 0, "admin")} action={t("handover")} onConfirm={act} onClose={() => setAsking(false)} />}
    </section>
  );
}

function Deletion({ workspace }: { workspace: Workspace }) {
  const [name, setName] = useState("");
  const { error, isBusy, run } = useAction();
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      await unwrap(api.DELETE("/api/workspace", { body: { name } }));
      location.assign(href("/workspaces"));
    });
  };
  return (
    <form class="card form card-danger" onSubmit={submit}>
      <h2>{t("workspace.delete")}</h2>
      <p>{t("workspace.delete.text")}</p>
      {error && <ErrorBox error={error} />}
      <TextField label={t("workspace.delete.name", { name: workspace.name })} autocomplete="off" autocapitalize="off" spellcheck={false} required value={name} error={error?.fields.name} onInput={setName} />
      <div class="button-row">
        <button type="submit" class="button button-danger" disabled={isBusy || name !== workspace.name}>
          {t("workspace.delete")}
        </button>
      </div>
    </form>
  );
}

export default function WorkspacePage() {
  const workspace = currentWorkspace();
  const { data, error, reload } = useQuery("members", loadMembers);
  if (!workspace) return null; // deleted meanwhile
  const others = data?.members.filter((each) => each.user_id !== currentUser()?.id) ?? [];
  const isMember = data?.members.some((each) => each.user_id === currentUser()?.id);
  return (
    <>
      <header class="page-head">
        <h1>{t("settings")}</h1>
        <div class="page-actions">
          <a class="button" href={href("/members")}>
            <Icon name="users" /> {tn("workspace.members", workspace.members)}
          </a>
          {can("admin") && (
            <a class="button" href={href("/audit")}>
              <Icon name="list" /> {t("audit")}
            </a>
          )}
        </div>
      </header>
      <div class="stack">
        <section class="card">
          <h2>{t("role.yours", { role: t(`role.${workspace.role}`) })}</h2>
          <p class="muted">{t(`role.${workspace.role}.text`)}</p>
        </section>
        {can("admin") && <Settings workspace={workspace} onSaved={reload} />}
        {error && <ErrorBox error={error} retry={reload} />}
        {can("owner") && isMember && others.length > 0 && <HandOver members={others} />}
        {isMember && others.length > 0 && (
          <section class="card">
            <h2>{t("member.leave")}</h2>
            {workspace.role === "owner" && !others.some((each) => each.role === "owner") ? (
              <p class="muted">{t("member.last")}</p>
            ) : (
              <div>
                <LeaveButton workspace={workspace} />
              </div>
            )}
          </section>
        )}
        {can("owner") && <Deletion workspace={workspace} />}
      </div>
    </>
  );
}
