"""The tables on the terminal."""

import statistics

from .bounds import judge


CONNECTIONS_SHARE_MIN = 0.62  # of nginx's requests a second, for any number of connections


def ratios(pairs, value):
    """The median of the pairs' ratios, the least and the greatest."""
    found = sorted(value(ours) / value(theirs) for theirs, ours in pairs if value(theirs) > 0)
    return statistics.median(found), found[0], found[-1]


def cell(pairs, value, promise="", target=None, at_most=True):
    """The median ratio and its spread. With a target, the run is judged by it under the name promise."""
    median, least, most = ratios(pairs, value)
    text = f"{median:.2f} ({least:.2f}–{most:.2f})"
    return text if target is None else text + judge(promise, round(median, 2), target, at_most=at_most)


def ours_of(pairs, value):
    return statistics.median(value(run) for _, run in pairs)


def speed(run):
    return run.per_second


def cpu(run):
    return run.cpu_us


def p50(run):
    return run.p50_ms


def p99(run):
    return run.p99_ms


def beside(pairs):
    names = pairs[0][1].beside_us
    return ", ".join(f"{name} {ours_of(pairs, lambda run, name=name: run.beside_us[name]):.1f}" for name in names)


def cases(results, options):
    rows = []
    for case, pairs, memory_share in results:
        at_least, cpu_most, p99_most = case.targets
        rows.append(
            [
                case.name,
                cell(pairs, speed, f"{case.name}: req/s vs nginx", at_least, at_most=False),
                cell(pairs, cpu, f"{case.name}: CPU per request vs nginx", cpu_most),
                cell(pairs, p50),
                cell(pairs, p99, f"{case.name}: p99 vs nginx", p99_most),
                f"{ours_of(pairs, speed):,.0f}",
                f"{ours_of(pairs, cpu):.1f}",
                f"{100 * memory_share:.0f} %",
                beside(pairs),
            ]
        )
    head = ["case, 64 connections", "req/s vs nginx", "CPU per request vs nginx", "p50 vs nginx", "p99 vs nginx"]
    head += ["req/s here", "µs CPU here", "answered by memory", "µs CPU of others, per request"]
    return f"one loop thread, {rounds(options.rounds, options)}\n\n" + table(head, rows)


def connections(results, options):
    rows = []
    for name, pairs in results:
        shown = cell(pairs, speed, f"hot set, {name} connections: req/s vs nginx", CONNECTIONS_SHARE_MIN, at_most=False)
        rows.append([name, shown, cell(pairs, p99), f"{ours_of(pairs, speed):,.0f}"])
    head = ["connections, hot set", "req/s vs nginx", "p99 vs nginx", "req/s here"]
    return f"one loop thread, {rounds(3, options)}\n\n" + table(head, rows)


def growth(results, options):
    rows = [
        [name, cell(pairs, speed), cell(pairs, cpu), f"{ours_of(pairs, cpu):.1f}", beside(pairs)] for name, pairs in results
    ]
    head = ["hot set, 64 connections", "req/s vs nginx", "CPU per request vs nginx", "µs CPU here", "µs CPU of others, per request"]
    return f"{rounds(3, options)}\n\n" + table(head, rows)


def rounds(count, options):
    return (
        f"wrk with one thread, {count} rounds of {options.seconds} s in alternation with nginx (one worker): medians, in brackets the least and"
        " the greatest.\nAnswered = produced = in Kafka, checked after each case."
    )


def table(head, rows):
    rows = [head, *rows]
    widths = [max(len(line[i]) for line in rows) for i in range(len(head))]

    def line(cells):
        return "| " + " | ".join(text.ljust(width) for text, width in zip(cells, widths)) + " |"

    return "\n".join([line(rows[0]), "|" + "|".join("-" * (width + 2) for width in widths) + "|", *map(line, rows[1:])])
