import { t } from "../i18n";
import { hostAndSlug } from "../lib/format";
import { lazy } from "../lib/lazy";
import { PLAIN, qrUrl } from "../lib/qr";
import { Dialog } from "./dialog";

const QrDesigner = lazy(async () => ({ default: (await import("./qr_designer")).QrDesigner }), 6);

/** A plain black code. */
export function QrImage({ text, label }: { text: string; label: string }) {
  return <img class="qr" src={qrUrl(text, PLAIN)} alt={label} />;
}

export function QrDialog({ shortUrl, slug, onClose }: { shortUrl: string; slug: string; onClose: () => void }) {
  return (
    <Dialog title={t("qr.title")} onClose={onClose}>
      <QrDesigner url={shortUrl} name={slug} />
      <p class="mono qr-url" translate={false}>
        {hostAndSlug(shortUrl)}
      </p>
    </Dialog>
  );
}
