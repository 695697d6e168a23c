import { t } from "../i18n";
import type { Role } from "../lib/roles";

/** What the person is in a workspace, or would be, and what that allows. */
export function YourRole({ role }: { role: Role }) {
  return (
    <p>
      {t("role.yours", { role: t(`role.${role}`) })}
      <br />
      <span class="muted">{t(`role.${role}.text`)}</span>
    </p>
  );
}
