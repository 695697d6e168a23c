import { useMemo, useState } from "preact/hooks";
import { t } from "../i18n";
import { saveFile } from "../lib/download";
import { hostAndSlug } from "../lib/format";
import { drawQr, isFaint, qrPng, qrSvg, type QrDrawing } from "../lib/qr";
import { Dialog } from "./dialog";
import { Field, SelectField } from "./field";
import { Icon } from "./icons";

export function QrImage({ drawing, colour, label }: { drawing: QrDrawing; colour: string; label: string }) {
  return (
    <svg class="qr" viewBox={`0 0 ${drawing.side} ${drawing.side}`} shape-rendering="crispEdges" role="img" aria-label={label}>
      <path fill="#fff" d={`M0 0h${drawing.side}v${drawing.side}H0z`} />
      <path fill={colour} d={drawing.path} />
    </svg>
  );
}

const SIZES = [256, 512, 1024, 2048];

export function QrDialog({ shortUrl, slug, onClose }: { shortUrl: string; slug: string; onClose: () => void }) {
  const [colour, setColour] = useState("#000000");
  const [pixels, setPixels] = useState(512);
  const drawing = useMemo(() => drawQr(shortUrl), [shortUrl]);
  const save = async (format: "png" | "svg") => {
    const image = format === "svg" ? qrSvg(drawing, pixels, colour) : await qrPng(drawing, pixels, colour);
    saveFile(image, `${slug}.${format}`);
  };
  return (
    <Dialog title={t("qr.title")} onClose={onClose}>
      <div class="qr-preview">
        <QrImage drawing={drawing} colour={colour} label={t("qr.of", { url: shortUrl })} />
        <p class="mono" translate={false}>{hostAndSlug(shortUrl)}</p>
      </div>
      <div class="field-row">
        <SelectField label={t("qr.size")} value={String(pixels)} options={SIZES.map((size) => [String(size), `${size} × ${size}`] as const)} onChange={(size) => setPixels(Number(size))} />
        <Field label={t("qr.colour")} error={isFaint(colour) ? t("qr.faint") : undefined}>
          {(control) => <input type="color" class="input input-colour" value={colour} onInput={(event) => setColour(event.currentTarget.value)} {...control} />}
        </Field>
      </div>
      <footer class="dialog-foot">
        <button type="button" class="button" onClick={() => save("svg")}>
          <Icon name="download" /> SVG
        </button>
        <button type="button" class="button button-primary" onClick={() => save("png")}>
          <Icon name="download" /> PNG
        </button>
      </footer>
    </Dialog>
  );
}
