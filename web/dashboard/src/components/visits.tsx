import { useState } from "preact/hooks";
import { api, asApiError, type Schemas, unwrap } from "../api/client";
import { useQuery } from "../api/use_query";
import { usePlace } from "../app/router";
import { currentZone } from "../app/settings";
import { notify } from "../app/toasts";
import { t } from "../i18n";
import { fileName, saveCsv, saveFile, separate } from "../lib/download";
import { filterQuery, filtersOf } from "../lib/filters";
import { formatClock, formatRelative, formatSpan, formatTime, formatValue } from "../lib/format";
import { dateIn, rangeOf } from "../lib/range";
import { ErrorBox, explain, Skeleton } from "./feedback";
import { Icon } from "./icons";
import { ValueIcon } from "./value_icon";

const POLL_MS = 3_000;
const LATEST = 20;

type Visit = Schemas["Visit"];

const campaignOf = (visit: Visit) => [visit.utm_source, visit.utm_campaign].filter(Boolean).join(" · ");

function VisitRow({ visit, today, hasCampaign }: { visit: Visit; today: string; hasCampaign: boolean }) {
  const source = visit.referrer_source || visit.referrer_host || t("direct");
  const place = [visit.city, formatValue("country", visit.country)].filter(Boolean).join(", ");
  return (
    <tr>
      <td title={formatRelative(visit.occurred_at)}>
        {dateIn(currentZone(), Date.parse(visit.occurred_at)) === today ? formatClock(visit.occurred_at) : formatTime(visit.occurred_at)}
      </td>
      <td>
        <ValueIcon dimension="country" value={visit.country} /> {place}
        <div class="narrow-only hint">
          {t("source")}: {source}
        </div>
      </td>
      <td>
        {visit.is_bot ? <span class="badge">{t("bot")}</span> : [visit.browser, visit.os].filter(Boolean).join(" · ") || t("unknown")}
      </td>
      <td class="wide-only">
        <ValueIcon dimension="referrer_source" value={visit.referrer_source} /> {source}
      </td>
      {hasCampaign && <td class="wide-only">{campaignOf(visit)}</td>}
    </tr>
  );
}

/** The latest visits of the range as they come, and the export of all of them. */
export function Visits({ linkId, slug }: { linkId: number; slug: string }) {
  const { params } = usePlace();
  const [isBusy, setBusy] = useState(false);
  const filters = filterQuery(filtersOf(params));
  const range = rangeOf(params);
  const bots = (["include", "only"] as const).find((each) => each === params.get("bots")); // without it, humans
  const query = { from: range.from, to: range.to, tz: currentZone(), limit: LATEST, bots, ...filters };
  const path = { id: linkId };
  const { data, error, reload } = useQuery(
    JSON.stringify(["visits", linkId, query]),
    async (signal) => (await unwrap(api.GET("/api/links/{id}/visits", { params: { path, query }, signal }))) as Schemas["VisitList"], // without format it is JSON
    POLL_MS,
  );

  const today = dateIn(currentZone());
  const hasCampaign = data?.visits.some(campaignOf) ?? false;

  const save = async (format: "csv" | "ndjson") => {
    const wanted = { ...query, limit: undefined, format };
    setBusy(true);
    try {
      const content = (await unwrap(api.GET("/api/links/{id}/visits", { params: { path, query: wanted }, parseAs: "blob" }))) as unknown as Blob;
      const name = fileName("single-visits", slug, range);
      if (format === "csv") saveCsv(separate((await content.text()).replace("occurred_at", "occurred_at (UTC)")), name);
      else saveFile(content, `${name}.ndjson`);
    } catch (cause) {
      notify(explain(asApiError(cause)), { isError: true });
    }
    setBusy(false);
  };

  return (
    <section class="card table-card" aria-label={t("visits.latest")}>
      <div class="card-head">
        <h2>{t("visits.latest")}</h2>
        <div class="button-row">
          <span class="muted">{t("export.range", { range: formatSpan(range.from, range.to, "UTC") })}</span>
          <button type="button" class="button" disabled={isBusy} onClick={() => save("csv")}>
            <Icon name="download" /> CSV
          </button>
          <button type="button" class="button" disabled={isBusy} onClick={() => save("ndjson")}>
            <Icon name="download" /> JSON
          </button>
        </div>
      </div>
      {error && <ErrorBox error={error} retry={reload} />}
      {!data && <Skeleton lines={5} height={44} isStill={error !== undefined} />}
      {data?.visits.length === 0 && <p class="muted panel-empty">{t("panel.empty")}</p>}
      {data && data.visits.length > 0 && (
        <table class="table">
          <thead>
            <tr>
              <th scope="col">{t("time")}</th>
              <th scope="col">{t("place")}</th>
              <th scope="col">{t("device")}</th>
              <th scope="col" class="wide-only">
                {t("source")}
              </th>
              {hasCampaign && (
                <th scope="col" class="wide-only">
                  {t("campaign")}
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {data.visits.map((visit) => (
              <VisitRow visit={visit} today={today} hasCampaign={hasCampaign} key={visit.event_id} />
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
