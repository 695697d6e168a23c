"""The table, on the terminal and in docs/performance.md."""

import os
import re
import statistics

BEGIN = "<!-- redirect: written by tests/bench/run -->"
END = "<!-- redirect: end -->"


def ratios(pairs, value):
    """The median of the pairs' ratios redirector / nginx, and how far they spread."""
    found = sorted(value(ours) / value(theirs) for theirs, ours in pairs if value(theirs) > 0)
    return statistics.median(found), found[0], found[-1]


def cell(pairs, value):
    median, least, most = ratios(pairs, value)
    return f"{median:.2f} ({least:.2f}–{most:.2f})"


def row(case, pairs):
    ours = statistics.median(run.per_second for _, run in pairs)
    return [
        case,
        cell(pairs, lambda run: run.per_second),
        cell(pairs, lambda run: run.cpu_us),
        cell(pairs, lambda run: run.p50_ms),
        cell(pairs, lambda run: run.p99_ms),
        f"{ours:,.0f}",
    ]


HEAD = ["case", "req/s vs nginx", "CPU per request vs nginx", "p50 vs nginx", "p99 vs nginx", "req/s here"]


def table(results):
    rows = [HEAD] + [row(case, pairs) for case, pairs in results]
    widths = [max(len(line[i]) for line in rows) for i in range(len(HEAD))]

    def line(cells):
        return "| " + " | ".join(text.ljust(width) for text, width in zip(cells, widths)) + " |"

    return "\n".join([line(rows[0]), "|" + "|".join("-" * (width + 2) for width in widths) + "|", *map(line, rows[1:])])


def write_section(path, text):
    """Puts text between the marks of the page, which must be there."""
    with open(path, encoding="utf-8") as page:
        whole = page.read()
    pattern = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    if not pattern.search(whole):
        raise SystemExit(f"bench: {path} has no section {BEGIN}")
    unfinished = path + ".new"
    with open(unfinished, "w", encoding="utf-8") as page:
        page.write(pattern.sub(lambda _: f"{BEGIN}\n\n{text}\n\n{END}", whole))
    os.replace(unfinished, path)
