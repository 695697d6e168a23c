// Writes licences.txt: the licence of each package that is part of the build, and of the map's data.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const ALWAYS = ["world-atlas", "@fontsource-variable/geist", "country-flag-icons", "simple-icons"]; // their data, but none of their code
const ACCEPTED = new Set(["MIT", "ISC", "BSD-3-Clause", "Apache-2.0", "OFL-1.1", "CC0-1.0"]);

function packageOf(module) {
  const match = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(module);
  return match?.[1];
}

function describe(root, name) {
  const folder = join(root, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  if (!ACCEPTED.has(license)) throw new Error(`build/licences.mjs: ${name} has the licence ${license}`);
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
  const text = file && existsSync(join(folder, file)) ? readFileSync(join(folder, file), "utf8").trim() : license;
  return `${name} ${version} (${license})\n\n${text}\n`;
}

export function licences() {
  let root;
  return {
    name: "waymark-licences",
    apply: "build",
    configResolved: (config) => void (root = config.root),
    generateBundle(_, bundle) {
      const modules = Object.values(bundle).flatMap((file) => (file.type === "chunk" ? Object.keys(file.modules) : []));
      const names = [...new Set([...ALWAYS, ...modules.map(packageOf).filter(Boolean)])].sort();
      const source = names.map((name) => describe(root, name)).join(`\n${"-".repeat(72)}\n\n`);
      this.emitFile({ type: "asset", fileName: "licences.txt", source });
    },
  };
}
