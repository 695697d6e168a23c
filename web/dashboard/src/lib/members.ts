import { api, type Schemas, unwrap } from "../api/client";
import { useQuery } from "../api/use_query";
import { changeWorkspace, currentUser, currentWorkspace } from "../app/session";
import { t } from "../i18n";

export type Member = Schemas["Member"];

export const memberName = (member: Pick<Member, "name" | "email">): string => member.name || member.email;

/** Also says everywhere how many there are now, and what this person may do. */
export async function loadMembers(signal: AbortSignal) {
  const answer = await unwrap(api.GET("/api/members", { signal }));
  const now = { members: answer.members.length, role: answer.members.find((each) => each.user_id === currentUser()?.id)?.role };
  const known = currentWorkspace();
  if (now.members !== known?.members || (now.role && now.role !== known.role)) changeWorkspace({ members: now.members, ...(now.role && { role: now.role }) });
  return answer;
}

/** Names who made something, in a workspace of several people. Where there is only one, nobody needs to be named. */
export function useCreators(): (id: number | null) => string | undefined {
  const { data } = useQuery((currentWorkspace()?.members ?? 0) > 1 ? "members" : null, loadMembers);
  return (id) => {
    if (!data || id === null) return undefined;
    const member = data.members.find((each) => each.user_id === id);
    return member ? memberName(member) : t("member.former");
  };
}
