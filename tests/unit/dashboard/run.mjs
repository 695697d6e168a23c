// run.mjs [NAME…]: the unit tests of the dashboard, bundled by the esbuild of its packages. Exits with 77, which ctest counts as skipped, without these.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const dashboard = join(here, "../../../web/dashboard/");
if (!existsSync(join(dashboard, "node_modules/esbuild"))) {
  console.log("skipped, web/dashboard/node_modules is missing; run tools/setup");
  process.exit(77);
}
const { buildSync } = createRequire(dashboard)("esbuild");
const names = process.argv.length > 2 ? process.argv.slice(2) : readdirSync(here).filter((name) => name.endsWith(".test.ts"));
const folder = mkdtempSync(join(tmpdir(), "waymark-unit-"));
try {
  const options = { bundle: true, platform: "node", format: "esm", jsx: "automatic", jsxImportSource: "preact", outExtension: { ".js": ".mjs" }, logLevel: "error", external: ["../pages/*"] };
  const define = { "location.origin": '"http://localhost"' };
  buildSync({ ...options, define, entryPoints: names.map((name) => join(here, name)), outdir: folder, nodePaths: [join(dashboard, "node_modules")] });
  const files = readdirSync(folder).map((name) => join(folder, name));
  process.exitCode = spawnSync(process.execPath, ["--test", ...files], { stdio: "inherit", env: { ...process.env, TZ: "Europe/Berlin" } }).status ?? 1;
} finally {
  rmSync(folder, { recursive: true });
}
