import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { api, asApiError, type Link, type Schemas, unwrap, type Workspace } from "../api/client";
import { useQuery } from "../api/use_query";
import { useKeys } from "../app/keyboard";
import { href, setParams, usePlace } from "../app/router";
import { can, useWorkspaces } from "../app/session";
import { notify } from "../app/toasts";
import { Dialog } from "../components/dialog";
import { Empty, ErrorBox, explain, Skeleton } from "../components/feedback";
import { SelectField, SubmitButton } from "../components/field";
import { Icon } from "../components/icons";
import { LinkForm } from "../components/link_form";
import { LinkTable } from "../components/link_table";
import { rememberedTags, rememberTags, TagInput } from "../components/tag_input";
import { useAction } from "../components/use_action";
import { t, tn } from "../i18n";
import { formatCount, hostAndSlug } from "../lib/format";
import { changeTags, moveLinks, remove, restore, sayEdited, setStates } from "../lib/link_actions";
import { isAtLeast } from "../lib/roles";
import { saveLinks } from "../lib/save_links";
import { currentWorkspaceId } from "../lib/workspace";

const PAGE_SIZE = 50;
const POLL_MS = 2_500;
const SEARCH_DELAY_MS = 250;
const STATES = ["active", "scheduled", "disabled", "expired", "deleted"] as const;
const SORTS = ["created_at", "humans", "last_visited_at"] as const;

type Choice<T extends readonly string[]> = T[number] | undefined;

function pick<T extends readonly string[]>(choices: T, value: string | null): Choice<T> {
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
  };
  const load = async (signal: AbortSignal) => {
    const answer = await unwrap(api.GET("/api/links", { params: { query }, signal }));
    rememberTags(answer.links.flatMap((link) => link.tags));
    return answer;
  };
  return { query, ...useQuery(JSON.stringify(query), load, POLL_MS) };
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

function FilterBar({ query }: { query: Filters }) {
  const tags = [...new Set([...rememberedTags(), ...(query.tag ? [query.tag] : [])])];
  const order = `${query.sort ?? "created_at"}.${query.order ?? "desc"}`;
  return (
    <div class="filter-bar">
      <SearchField value={query.q ?? ""} />
      <SelectField isLabelHidden label={t("state")} value={query.state ?? ""} options={[["", t("state.all")], ...STATES.map((state) => [state, t(`state.${state}`)] as const)]} onChange={(state) => setParams({ state, page: "" })} />
      <SelectField isLabelHidden label={t("tag")} value={query.tag ?? ""} options={[["", t("tag.all")], ...tags.map((tag) => [tag, tag] as const)]} onChange={(tag) => setParams({ tag, page: "" })} />
      <SelectField
        isLabelHidden
        label={t("sort")}
        value={order}
        options={[
          ["created_at.desc", t("sort.newest")],
          ["created_at.asc", t("sort.oldest")],
          ["humans.desc", t("sort.most")],
          ["humans.asc", t("sort.least")],
          ["last_visited_at.desc", t("sort.recent")],
        ]}
        onChange={(value) => {
          const [sort, direction] = value.split(".");
          setParams({ sort, order: direction, page: "" });
        }}
      />
    </div>
  );
}

interface LinksDialogProps {
  links: Link[];
  onClose: () => void;
  onDone: () => void;
}

