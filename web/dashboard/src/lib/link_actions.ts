import { api, asApiError, type Link, unwrap } from "../api/client";
import { notify } from "../app/toasts";
import { explain } from "../components/feedback";
import { t, tn } from "../i18n";
import { formatDate, hostAndSlug } from "./format";
import { patiently } from "./patiently";
import { currentWorkspaceId, startIn } from "./workspace";

async function report(action: () => Promise<void>): Promise<void> {
  try {
    await action();
  } catch (error) {
    notify(explain(asApiError(error)), { isError: true });
  }
}

const byId = (link: Pick<Link, "id">) => ({ params: { path: { id: link.id } } });

export function setState(link: Link, state: "active" | "disabled", done: () => void): Promise<void> {
  return report(async () => {
    await unwrap(api.PATCH("/api/links/{id}", { ...byId(link), body: { state } }));
    const back = state === "active" ? "disabled" : "active";
    const text = t(state === "active" ? "link.enabled" : "link.disabled", { url: hostAndSlug(link.short_url) });
    notify(text, { undo: () => void setState(link, back, done) });
    done();
  });
}

const EDITED = ["original_url", "title", "tags", "notes", "redirect_status", "starts_at", "expires_at", "expired_url"] as const;

/** Says that the form changed a link; the message can undo it, unless the link was changed again since. */
export function sayEdited(before: Link, after: Link, done: () => void): void {
  const changed = EDITED.filter((field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]));
  const body = Object.fromEntries(changed.map((field) => [field, before[field]]));
  const path = { params: { path: { id: after.id }, header: { "If-Match": `"v${after.version}"` } } };
  const undo = () =>
    void report(async () => {
      await unwrap(api.PATCH("/api/links/{id}", { ...path, body }));
      sayRestored([after]);
      done();
    });
  notify(t("link.saved", { url: hostAndSlug(after.short_url) }), changed.length === 0 ? {} : { undo });
}

/** Does the same to links one by one. After an error, those before it stay done, and what they offer to undo covers them alone. */
function each(links: readonly Link[], act: (link: Link) => Promise<unknown>, say: (changed: readonly Link[]) => void, done: () => void): Promise<void> {
  const changed: Link[] = [];
  return report(async () => {
    try {
      for (const link of links) {
        await act(link);
        changed.push(link);
      }
    } finally {
      if (changed.length > 0) say(changed);
      done();
    }
  });
}

/** For a message about one link. */
const urlOf = ([link]: readonly Link[]) => hostAndSlug(link?.short_url ?? "");

const sayRestored = (restored: readonly Link[]) => notify(tn("restored", restored.length, { url: urlOf(restored) }));

export function restore(links: readonly Link[], done: () => void): Promise<void> {
  const act = (link: Link) => unwrap(api.POST("/api/links/{id}/restore", byId(link)));
  return each(links, act, sayRestored, done);
}

/** A filter takes so many values. */
const FILTER_MAX = 100;

const filterOf = (links: readonly Link[]) => `id:[${links.map((link) => link.id).join(",")}]`;

/** Deletes links; the message that says so, and until when they can be restored, does that. done gets the links as they are now. */
export function remove(links: readonly Link[], done: (deleted?: Link[]) => void): Promise<void> {
  const act = (link: Link) => unwrap(api.DELETE("/api/links/{id}", byId(link)));
  const say = async (removed: readonly Link[]) => {
    const query = { filter: filterOf(removed.slice(0, FILTER_MAX)), state: "deleted" as const, limit: FILTER_MAX };
    const answer = await unwrap(api.GET("/api/links", { params: { query } })).catch(() => undefined);
    const text = [tn("deleted", removed.length, { url: urlOf(removed) }), sayPurge(answer?.links[0])];
    notify(text.filter(Boolean).join(" "), { undo: () => void restore(removed, done) });
    done(answer?.links);
  };
  return each(links, act, (removed) => void say(removed), () => {});
}

/** When the link and its statistics are deleted for good, if that is known. */
export const sayPurge = (link: Link | undefined) => link?.purge_at && t("purge.at", { day: formatDate(link.purge_at) });

type State = "active" | "disabled";

async function changeStates(links: readonly Link[], state: State): Promise<number> {
  let changed = 0;
  for (let from = 0; from < links.length; from += FILTER_MAX) {
    const filter = filterOf(links.slice(from, from + FILTER_MAX));
    changed += (await unwrap(api.PATCH("/api/links", { params: { query: { filter } }, body: { state } }))).changed;
  }
  return changed;
}

