/**
 * The workspace that this document shows. It stays the same until the document is left: another workspace is another document, so
 * that nothing which still runs, or can be undone, meets the wrong one. 0: none.
 */
let current = 0;

export const currentWorkspaceId = (): number => current;

export function setCurrentWorkspaceId(id: number): void {
  current = id;
}

/** Routes of a person, of the instance, and of those who have no login. All others belong to a workspace. */
const OUTSIDE = /^\/api\/(auth|admin|shared|instance|workspaces|links\/(public|sync)|invitations\/(look|accept))(\/|$)/;

/** The address of a route of the API: "/api/workspaces/7/links" for "/api/links". */
export function apiUrl(route: string): string {
  if (current === 0 || OUTSIDE.test(route)) return route;
  return `/api/workspaces/${current}${route === "/api/workspace" ? "" : route.slice("/api".length)}`;
}

/** Starts a request in another workspace. */
export function startIn<T>(workspace: number, start: () => T): T {
  const here = current;
  current = workspace;
  try {
    return start();
  } finally {
    current = here;
  }
}