/** Tags to add to the links, and those that they have to remove from them. */
function TagsDialog({ links, onClose, onDone }: LinksDialogProps) {
  const [added, setAdded] = useState<string[]>([]);
  const [removed, setRemoved] = useState<string[]>([]);
  const present = [...new Set(links.flatMap((link) => link.tags))].sort();
  const submit = (event: Event) => {
    event.preventDefault();
    void changeTags(links, added, removed, onDone).then(onClose);
  };
  return (
    <Dialog title={tn("tags.change", links.length)} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <TagInput autofocus label={t("tags.add")} hint={t("tags.hint")} tags={added} onChange={setAdded} />
        {present.length > 0 && (
          <fieldset class="fieldset">
            <legend>{t("tags.remove")}</legend>
            {present.map((tag) => (
              <label class="check" key={tag}>
                <input type="checkbox" checked={removed.includes(tag)} onChange={(event) => setRemoved(event.currentTarget.checked ? [...removed, tag] : removed.filter((each) => each !== tag))} />
                {tag} <span class="muted">{tn("tag.links", links.filter((link) => link.tags.includes(tag)).length)}</span>
              </label>
            ))}
          </fieldset>
        )}
        <footer class="dialog-foot">
          <button type="button" class="button" onClick={onClose}>
            {t("cancel")}
          </button>
          <button type="submit" class="button button-primary">
            {t("save")}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

/** Moves the links to another workspace in which the person may edit. */
function MoveDialog({ links, targets, onClose, onDone }: LinksDialogProps & { targets: readonly Workspace[] }) {
  const [target, setTarget] = useState(String(targets[0]?.id));
  const { error, isBusy, run } = useAction();
  const name = targets.find((each) => String(each.id) === target)?.name ?? "";
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      await moveLinks(links, Number(target), name, onDone);
      onClose();
    });
  };
  return (
    <Dialog title={tn("move", links.length)} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        {error && <ErrorBox error={error} />}
        <SelectField label={t("move.to")} value={target} options={targets.map((each) => [String(each.id), each.name] as const)} onChange={setTarget} />
        <p>{t("move.text", { name })}</p>
        <footer class="dialog-foot">
          <button type="button" class="button" onClick={onClose}>
            {t("cancel")}
          </button>
          <SubmitButton isBusy={isBusy}>{t("move.action")}</SubmitButton>
        </footer>
      </form>
    </Dialog>
  );
}

function SelectionBar({ links, onClear, onDone }: { links: Link[]; onClear: () => void; onDone: () => void }) {
  const [isTagging, setTagging] = useState(false);
  const [isMoving, setMoving] = useState(false);
  const targets = useWorkspaces().filter((each) => !each.deleted_at && each.id !== currentWorkspaceId() && isAtLeast(each.role, "editor"));
  const areDeleted = links.every((link) => link.state === "deleted");
  return (
    <div class="selection-bar" role="region" aria-label={t("selection")}>
      <strong>{tn("selected", links.length)}</strong>
      {areDeleted ? (
        <button type="button" class="button" onClick={() => void restore(links, onDone)}>
          {t("restore")}
        </button>
      ) : (
        <>
          <button type="button" class="button" onClick={() => setTagging(true)}>
            {t("tags")}
          </button>
          <button type="button" class="button" onClick={() => void setStates(links, "active", onDone)}>
            {t("enable")}
          </button>
          <button type="button" class="button" onClick={() => void setStates(links, "disabled", onDone)}>
            {t("disable")}
          </button>
          {targets.length > 0 && (
            <button type="button" class="button" onClick={() => setMoving(true)}>
              {t("move.action")}
            </button>
          )}
          <button type="button" class="button button-danger" onClick={() => void remove(links, onDone)}>
            {t("delete")}
          </button>
        </>
      )}
      <button type="button" class="button button-quiet" onClick={onClear}>
        {t("cancel")}
      </button>
      {isTagging && <TagsDialog links={links} onClose={() => setTagging(false)} onDone={onDone} />}
      {isMoving && <MoveDialog links={links} targets={targets} onClose={() => setMoving(false)} onDone={onDone} />}
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
    <button type="button" class="button button-quiet" disabled={isBusy} onClick={save}>
      <Icon name="download" /> {t("as.csv")}
    </button>
  );
}

function Pages({ query, pagination }: { query: Filters; pagination: Schemas["Pagination"] }) {
  const { page } = query;
  const total = pagination.total ?? 0;
  const count = formatCount(total) + (pagination.total_is_capped ? "+" : "");
  return (
    <nav class="pages" aria-label={t("pages")}>
      <button type="button" class="button" disabled={page <= 1} onClick={() => setParams({ page: page > 2 ? page - 1 : "" })}>
        {t("previous")}
      </button>
      <span class="muted">
        {t("page", { page })} · {tn("links", total, { count })}
      </span>
      <button type="button" class="button" disabled={pagination.next_cursor === null} onClick={() => setParams({ page: page + 1 })}>
        {t("next")}
      </button>
      <SaveButton query={query} />
    </nav>
  );
}

