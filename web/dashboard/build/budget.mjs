// Fails a build whose files are too large when they are compressed. The server compresses them (cmake/embed-folder.mjs). The first view consists of index.html, the entry and
// what it imports, the styles, and the largest page among those that a visitor may open first. A person loads one language: of the catalogues, all files count those of the largest.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const FIRST_VIEW_MAX = 70_000;
const TOTAL_MAX = 180_000;
const FIRST_PAGES = ["start", "login", "links"];
const COMPRESSIBLE = /\.(html|js|css|svg|txt)$/;

const gzippedSize = (folder, name) => gzipSync(readFileSync(join(folder, name)), { level: 9 }).length;

/** The chunk's file, its styles, and those of all chunks that it imports statically. */
function closure(bundle, name, found = new Set()) {
  if (found.has(name)) return found;
  found.add(name);
  const chunk = bundle[name];
  for (const style of chunk.viteMetadata?.importedCss ?? []) found.add(style);
  for (const imported of chunk.imports ?? []) closure(bundle, imported, found);
  return found;
}

function firstView(bundle, sizes) {
  const chunks = Object.values(bundle).filter((file) => file.type === "chunk");
  const weigh = (names) => [...names].reduce((sum, name) => sum + sizes[name], 0);
  const entry = closure(bundle, chunks.find((chunk) => chunk.isEntry).fileName);
  const pages = FIRST_PAGES.map((page) => {
    const chunk = chunks.find((each) => each.facadeModuleId?.endsWith(`/pages/${page}.tsx`));
    if (!chunk) throw new Error(`build/budget.mjs: there is no page ${page}`);
    return weigh(closure(bundle, chunk.fileName, new Set(entry)));
  });
  return sizes["index.html"] + Math.max(...pages);
}

/** The catalogues that the bundle does not need for the others. */
function otherLanguages(bundle, sizes) {
  const found = {};
  for (const file of Object.values(bundle)) {
    const language = /\/i18n\/([a-z]{2})(_more)?\.ts$/.exec(file.facadeModuleId ?? "")?.[1];
    if (language) (found[language] ??= []).push(file.fileName);
  }
  const weigh = (names) => names.reduce((sum, name) => sum + sizes[name], 0);
  return Object.values(found).sort((a, b) => weigh(b) - weigh(a)).slice(1).flat();
}

export function budget() {
  return {
    name: "waymark-budget",
    apply: "build",
    writeBundle(options, bundle) {
      const names = Object.keys(bundle).filter((name) => COMPRESSIBLE.test(name));
      const sizes = Object.fromEntries(names.map((name) => [name, gzippedSize(options.dir, name)]));
      const first = firstView(bundle, sizes);
      const others = otherLanguages(bundle, sizes);
      // The text of licences is no part of a page. The sprite is loaded by what shows it, once.
      const total = names.filter((name) => name !== "licences.txt" && !others.includes(name) && !/sprite.*\.svg$/.test(name)).reduce((sum, name) => sum + sizes[name], 0);
      const figures = `first view ${(first / 1000).toFixed(1)} of ${FIRST_VIEW_MAX / 1000} kB gzipped, all files ${(total / 1000).toFixed(1)} of ${TOTAL_MAX / 1000} kB`;
      if (first > FIRST_VIEW_MAX || total > TOTAL_MAX) this.error(`the dashboard is too large (build/budget.mjs): ${figures}`);
      this.info(figures);
    },
  };
}
