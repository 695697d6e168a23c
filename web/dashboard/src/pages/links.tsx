import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { api, asApiError, type Link, type Schemas, unwrap } from "../api/client";
import { useQuery } from "../api/use_query";
import { useKeys } from "../app/keyboard";
import { href, setParams, usePlace } from "../app/router";
import { can } from "../app/session";
import { notify } from "../app/toasts";
import { copyText } from "../components/copy_button";
import { Empty, ErrorBox, explain, Skeleton } from "../components/feedback";
import { Icon } from "../components/icons";
import { LinkTable, type Order, type Sort } from "../components/link_table";
import { type Choice, Picker } from "../components/picker";
import { Dot } from "../components/tag_chip";
import { rememberedTags, rememberTags } from "../components/tag_input";
import { t, tn } from "../i18n";
import { formatCount, hostAndSlug } from "../lib/format";
import { sayEdited } from "../lib/link_actions";
import { lazy } from "../lib/lazy";
import { saveLinks } from "../lib/save_links";

const LinkForm = lazy(async () => ({ default: (await import("../components/link_form")).LinkForm }), 0);
const SelectionBar = lazy(() => import("../components/selection_bar"), 0);
const FirstRun = lazy(() => import("../components/first_run"), 5);

const PAGE_SIZE = 50;
const ROWS_AT_ONCE = 17;
const DAYS = 30;
/** Some changes are a request for each link, and an account has six hundred a minute. */
const CHOSEN_MAX = 500;
const POLL_MS = 2_500;
const SEARCH_DELAY_MS = 250;
const STATES = ["active", "used_up", "scheduled", "disabled", "expired", "deleted"] as const;
const SORTS = ["created_at", "humans", "last_visited_at"] as const;

function pick<T extends readonly string[]>(choices: T, value: string | null): T[number] | undefined {
  return choices.find((each) => each === value);
}

function useLinks() {
  const { params } = usePlace();
  const query = {
    q: params.get("q") ?? undefined,
    tag: params.get("tag") ?? undefined,
    state: pick(STATES, params.get("state")),
    sort: pick(SORTS, params.get("sort")),
    order: pick(["asc", "desc"] as const, params.get("order")),
    page: Math.max(1, Number.parseInt(params.get("page") ?? "1", 10) || 1),
    limit: PAGE_SIZE,
    days: DAYS,
  };
  const asked = JSON.stringify(query);
  const load = async (signal: AbortSignal) => {
    const answer = await unwrap(api.GET("/api/links", { params: { query }, signal }));
    rememberTags(answer.links.flatMap((link) => link.tags));
    return { asked, ...answer };
  };
  return { query, ...useQuery(asked, load, POLL_MS) };
}

/** The rows of a list in turn: first those that a window shows, then the others, so that the page answers meanwhile. */
function useRowsInTurn(rows: Link[], list: string | undefined): Link[] {
  const [drawn, setDrawn] = useState({ list, count: ROWS_AT_ONCE });
  const count = drawn.list === list ? drawn.count : ROWS_AT_ONCE;
  useEffect(() => {
    if (count < rows.length) setDrawn({ list, count: count + ROWS_AT_ONCE });
  }, [count, rows.length, list]);
  return rows.slice(0, count);
}

type Filters = ReturnType<typeof useLinks>["query"];

function SearchField({ value }: { value: string }) {
  const { params } = usePlace();
  const [text, setText] = useState(value);
  const field = useRef<HTMLInputElement>(null);
  const timer = useRef(0);
  useEffect(() => {
    if (document.activeElement !== field.current) setText(value);
  }, [value]);
  useEffect(() => {
    if (params.get("focus") !== "search") return;
    field.current?.focus();
    setParams({ focus: "" }, { replace: true });
  }, []);
  return (
    <div class="search">
      <Icon name="search" />
      <input
        ref={field}
        type="search"
        class="input"
        aria-label={t("search.links")}
        placeholder={t("search.links")}
        maxLength={200}
        value={text}
        onInput={(event) => {
          const next = event.currentTarget.value;
          setText(next);
          clearTimeout(timer.current);
          timer.current = window.setTimeout(() => setParams({ q: next.trim(), page: "" }, { replace: true }), SEARCH_DELAY_MS);
        }}
      />
      <kbd>/</kbd>
    </div>
  );
}

