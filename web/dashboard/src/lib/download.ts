/** Saves a file that the page has made. */
export function saveFile(content: Blob, name: string): void {
  const url = URL.createObjectURL(content);
  const anchor = document.createElement("a");
  anchor.href = url;
  anchor.download = name;
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Saves CSV for spreadsheets: Excel takes only what begins with a byte order mark for UTF-8. */
export function saveCsv(content: BlobPart, name: string): void {
  saveFile(new Blob(["\ufeff", content], { type: "text/csv" }), `${name}.csv`);
}

export function formatCsv(rows: readonly (readonly (string | number)[])[]): string {
  // A spreadsheet must not take a cell for a formula.
  const safe = (cell: string) => (/^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell);
  const quote = (cell: string) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
  return rows.map((row) => row.map((cell) => quote(safe(String(cell)))).join(",")).join("\r\n");
}
