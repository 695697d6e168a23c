"""Measures what a crowd costs the others: slow readers of links-api, idle connections to the redirector, a flood of logins, and one account
that sends passwords through every door.
"""

import concurrent.futures
import contextlib
import http.client
import itertools
import json
import resource
import select
import socket
import threading
import time
import urllib.parse

from . import shares
from .bounds import judge
from .contenders import Redirector
from .report import table

READERS, READER_BYTES_PER_S = 1_100, 200  # links-api has HTTP_CONNECTIONS=1024
IDLE = 10_100  # the redirector has HTTP_CONNECTIONS=10000
NETWORKS = 64  # of the flood of logins; each has one login under way
TOKENS, SHARES = 100, 100  # of the one account; each has one password under way
PASSWORD = "correct horse battery"
RUNS = 6  # of options.seconds for each crowd
BIG_DOCUMENT = "/docs/swagger-ui-bundle.js"
BUFFER_BYTES = 4096  # of each reader, so that its system does not take the document in its stead


class Crowd(threading.Thread):
    """So many connections that have sent text. What the server closes is opened again at once."""

    def __init__(self, url, count, text, bytes_per_s=0):
        super().__init__(daemon=True)
        self.url, self.text, self.bytes_per_s = urllib.parse.urlsplit(url), text.encode(), bytes_per_s
        self.open, self.poll, self.closed, self.is_over = {}, select.epoll(), 0, threading.Event()
        for number in range(count):
            self.connect(number)

    def connect(self, number):
        """From many addresses: one of them has a limit of its own."""
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        connection.bind((f"127.1.{number // 100}.{1 + number % 100}", 0))
        connection.settimeout(1)
        with contextlib.suppress(OSError):
            connection.connect((self.url.hostname, self.url.port))
            connection.sendall(self.text)
        connection.setblocking(False)
        self.open[connection.fileno()] = (connection, number)
        self.poll.register(connection, select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLET)

    def reopen(self, descriptor):
        connection, number = self.open.pop(descriptor)
        connection.close()
        self.closed += 1
        self.connect(number)

    def read_some(self):
        for descriptor, (connection, _) in list(self.open.items()):
            try:
                if connection.recv(self.bytes_per_s) == b"":
                    self.reopen(descriptor)
            except BlockingIOError:
                pass
            except OSError:
                self.reopen(descriptor)

    def run(self):
        due = time.monotonic()
        while not self.is_over.is_set():
            for descriptor, _ in self.poll.poll(0.2):
                if descriptor in self.open:
                    self.reopen(descriptor)
            if self.bytes_per_s and time.monotonic() >= due:
                due += 1
                self.read_some()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.join()
        for connection, _ in self.open.values():
            connection.close()


def ask(url, method, path, body=None, headers=None):
    """The status of a request on a new connection; 0 = none came."""
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=10)
    try:
        connection.request(method, path, body, headers or {})
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()


def others(send, wanted, options):
    """Sends one request after the other; returns (good, failed)."""
    statuses, end = [], time.monotonic() + RUNS * options.seconds
    while time.monotonic() < end:
        statuses.append(send())
        time.sleep(0.05)
    return statuses.count(wanted), len(statuses) - statuses.count(wanted)


def send(url, path, body, network, token=None):
    headers = {"Content-Type": "application/json", "X-Forwarded-For": network} | ({"Authorization": f"Bearer {token}"} if token else {})
    return ask(url, "POST", path, json.dumps(body), headers)


def log_in(url, email, network):
    return send(url, "/api/auth/login", {"email": email, "password": PASSWORD}, network)


def measure_readers(stage, options):
    url = stage.stores["LINKS_API_URL"]
    request = f"GET {BIG_DOCUMENT} HTTP/1.1\r\nHost: a\r\n\r\n"
    with Crowd(url, READERS, request, READER_BYTES_PER_S) as crowd:
        return (*others(lambda: ask(url, "GET", "/api/stats"), 200, options), crowd.closed)


def measure_idle(folder, stage, options):
    redirector = Redirector(folder, options.build, stage.stores, HTTP_LOOPS=2, TRUSTED_PROXIES="127.1.0.0/16")
    try:
        with Crowd(redirector.url, IDLE, "") as crowd:
            return (*others(lambda: ask(redirector.url, "GET", "/robots.txt"), 200, options), crowd.closed)
    finally:
        redirector.stop()


