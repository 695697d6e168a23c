import { useState } from "preact/hooks";
import { api, type Link, unwrap } from "../api/client";
import { can } from "../app/session";
import { notify } from "../app/toasts";
import { t } from "../i18n";
import { Confirm } from "./dialog";
import { ErrorBox } from "./feedback";
import { Icon } from "./icons";
import { useAction } from "./use_action";

/** The earlier names of a link, under which it is still found. */
export function Aliases({ link, onChanged }: { link: Link; onChanged: () => void }) {
  const [ending, setEnding] = useState<string>();
  const { error, run } = useAction();
  const end = (slug: string) =>
    run(async () => {
      await unwrap(api.DELETE("/api/links/{id}/aliases/{slug}", { params: { path: { id: link.id, slug } } }));
      notify(t("alias.removed", { slug }));
      onChanged();
    });
  return (
    <section class="tags" aria-label={t("aliases")}>
      <span class="muted">{t("aliases")}:</span>
      {error && <ErrorBox error={error} />}
      {link.aliases.map((slug) => (
        <span class="tag" key={slug} translate={false}>
          {slug}
          {can("editor") && link.state !== "deleted" && (
            <button type="button" aria-label={t("alias.remove", { slug })} onClick={() => setEnding(slug)}>
              <Icon name="close" />
            </button>
          )}
        </span>
      ))}
      {ending && <Confirm title={t("alias.remove.title", { slug: ending })} text={t("alias.remove.text")} action={t("alias.remove.action")} onConfirm={() => void end(ending)} onClose={() => setEnding(undefined)} />}
    </section>
  );
}
