"""The servers of the network: a name server, web servers at global addresses, and traps at others.

It runs inside the network as servers.py FOLDER and ends with its stdin. FOLDER/plan.json has "zone", the addresses of
each name by answer ({name: [[address, …], …]}, the last answer repeats), and "pages" ({"host/path": {...}}). The program
writes FOLDER/ready, and a line to FOLDER/requests for each request.
"""

import http.server
import ipaddress
import json
import pathlib
import socket
import socketserver
import struct
import sys
import threading
import time

RESOLVER = "9.9.9.9"
WEB = ("93.184.216.34", "2606:2800:220:1::1")
TRAPS = ("127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fd00:ec2::254")
PORTS = (80, 8080)

FOLDER = pathlib.Path(sys.argv[1]) if __name__ == "__main__" else None


class Log:
    def __init__(self, path):
        self.file = open(path, "a", encoding="utf-8", buffering=1)
        self.lock = threading.Lock()

    def add(self, **what):
        with self.lock:
            self.file.write(json.dumps({"at": time.monotonic(), **what}) + "\n")


class Zone:
    """The answers of the name server, which may change with each lookup."""

    def __init__(self, answers):
        self.answers = answers
        self.asked = {}
        self.lock = threading.Lock()

    def addresses(self, name, version):
        """None if the name does not exist. A and AAAA of one lookup get the same answer."""
        turns = self.answers.get(name)
        if turns is None:
            return None
        with self.lock:
            turn = self.asked.get((name, version), 0)
            self.asked[(name, version)] = turn + 1
        addresses = [ipaddress.ip_address(text) for text in turns[min(turn, len(turns) - 1)]]
        return [address for address in addresses if address.version == version]


def question_of(packet):
    labels, at = [], 12
    while packet[at]:
        labels.append(packet[at + 1 : at + 1 + packet[at]].decode("latin-1"))
        at += 1 + packet[at]
    (kind,) = struct.unpack_from("!H", packet, at + 1)
    return ".".join(labels).lower(), kind, packet[12 : at + 5]


def answer_to(packet, zone):
    name, kind, question = question_of(packet)
    addresses = zone.addresses(name, {1: 4, 28: 6}[kind]) if kind in (1, 28) else []
    flags = 0x8180 | (3 if addresses is None else 0)
    records = b"".join(
        b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 0, len(address.packed)) + address.packed for address in addresses or []
    )
    return packet[:2] + struct.pack("!HHHHH", flags, 1, len(addresses or []), 0, 0) + question + records


def serve_names(zone, log):
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((RESOLVER, 53))

    def loop():
        while True:
            packet, client = server.recvfrom(4096)
            log.add(kind="dns", name=question_of(packet)[0])
            if zone.answers.get(question_of(packet)[0]) != "mute":
                server.sendto(answer_to(packet, zone), client)

    threading.Thread(target=loop, daemon=True).start()


class Web(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.answer()

    def do_GET(self):
        self.answer()

    def answer(self):
        host = self.headers.get("Host", "").rpartition(":")[0] or self.headers.get("Host", "")
        server = self.server
        server.log.add(kind=server.kind, method=self.command, host=host, path=self.path, agent=self.headers.get("User-Agent", ""))
        page = server.pages.get(f"{host}{self.path}") or server.pages.get(f"*{self.path}") or {}
        if self.path == "/robots.txt" and not page:
            page = {"status": 404}
        time.sleep(page.get("wait_s", 0))
        status = page.get("head_status", 200) if self.command == "HEAD" and "head_status" in page else page.get("status", 200)
        body = page.get("body", "").encode(page.get("encoding", "utf-8")) + b"x" * page.get("bytes", 0)
        self.send_response_only(status)
        if "location" in page:
            self.send_header("Location", page["location"])
        if "type" in page:
            self.send_header("Content-Type", page["type"])
        # A page that lasts never comes to its end.
        self.send_header("Content-Length", str(len(body) + ("lasts_s" in page)))
        self.send_header("Connection", "close")
        # Before the client can have the response and send its next request.
        server.log.add(kind="end", host=host, path=self.path)
        self.end_headers()
        self.close_connection = True
        if self.command == "GET":
            sent = 0
            try:
                while sent < len(body):
                    sent += self.connection.send(body[sent : sent + 4096])
                time.sleep(page.get("lasts_s", 0))
            except OSError:
                pass
            server.log.add(kind="sent", host=host, path=self.path, bytes=sent)


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address, port, pages, kind, log):
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.pages, self.kind, self.log = pages, kind, log
        super().__init__((address, port), Web)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def server_bind(self):
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]


def main():
    plan = json.loads((FOLDER / "plan.json").read_text(encoding="utf-8"))
    log = Log(FOLDER / "requests")
    serve_names(Zone(plan["zone"]), log)
    for port in PORTS:
        for address in WEB:
            Server(address, port, plan["pages"], "web", log)
        for address in TRAPS:
            Server(address, port, {}, "trap", log)
    (FOLDER / "ready").touch()
    sys.stdin.read()


if __name__ == "__main__":
    main()
