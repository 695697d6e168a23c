import { useState } from "preact/hooks";
import { api, unwrap, type Workspace } from "../api/client";
import { href } from "../app/router";
import { currentUser } from "../app/session";
import { t } from "../i18n";
import { startIn } from "../lib/workspace";
import { Confirm } from "./dialog";
import { ErrorBox } from "./feedback";
import { useAction } from "./use_action";

/** Asks, then takes the person out of the workspace. */
export function LeaveButton({ workspace }: { workspace: Workspace }) {
  const { id, name } = workspace;
  const [isAsking, setAsking] = useState(false);
  const { error, run } = useAction();
  const leave = () =>
    void run(async () => {
      await startIn(id, () => unwrap(api.DELETE("/api/members/{id}", { params: { path: { id: currentUser()?.id ?? 0 } } })));
      location.assign(href("/workspaces"));
    });
  return (
    <>
      {error && <ErrorBox error={error} />}
      <button type="button" class="button" onClick={() => setAsking(true)}>
        {t("member.leave.of", { name })}
      </button>
      {isAsking && <Confirm title={t("member.leave.title", { name })} text={t("member.leave.text")} action={t("member.leave")} onConfirm={leave} onClose={() => setAsking(false)} />}
    </>
  );
}