const ORDERS = [
  ["created_at", "desc", "sort.newest"],
  ["created_at", "asc", "sort.oldest"],
  ["humans", "desc", "sort.most"],
  ["humans", "asc", "sort.fewest"],
  ["last_visited_at", "desc", "sort.visited"],
] as const;

/** On a phone, where the list has no heads to press. */
function SortButton({ query }: { query: Filters }) {
  const [sort, order] = [query.sort ?? "created_at", query.order ?? "desc"];
  const choices = ORDERS.map(([by, way, text], at): Choice => ({ id: String(at), text: t(text), group: "", isOn: by === sort && way === order }));
  const pick = (at: string) => {
    const [by, way] = ORDERS[Number(at)] ?? ORDERS[0];
    setParams({ sort: by, order: way, page: "" });
  };
  return (
    <span class="narrow-only">
      <Picker label={t("sort")} class="chip chip-add" choices={choices} onPick={pick}>
        <Icon name="sort" /> {choices.find((each) => each.isOn)?.text ?? t("sort")}
      </Picker>
    </span>
  );
}

/** What the list is limited to, each with its own way out, and a list of what else it may be. */
function FilterBar({ query, total }: { query: Filters; total: ComponentChildren }) {
  const tags = [...new Set([...rememberedTags(), ...(query.tag ? [query.tag] : [])])];
  const choices: Choice[] = [
    ...STATES.map((state) => ({ id: `state:${state}`, text: t(`state.${state}`), group: t("state"), isOn: query.state === state })),
    ...tags.map((tag) => ({ id: `tag:${tag}`, text: tag, group: t("tag"), mark: <Dot tag={tag} />, isOn: query.tag === tag })),
  ];
  const pick = (id: string) => {
    const [name = "", value = ""] = [id.slice(0, id.indexOf(":")), id.slice(id.indexOf(":") + 1)];
    setParams({ [name]: query[name as "state" | "tag"] === value ? "" : value, page: "" });
  };
  const chip = (name: "state" | "tag", text: string) => (
    <span class="chip chip-on">
      {text}
      <button type="button" aria-label={t("filter.remove", { name: text })} onClick={() => setParams({ [name]: "", page: "" })}>
        <Icon name="close" />
      </button>
    </span>
  );
  return (
    <div class="filter-bar">
      <SearchField value={query.q ?? ""} />
      {query.state && chip("state", t(`state.${query.state}`))}
      {query.tag && chip("tag", t("filter.is", { name: t("tag"), value: query.tag }))}
      <Picker label={t("filter.add")} class="chip chip-add" choices={choices} onPick={pick}>
        <Icon name="filter" /> {t("filter")}
      </Picker>
      <SortButton query={query} />
      {total}
    </div>
  );
}

function SaveButton({ query }: { query: Filters }) {
  const [isBusy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    await saveLinks(query).catch((cause) => notify(explain(asApiError(cause)), { isError: true }));
    setBusy(false);
  };
  return (
    <button type="button" class="button button-quiet" aria-label={t("as.csv")} disabled={isBusy} onClick={save}>
      <Icon name="download" /> <span class="wide-only">{t("as.csv")}</span>
    </button>
  );
}

function Pages({ query, pagination }: { query: Filters; pagination: Schemas["Pagination"] }) {
  const { page } = query;
  const total = pagination.total ?? 0;
  const go = (to: number) => {
    setParams({ page: to > 1 ? to : "" });
    scrollTo(0, 0);
  };
  if (page === 1 && pagination.next_cursor === null) return null;
  return (
    <nav class="pages" aria-label={t("pages")}>
      <button type="button" class="button" disabled={page <= 1} onClick={() => go(page - 1)}>
        {t("previous")}
      </button>
      <span class="muted">
        {t("page", { page })} · {tn("links", total, { count: countOf(pagination) })}
      </span>
      <button type="button" class="button" disabled={pagination.next_cursor === null} onClick={() => go(page + 1)}>
        {t("next")}
      </button>
    </nav>
  );
}

