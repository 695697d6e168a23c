import { api, unwrap } from "../api/client";
import { useQuery } from "../api/use_query";
import { setParams, usePlace } from "../app/router";
import { can } from "../app/session";
import { currentZone } from "../app/settings";
import { Icon } from "../components/icons";
import { botsOf } from "../components/panel";
import { type Choice, Picker } from "../components/picker";
import { ShareButton } from "../components/share_button";
import { Statistics } from "../components/statistics";
import { Dot } from "../components/tag_chip";
import { TopLinks } from "../components/top_links";
import { t } from "../i18n";
import { filterQuery, filtersOf } from "../lib/filters";
import { rangeOf } from "../lib/range";
import { workspaceSource } from "../lib/sources";
import { loadTags } from "../lib/tags";

const POLL_MS = 10_000;
const TOP = 8;

/** Chooses whether all links are shown together, or those with a tag. */
function TagChoice({ tag }: { tag: string | undefined }) {
  const { data } = useQuery("tags", loadTags);
  const tags = [...new Set([...(data?.tags ?? []).map((each) => each.name), ...(tag ? [tag] : [])])];
  if (tags.length === 0) return null;
  const choices: Choice[] = [{ id: "", text: t("links.all"), group: "", isOn: !tag }, ...tags.map((each) => ({ id: each, text: each, group: t("tag"), mark: <Dot tag={each} />, isOn: each === tag }))];
  return (
    <Picker label={t("tag.choose")} class="button" choices={choices} onPick={(value) => setParams({ tag: value })}>
      {tag ?? t("links.all")} <Icon name="down" />
    </Picker>
  );
}

export default function OverviewPage() {
  const { params } = usePlace();
  const range = rangeOf(params);
  const tag = params.get("tag") ?? undefined;
  const bots = botsOf(params);
  const query = { from: range.from, to: range.to, tz: currentZone(), limit: TOP, tag, bots: bots || undefined, ...filterQuery(filtersOf(params)) };
  const { data, error } = useQuery(JSON.stringify(query), (signal) => unwrap(api.GET("/api/stats/top", { params: { query }, signal })), POLL_MS);
  return (
    <>
      <Statistics
        source={workspaceSource(tag)}
        heading={
          <header class="page-head">
            <h1>{tag ? t("tag.title", { tag }) : t("overview")}</h1>
            <div class="page-actions">
              <TagChoice tag={tag} />
              {tag && can("editor") && <ShareButton subject={{ tag }} name={tag} />}
            </div>
          </header>
        }
      >
        <TopLinks links={data?.links} error={error} bots={bots} />
      </Statistics>
    </>
  );
}
