import { api, asApiError, type Link, unwrap } from "../api/client";
import { notify } from "../app/toasts";
import { explain } from "../components/feedback";
import { t, tn } from "../i18n";
import { hostAndSlug } from "./format";

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

export function restore(links: readonly Link[], done: () => void): Promise<void> {
  return report(async () => {
    for (const link of links) await unwrap(api.POST("/api/links/{id}/restore", byId(link)));
    notify(tn("restored", links.length));
    done();
  });
}

/** Deletes links; the message that says so can restore them. */
export function remove(links: readonly Link[], done: () => void): Promise<void> {
  return report(async () => {
    for (const link of links) await unwrap(api.DELETE("/api/links/{id}", byId(link)));
    notify(tn("deleted", links.length), { undo: () => void restore(links, done) });
    done();
  });
}

/** One change of all links with these ids. */
export function changeAll(links: readonly Link[], body: { state?: "active" | "disabled"; tags?: string[] }, done: () => void): Promise<void> {
  return report(async () => {
    const filter = `id:[${links.map((link) => link.id).join(",")}]`;
    const { changed } = await unwrap(api.PATCH("/api/links", { params: { query: { filter } }, body }));
    notify(tn("changed", changed));
    done();
  });
}
