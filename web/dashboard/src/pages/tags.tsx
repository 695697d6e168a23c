import { useState } from "preact/hooks";
import { api, unwrap } from "../api/client";
import { useQuery } from "../api/use_query";
import { href, setParams, usePlace } from "../app/router";
import { can } from "../app/session";
import { notify } from "../app/toasts";
import { Confirm, Dialog, DialogFoot } from "../components/dialog";
import { Empty, ErrorBox, Skeleton } from "../components/feedback";
import { SelectField, SubmitButton, TextField } from "../components/field";
import { Icon } from "../components/icons";
import { Menu, type MenuItem } from "../components/menu";
import { Table } from "../components/table";
import { TagLink } from "../components/tag_chip";
import { useAction } from "../components/use_action";
import { t, tn } from "../i18n";
import { formatCount } from "../lib/format";
import { loadTags, type Tag } from "../lib/tags";

const SORTS = ["name", "links", "visits"] as const;
type Sort = (typeof SORTS)[number];
const DEFAULT_COLOR = "#0b6e5f";

const path = (tag: Tag) => ({ params: { path: { name: tag.name } } });

interface DialogProps {
  tag: Tag;
  tags: Tag[];
  onClose: () => void;
  onSaved: () => void;
}

/** One form for both: a name that another tag has merges the two, and the form says so and asks before. */
function RenameDialog({ tag, tags, onClose, onSaved, isMerge }: DialogProps & { isMerge: boolean }) {
  const others = tags.filter((each) => each.name !== tag.name);
  const [name, setName] = useState(isMerge ? (others[0]?.name ?? "") : tag.name);
  const [isAsking, setAsking] = useState(false);
  const { error, isBusy, run } = useAction();
  const target = others.find((each) => each.name === name);
  const save = () =>
    void run(async () => {
      const { changed } = await unwrap(api.PATCH("/api/tags/{name}", { ...path(tag), body: { name } }));
      notify(tn(target ? "tag.merged" : "tag.renamed", changed, { tag: tag.name, name }));
      onSaved();
    });
  const submit = (event: Event) => {
    event.preventDefault();
    if (target && !isMerge) setAsking(true);
    else save();
  };
  const mergeText = target && tn("tag.merge.text", tag.links, { tag: tag.name, name });
  return (
    <Dialog title={t(isMerge ? "tag.merge.title" : "tag.rename.title", { tag: tag.name })} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        {error && <ErrorBox error={error} />}
        {isMerge ? (
          <SelectField label={t("tag.merge.into")} value={name} options={others.map((each) => [each.name, each.name] as const)} onChange={setName} />
        ) : (
          <TextField label={t("tag.name")} required maxLength={50} autofocus autocomplete="off" value={name} error={error?.fields.name} onInput={setName} />
        )}
        <p role="status">
          {mergeText ?? (name !== tag.name && name !== "" && tn("tag.rename.text", tag.links, { name }))}
        </p>
        <DialogFoot onClose={onClose}>
          <SubmitButton isBusy={isBusy}>{t(target ? "tag.merge.action" : "tag.rename")}</SubmitButton>
        </DialogFoot>
      </form>
      {isAsking && mergeText && <Confirm title={t("tag.merge.action")} text={mergeText} action={t("tag.merge")} onConfirm={save} onClose={() => setAsking(false)} />}
    </Dialog>
  );
}

interface RowProps {
  tag: Tag;
  /** None for a viewer. */
  items: MenuItem[];
  onColor: (color: string) => void;
}

function Row({ tag, items, onColor }: RowProps) {
  return (
    <tr>
      <td class="cell-link">
        <TagLink tag={tag.name} />
      </td>
      <td>
        {items.length > 0 && (
          <input type="color" class={tag.color ? "swatch" : "swatch swatch-none"} aria-label={t("tag.color.of", { tag: tag.name })} value={tag.color ?? DEFAULT_COLOR} onChange={(event) => onColor(event.currentTarget.value)} />
        )}
      </td>
      <td class="number">
        <a href={href("/links", { tag: tag.name })} aria-label={`${tn("tag.links", tag.links)}: ${tag.name}`}>
          {formatCount(tag.links)}
        </a>
      </td>
      <td class="number strong">{formatCount(tag.humans)}</td>
      <td class="cell-actions">
        {items.length > 0 && <Menu label={t("actions.of", { url: tag.name })} items={items} />}
      </td>
    </tr>
  );
}

