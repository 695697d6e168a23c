import type { ApiError, Schemas } from "../api/client";
import { href, usePlace } from "../app/router";
import { t } from "../i18n";
import { formatCount, hostAndSlug } from "../lib/format";
import { Skeleton } from "./feedback";
import { type Bots, shownCount } from "./panel";

/** The readers of a share get no id, and no page of the link. */
type Top = Schemas["SharedTopLinks"]["links"][number] & { id?: number };

/** The most visited links. */
export function TopLinks({ links, error, bots }: { links: Top[] | undefined; error: ApiError | undefined; bots: Bots }) {
  const { params } = usePlace();
  const max = Math.max(1, ...(links ?? []).map((link) => shownCount(link, bots)));
  const range = { range: params.get("range"), from: params.get("from"), to: params.get("to") };
  return (
    <section class="card panel top-links" aria-label={t("top")}>
      <div class="panel-head">
        <h2 class="panel-title">{t("top")}</h2>
      </div>
      <div class="panel-body">
        {!links && <Skeleton lines={8} height={32} look="bars" isStill={error !== undefined} />}
        {!links && error && <p class="muted panel-failed">{t("panel.failed")}</p>}
        {links?.length === 0 && <p class="muted panel-empty">{t("panel.empty")}</p>}
        {links && links.length > 0 && (
          <table class="bars">
            <colgroup>
              <col />
              <col class="col-count" />
              {bots !== "only" && <col class="col-unique wide-only" />}
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
                    <a class="bar-name" href={link.id === undefined ? undefined : href(`/links/${link.id}`, range)} title={hostAndSlug(link.short_url)}>
                      <span class="bar-text bar-slug" translate={false}>
                        /{link.slug}
                      </span>
                      {link.title && <span class="bar-text muted">{link.title}</span>}
                    </a>
                  </th>
                  <td class="number strong">{formatCount(shownCount(link, bots))}</td>
                  {bots !== "only" && <td class="number muted wide-only">{formatCount(link.unique_visitors)}</td>}
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </div>
    </section>
  );
}
