import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import type * as Client from "../../../web/dashboard/src/api/client";
import type * as Session from "../../../web/dashboard/src/app/session";

const ME = { id: 3, email: "a@b.example", name: "", role: "user", tz: null, locale: null, theme: "system", workspace_id: 7 };
const workspaceWith = (role: string) => ({ id: 7, name: "Team", role, sponsor_id: 1, members: 2, requires_second_factor: false, default_forward_query: false, default_forward_path: false, created_at: "", deleted_at: null });

const json = (body: unknown, status = 200) => new Response(JSON.stringify(body), { status });

/** What the server says now, and what it was asked for. */
let me = ME;
let workspaces = [workspaceWith("viewer")];
let asked: string[] = [];
Object.assign(globalThis, {
  location: new URL("http://localhost/app/w/7/links"),
  addEventListener: () => {},
  dispatchEvent: () => true,
  document: { documentElement: { dataset: {} } },
  fetch: async (url: string) => {
    asked.push(url);
    if (url === "/api/auth/session") return json({ user: me });
    return url === "/api/workspaces" ? json({ workspaces }) : json({ type: "/problems/role", status: 403 }, 403);
  },
});
let now = 1_000_000;
let due: { at: number; run: () => void }[] = [];
Date.now = () => now;
Object.assign(globalThis, { setTimeout: (run: () => void, ms = 0) => due.push({ at: now + ms, run }) });
let session: typeof Session;
let client: typeof Client;

/** Until what has been asked is answered. */
const settle = async () => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
};
const pass = async (ms: number) => {
  now += ms;
  const ripe = due.filter(({ at }) => at <= now);
  due = due.filter(({ at }) => at > now);
  for (const { run } of ripe) run();
  await settle();
};

beforeEach(async () => {
  // Not before the document that they need is there.
  session ??= await import("../../../web/dashboard/src/app/session");
  client ??= await import("../../../web/dashboard/src/api/client");
  await pass(60_000);
  [me, workspaces] = [ME, [workspaceWith("viewer")]];
  await session.startSession();
  session.setUser(me as Client.User);
  await session.enterWorkspace(me as Client.User);
  asked = [];
});

test("a role that somebody else changed is known with the next page", async () => {
  workspaces = [workspaceWith("admin")];
  me = { ...ME, role: "admin" };
  await pass(5_000);
  assert.equal(session.can("editor"), false);
  session.refreshRoles();
  await pass(0);
  assert.equal(session.can("admin"), true);
  assert.equal(session.currentUser()?.role, "admin");
  workspaces = [workspaceWith("viewer")];
  await pass(5_000);
  session.refreshRoles();
  await pass(0);
  assert.equal(session.can("editor"), false);
});

test("pages in a row ask once in five seconds", async () => {
  for (let page = 0; page < 20; page++) {
    session.refreshRoles();
    await pass(500);
  }
  assert.deepEqual(asked, ["/api/auth/session", "/api/workspaces"]);
});

test("a refusal shows what is allowed now, at most once in five seconds, and not for ever", async () => {
  workspaces = [];
  for (let attempt = 0; attempt < 20; attempt++) await assert.rejects(client.unwrap(client.api.GET("/api/audit")));
  await pass(4_999);
  assert.deepEqual(asked.filter((url) => url === "/api/workspaces"), []);
  await pass(1);
  assert.equal(session.currentWorkspace(), undefined);
  await pass(60_000);
  assert.equal(asked.filter((url) => url === "/api/workspaces").length, 1);
});

test("a workspace of others that an administrator looks at stays, and one that is gone is not asked for again and again", async () => {
  me = { ...ME, role: "admin" };
  workspaces = [];
  await pass(5_000);
  session.refreshRoles();
  await pass(60_000);
  assert.equal(asked.filter((url) => url === "/api/workspaces/7").length, 1);
});
