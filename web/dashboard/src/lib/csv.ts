/** The text of a file: UTF-8, or Windows-1252, in which Excel saves CSV for western languages. */
export function textOf(bytes: ArrayBuffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}

export interface CsvRow {
  cells: string[];
  /** Of the first line of the row, from 1. */
  line: number;
  /** As it was written. */
  text: string;
}

/** Rows of RFC 4180 text without empty ones. The separator is a comma, semicolon or tab: the one that the first line has most often. */
export function parseCsv(text: string): CsvRow[] {
  const firstLine = text.slice(0, text.search(/[\r\n]|$/)).replace(/"[^"]*"/g, "");
  const count = (separator: string) => firstLine.split(separator).length;
  const separator = [",", ";", "\t"].reduce((best, each) => (count(each) > count(best) ? each : best));
  const rows: CsvRow[] = [];
  let begin = text.charCodeAt(0) === 0xfeff ? 1 : 0;
  let line = 1;
  let lines = 0; // of this row, but the last
  let cells: string[] = [];
  let cell = "";
  let isQuoted = false;
  const endRow = (end: number) => {
    cells = [...cells, cell].map((each) => each.trim());
    if (cells.some((each) => each !== "")) rows.push({ cells, line, text: text.slice(begin, end).trimEnd() });
    [cells, cell, begin, line, lines] = [[], "", end + 1, line + lines + 1, 0];
  };
  for (let at = begin; at < text.length; at++) {
    const char = text[at] as string;
    if (isQuoted) {
      if (char === "\n") lines++;
      if (char !== '"') cell += char;
      else if (text[at + 1] === '"') cell += text[++at];
      else isQuoted = false;
    } else if (char === '"' && cell === "") isQuoted = true;
    else if (char === separator) cells.push(cell), (cell = "");
    else if (char === "\n") endRow(at);
    else if (char !== "\r") cell += char;
  }
  if (cell !== "" || cells.length > 0) endRow(text.length);
  return rows;
}
