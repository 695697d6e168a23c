import { inWorkspace } from "../app/router";
import { currentWorkspace, useWorkspaces } from "../app/session";
import { LeaveButton } from "../components/leave_button";
import { SecondFactor } from "../components/second_factor";
import { t } from "../i18n";

/** In the place of every page of a workspace, or of an instance, that requires a second factor which the person lacks. */
export default function FactorNeededPage() {
  const workspace = currentWorkspace();
  const name = workspace?.name ?? location.host;
  const others = useWorkspaces().filter((each) => each !== workspace && !each.deleted_at);
  // Somebody else's, which an administrator of the instance came to look at.
  const own = workspace?.members === 0 ? others[0] : undefined;
  return (
    <>
      <header class="page-head">
        <h1>{t("factor.needed", { name })}</h1>
      </header>
      <div class="stack">
        <p>{t("factor.needed.text", { name })}</p>
        <SecondFactor onDone={() => location.reload()} />
        {own && (
          <p>
            <a class="button" href={inWorkspace(own.id)}>
              {t("factor.needed.back", { name: own.name })}
            </a>
          </p>
        )}
        {workspace && workspace.members > 0 && workspace.role !== "owner" && (
          <p>
            <LeaveButton workspace={workspace} />
          </p>
        )}
      </div>
    </>
  );
}
