import type { Schemas } from "../api/client";
import { href, usePlace } from "../app/router";
import { t } from "../i18n";
import { formatCount, hostAndSlug } from "../lib/format";
import { type Bots, shownCount } from "./panel";

/** The readers of a share get no id, and no page of the link. */
type Top = Schemas["SharedTopLinks"]["links"][number] & { id?: number };

/** The most visited links. */
export function TopLinks({ links, bots }: { links: Top[]; bots: Bots }) {
  const { params } = usePlace();
  const max = Math.max(1, ...links.map((link) => shownCount(link, bots)));
  const range = { range: params.get("range"), from: params.get("from"), to: params.get("to") };
  return (
    <section class="card" aria-label={t("top")}>
      <h2 class="card-head">{t("top")}</h2>
      {links.length === 0 && <p class="muted panel-empty">{t("panel.empty")}</p>}
      {links.length > 0 && (
        <table class="bars bars-large">
          <colgroup>
            <col />
            <col class="col-wide" />
            {bots !== "only" && <col class="col-wide wide-only" />}
          </colgroup>
          <thead>
            <tr>
              <th scope="col">{t("link")}</th>
              <th scope="col" class="number">
                {t("visits")}
              </th>
              {bots !== "only" && (
                <th scope="col" class="number wide-only">
                  {t("unique")}
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {links.map((link) => (
              <tr key={link.slug}>
                <th scope="row">
                  <span class="bar" style={{ width: `${(shownCount(link, bots) / max) * 100}%` }} />
                  <a class="bar-name" href={link.id === undefined ? undefined : href(`/links/${link.id}`, range)}>
                    <span class="bar-text">{hostAndSlug(link.short_url)}</span> {link.title && <span class="bar-text muted">{link.title}</span>}
                  </a>
                </th>
                <td class="number strong">{formatCount(shownCount(link, bots))}</td>
                {bots !== "only" && <td class="number wide-only">{formatCount(link.unique_visitors)}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