function Nothing({ query, onMade }: { query: Filters; onMade: (link: Link) => void }) {
  if (query.q || query.tag || query.state || query.page > 1) {
    return (
      <Empty icon="search" title={t("links.nomatch")}>
        <a class="button" href={href("/links")}>
          {t("filters.clear")}
        </a>
      </Empty>
    );
  }
  if (!can("editor")) return <Empty icon="link" title={t("links.nothing")} text={t("viewer.text")} />;
  return <FirstRun onMade={onMade} />;
}

/** A link of the address: of this page, or any other. */
function useLink(id: string | null): Link | undefined {
  const { data } = useQuery(id && /^\d+$/.test(id) ? `edit ${id}` : null, (signal) => unwrap(api.GET("/api/links/{id}", { params: { path: { id: Number(id) } }, signal })));
  return id === null ? undefined : data?.link;
}

/** All links that match, page by page. */
async function loadAll(query: Filters): Promise<Link[]> {
  const links: Link[] = [];
  for (let cursor: string | null | undefined; cursor !== null && links.length < CHOSEN_MAX; ) {
    const answer = await unwrap(api.GET("/api/links", { params: { query: { ...query, page: undefined, days: undefined, limit: 100, cursor: cursor ?? undefined } } }));
    links.push(...answer.links);
    cursor = answer.pagination.next_cursor;
  }
  return links;
}

const countOf = ({ total, total_is_capped }: Schemas["Pagination"]) => formatCount(total ?? 0) + (total_is_capped ? "+" : "");

interface Kept {
  link: Link;
  /** Its place in the list. */
  at: number;
}

/** The links of the list, and those that were deleted in it where they were. */
function withKept(found: Link[], kept: readonly Kept[]): Link[] {
  const links = [...found];
  for (const { link, at } of kept) links.splice(at, 0, link);
  return links;
}

