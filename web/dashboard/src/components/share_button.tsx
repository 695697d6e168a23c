import { useState } from "preact/hooks";
import { t } from "../i18n";
import { lazy } from "../lib/lazy";
import { Icon } from "./icons";
import type { ShareDialogProps } from "./share_dialog";

const ShareDialog = lazy(() => import("./share_dialog"), 0);

/** Shares the statistics of a link or a tag. */
export function ShareButton(props: Omit<ShareDialogProps, "onClose">) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" class="button" aria-label={t("shares.make")} onClick={() => setOpen(true)}>
        <Icon name="send" /> <span class="wide-only">{t("shares.make")}</span>
      </button>
      {isOpen && <ShareDialog {...props} onClose={() => setOpen(false)} />}
    </>
  );
}
