import { useEffect } from "preact/hooks";
import { api, type Schemas, unwrap } from "../api/client";
import { rememberTags } from "../components/tag_input";
import { createStore, useStore } from "./store";

export type Tag = Schemas["TagList"]["tags"][number];

/** Colors by tag, of the workspace. Chips without a color look as if there were none. */
const colors = createStore<ReadonlyMap<string, string>>(new Map());

/** The tags of the workspace; chips everywhere take their colors from the last answer. */
export async function loadTags(signal?: AbortSignal) {
  const answer = await unwrap(api.GET("/api/tags", { signal }));
  rememberTags(answer.tags.map((tag) => tag.name));
  colors.set(new Map(answer.tags.flatMap((tag) => (tag.color ? [[tag.name, tag.color] as const] : []))));
  return answer;
}

/** Loads the colors once for each page that shows chips. A chip without its color is still a chip. */
export function useTagColors(): void {
  useEffect(() => {
    const controller = new AbortController();
    loadTags(controller.signal).catch(() => {});
    return () => controller.abort();
  }, []);
}

export const useTagColor = (tag: string): string | undefined => useStore(colors).get(tag);

/** sRGB, as WCAG 2 measures contrast. */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Black or white: the better of the two has a contrast of at least 4.58 to 1 on every color. */
export const textOn = (color: string): string => (luminance(color) > 0.179 ? "#000000" : "#ffffff");
