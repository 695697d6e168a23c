import assert from "node:assert/strict";
import { before, test } from "node:test";
import { loadMoreTexts } from "../../../web/dashboard/src/i18n";
import { actionChoices, type AuditEntry, describeDetails, sentenceOf } from "../../../web/dashboard/src/lib/audit";

before(() => {
  Object.assign(globalThis, { document: { documentElement: {} }, navigator: globalThis.navigator ?? { language: "en", languages: ["en"] } });
  return loadMoreTexts();
});

const entry = (action: string, rest: Partial<AuditEntry> = {}): AuditEntry => ({
  id: 1, at: "2026-11-20T08:00:00.123Z", actor_id: 1, actor_email: "ann@example.com", key_id: null, action, subject_type: action.split(".")[0]!, subject_id: 2, subject_name: null, workspace_id: 1, workspace_name: "Team", request_id: "", details: {}, ...rest,
});
const nameOf = (id: number) => ({ 1: "Ann", 2: "Tom" })[id];
const nobody = () => undefined;

test("an entry is a sentence behind the name of who did it", () => {
  const user = { subject_type: "user", subject_id: 2 };
  assert.equal(sentenceOf(entry("member.update", user), nameOf), "changed the role of Tom");
  assert.equal(sentenceOf(entry("member.delete", user), nameOf), "removed Tom");
  assert.equal(sentenceOf(entry("member.delete", { ...user, actor_id: 2 }), nameOf), "left");
  assert.equal(sentenceOf(entry("link.delete", { details: { slug: "spring" } }), nameOf), "deleted spring");
  assert.equal(sentenceOf(entry("link.disable", { subject_type: "workspace", details: { links: 1234, link_ids: [1] } }), nameOf), "disabled 1,234 links");
  assert.equal(sentenceOf(entry("user.update", { ...user, details: { blocked: true } }), nameOf), "blocked the account Tom");
  assert.equal(sentenceOf(entry("user.update", { ...user, details: { role: "admin" } }), nameOf), "made Tom an administrator of this server");
  assert.equal(sentenceOf(entry("user.update", { ...user, details: { links_per_day: 5 } }), nameOf), "changed the limit of Tom");
  assert.equal(sentenceOf(entry("tag.update", { subject_type: "workspace", subject_name: "Team", details: { tag: "spring", links: 2 } }), nameOf), "changed the tag spring");
  assert.equal(sentenceOf(entry("user.delete", user), nobody), "deleted Account 2");
  assert.equal(sentenceOf(entry("moon.land", { subject_id: 9 }), nameOf), "moon.land 9");
});

test("details name people, and do not repeat the sentence", () => {
  assert.equal(describeDetails(entry("member.create", { details: { invited_by: 2, role: "editor" } }), nameOf), "Invited by: Tom, Role: Editor");
  assert.equal(describeDetails(entry("member.create", { details: { invited_by: 7 } }), nobody), "Invited by: Account 7");
  assert.equal(describeDetails(entry("workspace.update", { details: { renamed: true, requires_second_factor: false } }), nameOf), "New name, Second factor required: off");
  assert.equal(describeDetails(entry("user.update", { details: { blocked: true, role: "admin" } }), nameOf), "");
  assert.equal(describeDetails(entry("link.update", { details: { slug: "a", version: 3, workspace_id: 1 } }), nameOf), "");
});

test("the log can be limited to each action, and to none that is only a variant", () => {
  const actions = actionChoices().map(([action]) => action);
  assert.ok(actions.length > 50 && actions.includes("member.update") && !actions.some((action) => /update\.|self/.test(action)));
});
