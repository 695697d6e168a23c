import { notify } from "../app/toasts";
import { t } from "../i18n";
import { csvCell } from "./csv";
import { addDays, type Range } from "./range";

/** "visits-tag-spring-2026-11-20-to-2026-11-26": both days are part of the range. */
export function fileName(kind: string, name: string, { from, to }: Range): string {
  return `${kind}-${name}-${from}-to-${addDays(to, -1)}`;
}

/** Saves a file that the page has made, and says so. */
export function saveFile(content: Blob, name: string): void {
  const url = URL.createObjectURL(content);
  const anchor = document.createElement("a");
  anchor.href = url;
  anchor.download = name;
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  notify(t("link.saved", { url: name }));
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Saves CSV for spreadsheets: Excel takes only what begins with a byte order mark for UTF-8. */
export function saveCsv(content: BlobPart, name: string): void {
  saveFile(new Blob(["\ufeff", content], { type: "text/csv" }), `${name}.csv`);
}

export function formatCsv(rows: readonly (readonly (string | number)[])[]): string {
  const cellOf = (cell: string | number) => (typeof cell === "number" ? String(cell) : csvCell(cell));
  return rows.map((row) => row.map(cellOf).join(t("csv.separator"))).join("\r\n");
}

/** CSV of the server with the separator that spreadsheets expect in the user's language. */
export function separate(csv: string): string {
  return csv.replace(/("[^"]*")+|,/g, (cell) => (cell === "," ? t("csv.separator") : cell));
}
