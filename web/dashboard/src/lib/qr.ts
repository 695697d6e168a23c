import { encode } from "uqr";

const QUIET_MODULES = 4; // scanners need them

export interface QrDrawing {
  /** Modules per side, with the margin. */
  side: number;
  /** The dark modules as one path, one unit per module. */
  path: string;
}

export function drawQr(text: string): QrDrawing {
  const { data, size } = encode(text, { ecc: "M", border: QUIET_MODULES });
  let path = "";
  data.forEach((row, y) => {
    for (let x = 0; x < size; x++) {
      if (!row[x]) continue;
      let end = x;
      while (end < size && row[end]) end++;
      path += `M${x} ${y}h${end - x}v1h-${end - x}z`;
      x = end;
    }
  });
  return { side: size, path };
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

export function qrSvg(drawing: QrDrawing, pixels: number, colour: string): Blob {
  const { side, path } = drawing;
  const text =
    `<svg xmlns="http://www.w3.org/2000/svg" width="${pixels}" height="${pixels}" viewBox="0 0 ${side} ${side}" shape-rendering="crispEdges">` +
    `<path fill="#fff" d="M0 0h${side}v${side}H0z"/><path fill="${colour}" d="${path}"/></svg>`;
  return new Blob([text], { type: "image/svg+xml" });
}

export async function qrPng(drawing: QrDrawing, pixels: number, colour: string): Promise<Blob> {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = pixels;
  const context = canvas.getContext("2d");
  if (!context) throw new Error("this browser cannot draw");
  context.fillStyle = "#fff";
  context.fillRect(0, 0, pixels, pixels);
  context.scale(pixels / drawing.side, pixels / drawing.side);
  context.fillStyle = colour;
  context.fill(new Path2D(drawing.path));
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no image"))), "image/png"));
}
