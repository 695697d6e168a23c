import { useEffect } from "preact/hooks";
import { api, type Schemas, unwrap } from "../api/client";
import { rememberTags } from "../components/tag_input";
import { createStore, useStore } from "./store";

export type Tag = Schemas["TagList"]["tags"][number];

/** Colors by tag, of the workspace. */
const colors = createStore<ReadonlyMap<string, string>>(new Map());

/** The tags of the workspace; dots everywhere take their colors from the last answer. */
export async function loadTags(signal?: AbortSignal) {
  const answer = await unwrap(api.GET("/api/tags", { signal }));
  rememberTags(answer.tags.map((tag) => tag.name));
  colors.set(new Map(answer.tags.flatMap((tag) => (tag.color ? [[tag.name, tag.color] as const] : []))));
  return answer;
}

/** Loads the colors once for each page that shows tags. Without its color, a dot is grey. */
export function useTagColors(): void {
  useEffect(() => {
    const controller = new AbortController();
    loadTags(controller.signal).catch(() => {});
    return () => controller.abort();
  }, []);
}

export const useTagColor = (tag: string): string | undefined => useStore(colors).get(tag);
