import { encode } from "uqr";

export interface QrDesign {
  /** #rrggbb */
  colour: string;
  /** In modules; scanners want 4. */
  margin: number;
  /** A data: URL of an image for the middle, or "". */
  logo: string;
  /** A frame with this text below, or "". */
  caption: string;
}

export const PLAIN: QrDesign = { colour: "#000000", margin: 4, logo: "", caption: "" };

export interface QrDrawing {
  /** Modules per side, with the margin. */
  side: number;
  /** The dark modules as one path, one unit per module. */
  path: string;
  /** The free square in the middle. */
  hole: { at: number; side: number };
}

/** A fifth of each side is free for a logo: error correction H repairs up to 30 % of the area. */
const LOGO_SHARE = 0.2;

export function drawQr(text: string, design: QrDesign = PLAIN): QrDrawing {
  const { data, size } = encode(text, { ecc: design.logo ? "H" : "M", border: design.margin });
  const modules = size - 2 * design.margin;
  const wide = design.logo ? Math.round(modules * LOGO_SHARE) + ((modules - Math.round(modules * LOGO_SHARE)) % 2) : 0; // centred
  const from = (size - wide) / 2;
  const isHole = (x: number, y: number) => wide > 0 && x >= from && x < from + wide && y >= from && y < from + wide;
  let path = "";
  data.forEach((row, y) => {
    for (let x = 0; x < size; x++) {
      if (!row[x] || isHole(x, y)) continue;
      let end = x;
      while (end < size && row[end] && !isHole(end, y)) end++;
      path += `M${x} ${y}h${end - x}v1h-${end - x}z`;
      x = end;
    }
  });
  return { side: size, path, hole: { at: from, side: wide } };
}

const CONTRAST_MIN = 3;

/** Whether a colour (#rrggbb) is too light for scanners on white: by the contrast that WCAG defines. */
export function isFaint(colour: string): boolean {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05) < CONTRAST_MIN;
}

const escape = (text: string) => text.replace(/[<>&"]/g, (letter) => `&#${letter.charCodeAt(0)};`);

/** The whole picture. Its height is its width, and a fifth more with a caption. */
function svgText(text: string, design: QrDesign, pixels: number): string {
  const { side, path, hole } = drawQr(text, design);
  const foot = design.caption ? side / 5 : 0;
  const edge = design.caption ? side / 40 : 0;
  const frame = foot
    ? `<rect x="0" y="0" width="${side + 2 * edge}" height="${side + foot + edge}" rx="${side / 16}" fill="${design.colour}"/>` +
      `<rect x="${edge}" y="${edge}" width="${side}" height="${side}" rx="${side / 24}" fill="#fff"/>` +
      `<text x="${edge + side / 2}" y="${edge + side + foot * 0.62}" font-family="system-ui, sans-serif" font-weight="600" font-size="${Math.min(foot * 0.5, (side * 1.7) / Math.max(design.caption.length, 1))}" text-anchor="middle" fill="#fff">${escape(design.caption)}</text>`
    : `<path fill="#fff" d="M0 0h${side}v${side}H0z"/>`;
  const logo = hole.side ? `<image href="${escape(design.logo)}" x="${hole.at + 0.5}" y="${hole.at + 0.5}" width="${hole.side - 1}" height="${hole.side - 1}"/>` : "";
  const [width, height] = [side + 2 * edge, side + foot + edge];
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${pixels}" height="${Math.round((pixels * height) / width)}" viewBox="0 0 ${width} ${height}">${frame}` +
    `<g transform="translate(${edge} ${edge})"><path shape-rendering="crispEdges" fill="${design.colour}" d="${path}"/>${logo}</g></svg>`
  );
}

export const qrSvg = (text: string, design: QrDesign, pixels: number): Blob => new Blob([svgText(text, design, pixels)], { type: "image/svg+xml" });

/** To show it: an address that costs no request. */
export const qrUrl = (text: string, design: QrDesign): string => `data:image/svg+xml,${encodeURIComponent(svgText(text, design, 512))}`;

export async function qrPng(text: string, design: QrDesign, pixels: number): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(svgText(text, design, pixels))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
  canvas.getContext("2d")?.drawImage(image, 0, 0);
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no image"))), "image/png"));
}
