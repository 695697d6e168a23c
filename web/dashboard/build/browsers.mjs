// The supported browsers (browserslist in package.json). A build fails if a module uses what the oldest of them lack, by MDN's
// data, or what all browsers lack over plain http, by TypeScript's types. As a program it prints a script for tests, which
// deletes from a new browser what the oldest ones lack.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import browserslist from "browserslist";

const SELF = fileURLToPath(import.meta.url);
const MDN_NAMES = { chrome: "chrome", edge: "edge", firefox: "firefox", ios_saf: "safari_ios", safari: "safari" };
/** Modules look first whether a browser has these, or have a function of their own with this name. */
const GUARDED = new Set(["Navigator.clipboard", "Navigator.serviceWorker", "Navigator.share", "share", "moveBefore", "auto"]);

const require = createRequire(SELF);
const { api, javascript } = require("@mdn/browser-compat-data");

/** {name: oldest version} */
const oldest = {};
for (const browser of browserslist(null, { path: SELF })) {
  const [name, version] = browser.split(" ");
  if (!MDN_NAMES[name]) throw new Error(`build/browsers.mjs: what does MDN call ${name}?`);
  oldest[name] = Math.min(oldest[name] ?? Infinity, Number.parseFloat(version));
}

/** As esbuild names them. */
export const targets = Object.entries(oldest).map(([name, version]) => `${name.replace("ios_saf", "ios")}${version}`);

const number = (version) => Number.parseFloat(String(version).replace("≤", "")); // NaN: never, or not yet

/** The browsers that lack a feature, as a text. */
function lacking({ __compat: compat }) {
  const isPresent = (each, version) => !each.flags && !each.prefix && !each.alternative_name && number(each.version_added) <= version && !(number(each.version_removed) <= version);
  const lacks = ([name, version]) => ![compat?.support[MDN_NAMES[name]] ?? []].flat().some((each) => isPresent(each, version));
  return compat ? Object.entries(oldest).filter(lacks).map((browser) => browser.join(" ")).join(", ") : "";
}

/** [path of the object, name, lacking browsers], with "" as the path of a global. */
function featuresOf(features, path = "") {
  return Object.entries(features).flatMap(([key, feature]) => {
    const name = key.replace(/_static$/, "");
    if (!/^[a-z]\w*$/i.test(name) || /_(event|parameter|option|object)$/.test(name)) return [];
    return [[path, name, lacking(feature)], ...(path.includes(".") ? [] : featuresOf(feature, path ? `${path}.${name}` : name))];
  });
}

const features = [...featuresOf(javascript.builtins), ...featuresOf(api)];
const missing = features.filter(([, , lacking]) => lacking !== "");
const present = new Set(features.filter(([, , lacking]) => lacking === "").map(([, name]) => name));
const nameOf = ([path, name]) => (path ? `${path}.${name}` : name);
const refused = new Map(missing.map((feature) => [nameOf(feature), `which ${feature[2]} lack`]));
/** Methods of instances, by a name that nothing else has. There are no instances of what is missing as a whole. */
const refusedMethods = new Map(missing.filter(([path, name]) => path && !refused.has(path) && !present.has(name)).map((feature) => [feature[1], `which ${feature[2]} lack`]));

const types = readFileSync(require.resolve("typescript/lib/lib.dom.d.ts"), "utf8");
for (const [, path] of types.matchAll(/only in secure contexts\.\s[\s*]+\[MDN Reference\]\(\S+\/Web\/API\/([\w/]+)/g)) refused.set(path.replace("/", "."), "which browsers lack over plain http");

const INSTANCES = { crypto: "Crypto", document: "Document", history: "History", location: "Location", navigator: "Navigator", performance: "Performance", window: "Window" };

/** Calls visit for each node of a syntax tree. */
function walk(node, visit) {
  if (typeof node?.type === "string") visit(node);
  for (const child of Object.values(node ?? {})) if (typeof child === "object") walk(child, visit);
}

/** [what, why] of what a module uses and must not. */
function faultsOf(program) {
  const faults = [];
  const check = (known, name) => known.has(name) && !GUARDED.has(name) && faults.push([name, known.get(name)]);
  walk(program, (node) => {
    const { type, callee } = node;
    if (type === "MemberExpression" && !node.computed && node.object.type === "Identifier") check(refused, `${INSTANCES[node.object.name] ?? node.object.name}.${node.property.name}`);
    if (type === "CallExpression" && callee.type === "MemberExpression" && !callee.computed) check(refusedMethods, callee.property.name);
    if ((type === "CallExpression" || type === "NewExpression") && callee.type === "Identifier") check(refused, callee.name);
  });
  return faults;
}

export function browsers() {
  return {
    name: "waymark-browsers",
    apply: "build",
    moduleParsed({ id, ast }) {
      for (const [what, why] of faultsOf(ast)) this.error(`${id} uses ${what}, ${why}`);
    },
  };
}

function remove(missing) {
  for (const [path, name] of missing) {
    const object = path.split(".").reduce((inner, key) => (key ? inner?.[key] : inner), globalThis);
    for (const holder of [object, object?.prototype]) if (holder) delete holder[name];
  }
}

if (process.argv[1] === SELF) console.log(`(${remove})(${JSON.stringify(missing)})`);