/** One change of all links that are in the other state; the message can undo it. */
export function setStates(links: readonly Link[], state: State, done: () => void): Promise<void> {
  return report(async () => {
    const other = state === "active" ? "disabled" : "active";
    const changing = links.filter((link) => link.state === other || (other === "active" && link.state === "scheduled"));
    const changed = await changeStates(changing, state);
    notify(tn(state === "active" ? "enabled" : "disabled", changed), changed === 0 ? {} : { undo: () => void setStates(changing.map((link) => ({ ...link, state })), other, done) });
    done();
  });
}

const setTags = (link: Link, tags: string[]) => unwrap(api.PATCH("/api/links/{id}", { ...byId(link), body: { tags } }));

/** Adds and removes tags of each link and keeps its others; the message can undo it. */
export function changeTags(links: readonly Link[], added: readonly string[], removed: readonly string[], done: () => void): Promise<void> {
  const tagsOf = (link: Link) => [...new Set([...link.tags.filter((tag) => !removed.includes(tag)), ...added])];
  const changing = links.filter((link) => tagsOf(link).join() !== link.tags.join());
  const undo = (changed: readonly Link[]) => () => void each(changed, (link) => setTags(link, link.tags), sayRestored, done);
  return each(changing, (link) => setTags(link, tagsOf(link)), (changed) => notify(tn("changed", changed.length), { undo: undo(changed) }), done);
}

/** Moves links to the workspace of that name; the message that says so can move them back. */
export async function moveLinks(links: readonly Link[], workspace: number, name: string, done: () => void): Promise<void> {
  const ids = links.map((link) => link.id);
  const move = (to: number) => unwrap(api.POST("/api/links/move", { body: { ids, workspace_id: to } }));
  const here = currentWorkspaceId();
  const undo = async () => {
    const { moved } = await startIn(workspace, () => move(here));
    notify(tn("moved.back", moved));
    done();
  };
  const { moved } = await move(workspace);
  notify(tn("moved", moved, { name }), { undo: () => void report(undo) });
  done();
}

export type LinkEdit = Partial<Pick<Link, "original_url" | "title" | "tags" | "starts_at" | "expires_at">> & { state?: "active" | "disabled" };

/** As requests set it: every other state is that of a link which is enabled. */
const settable = (link: Link) => (link.state === "disabled" ? "disabled" : "active");
const valueOf = (link: Link, name: keyof LinkEdit) => (name === "state" ? settable(link) : link[name]);

/** Changes each link as editOf says; those that would stay as they are are left alone. The message can undo it. */
export function editLinks(links: readonly Link[], editOf: (link: Link) => LinkEdit, done: () => void, onStep = () => {}): Promise<void> {
  const edits = links.map((link) => [link, editOf(link)] as const).filter(([link, edit]) => isChange(link, edit));
  const edited = new Map(edits.map(([link, edit]) => [link, edit]));
  const patch = (link: Link, body: LinkEdit) => patiently(() => unwrap(api.PATCH("/api/links/{id}", { ...byId(link), body })));
  const before = (link: Link) => Object.fromEntries((Object.keys(edited.get(link) ?? {}) as (keyof LinkEdit)[]).map((name) => [name, valueOf(link, name)])) as LinkEdit;
  const undo = (changed: readonly Link[]) => () => void each(changed, (link) => patch(link, before(link)), sayRestored, done);
  const act = async (link: Link) => {
    await patch(link, edited.get(link) ?? {});
    onStep();
  };
  return each([...edited.keys()], act, (changed) => notify(tn("changed", changed.length), { undo: undo(changed) }), done);
}

/** Two texts may be one moment, and one set of tags. */
const plain = (value: unknown) => (Array.isArray(value) ? [...value].sort().join("\n") : typeof value === "string" && /^\d{4}-\d\d-\d\dT/.test(value) ? Date.parse(value) : value);
export const differs = (link: Link, edit: LinkEdit, name: keyof LinkEdit): boolean => plain(valueOf(link, name)) !== plain(edit[name]);
export const isChange = (link: Link, edit: LinkEdit): boolean => (Object.keys(edit) as (keyof LinkEdit)[]).some((name) => differs(link, edit, name));
