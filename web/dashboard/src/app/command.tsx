import { useEffect, useId, useRef, useState } from "preact/hooks";
import { api, asApiError, type Link, newIdempotencyKey, unwrap } from "../api/client";
import { useQuery } from "../api/use_query";
import { copyText } from "../components/copy_button";
import { Dialog } from "../components/dialog";
import { explain } from "../components/feedback";
import { Icon, type IconName } from "../components/icons";
import { QrImage } from "../components/qr_dialog";
import { rememberedTags } from "../components/tag_input";
import { t } from "../i18n";
import { hostAndSlug, readableUrl } from "../lib/format";
import { loadTags } from "../lib/tags";
import { hasScheme, looksLikeUrl, normalizeUrl } from "../lib/urls";
import { useThrottled } from "../lib/use_throttled";
import { currentWorkspaceId } from "../lib/workspace";
import { pageTitle } from "./instance";
import { takeTyped } from "./keyboard";
import { href, inWorkspace, navigate } from "./router";
import { pagesOf } from "./routes";
import { can, currentUser, useWorkspaces } from "./session";
import { notify } from "./toasts";

interface Entry {
  id: string;
  icon: IconName;
  text: string;
  /** What kind of thing it is, or where it leads. */
  note: string;
  run: () => void;
}

const FOUND_MAX = 6;
const RANKED_MAX = 20;
const TYPING_MS = 150;

const fits = (text: string, words: readonly string[]) => words.every((word) => text.toLowerCase().includes(word));

const wordsOf = (text: string) => text.toLowerCase().split(/\s+/).filter(Boolean);

/** By where the words are: at the start of the slug, in it, in the title, in the destination. */
function rankOf({ slug, title }: Link, words: readonly string[]): number {
  const name = slug.toLowerCase();
  if (fits(name, words)) return name === words[0] ? 0 : name.startsWith(words[0] ?? "") ? 1 : 2;
  return fits(title, words) ? 3 : 4;
}

/** The newest that match are not all: those whose slug begins with the words, or has them, come before. */
async function findLinks(q: string, signal: AbortSignal): Promise<Link[]> {
  const words = wordsOf(q);
  const slug = words.map((word) => `'${word.replace(/[\\']/g, "\\$&")}'`).join("+slug:~");
  const ask = (query: { filter?: string; q?: string }) => unwrap(api.GET("/api/links", { params: { query: { ...query, limit: RANKED_MAX } }, signal }));
  const answers = await Promise.all([ask({ filter: `slug:~^${slug}` }), ask({ filter: `slug:~${slug}` }), ask({ q })]);
  const found = new Map(answers.flatMap(({ links }) => links.map((link) => [link.id, link])));
  return [...found.values()].sort((a, b) => rankOf(a, words) - rankOf(b, words)).slice(0, FOUND_MAX);
}

function useLinks(words: string): readonly Link[] {
  const q = useThrottled(words, TYPING_MS);
  const { data } = useQuery(q === "" ? null : `command ${q}`, (signal) => findLinks(q, signal));
  return q === "" ? [] : (data ?? []);
}

/** Gives a new link the title of its page, unless somebody was quicker. The link was not made to wait for it. */
async function fillTitle(link: Link): Promise<void> {
  const title = await pageTitle(link.original_url);
  if (title === "") return;
  const params = { path: { id: link.id }, header: { "If-Match": `"v${link.version}"` } };
  await unwrap(api.PATCH("/api/links/{id}", { params, body: { title } })).catch(() => undefined);
  dispatchEvent(new Event("waymark-links"));
}

/** What was made: copied already, its QR code beside it. */
function Made({ link, onClose }: { link: Link; onClose: () => void }) {
  const first = useRef<HTMLButtonElement>(null);
  useEffect(() => first.current?.focus(), []);
  return (
    <div class="command-made">
      <QrImage text={link.short_url} label={t("qr.of", { url: hostAndSlug(link.short_url) })} />
      <div>
        <p class="hint" role="status">
          {t("copied.short")}
        </p>
        <p class="command-url" translate={false}>
          {hostAndSlug(link.short_url)}
        </p>
        <p class="muted ellipsis">→ {readableUrl(link.original_url)}</p>
        <div class="button-row">
          <button ref={first} type="button" class="button button-primary" onClick={onClose}>
            {t("done")}
          </button>
          <a class="button" href={href(`/links/${link.id}`)} onClick={onClose}>
            {t("statistics")}
          </a>
          <a class="button" href={href("/links", { edit: link.id })} onClick={onClose}>
            {t("edit")}
          </a>
        </div>
      </div>
    </div>
  );
}

