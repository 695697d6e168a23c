import type { ComponentChildren } from "preact";
import { setParams } from "../app/router";
import { t } from "../i18n";

/** What its head says, and the class of the column. */
export type Column = string | readonly [head: ComponentChildren, className?: string];

interface HeadProps {
  columns: readonly Column[];
  /** The last column has the buttons of each row. */
  hasActions?: boolean;
}

export function TableHead({ columns, hasActions = true }: HeadProps) {
  return (
    <thead>
      <tr>
        {columns.map((column, at) => {
          const [head, className] = typeof column === "string" ? [column] : column;
          return (
            <th scope="col" class={className} key={at}>
              {head}
            </th>
          );
        })}
        {hasActions && (
          <th class="cell-actions">
            <span class="visually-hidden">{t("actions")}</span>
          </th>
        )}
      </tr>
    </thead>
  );
}

interface TableProps extends HeadProps {
  caption: string;
  class?: string;
  /** The rows. */
  children: ComponentChildren;
}

/** A table on a card of its own. */
export function Table({ caption, class: className = "", children, ...head }: TableProps) {
  return (
    <div class="card table-card">
      <table class={`table ${className}`}>
        <caption class="visually-hidden">{caption}</caption>
        <TableHead {...head} />
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

/** Leads to the next page of a list, and back to its first. A list of one page has neither. */
export function CursorPages({ cursor, next }: { cursor: string | number | undefined; next: string | null | undefined }) {
  if (!cursor && !next) return null;
  return (
    <nav class="pages" aria-label={t("pages")}>
      <button type="button" class="button" disabled={!cursor} onClick={() => setParams({ cursor: "" })}>
        {t("first")}
      </button>
      <button type="button" class="button" disabled={!next} onClick={() => setParams({ cursor: next ?? "" })}>
        {t("next")}
      </button>
    </nav>
  );
}