def measure_logins(stage, options):
    """The account has logged in from its network before, as users have."""
    url, account, is_over, refused = stage.stores["LINKS_API_URL"], shares.account(stage, "crowds"), threading.Event(), []

    def flood(number):
        while not is_over.is_set():
            refused.append(log_in(url, f"nobody-{number}-{len(refused)}@example.com", f"100.64.{number}.1") == 429)

    assert log_in(url, account.email, "100.127.1.1") == 200
    threads = [threading.Thread(target=flood, args=(number,)) for number in range(NETWORKS)]
    for thread in threads:
        thread.start()
    try:
        return (*others(lambda: log_in(url, account.email, "100.127.1.1"), 200, options), sum(refused))
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def measure_doors(stage, options):
    """One account with many networks, tokens and shares at once; others log in from known and from new networks, register, and open a share."""
    url, attacker, known, new, owner = stage.stores["LINKS_API_URL"], *[shares.account(stage, f"doors-{n}") for n in range(4)]
    networks, tokens, opened = [f"100.65.{n}.1" for n in range(NETWORKS)], [], []
    for number in range(TOKENS):
        attacker.headers["X-Forwarded-For"] = networks[number % NETWORKS]
        tokens.append(attacker.ask("POST", "/api/auth/login", {"email": attacker.email, "password": PASSWORD})[0]["access_token"])
    for _ in range(SHARES):
        opened.append(attacker.ask("POST", "/api/shares", {"tag": "x", "password": PASSWORD})[0]["token"])
    owner.connect()  # the service has closed the idle connection
    foreign = owner.ask("POST", "/api/shares", {"tag": "x", "password": PASSWORD})[0]["token"]
    wrong = {"current_password": "wrong horse battery", "new_password": PASSWORD}
    attack = [lambda network=network: log_in(url, attacker.email, network) for network in networks]
    attack += [lambda token=token: send(url, "/api/auth/password", wrong, networks[0], token) for token in tokens]
    attack += [lambda token=token: send(url, "/api/shared/access", {"token": token, "password": PASSWORD}, networks[0]) for token in opened]
    is_over, refused, numbers, times_s = threading.Event(), [], itertools.count(), []

    def flood(request):
        while not is_over.is_set():
            refused.append(request() == 429)
            is_over.wait(0.1)  # this machine also runs the service

    def timed(request):
        began = time.monotonic()
        status = request()
        times_s.append(time.monotonic() - began)
        return status

    def unused_network():
        number = next(numbers)
        return f"100.{66 + number // 250}.{number % 250}.1"

    def register():
        network = unused_network()
        return send(url, "/api/auth/register", {"email": f"new-{network}@example.com", "password": PASSWORD}, network)

    asked = [
        (200, lambda: log_in(url, known.email, "100.127.1.1")),
        (200, lambda: log_in(url, new.email, unused_network())),
        (200, lambda: send(url, "/api/shared/access", {"token": foreign, "password": PASSWORD}, unused_network())),
        (201, register),
    ]
    assert log_in(url, known.email, "100.127.1.1") == 200
    threads = [threading.Thread(target=flood, args=(request,)) for request in attack]
    for thread in threads:
        thread.start()
    try:
        with concurrent.futures.ThreadPoolExecutor(len(asked)) as pool:
            seen = list(pool.map(lambda each: others(lambda: timed(each[1]), each[0], options), asked))
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
    p99_s = sorted(times_s)[len(times_s) * 99 // 100]
    return sum(good for good, _ in seen), sum(failed for _, failed in seen), f"{sum(refused):,}; p99 of others {p99_s * 1000:.0f} ms"


def measure(folder, stage, options):
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return measure_readers(stage, options), measure_idle(folder, stage, options), measure_logins(stage, options), measure_doors(stage, options)


def report(seen, options):
    names = (
        f"{READERS:,} readers at {READER_BYTES_PER_S} bytes/s on links-api",
        f"{IDLE:,} idle connections to a redirector",
        f"{NETWORKS} networks that log in to unknown accounts",
        f"one account with {NETWORKS} networks, {TOKENS} tokens and {SHARES} shares at once",
    )
    rows, wanted = [], []
    for name, (good, failed, given_up) in zip(names, seen):
        wanted.append(judge(f"requests of others that fail beside {name}", failed, 0))
        rows.append([name, f"{good:,}", f"{failed:,}", given_up if isinstance(given_up, str) else f"{given_up:,}"])
    head = ["crowd", "good requests of others", "failed", "crowd closed or refused"]
    return f"{RUNS * options.seconds} s each; failed requests of others{wanted[0]}.\n\n" + table(head, rows)
