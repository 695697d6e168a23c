import assert from "node:assert/strict";
import { test } from "node:test";
import { isAtLeast, ROLES } from "../../../web/dashboard/src/lib/roles";
import { apiUrl, currentWorkspaceId, setCurrentWorkspaceId, startIn } from "../../../web/dashboard/src/lib/workspace";

test("what belongs to a workspace is asked in it", () => {
  assert.equal(apiUrl("/api/links"), "/api/links");
  setCurrentWorkspaceId(7);
  const inside = ["links", "links/5", "links/5/stats/timeseries", "links/move", "links/quota", "live", "stats/summary", "tags/a", "keys", "shares", "members/3", "invitations", "invitations/4", "audit", "visits", "workspace/restore"];
  for (const route of inside) assert.equal(apiUrl(`/api/${route}`), `/api/workspaces/7/${route}`);
  assert.equal(apiUrl("/api/workspace"), "/api/workspaces/7");
});

test("what belongs to a person, to the instance or to nobody is not", () => {
  setCurrentWorkspaceId(7);
  const outside = ["auth/session", "auth/me", "admin/users", "admin/audit", "shared", "shared/access", "instance", "workspaces", "links/public", "links/sync", "invitations/look", "invitations/accept"];
  for (const route of outside) assert.equal(apiUrl(`/api/${route}`), `/api/${route}`);
});

test("a request to another workspace changes this one for no other request, even if it fails", () => {
  setCurrentWorkspaceId(7);
  assert.equal(startIn(8, () => apiUrl("/api/links/move")), "/api/workspaces/8/links/move");
  assert.throws(() =>
    startIn(8, () => {
      throw new Error();
    }),
  );
  assert.equal(currentWorkspaceId(), 7);
});

test("a role may do what those before it may", () => {
  const allowed = ROLES.map((role) => ROLES.filter((least) => isAtLeast(role, least)).join());
  assert.deepEqual(allowed, ["viewer", "viewer,editor", "viewer,editor,admin", "viewer,editor,admin,owner"]);
  assert.equal(isAtLeast(undefined, "viewer"), false);
});
