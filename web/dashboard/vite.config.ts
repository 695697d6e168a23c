import { defineConfig } from "vite";
import { browsers, targets } from "./build/browsers.mjs";
import { budget } from "./build/budget.mjs";
import { licences } from "./build/licences.mjs";
import { sprite } from "./build/sprite.mjs";
import { texts } from "./build/texts.mjs";
import { world } from "./build/world.mjs";

const api = process.env.LINKS_API_URL ?? "http://127.0.0.1:8080";

/** What is seldom opened compresses better together: the pages of settings, and the pages and parts that draw statistics. */
function together(id: string): string | undefined {
  if (/\/(pages\/(account|keys|workspaces?|members|factor_needed|tags|shares|reset|confirm|invitation)|components\/(invitations|second_factor|leave_button|secret_dialog|share_dialog))\.tsx$/.test(id)) return "settings";
  if (/\/(pages\/(overview|live|link|shared)|components\/(statistics|panel|change|value_icon|range_bar|chart|top_links|world_map|visits|history|aliases))\.tsx$|virtual:(world|sprite)$|lib\/(world_view|sources)\.ts$/.test(id)) return "statistics";
  if (/\/components\/(link_extras|decision_tester|qr_designer|conflict|values_field)\.tsx$/.test(id)) return "extras";
  if (/\/(components\/(selection_bar|bulk_edit)|pages\/bulk)\.tsx$/.test(id)) return "selection";
  return undefined;
}

export default defineConfig({
  base: "/app/",
  plugins: [world(), sprite(), browsers(), licences(), texts(), budget()],
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  build: {
    target: targets,
    assetsInlineLimit: 0, // a data: URL of a script or font is not allowed by the policy of the page
    modulePreload: { polyfill: false },
    minify: "terser", // its files are 2 % smaller than those of esbuild
    terserOptions: { module: true, compress: { passes: 2 } },
    reportCompressedSize: false,
    // Many small chunks cost a request each and compress badly. Pages are larger and stay apart.
    rollupOptions: { output: { experimentalMinChunkSize: 3000, manualChunks: together, onlyExplicitManualChunks: true } },
  },
  // `LINKS_API_URL=… npm run dev`: cookies and Sec-Fetch-Site work, because the browser sees one origin.
  server: { proxy: { "/api": { target: api, changeOrigin: true } } },
});
