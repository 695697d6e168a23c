import "./styles/base.css";
import "./styles/components.css";
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
await Promise.all([loadLanguage(), startSession(), loadInstance()]);
root.textContent = "";
render(<App />, root);
