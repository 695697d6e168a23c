import "./styles/base.css";
import "./styles/components.css";
import { render } from "preact";
import { App } from "./app/app";
import { startRouter } from "./app/router";
import { startSession } from "./app/session";
import { applyTheme } from "./app/settings";
import { loadLanguage } from "./i18n";
import { followTranslation } from "./lib/translation";

const root = document.getElementById("app") as HTMLElement;
applyTheme();
startRouter();
followTranslation(root);
await Promise.all([loadLanguage(), startSession()]);
root.textContent = "";
render(<App />, root);