/** Finds links, tags, pages and commands, and shortens an address that is pasted. Arrow keys choose, Enter does it. */
export default function Command({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const [made, setMade] = useState<Link>();
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState("");
  const list = useId();
  const words = wordsOf(text);
  const isUrl = looksLikeUrl(text);
  const links = useLinks(isUrl || !can("viewer") ? "" : text.trim());
  const workspaces = useWorkspaces();
  useEffect(() => void (can("viewer") && loadTags().catch(() => {})), []);
  useEffect(() => setText((typed) => takeTyped() + typed), []); // the dialog is open and has the focus

  const go = (to: string) => () => {
    onClose();
    navigate(to);
  };
  const shorten = async () => {
    if (isBusy) return;
    setBusy(true);
    setFault("");
    try {
      const header = { "Idempotency-Key": newIdempotencyKey() };
      const { link } = await unwrap(api.POST("/api/links", { params: { header }, body: { original_url: normalizeUrl(text) } }));
      const isCopied = await copyText(link.short_url);
      if (!isCopied) notify(t("copy.failed", { text: link.short_url }), { isError: true });
      setMade(link);
      dispatchEvent(new Event("waymark-links"));
      void fillTitle(link);
    } catch (cause) {
      const error = asApiError(cause);
      setFault(error.fields.original_url ?? explain(error));
    }
    setBusy(false);
  };

  const entries = (): Entry[] => {
    const making: Entry[] = isUrl && can("editor") ? [{ id: "shorten", icon: "link", text: t("command.shorten", { url: readableUrl(normalizeUrl(text)) }), note: "↵", run: () => void shorten() }] : [];
    const found = links.map((link): Entry => ({ id: `link-${link.id}`, icon: "link", text: hostAndSlug(link.short_url), note: link.title || readableUrl(link.original_url), run: go(href(`/links/${link.id}`)) }));
    const tags = words.length > 0 && can("viewer") ? rememberedTags().filter((tag) => fits(tag, words)).slice(0, FOUND_MAX) : [];
    const tagged = tags.map((tag): Entry => ({ id: `tag-${tag}`, icon: "tag", text: tag, note: t("tag"), run: go(href("/links", { tag })) }));
    const commands: Entry[] = can("editor")
      ? [{ id: "create", icon: "plus", text: t("link.create"), note: "C", run: go(href("/links", { edit: "new" })) }]
      : [];
    const isAdmin = currentUser()?.role === "admin";
    const pages = pagesOf((access) => (access === "person" || access === "anyone" ? true : access === "administrator" ? isAdmin : can(access))).map(
      ([path, { icon = "right", title }]): Entry => ({ id: path, icon, text: t(title), note: "", run: go(href(path)) }),
    );
    const others = workspaces.filter((each) => !each.deleted_at && each.id !== currentWorkspaceId());
    const rooms = others.map((each): Entry => ({ id: `workspace-${each.id}`, icon: "home", text: each.name, note: t("workspace"), run: go(inWorkspace(each.id)) }));
    return [...making, ...found, ...tagged, ...[...commands, ...pages, ...rooms].filter((each) => fits(each.text, words))];
  };
  const name = t(can("editor") ? "command" : "search");
  const shown = entries();
  const chosen = shown[Math.min(at, shown.length - 1)];

  const onKeyDown = (event: KeyboardEvent) => {
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: shown.length - 1 }[event.key];
    if (event.key === "Enter" && !event.isComposing) chosen?.run();
    else if (to !== undefined && shown.length > 0 && (event.key.startsWith("Arrow") || text === "")) setAt((to + shown.length) % shown.length);
    else return;
    event.preventDefault();
  };
  useEffect(() => document.getElementById(`${list}-${chosen?.id}`)?.scrollIntoView({ block: "nearest" }), [at]);

  return (
    <Dialog title={name} look="command" onClose={onClose}>
      {made ? (
        <Made link={made} onClose={onClose} />
      ) : (
        <>
          <div class="command-field">
            <Icon name="search" />
            <input
              autofocus
              role="combobox"
              aria-expanded={shown.length > 0}
              aria-controls={list}
              aria-activedescendant={chosen && `${list}-${chosen.id}`}
              aria-label={name}
              aria-invalid={fault !== ""}
              placeholder={can("editor") ? t("command.hint") : name}
              autocomplete="off"
              autocapitalize="off"
              spellcheck={false}
              value={text}
              onInput={(event) => {
                setText(event.currentTarget.value);
                setFault("");
                setAt(0);
              }}
              onKeyDown={onKeyDown}
            />
          </div>
          {fault && (
            <p class="field-error" role="alert">
              {fault}
            </p>
          )}
          <ul class="command-list" role="listbox" id={list} aria-label={name}>
            {shown.map((entry, index) => (
              <li role="option" id={`${list}-${entry.id}`} key={entry.id} aria-selected={entry === chosen} onPointerMove={() => setAt(index)} onClick={entry.run}>
                <Icon name={entry.icon} />
                <span class="ellipsis">{entry.text}</span>
                <span class="muted ellipsis">{entry.note}</span>
              </li>
            ))}
          </ul>
          {shown.length === 0 && <p class="muted command-none">{t(isUrl && !can("editor") ? "viewer.text" : hasScheme(text) ? "error.url-scheme" : "links.nomatch")}</p>}
        </>
      )}
    </Dialog>
  );
}
