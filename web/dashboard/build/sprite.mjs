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
  device: { desktop: "desktop", mobile: "mobile", tablet: "tablet" },
  os: { windows: "Windows*", android: "Android", ios: "iOS", macos: "Mac OS X", apple: "iPadOS", linux: "Linux", ubuntu: "Ubuntu", googlechrome: "Chrome OS" },
  referrer_source: {
    linkedin: "LinkedIn*", google: "Google*", duckduckgo: "DuckDuckGo", facebook: "Facebook*", instagram: "Instagram", x: "X", reddit: "Reddit", youtube: "YouTube", tiktok: "TikTok", pinterest: "Pinterest",
    github: "GitHub", whatsapp: "WhatsApp", telegram: "Telegram", wikipedia: "Wikipedia", ycombinator: "Hacker News", mastodon: "Mastodon", bluesky: "Bluesky", threads: "Threads", discord: "Discord",
    gmail: "Gmail", baidu: "Baidu", apple: "Apple", ecosia: "Ecosia", brave: "Brave*", twitch: "Twitch", vimeo: "Vimeo", spotify: "Spotify", medium: "Medium", quora: "Quora", snapchat: "Snapchat",
  },
};

/** Drawn here, of 24 by 24: marks that no package has any more, and what stands for all that have none. */
const DRAWN = {
  linkedin: "M4 2h16a2 2 0 0 1 2 2v16a2 2 0 0 1-2 2H4a2 2 0 0 1-2-2V4a2 2 0 0 1 2-2Zm1.5 7.5V19h3V9.5zM7 4.8a1.7 1.7 0 1 0 0 3.4 1.7 1.7 0 0 0 0-3.4ZM10.5 9.5V19h3v-5c0-2.6 3-2.7 3 0v5h3v-5.8c0-4.4-4.3-4.6-6-2.1V9.5z",
  windows: "M3 3h8.5v8.5H3zM12.5 3H21v8.5h-8.5zM3 12.5h8.5V21H3zM12.5 12.5H21V21h-8.5z",
  desktop: "M3 4h18a1 1 0 0 1 1 1v11a1 1 0 0 1-1 1h-7v2h3v2H7v-2h3v-2H3a1 1 0 0 1-1-1V5a1 1 0 0 1 1-1Zm1 2v9h16V6z",
  mobile: "M8 2h8a2 2 0 0 1 2 2v16a2 2 0 0 1-2 2H8a2 2 0 0 1-2-2V4a2 2 0 0 1 2-2Zm0 3v12h8V5zM12 18a1 1 0 1 0 0 2 1 1 0 0 0 0-2Z",
  tablet: "M6 2h12a2 2 0 0 1 2 2v16a2 2 0 0 1-2 2H6a2 2 0 0 1-2-2V4a2 2 0 0 1 2-2Zm0 3v12h12V5zM12 18a1 1 0 1 0 0 2 1 1 0 0 0 0-2Z",
  website: "M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20Zm0 2c1.2 0 2.6 2.1 3.2 5.5H8.8C9.4 6.1 10.8 4 12 4ZM8.6 4.8C7.7 6 7.1 7.6 6.8 9.5H4.4a8 8 0 0 1 4.2-4.7Zm6.8 0a8 8 0 0 1 4.2 4.7h-2.4c-.3-1.9-.9-3.5-1.8-4.7ZM4 11.5h2.6v1L6.8 15H4.6A8 8 0 0 1 4 12Zm4.6 0h6.8v1L15.2 15H8.8L8.6 12.5Zm8.8 0H20v.5a8 8 0 0 1-.6 3h-2.2l.2-2.5ZM5.7 17h1.4c.3.9.8 1.7 1.3 2.3A8 8 0 0 1 5.7 17Zm3.6 0h5.4c-.7 1.9-1.8 3-2.7 3s-2-1.1-2.7-3Zm7.6 0h1.4a8 8 0 0 1-2.7 2.3c.5-.6 1-1.4 1.3-2.3Z",
  direct: "M11 4h9v9h-2.5V8.3L6.3 19.5l-1.8-1.8L15.7 6.5H11z",
  other: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16Zm0 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11Z",
};
/** Of a dimension whose names stand in one line below each other. */
const FALLBACK = { browser: "website", os: "desktop", referrer_source: "website", referrer_host: "website", device: "other" };

const symbol = (id, svg) => {
  const [, viewBox, content] = /viewBox="([^"]+)"[^>]*>(.*)<\/svg>/s.exec(svg) ?? [];
  if (!content) throw new Error(`build/sprite.mjs: ${id} has another form`);
  return `<symbol id="${id}" viewBox="${viewBox}">${content.replace(/<title>.*?<\/title>/, "")}</symbol>`;
};

function draw() {
  const flags = readdirSync(FLAGS).filter((name) => /^[A-Z]{2}\.svg$/.test(name)).map((name) => name.slice(0, 2));
  const marks = [...new Set(Object.values(MARKS).flatMap(Object.keys))].filter((name) => !DRAWN[name]).sort();
  const symbols = [
    ...flags.map((code) => symbol(code, readFileSync(join(FLAGS, `${code}.svg`), "utf8"))),
    ...Object.entries(DRAWN).map(([name, path]) => symbol(name, `<svg viewBox="0 0 24 24"><path fill-rule="evenodd" d="${path}"/></svg>`)),
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
        const fallback = ${JSON.stringify(FALLBACK)};
        const fits = (value, pattern) => pattern.startsWith("*") ? value.includes(pattern.slice(1, -1)) : pattern.endsWith("*") ? value.startsWith(pattern.slice(0, -1)) : value === pattern;
        const isFlag = (code) => /^[A-Z]{2}$/.test(code) && flags.match(/../g).includes(code);
        export default {
          url: ${url},
          nameOf: (dimension, value) => dimension === "country" ? (isFlag(value) ? value : undefined) : Object.entries(marks[dimension] ?? {}).find(([, pattern]) => fits(value, pattern))?.[0] ?? (value === "" && dimension.startsWith("referrer") ? "direct" : fallback[dimension]),
        };`;
    },
  };
}
