import { api, type Link, newIdempotencyKey, unwrap } from "../api/client";
import { href } from "../app/router";
import { t } from "../i18n";
import { normalizeUrl } from "../lib/urls";
import { ShortenForm } from "./shorten_form";
import Steps from "./steps";

/** An account without links: the first one is made here, and what follows is shown beside it. */
export default function FirstRun({ onMade }: { onMade: (link: Link) => void }) {
  const make = async (url: string) => {
    const header = { "Idempotency-Key": newIdempotencyKey() };
    onMade((await unwrap(api.POST("/api/links", { params: { header }, body: { original_url: normalizeUrl(url) } }))).link);
  };
  return (
    <section class="card first-run">
      <h2>{t("links.none")}</h2>
      <ShortenForm label={t("step.address")} onSend={make} />
      <a href={href("/links/bulk")}>{t("step.import")}</a>
      <Steps />
    </section>
  );
}
