import { useMemo, useState } from "preact/hooks";
import { notify } from "../app/toasts";
import { t } from "../i18n";
import { saveFile } from "../lib/download";
import { readLocal, writeLocal } from "../lib/local";
import { isFaint, PLAIN, type QrDesign, qrPng, qrSvg, qrUrl } from "../lib/qr";
import { Field, SelectField, TextField } from "./field";
import { Icon } from "./icons";

const SIZES = [256, 512, 1024, 2048];
const COLOURS = [PLAIN.colour, "#075e4d", "#3451b2", "#8e4ec6", "#b42318"];
const LOGO_BYTES_MAX = 200_000;

/** The last design of this browser: who prints one code with a logo prints the next one with it. */
const lastDesign = (): QrDesign => ({ ...PLAIN, ...readLocal<Partial<QrDesign>>("qr", {}) });

function readAsUrl(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

interface Props {
  url: string;
  /** Of the files. */
  name: string;
  /** The address is not final yet: nothing can be saved. */
  isDraft?: boolean;
}

/** A QR code as it will be saved, and how it looks. */
export function QrDesigner({ url, name, isDraft = false }: Props) {
  const [design, setDesign] = useState(lastDesign);
  const [pixels, setPixels] = useState(1024);
  const image = useMemo(() => qrUrl(url, design), [url, design]);
  const change = (part: Partial<QrDesign>) => {
    const next = { ...design, ...part };
    setDesign(next);
    writeLocal("qr", next);
  };
  const chooseLogo = async (file: File | undefined) => {
    if (!file) return;
    if (!file.type.startsWith("image/") || file.size > LOGO_BYTES_MAX) return notify(t("qr.logo.wrong"), { isError: true });
    change({ logo: await readAsUrl(file) });
  };
  const save = async (format: "png" | "svg") => saveFile(format === "svg" ? qrSvg(url, design, pixels) : await qrPng(url, design, pixels), `${name}.${format}`);
  return (
    <div class="qr-designer">
      <img class="qr-large" src={image} alt={t("qr.of", { url })} />
      <div class="qr-colours" role="group" aria-label={t("qr.colour")}>
        {COLOURS.map((colour) => (
          <button type="button" class="qr-colour" key={colour} aria-label={colour} aria-pressed={design.colour === colour} style={{ backgroundColor: colour }} onClick={() => change({ colour })} />
        ))}
        <input type="color" class={COLOURS.includes(design.colour) ? "qr-colour qr-other" : "qr-colour qr-other is-on"} aria-label={t("qr.colour.other")} value={design.colour} onInput={(event) => change({ colour: event.currentTarget.value })} />
      </div>
      {isFaint(design.colour) && (
        <p class="field-error" role="status">
          {t("qr.faint")}
        </p>
      )}
      <details class="disclosure">
        <summary>{t("qr.more")}</summary>
        <div class="form">
          <TextField label={t("qr.caption")} maxLength={24} value={design.caption} placeholder={t("qr.caption.example")} onInput={(caption) => change({ caption })} />
          <Field label={t("qr.logo")} hint={t("qr.logo.hint")}>
            {(control) => <input type="file" accept="image/*" class="input" onChange={(event) => void chooseLogo(event.currentTarget.files?.[0])} {...control} />}
          </Field>
          {design.logo && (
            <button type="button" class="button" onClick={() => change({ logo: "" })}>
              {t("qr.logo.remove")}
            </button>
          )}
          <div class="field-row">
            <SelectField label={t("qr.margin")} value={String(design.margin)} options={[["4", t("qr.margin.full")], ["2", t("qr.margin.small")], ["0", t("none")]]} onChange={(margin) => change({ margin: Number(margin) })} />
            <SelectField label={t("qr.size")} value={String(pixels)} options={SIZES.map((size) => [String(size), `${size} px`] as const)} onChange={(size) => setPixels(Number(size))} />
          </div>
        </div>
      </details>
      {!isDraft && (
        <div class="button-row">
          <button type="button" class="button" onClick={() => save("png")}>
            <Icon name="download" /> PNG
          </button>
          <button type="button" class="button" onClick={() => save("svg")}>
            <Icon name="download" /> SVG
          </button>
        </div>
      )}
    </div>
  );
}
