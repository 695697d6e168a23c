import { t } from "../i18n";
import { formatChange, formatCount } from "../lib/format";

/** How a count differs from the one of the earlier period. */
export function Change({ count, before }: { count: number; before: number }) {
  if (before === 0 && count === 0) return null;
  const isLess = count < before;
  return (
    <span class={isLess ? "change change-down" : "change"} title={t("before.was", { count: formatCount(before) })}>
      {before === 0 ? t("change.new") : formatChange((count - before) / before)}
    </span>
  );
}
