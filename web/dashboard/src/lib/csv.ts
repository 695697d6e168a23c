/** Quotes, dashes and a bullet of Windows-1252. */
const SIGNS = [0x82, 0x84, 0x91, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97];

/** Excel's "CSV (Macintosh)" ends lines with CR alone, and has letters where Windows has hardly any: "Gr\x9a§e". */
function isMacintosh(bytes: Uint8Array): boolean {
  const isLetter = (byte = 0) => (byte >= 0x61 && byte <= 0x7a) || byte === 0xa7; // a to z, ß
  return bytes.includes(0x0d) && !bytes.includes(0x0a) && bytes.some((byte, at) => byte >= 0x80 && byte < 0xa0 && !SIGNS.includes(byte) && isLetter(bytes[at + 1]));
}

/** The text of a file that a spreadsheet saved; undefined for a workbook, which is no text. */
export function textOf(file: ArrayBuffer): string | undefined {
  const bytes = new Uint8Array(file);
  const begins = (...start: number[]) => start.every((byte, at) => bytes[at] === byte);
  const decode = (encoding: string, fatal = false) => new TextDecoder(encoding, { fatal }).decode(file);
  if (begins(0x50, 0x4b, 0x03, 0x04) || begins(0xd0, 0xcf, 0x11, 0xe0)) return undefined; // .xlsx and .ods, .xls
  if (begins(0xff, 0xfe) || (bytes[0] && bytes[1] === 0)) return decode("utf-16le");
  if (begins(0xfe, 0xff) || (bytes[0] === 0 && bytes[1])) return decode("utf-16be");
  try {
    return decode("utf-8", !begins(0xef, 0xbb, 0xbf));
  } catch {
    return decode(isMacintosh(bytes) ? "macintosh" : "windows-1252");
  }
}

export interface CsvRow {
  cells: string[];
  /** Of the first line of the row, from 1. */
  line: number;
  /** As it was written. */
  text: string;
}

const SEPARATORS = [",", ";", "\t"];

/** Rows of RFC 4180 text from its line on, without empty ones, with any line ends. A quote that nothing closes is a letter. */
function* rowsOf(text: string, separator: string, line = 1): Generator<CsvRow> {
  const ends = `(${separator}|\r\n|\n|\r|$)`;
  const cell = new RegExp(` *"([^"]*(?:""[^"]*)*)" *${ends}|([^${separator}\r\n]*)${ends}`, "y");
  for (let begin = 0; begin < text.length; begin = cell.lastIndex) {
    const cells: string[] = [];
    let end: string | undefined;
    do {
      const [, quoted, quotedEnd, plain = "", plainEnd] = cell.exec(text) ?? [];
      cells.push((quoted?.replaceAll('""', '"') ?? plain).trim());
      end = quotedEnd ?? plainEnd;
    } while (end === separator);
    const written = text.slice(begin, cell.lastIndex);
    if (cells.some((each) => each !== "")) yield { cells, line, text: written.trimEnd() };
    line += written.match(/\r\n|\n|\r/g)?.length ?? 0;
  }
}

/** The cells of one line, by the separator that makes the most of it. */
export function cellsOf(line: string): string[] {
  const read = SEPARATORS.map((separator) => rowsOf(line, separator).next().value?.cells ?? []);
  return (line.includes("\t") && read[2]) || read.reduce((best, each) => (each.length > best.length ? each : best));
}

export interface Csv {
  /** The line that names the separator for Excel (sep=;), if there is one. */
  mark: string;
  rows: CsvRow[];
}

/** Separated by comma, semicolon or tab: by what the first line says (sep=;), or else by the one with which rate finds the most in the first row. */
export function parseCsv(text: string, rate: (cells: string[]) => number): Csv {
  const [mark = "", named] = /^\ufeff?"?sep=([,;\t])"?[ \t]*(?:\r\n|\n|\r|$)/i.exec(text) ?? [];
  const body = text.slice(mark.length || Number(text.startsWith("\ufeff")));
  const rateOf = (separator: string) => rate(rowsOf(body, separator).next().value?.cells ?? []);
  const separator = named ?? SEPARATORS.reduce((best, each) => (rateOf(each) > rateOf(best) ? each : best));
  return { mark: mark.replace(/[\r\n]+$/, ""), rows: [...rowsOf(body, separator, mark ? 2 : 1)] };
}

/** Where a cell could begin: at the start, and behind whatever some spreadsheet takes for a separator. What it drops or does not show follows. */
const START = String.raw`(^|[,;\t\r\n])[,;"\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cc}]*`;
const BEGIN = new RegExp(`${START}(?=(.))`, "gsu");
const DISARMED = new RegExp(`(${START})'(?=(.))`, "gsu");
const beginsFormula = (text: string) => /^[=+\-@\u2212]/.test(text.normalize("NFKD"));

/**
 * A cell of a CSV file that no spreadsheet takes for a formula, whatever separates cells there: an apostrophe stands before
 * what would begin one. -74.0 within coordinates is a number. visit_page.c has the same rules, and tests/support/csv_cells.json examples.
 */
export function csvCell(text: string): string {
  const safe = text.replace(BEGIN, (start: string, _, next: string, at: number) => {
    const isNumber = /[,;\t\r\n]/.test(start) && /^[+-][\d.]+([,;\t\r\n"]|$)/.test(text.slice(at + start.length));
    return beginsFormula(next) && !isNumber ? `${start}'` : start;
  });
  return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** What the cell was before csvCell. */
export function plainCell(cell: string): string {
  return cell.replace(DISARMED, (whole, start: string, _, next: string) => (beginsFormula(next) ? start : whole));
}
