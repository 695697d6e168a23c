// One file of small pictures: flags of countries, and marks of browsers, systems and websites. The module "virtual:sprite" says which value of a dimension
// has which. Nothing is asked of anybody else's server.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const PACKAGES = fileURLToPath(new URL("../node_modules", import.meta.url));
const FLAGS = join(PACKAGES, "country-flag-icons/3x2");
const ICONS = join(PACKAGES, "simple-icons/icons");

/** Values as the API has them, by the name of the mark. A trailing * stands for the rest. */
const MARKS = {
  browser: {
    googlechrome: "Chrome*", firefoxbrowser: "Firefox*", safari: "*Safari*", opera: "Opera*", samsung: "Samsung*", brave: "Brave*", vivaldi: "Vivaldi*", duckduckgo: "DuckDuckGo*",
  },
  os: { android: "Android", ios: "iOS", macos: "Mac OS X", apple: "iPadOS", linux: "Linux", ubuntu: "Ubuntu", googlechrome: "Chrome OS" },
  referrer_source: {
    google: "Google*", duckduckgo: "DuckDuckGo", facebook: "Facebook*", instagram: "Instagram", x: "X", reddit: "Reddit", youtube: "YouTube", tiktok: "TikTok", pinterest: "Pinterest",
    github: "GitHub", whatsapp: "WhatsApp", telegram: "Telegram", wikipedia: "Wikipedia", ycombinator: "Hacker News", mastodon: "Mastodon", bluesky: "Bluesky", threads: "Threads", discord: "Discord",
    gmail: "Gmail", baidu: "Baidu", apple: "Apple", ecosia: "Ecosia", brave: "Brave*", twitch: "Twitch", vimeo: "Vimeo", spotify: "Spotify", medium: "Medium", quora: "Quora", snapchat: "Snapchat",
  },
};

const symbol = (id, svg) => {
  const [, viewBox, content] = /viewBox="([^"]+)"[^>]*>(.*)<\/svg>/s.exec(svg) ?? [];
  if (!content) throw new Error(`build/sprite.mjs: ${id} has another form`);
  return `<symbol id="${id}" viewBox="${viewBox}">${content.replace(/<title>.*?<\/title>/, "")}</symbol>`;
};

function draw() {
  const flags = readdirSync(FLAGS).filter((name) => /^[A-Z]{2}\.svg$/.test(name)).map((name) => name.slice(0, 2));
  const marks = [...new Set(Object.values(MARKS).flatMap(Object.keys))].sort();
  const symbols = [
    ...flags.map((code) => symbol(code, readFileSync(join(FLAGS, `${code}.svg`), "utf8"))),
    ...marks.map((name) => symbol(name, readFileSync(join(ICONS, `${name}.svg`), "utf8"))),
  ];
  return { flags, source: `<svg xmlns="http://www.w3.org/2000/svg">${symbols.join("")}</svg>` };
}

export function sprite() {
  const id = "virtual:sprite";
  let isBuild = false;
  return {
    name: "waymark-sprite",
    configResolved: (config) => void (isBuild = config.command === "build"),
    resolveId: (source) => (source === id ? `\0${id}` : undefined),
    load(source) {
      if (source !== `\0${id}`) return undefined;
      const { flags, source: svg } = draw();
      const url = isBuild ? `import.meta.ROLLUP_FILE_URL_${this.emitFile({ type: "asset", name: "sprite.svg", source: svg })}` : JSON.stringify(`data:image/svg+xml,${encodeURIComponent(svg)}`);
      return `const flags = ${JSON.stringify(flags.join(""))};
        const marks = ${JSON.stringify(MARKS)};
        const fits = (value, pattern) => pattern.startsWith("*") ? value.includes(pattern.slice(1, -1)) : pattern.endsWith("*") ? value.startsWith(pattern.slice(0, -1)) : value === pattern;
        const isFlag = (code) => /^[A-Z]{2}$/.test(code) && flags.match(/../g).includes(code);
        export default {
          url: ${url},
          nameOf: (dimension, value) => dimension === "country" ? (isFlag(value) ? value : undefined) : Object.entries(marks[dimension] ?? {}).find(([, pattern]) => fits(value, pattern))?.[0],
        };`;
    },
  };
}
