const WIDTH = 480;
const HEIGHT = 160;
/** In base64, of 64 KiB. */
const CHARS_MAX = 87_384;

/** The picture of a file in base64, redrawn so that it is small and has no metadata. undefined: it is no picture that this browser shows. */
export async function readLogo(file: File): Promise<string | undefined> {
  const image = new Image();
  image.src = URL.createObjectURL(file);
  try {
    await image.decode();
  } catch {
    return undefined;
  } finally {
    URL.revokeObjectURL(image.src);
  }
  for (let scale = Math.min(1, WIDTH / image.width, HEIGHT / image.height); image.width * scale >= 1; scale /= 2) {
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(image.width * scale);
    canvas.height = Math.max(1, Math.round(image.height * scale));
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    const data = canvas.toDataURL("image/png").split(",")[1] ?? "";
    if (data.length <= CHARS_MAX) return data;
  }
  return undefined;
}
