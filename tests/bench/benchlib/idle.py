"""Measures what an idle connection to a redirector takes after a request, in the process and in the kernel."""

import resource
import socket

from .contenders import Redirector
from .report import table

FEW, MANY = 1_000, 9_000  # the redirector has HTTP_CONNECTIONS=10000
SLUG = "nothing"


def slab_bytes():
    with open("/proc/meminfo", encoding="ascii") as meminfo:
        return next(int(line.split()[1]) for line in meminfo if line.startswith("Slab:")) * 1024


def connect(redirector, number):
    """Each from an address of its own, as visitors are."""
    connection = socket.create_connection(("127.0.0.1", redirector.port), 60, (f"127.1.{number // 250}.{1 + number % 250}", 0))
    connection.sendall(f"GET /{SLUG} HTTP/1.1\r\nHost: a\r\nUser-Agent: Mozilla/5.0\r\n\r\n".encode())
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += connection.recv(65536)
    return connection


def measure(folder, stage, options):
    """Bytes per connection: of the process, and of the kernel, which has both ends on this machine."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    redirector, connections = Redirector(folder, options.build, stage.stores, HTTP_LOOPS=2), []
    try:
        connections += [connect(redirector, number) for number in range(FEW)]
        before = redirector.resident_bytes(), slab_bytes()
        connections += [connect(redirector, number) for number in range(FEW, MANY)]
        after = redirector.resident_bytes(), slab_bytes()
        return [(last - first) / (MANY - FEW) for first, last in zip(before, after)]
    finally:
        for connection in connections:
            connection.close()
        redirector.stop()


def report(seen):
    process, kernel = seen
    rows = [["redirector", f"{process / 1000:.1f} kB"], ["kernel, both ends", f"{kernel / 1000:.1f} kB"]]
    return f"{MANY:,} connections, each after a request.\n\n" + table(["memory of an idle connection", "bytes"], rows)
