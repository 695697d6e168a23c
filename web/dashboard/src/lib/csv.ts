/** Rows of RFC 4180 text. The separator is a comma, semicolon or tab, whichever the first line has. */
export function parseCsv(text: string): string[][] {
  const firstLine = text.slice(0, text.search(/[\r\n]|$/));
  const separator = [",", ";", "\t"].find((each) => firstLine.includes(each)) ?? ",";
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = "";
  let isQuoted = false;
  for (let at = text.charCodeAt(0) === 0xfeff ? 1 : 0; at < text.length; at++) {
    const char = text[at] as string;
    if (isQuoted) {
      if (char !== '"') cell += char;
      else if (text[at + 1] === '"') cell += text[++at];
      else isQuoted = false;
    } else if (char === '"' && cell === "") isQuoted = true;
    else if (char === separator) row.push(cell), (cell = "");
    else if (char === "\n") rows.push([...row, cell]), (row = []), (cell = "");
    else if (char !== "\r") cell += char;
  }
  if (cell !== "" || row.length > 0) rows.push([...row, cell]);
  return rows.map((cells) => cells.map((each) => each.trim())).filter((cells) => cells.some((each) => each !== ""));
}

export function formatCsv(rows: readonly (readonly (string | number)[])[]): string {
  // A spreadsheet must not take a cell for a formula.
  const safe = (cell: string) => (/^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell);
  const quote = (cell: string) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
  return rows.map((row) => row.map((cell) => quote(safe(String(cell)))).join(",")).join("\r\n");
}
