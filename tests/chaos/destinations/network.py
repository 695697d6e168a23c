"""A network namespace without a way out, in which every address is local and nftables counts packets by address.

It ends with its process. It needs root or user namespaces.
"""

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import threading
import time

from destinations import addresses, servers
from processes import popen

HERE = pathlib.Path(__file__).resolve().parent


class CannotBeMade(Exception):
    """This machine does not allow such a network, for the reason in the message."""


def anchor():
    """Starts a process in a new network namespace, which lives as long as its stdin is open."""
    for words in (["--net"], ["--user", "--map-root-user", "--net"]):
        command = ["unshare", *words, "sh", "-c", "echo up && exec cat >/dev/null"]
        process = popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if process.stdout.readline() == "up\n":
            return process, words
        problem = process.stderr.read().strip()
        process.wait()
    raise CannotBeMade(problem or "unshare says nothing")


class Network:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.servers = None
        self.relay = None
        self.anchor, words = anchor()
        self.enter = ["nsenter", "-t", str(self.anchor.pid), "-n"]
        if "--user" in words:
            self.enter += ["-U", "--preserve-credentials"]
        try:
            self.furnish()
        except (subprocess.CalledProcessError, FileNotFoundError) as problem:
            self.end()
            raise CannotBeMade(f"{problem}: {getattr(problem, 'stderr', '')}") from problem

    def run(self, *words, stdin=None):
        return subprocess.run([*self.enter, *words], input=stdin, text=True, capture_output=True, check=True).stdout

    def furnish(self):
        self.run("ip", "link", "set", "lo", "up")
        for address in (servers.RESOLVER, *servers.WEB, *servers.TRAPS):
            if address not in ("127.0.0.1", "::1"):
                self.run("ip", "address", "add", address, "dev", "lo")
        # Every other address is local as well: packets to it pass the counters and are refused.
        self.run("ip", "-4", "route", "add", "local", "default", "dev", "lo")
        self.run("ip", "-6", "route", "add", "local", "default", "dev", "lo")
        self.run("nft", "-f", "-", stdin=self.rules())

    @staticmethod
    def rules():
        return f"""
            table inet watch {{
                counter not_global_4 {{}}
                counter not_global_6 {{}}
                counter all_tcp {{}}
                chain sent {{
                    type filter hook output priority -300; policy accept;
                    meta l4proto {{ tcp, udp, sctp }} ip daddr {{ {", ".join(addresses.NOT_GLOBAL_4)} }} counter name not_global_4
                    meta l4proto {{ tcp, udp, sctp }} ip6 daddr {{ {", ".join(addresses.NOT_GLOBAL_6)} }} counter name not_global_6
                    meta l4proto {{ tcp, udp, sctp }} {addresses.ISATAP} counter name not_global_6
                    meta l4proto tcp counter name all_tcp
                }}
            }}
        """

    def packets(self):
        """Returns the number of packets to addresses that are not global, and of all TCP packets."""
        listed = json.loads(self.run("nft", "-j", "list", "counters", "table", "inet", "watch"))["nftables"]
        counted = {entry["counter"]["name"]: entry["counter"]["packets"] for entry in listed if "counter" in entry}
        return counted["not_global_4"] + counted["not_global_6"], counted["all_tcp"]

    def serve(self, plan):
        (self.folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
        command = [*self.enter, sys.executable, "-B", str(HERE / "servers.py"), str(self.folder)]
        self.servers = popen(command, stdin=subprocess.PIPE)
        deadline = time.monotonic() + 300
        while not (self.folder / "ready").exists():
            assert self.servers.poll() is None and time.monotonic() < deadline, "the servers do not start"
            time.sleep(0.02)

    def requests(self):
        """Everything that the servers recorded."""
        return [json.loads(line) for line in (self.folder / "requests").read_text(encoding="utf-8").splitlines()]

    def let_in(self, host, port):
        """Makes a Unix socket through which PostgreSQL is reached from inside; returns its folder."""
        self.relay = socket.socket(socket.AF_UNIX)
        self.relay.bind(str(self.folder / ".s.PGSQL.5432"))
        self.relay.listen(16)
        os.chmod(self.folder / ".s.PGSQL.5432", 0o777)
        threading.Thread(target=self._relay, args=(host, port), daemon=True).start()
        return self.folder

    def _relay(self, host, port):
        with contextlib.suppress(OSError):
            while True:
                inner = self.relay.accept()[0]
                outer = socket.create_connection((host, port))
                outer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for pair in ((inner, outer), (outer, inner)):
                    threading.Thread(target=self._pump, args=pair, daemon=True).start()

    @staticmethod
    def _pump(source, sink):
        with contextlib.suppress(OSError):
            while block := source.recv(65536):
                sink.sendall(block)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def end(self):
        if self.relay:
            self.relay.close()
        for process in (self.servers, self.anchor):
            if process:
                process.stdin.close()
                process.wait(300)
