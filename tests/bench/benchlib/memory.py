"""Measures the redirector's memory cache by size; tests/bench/memory.c prints a line per size."""

import os
import subprocess

from . import report


def table(build):
    rows = []
    for links in (10_000, 100_000, 1_000_000, 10_000_000):
        command = [os.path.join(build, "tests/bench/bench_memory"), str(links)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        rows.append([f"{links:,}", *done.stdout.split()])
    head = ["links", "bytes per link, counted", "bytes per link, resident", "ns per hit, 1 thread", "ns per hit, 2 threads", "ns per put"]
    return "links with a URL of 64 bytes and a slug of 7, hits in random order\n\n" + report.table(head, rows)
