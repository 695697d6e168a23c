// Fails a build in which the first view uses a text that is loaded later. Its pages have isFirst in src/app/routes.ts, and what they import belongs to it, except
// what is loaded when it is first shown (src/lib/lazy.tsx): that loads the other texts as well.
import { readFileSync } from "node:fs";

const FIRST = /\/src\/(main\.tsx|pages\/(start|login|links)\.tsx)$/;
const keysOf = (file) => [...readFileSync(new URL(`../src/i18n/${file}.ts`, import.meta.url), "utf8").matchAll(/^ {2}(?:"([^"]+)"|(\w+)): /gm)].map(([, quoted, bare]) => quoted ?? bare);

function closure(context, id, found) {
  if (found.has(id) || id.includes("/i18n/")) return;
  found.add(id);
  for (const each of context.getModuleInfo(id).importedIds) closure(context, each, found);
}

export function texts() {
  return {
    name: "waymark-texts",
    apply: "build",
    buildEnd(error) {
      if (error) return;
      const found = new Set();
      for (const id of this.getModuleIds()) if (FIRST.test(id)) closure(this, id, found);
      const code = [...found].filter((id) => id.includes("/dashboard/src/")).map((id) => readFileSync(id, "utf8")).join("\n");
      const early = keysOf("en_more").filter((key) => code.includes(`"${key}"`) || code.includes(`"${key.replace(/_(zero|one|two|few|many|other)$/, "")}"`));
      if (early.length > 0) this.error(`these texts are needed in the first view; move them from i18n/*_more.ts to the other files: ${early.join(", ")}`);
    },
  };
}