function sorted(tags: Tag[], sort: Sort): Tag[] {
  const byName = (a: Tag, b: Tag) => a.name.localeCompare(b.name);
  const by = { name: byName, links: (a: Tag, b: Tag) => b.links - a.links || byName(a, b), visits: (a: Tag, b: Tag) => b.humans - a.humans || byName(a, b) };
  return [...tags].sort(by[sort]);
}

function FilterBar({ q, sort }: { q: string; sort: Sort }) {
  return (
    <div class="filter-bar">
      <div class="search">
        <Icon name="search" />
        <input type="search" class="input" aria-label={t("search.tags")} placeholder={t("search.tags")} value={q} onInput={(event) => setParams({ q: event.currentTarget.value }, { replace: true })} />
        <kbd>/</kbd>
      </div>
      <SelectField isLabelHidden label={t("sort")} value={sort} options={SORTS.map((each) => [each, t(`tag.sort.${each}`)] as const)} onChange={(value) => setParams({ sort: value === "name" ? "" : value })} />
    </div>
  );
}

function TagTable({ tags, itemsOf, onColor }: { tags: Tag[]; itemsOf: (tag: Tag) => MenuItem[]; onColor: (tag: Tag, color: string) => void }) {
  return (
    <Table caption={t("tags")} columns={[t("tag"), [<span class="roomy-only">{t("tag.color")}</span>], [t("links"), "number"], [t("visits"), "number"]]}>
      {tags.map((tag) => (
        <Row tag={tag} key={tag.name} items={itemsOf(tag)} onColor={(color) => onColor(tag, color)} />
      ))}
    </Table>
  );
}

type Open = { kind: "rename" | "merge" | "delete"; tag: Tag };

export default function TagsPage() {
  const { params } = usePlace();
  const q = params.get("q") ?? "";
  const sort = SORTS.find((each) => each === params.get("sort")) ?? "name";
  const { data, error, reload } = useQuery("tags", loadTags);
  const [open, setOpen] = useState<Open>();
  const action = useAction();
  const close = () => setOpen(undefined);

  const setColor = (tag: Tag, color: string | null) =>
    void action.run(async () => {
      await unwrap(api.PATCH("/api/tags/{name}", { ...path(tag), body: { color } }));
      notify(t(color ? "tag.colored" : "tag.uncolored", { tag: tag.name }), { undo: () => setColor(tag, tag.color) });
      reload();
    });
  const remove = (tag: Tag) =>
    void action.run(async () => {
      await unwrap(api.DELETE("/api/tags/{name}", path(tag)));
      notify(t("tag.deleted", { tag: tag.name }));
      reload();
    });
  const itemsOf = (tag: Tag): MenuItem[] => !can("editor") ? [] : [
    { text: t("tag.rename"), icon: "edit", run: () => setOpen({ kind: "rename", tag }) },
    ...(tags.length > 1 ? [{ text: t("tag.merge"), icon: "merge", run: () => setOpen({ kind: "merge", tag }) } as const] : []),
    ...(tag.color ? [{ text: t("tag.color.remove"), icon: "close", run: () => setColor(tag, null) } as const] : []),
    { text: t("delete"), icon: "trash", isDanger: true, run: () => setOpen({ kind: "delete", tag }) },
  ];

  const tags = data?.tags ?? [];
  const shown = sorted(tags.filter((tag) => tag.name.toLowerCase().includes(q.trim().toLowerCase())), sort);
  const shownError = error ?? action.error;
  return (
    <>
      <header class="page-head">
        <h1>{t("tags")}</h1>
      </header>
      {shownError && <ErrorBox error={shownError} retry={error && reload} />}
      {!data && !error && <Skeleton lines={6} height={44} />}
      {data && tags.length === 0 && (
        <Empty icon="tag" title={t("tags.none")} text={t(can("editor") ? "tags.none.text" : "viewer.text")}>
          <a class="button" href={href("/links")}>
            {t("overview.none.action")}
          </a>
        </Empty>
      )}
      {tags.length > 0 && <FilterBar q={q} sort={sort} />}
      {tags.length > 0 && shown.length === 0 && <Empty icon="search" title={t("tags.nomatch")} />}
      {shown.length > 0 && <TagTable tags={shown} itemsOf={itemsOf} onColor={setColor} />}
      {open && open.kind !== "delete" && <RenameDialog tag={open.tag} tags={tags} isMerge={open.kind === "merge"} onClose={close} onSaved={() => (close(), reload())} />}
      {open?.kind === "delete" && (
        <Confirm title={t("tag.delete.title", { tag: open.tag.name })} text={tn("tag.delete.text", open.tag.links, { tag: open.tag.name })} action={t("tag.delete.action")} onConfirm={() => remove(open.tag)} onClose={close} />
      )}
    </>
  );
}
