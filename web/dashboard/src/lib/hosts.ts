const [BASE, T_MIN, T_MAX] = [36, 1, 26];

/** What stands behind "xn--" (RFC 3492); undefined if that is no text. */
function decode(text: string): string | undefined {
  const end = text.lastIndexOf("-");
  const found = [...text.slice(0, Math.max(0, end))].map((each) => each.charCodeAt(0));
  let [code, at, bias, input] = [128, 0, 72, end + 1];
  for (let first = true; input < text.length; first = false) {
    const before = at;
    for (let weight = 1, k = BASE; ; k += BASE) {
      const digit = Number.parseInt(text[input++] ?? "", 36);
      if (Number.isNaN(digit)) return undefined;
      // Letters stand for 0 to 25, and digits for 26 to 35.
      const value = digit < 10 ? digit + 26 : digit - 10;
      at += value * weight;
      const threshold = Math.min(T_MAX, Math.max(T_MIN, k - bias));
      if (value < threshold) break;
      weight *= BASE - threshold;
    }
    const count = found.length + 1;
    let delta = Math.floor((at - before) / (first ? 700 : 2));
    delta += Math.floor(delta / count);
    for (bias = 0; delta > 455; bias += BASE) delta = Math.floor(delta / (BASE - T_MIN));
    bias += Math.floor((BASE * delta) / (delta + 38));
    code += Math.floor(at / count);
    at %= count;
    if (code > 0x10ffff) return undefined;
    found.splice(at++, 0, code);
  }
  return String.fromCodePoint(...found);
}

/** Letters that nobody takes for others. Those of Cyrillic or Greek may spell "apple". */
const CLEAR = /^([a-z\d\u00df-\u00f6\u00f8-\u0130\u0132-\u0137\u0139-\u017e-]+|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー\d-]+|[\p{Script=Hangul}\d-]+|[\p{Script=Arabic}\d-]+|[\p{Script=Hebrew}\d-]+)$/u;

function readableLabel(label: string): string {
  const name = /^xn--[a-z\d-]+$/.test(label) ? decode(label.slice(4)) : undefined;
  return name !== undefined && CLEAR.test(name) ? name : label;
}

/** "grün.example" for "xn--grn-hoa.example": each part of a host whose letters are all of one script, and clear. */
export const readableHost = (host: string): string => (host.includes("xn--") ? host.split(".").map(readableLabel).join(".") : host);