export default function LinksPage() {
  const { params } = usePlace();
  const { query, data, error, isLoading, isStale, reload } = useLinks();
  const [selected, setSelected] = useState<ReadonlySet<number>>(new Set());
  const [everyMatch, setEveryMatch] = useState<Link[]>([]);
  const [editing, setEditing] = useState<Link>();
  const [newest, setNewest] = useState<Link>();
  const [deleted, setDeleted] = useState<{ of: string; rows: Kept[] }>({ of: "", rows: [] });
  const canEdit = can("editor");
  const isCreating = canEdit && params.get("edit") === "new";
  const from = useLink(isCreating ? params.get("from") : null);
  const asked = useLink(canEdit && !isCreating ? params.get("edit") : null);
  const order: Order = { sort: query.sort ?? "created_at", isAscending: query.order === "asc" };
  const create = () => setParams({ edit: "new" });
  const shownForm = editing ?? asked;
  const leave = () => (editing ? setEditing(undefined) : setParams({ edit: "", from: "" }, { replace: true }));
  // A form that another page opened leads back there.
  const close = () => (isCreating && history.state ? history.back() : leave());
  useKeys(canEdit ? { c: create } : {});

  // What was just made is seen, whatever the list is limited to.
  const found = data?.links ?? [];
  const made = newest && !found.some((link) => link.id === newest.id) ? [newest, ...found] : found;
  const list = JSON.stringify(query);
  const rows = deleted.of === list ? deleted.rows.filter(({ link }) => !made.some((each) => each.id === link.id)) : [];
  const kept = new Set(rows.map(({ link }) => link.id));
  const links = withKept(made, rows);
  const drawn = useRowsInTurn(links, data?.asked);
  const sortBy = (sort: Sort) => setParams({ sort, order: order.sort === sort && !order.isAscending ? "asc" : "desc", page: "" });
  useEffect(() => {
    addEventListener("waymark-links", reload);
    return () => removeEventListener("waymark-links", reload);
  }, [reload]);
  const ofPage = links.filter((link) => selected.has(link.id));
  const chosen = everyMatch.length > 0 ? everyMatch : ofPage;
  const total = data?.pagination.total ?? 0;
  const canChooseAll = everyMatch.length === 0 && ofPage.length === made.length && total > made.length && total <= CHOSEN_MAX;
  const chooseAll = () => void loadAll(query).then(setEveryMatch, (cause) => notify(explain(asApiError(cause)), { isError: true }));
  const choose = (ids: Set<number>) => {
    setEveryMatch([]);
    setSelected(ids);
  };
  /** If nothing has the focus once the list is loaded again: the row of the first of these that is in it takes the focus. */
  const next = useRef<(Link | undefined)[] | undefined>(undefined);
  // A layout effect runs with the list that it is for. An ordinary one runs later, perhaps after the next change has set `next`.
  useLayoutEffect(() => {
    if (isStale) return;
    if (next.current && document.activeElement === document.body) {
      const row = next.current.map((link) => document.getElementById(`link-${link?.id}`)).find(Boolean);
      (row?.querySelector<HTMLElement>(".restore") ?? row?.querySelector<HTMLElement>("a, button") ?? document.getElementById("main"))?.focus();
    }
    next.current = undefined;
  }, [data, isStale]);
  const changed = (those: Link[], gone: Link[] = []) => {
    const stay = (now: typeof deleted) => (now.of === list ? now.rows : []).filter(({ link }) => !those.some((each) => each.id === link.id));
    // With the figures that the row has.
    const added = links.flatMap((link, at) => gone.filter(({ id }) => id === link.id).map(({ state, purge_at }) => ({ link: { ...link, state, purge_at }, at })));
    setDeleted((now) => ({ of: list, rows: [...stay(now), ...added].sort((a, b) => a.at - b.at) }));
    const others = links.filter((link) => !those.includes(link));
    next.current = [...those, others[links.indexOf(those[0] as Link)] ?? others[others.length - 1]];
    if (those.some((link) => link.id === newest?.id)) setNewest(undefined);
    reload();
  };
  const saved = (link: Link) => {
    leave();
    next.current = [link];
    if (shownForm) sayEdited(shownForm, link, reload);
    if (!shownForm) void copyText(link.short_url).then((isCopied) => notify(t(isCopied ? "link.created.copied" : "link.created", { url: hostAndSlug(link.short_url) })));
    if (!shownForm || link.id === newest?.id) setNewest(link);
    reload();
  };
  return (
    <>
      <header class="page-head">
        <div class="title">
          <h1>{t("links")}</h1>
          {data && <span class="title-count">{countOf(data.pagination)}</span>}
        </div>
        {canEdit && (
          <div class="page-actions">
            <a class="button wide-only" href={href("/links/bulk")}>
              <Icon name="upload" /> {t("bulk")}
            </a>
            <button type="button" class="button button-primary wide-only" onClick={create}>
              <Icon name="plus" /> {t("link.create")} <kbd>C</kbd>
            </button>
          </div>
        )}
      </header>
      <FilterBar query={query} total={data && links.length > 0 && <SaveButton query={query} />} />
      {chosen.length > 0 && (
        <SelectionBar
          links={chosen}
          all={canChooseAll ? total : undefined}
          onAll={chooseAll}
          onClear={() => choose(new Set())}
          onDone={(gone) => {
            // An undo that is done later must not touch what was chosen meanwhile.
            setEveryMatch([]);
            setSelected((now) => (now === selected ? new Set() : now));
            changed(chosen, gone);
          }}
        />
      )}
      {error && <ErrorBox error={error} retry={reload} />}
      {!data && !error && <Skeleton lines={9} height={56} look="rows bones-links" />}
      {data && links.length === 0 && !isLoading && <Nothing query={query} onMade={saved} />}
      {links.length > 0 && (
        <div class={isLoading ? "card table-card is-loading" : "card table-card"}>
          <LinkTable links={links} drawn={drawn} kept={kept} selected={selected} order={order} onSort={sortBy} onSelect={choose} onEdit={setEditing} onTag={(tag) => setParams({ tag, page: "" })} onChanged={(link, gone) => changed([link], gone)} />
        </div>
      )}
      {data && (links.length > 0 || query.page > 1) && <Pages query={query} pagination={data.pagination} />}
      {shownForm && <LinkForm link={shownForm} onSaved={saved} onClose={close} key={shownForm.id} />}
      {isCreating && (!params.get("from") || from) && <LinkForm link={null} from={from} onSaved={saved} onClose={close} />}
    </>
  );
}
