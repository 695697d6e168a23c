import { api, type Schemas, unwrap } from "../api/client";
import { useQuery } from "../api/use_query";
import { href, setParams, usePlace } from "../app/router";
import { can } from "../app/session";
import { currentZone } from "../app/settings";
import { Empty, ErrorBox, Skeleton } from "../components/feedback";
import { Icon } from "../components/icons";
import { type Bots, botsOf, shownCount } from "../components/panel";
import { type Choice, Picker } from "../components/picker";
import { ShareButton } from "../components/share_button";
import { Statistics } from "../components/statistics";
import { t } from "../i18n";
import { filterQuery, filtersOf } from "../lib/filters";
import { formatCount, hostAndSlug } from "../lib/format";
import { rangeOf } from "../lib/range";
import { workspaceSource } from "../lib/sources";

const POLL_MS = 10_000;
const TOP = 10;

type Top = Schemas["TopLinks"]["links"];

function TopTable({ links, bots }: { links: Top; bots: Bots }) {
  const { params } = usePlace();
  const max = Math.max(1, ...links.map((link) => shownCount(link, bots)));
  const range = { range: params.get("range"), from: params.get("from"), to: params.get("to") };
  return (
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
          <tr key={link.id}>
            <th scope="row">
              <span class="bar" style={{ width: `${(shownCount(link, bots) / max) * 100}%` }} />
              <a class="bar-name" href={href(`/links/${link.id}`, range)}>
                {hostAndSlug(link.short_url)} {link.title && <span class="muted">{link.title}</span>}
              </a>
            </th>
            <td class="number strong">{formatCount(shownCount(link, bots))}</td>
            {bots !== "only" && <td class="number wide-only">{formatCount(link.unique_visitors)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Chooses whether all links are shown together, or those with a tag. */
function TagChoice({ tag }: { tag: string | undefined }) {
  const { data } = useQuery("tags", (signal) => unwrap(api.GET("/api/tags", { signal })));
  const tags = [...new Set([...(data?.tags ?? []).map((each) => each.name), ...(tag ? [tag] : [])])];
  if (tags.length === 0) return null;
  const choices: Choice[] = [{ id: "", text: t("links.all"), group: "", isOn: !tag }, ...tags.map((each) => ({ id: each, text: each, group: t("tag"), isOn: each === tag }))];
  return (
    <Picker label={t("tag.choose")} class="button" choices={choices} onPick={(value) => setParams({ tag: value })}>
      {tag ?? t("links.all")} <Icon name="down" size={14} />
    </Picker>
  );
}

export default function OverviewPage() {
  const { params } = usePlace();
  const range = rangeOf(params);
  const tag = params.get("tag") ?? undefined;
  const filters = filtersOf(params);
  const bots = botsOf(params);
  const query = { from: range.from, to: range.to, tz: currentZone(), limit: TOP, tag, bots: bots || undefined, ...filterQuery(filters) };
  const isNarrowed = tag !== undefined || bots !== "" || filters.length > 0;
  const { data, error, reload } = useQuery(JSON.stringify(query), (signal) => unwrap(api.GET("/api/stats/top", { params: { query }, signal })), POLL_MS);
  return (
    <>
      <Statistics
        source={workspaceSource(tag)}
        actions={tag && can("editor") && <ShareButton subject={{ tag }} name={tag} />}
        heading={
          <header class="page-head">
            <h1>{tag ? t("tag.title", { tag }) : t("overview")}</h1>
            <TagChoice tag={tag} />
          </header>
        }
      />
      {error && <ErrorBox error={error} retry={reload} />}
      {!data && !error && <Skeleton lines={8} height={36} />}
      {data?.links.length === 0 && !isNarrowed && (
        <Empty title={t("overview.none")} text={t("overview.none.text")}>
          <a class="button" href={href("/links")}>
            {t("overview.none.action")}
          </a>
        </Empty>
      )}
      {data && (data.links.length > 0 || isNarrowed) && (
        <section class="card" aria-label={t("top")}>
          <h2 class="card-head">{t("top")}</h2>
          {data.links.length > 0 ? <TopTable links={data.links} bots={bots} /> : <p class="muted panel-empty">{t("panel.empty")}</p>}
        </section>
      )}
    </>
  );
}
