import { currentWorkspace } from "../app/session";
import { LeaveButton } from "../components/leave_button";
import { SecondFactor } from "../components/second_factor";
import { t } from "../i18n";

/** In the place of every page of a workspace, or of an instance, that requires a second factor which the person lacks. */
export default function FactorNeededPage() {
  const workspace = currentWorkspace();
  const name = workspace?.name ?? location.host;
  return (
    <>
      <header class="page-head">
        <h1>{t("factor.needed", { name })}</h1>
      </header>
      <div class="stack">
        <p>{t("factor.needed.text", { name })}</p>
        <SecondFactor onDone={() => location.reload()} />
        {workspace && workspace.members > 0 && workspace.role !== "owner" && (
          <p>
            <LeaveButton workspace={workspace} />
          </p>
        )}
      </div>
    </>
  );
}
