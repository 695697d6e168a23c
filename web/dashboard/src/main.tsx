import "./styles/base.css";
import "./styles/components.css";
import "./styles/print.css";
import { render } from "preact";
import { App } from "./app/app";
import { loadInstance } from "./app/instance";
import { startRouter } from "./app/router";
import { startSession } from "./app/session";
import { applyTheme } from "./app/settings";
import { loadLanguage } from "./i18n";
import { followTranslation } from "./lib/translation";

const root = document.getElementById("app") as HTMLElement;
applyTheme();
startRouter();
followTranslation(root);
const started = Promise.all([startSession(), loadInstance()]);
await loadLanguage();
root.textContent = "";
render(<App started={started} />, root);

/** Browsers that require trusted types take a constant address only through a policy. Over plain http there are no service workers. */
function registerWorker(): void {
  const url = "/app/sw.js";
  const policies = (window as unknown as { trustedTypes?: { createPolicy: (name: string, rules: object) => { createScriptURL: (url: string) => string } } }).trustedTypes;
  const trusted = policies?.createPolicy("worker", { createScriptURL: () => url }).createScriptURL(url) ?? url;
  navigator.serviceWorker?.register(trusted).catch(() => {}); // the pages work without it
}

if (import.meta.env.PROD) registerWorker();