function Nothing({ query, onCreate }: { query: Filters; onCreate: () => void }) {
  if (query.q || query.tag || query.state || query.page > 1) {
    return (
      <Empty title={t("links.nomatch")} text={t("links.nomatch.text")}>
        <a class="button" href={href("/links")}>
          {t("filters.clear")}
        </a>
      </Empty>
    );
  }
  if (!can("editor")) return <Empty title={t("links.nothing")} text={t("viewer.text")} />;
  return (
    <Empty title={t("links.none")} text={t("links.none.text")}>
      <button type="button" class="button button-primary" onClick={onCreate}>
        <Icon name="plus" /> {t("link.create")}
      </button>
    </Empty>
  );
}

export default function LinksPage() {
  const { params } = usePlace();
  const { query, data, error, isLoading, isStale, reload } = useLinks();
  const [selected, setSelected] = useState<ReadonlySet<number>>(new Set());
  const [editing, setEditing] = useState<Link>();
  const canEdit = can("editor");
  const isCreating = canEdit && params.get("edit") === "new";
  const create = () => setParams({ edit: "new" });
  const leave = () => (isCreating ? setParams({ edit: "" }, { replace: true }) : setEditing(undefined));
  // A form that another page opened leads back there.
  const close = () => (isCreating && history.state ? history.back() : leave());
  useKeys(canEdit ? { c: create } : {});

  const links = data?.links ?? [];
  const chosen = links.filter((link) => selected.has(link.id));
  /** If nothing has the focus once the list is loaded again: the row of the first of these that is in it takes the focus. */
  const next = useRef<(Link | undefined)[] | undefined>(undefined);
  // A layout effect runs with the list that it is for. An ordinary one runs later, perhaps after the next change has set `next`.
  useLayoutEffect(() => {
    if (isStale) return;
    if (next.current && document.activeElement === document.body) {
      const row = next.current.map((link) => document.getElementById(`link-${link?.id}`)).find(Boolean);
      (row?.querySelector<HTMLElement>("a, button") ?? document.getElementById("main"))?.focus();
    }
    next.current = undefined;
  }, [data, isStale]);
  const changed = (those: Link[]) => {
    const others = links.filter((link) => !those.includes(link));
    next.current = [...those, others[links.indexOf(those[0] as Link)] ?? others[others.length - 1]];
    reload();
  };
  const saved = (link: Link) => {
    leave();
    next.current = [link];
    if (editing) sayEdited(editing, link, reload);
    else notify(t("link.created", { url: hostAndSlug(link.short_url) }));
    reload();
  };
  return (
    <>
      <header class="page-head">
        <h1>{t("links")}</h1>
        {canEdit && (
          <div class="page-actions">
            <a class="button" href={href("/links/bulk")}>
              <Icon name="upload" /> {t("bulk")}
            </a>
            <button type="button" class="button button-primary" onClick={create}>
              <Icon name="plus" /> {t("link.create")} <kbd>C</kbd>
            </button>
          </div>
        )}
      </header>
      <FilterBar query={query} />
      {chosen.length > 0 && (
        <SelectionBar
          links={chosen}
          onClear={() => setSelected(new Set())}
          onDone={() => {
            setSelected(new Set());
            changed(chosen);
          }}
        />
      )}
      {error && <ErrorBox error={error} retry={reload} />}
      {!data && !error && <Skeleton lines={8} height={44} />}
      {data && links.length === 0 && !isLoading && <Nothing query={query} onCreate={create} />}
      {links.length > 0 && (
        <div class={isLoading ? "card table-card is-loading" : "card table-card"}>
          <LinkTable links={links} selected={selected} onSelect={setSelected} onEdit={setEditing} onTag={(tag) => setParams({ tag, page: "" })} onChanged={(link) => changed([link])} />
        </div>
      )}
      {data && (links.length > 0 || query.page > 1) && <Pages query={query} pagination={data.pagination} />}
      {(isCreating || editing) && <LinkForm link={editing ?? null} onSaved={saved} onClose={close} />}
    </>
  );
}
