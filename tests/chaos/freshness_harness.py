"""A stack under faults, a load whose every operation is recorded, and the checker's judgement of that history."""

import contextlib
import os
import pathlib
import re
import secrets
import shutil
import signal
import subprocess
import time
import urllib.parse

from harness import BUILD, FULL, Stack, Store, observe, size, wait_until
from processes import popen
from tcp_proxy import TcpProxy

from clients import Api, ask, unique_email

LOAD = BUILD / "tests/chaos/freshness/freshness_load"
CHECKER = BUILD / "tests/chaos/freshness/check_freshness"
LIBRARIES = "/usr/lib/x86_64-linux-gnu"
FAKETIME = f"{LIBRARIES}/faketime/libfaketimeMT.so.1"
CHANGE_BYTES, READ_BYTES = 64, 24  # history.h
SNAPSHOT_AGE_S = size(3, 10)
FREEZE_S = 0.3
LATE_S = 1.5  # less than the redirector's timeout of PostgreSQL
DESTINATION = b"https://t.example/"  # draft.c
# How much longer than promised a change may take in the short form, which runs beside other tests. On two cores at a load of 25,
# one took 10.5 times as long. What stays old is found by the phase "settled", which has no such bound.
BOUND_FACTOR = 100
REPEATS = size(1, 3)  # of restarts, kills and cuts within a fault
SETTLED_S = 2
# Redis keeps its generation, so it stays valid.
FORGET_LINKS = "for _, key in ipairs(redis.call('KEYS', 'link:*')) do redis.call('DEL', key) end"
# No limits. Deleted links stay, so that they can be restored. The janitor marks expired links while readers follow them.
VARIABLES = {
    "LINKS_PER_DAY": "unlimited",
    "ANONYMOUS_LINKS_PER_HOUR": "unlimited",
    "UNKNOWN_SLUGS_PER_MINUTE": "unlimited",
    "EXPIRY_PERIOD_S": 3,
    "EXPIRY_FIRST_DELAY_S": 0,
    "EXPIRED_GRACE_S": 86400,
    "DELETED_GRACE_S": 86400,
    "LOCK_AT_LEAST_S": 1,
}


def now_us():
    return time.monotonic_ns() // 1000


def is_ready(ops_url):
    try:
        return ask(ops_url, "GET", "/readyz").status == 200
    except OSError:
        return False


def port_of(url):
    return urllib.parse.urlsplit(url).port


def faked_clock(program):
    """LD_PRELOAD for a program. jemalloc reads the clock before libfaketime is ready, so libc's allocator replaces it."""
    linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return f"{FAKETIME}:{LIBRARIES}/libc.so.6" if "jemalloc" in linked else FAKETIME


class SlowProxy(TcpProxy):
    """A proxy to PostgreSQL that delays every answer with a link in it by LATE_S."""

    def lets_pass(self, part, is_answer):
        time.sleep(LATE_S if is_answer and DESTINATION in part else 0)
        return True


class FreshnessStack(Stack):
    """Two redirectors, and what feeds them."""

    def __init__(self, state, build):
        super().__init__(state, build)
        self.env = {}
        self.token = None
        self.own = {}  # redirectors that are children of the test just now

    def up(self):
        settings = [word for name, value in VARIABLES.items() for word in ("--set", f"{name}={value}")]
        self.run("up", "--build", self.build, "--redirectors", 2, "--tied-to", os.getpid(), *settings)
        self.env = self.addresses()
        self.run("stop", "consumer-1")  # it only takes CPU
        api = Api(self.env["LINKS_API_URL"])
        api.register_and_login(unique_email())
        self.token = api.token

    def down(self):
        for process in self.own.values():
            process.kill()
            process.wait()
        self.run("down")

    def redis(self, *words):
        command = ["redis-cli", "-u", self.env["REDIS_URL"], *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout

    def kill_and_start(self, name):
        self.run("kill", "-KILL", name)
        self.run("start", name)

    def use_build(self, build):
        """Restarts the redirectors and links-api as programs of another build, with an empty Redis."""
        for name in ("redirector-1", "redirector-2", "links-api-1"):
            self.run("stop", name)
            self.run("start", name, "--build", build)
        self.build = str(build)
        self.redis("FLUSHALL")

    def metric_of(self, name, metric):
        number = int(name.rpartition("-")[2])
        page = ask(self.env["REDIRECTOR_OPS_URLS"].split()[number - 1], "GET", "/metrics").body.decode()
        return float(re.search(rf"^{metric} (\S+)$", page, re.MULTILINE)[1])

    def wait_until_fresh(self, name):
        """The redirector has heard of every change, and trusts Redis."""
        self.wait_until_ready(name)
        for metric in ("waymark_feed_is_fresh", "waymark_link_cache_valid"):
            wait_until(lambda m=metric: self.metric_of(name, m) == 1, f"{metric} of {name}")

    def wait_until_changes_are_published(self):
        store = Store(self.env["ADMIN_PG_URL"])
        wait_until(lambda: store.ask("SELECT count(*) FROM outbox") == 0, "an empty outbox")
        store.connection.close()

    def wait_until_ready(self, name):
        number = int(name.rpartition("-")[2])
        url = self.env["REDIRECTOR_OPS_URLS"].split()[number - 1]
        wait_until(lambda: is_ready(url), f"{name} to be ready")

    @property
    def pids(self):
        lines = (line.split() for line in self.run("ps").splitlines())
        return {words[0]: words[1] for words in lines}

    @property
    def redirector(self):
        return f"{self.build}/bin/redirector"

    def variables_of(self, name):
        environment = pathlib.Path(f"/proc/{self.pids[name]}/environ").read_bytes().decode()
        return dict(pair.split("=", 1) for pair in environment.split("\0") if "=" in pair)

    def with_clock(self, name, offset):
        """The redirector runs with a wrong wall clock, as a child of the test, and then as before."""
        asan = "verify_asan_link_order=0:" + self.variables_of(name).get("ASAN_OPTIONS", "")
        return self.with_variables(
            name,
            LD_PRELOAD=faked_clock(self.redirector),
            FAKETIME=offset,
            FAKETIME_DONT_FAKE_MONOTONIC="1",
            ASAN_OPTIONS=asan,
        )

    @contextlib.contextmanager
    def with_slow_postgres(self, name, **changed):
        """The redirector reaches PostgreSQL through a SlowProxy, and then as before."""
        url = urllib.parse.urlsplit(self.variables_of(name)["PG_URL"])
        proxy = SlowProxy(url.port)
        netloc = url.netloc.rpartition(":")[0] + f":{proxy.port}"
        try:
            slow_url = urllib.parse.urlunsplit(url._replace(netloc=netloc))
            with self.with_variables(name, PG_URL=slow_url, **changed):
                yield
        finally:
            proxy.close()

    @contextlib.contextmanager
    def with_variables(self, name, **changed):
        """The redirector runs as a child of the test with other variables, and then as before."""
        variables = self.variables_of(name) | {key: str(value) for key, value in changed.items()}
        self.run("stop", name)
        with open(f"{self.state}/logs/{name}-changed.log", "ab") as log:
            self.own[name] = popen([self.redirector], env=variables, stdout=log, stderr=log, cwd=self.state)
        try:
            self.wait_until_ready(name)
            yield
        finally:
            process = self.own.pop(name)
            process.terminate()
            process.wait(timeout=300)
            self.run("start", name)
            self.wait_until_ready(name)


class History:
    """The operations of a load, and the faults of the stack meanwhile.

    In the short form the checker only judges what does not depend on the speed of the machine. 503 is allowed, and a
    change may take BOUND_FACTOR times as long as promised. After the load, every response must show the newest version.
    """

    def __init__(self, stack, is_strict=FULL, **options):
        self.stack = stack
        self.folder = pathlib.Path(stack.state, f"history-{secrets.token_hex(3)}")
        self.folder.mkdir()
        self.is_strict = is_strict
        self.begin_us = now_us()
        self.lines = []
        self.snapshot_at = None
        urls = stack.env["REDIRECTOR_URLS"].split()
        command = [LOAD, "--folder", self.folder, "--prefix", secrets.token_hex(3)]
        command += ["--api", port_of(stack.env["LINKS_API_URL"])]
        command += [word for url in urls for word in ("--redirector", port_of(url))]
        command += [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", value)]
        environment = {**os.environ, "TOKEN": stack.token}
        self.process = popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)

    def counts(self):
        """How many changes and reads are in the files. The last ones may still be in the buffers of the load."""
        sizes = {"changes": CHANGE_BYTES, "reads": READ_BYTES}
        counts = dict.fromkeys(sizes, 0)
        for path in self.folder.iterdir():
            kind = path.name.partition("-")[0]
            counts[kind] += path.stat().st_size // sizes[kind]
        return counts

    def operations(self):
        return sum(self.counts().values())

    def wait_until_begun(self):
        """Until there are changes and reads: on a busy machine the load takes longer to start than a fault lasts."""
        wait_until(lambda: all(self.counts().values()), "the first changes and reads")

    @contextlib.contextmanager
    def span(self, what):
        """Records a span of the checker's file of faults (freshness/faults.h)."""
        begin = now_us()
        self.lines.append(None)
        place = len(self.lines) - 1
        yield
        self.lines[place] = f"{what} {begin} {now_us()}\n"

    def command(self, letter):
        """A command of the load (freshness_load.c)."""
        self.process.stdin.write(letter)
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def settle(self):
        """Waits until each change has reached Redis. Restarted redirectors must then answer the newest versions from it.

        Nobody reads until they trust Redis. Otherwise they would fill their memory from PostgreSQL.
        """
        self.command("p")
        self.stack.wait_until_changes_are_published()
        for name in ("redirector-1", "redirector-2"):
            self.stack.kill_and_start(name)
        for name in ("redirector-1", "redirector-2"):
            self.stack.wait_until_fresh(name)
        with self.span("settled"):
            self.command("r")
            observe(SETTLED_S)

    def stop(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=300) == 0

    def kill(self):
        self.process.kill()
        self.process.wait()

    def verdict(self):
        """Runs the checker; returns its report and its figures by fault."""
        faults = self.folder.with_name(self.folder.name + "-faults")
        lenient = [f"stores-away {self.begin_us} {now_us()}\n", f"bound-factor {BOUND_FACTOR}\n"]
        faults.write_text("".join(self.lines + ([] if self.is_strict else lenient)), encoding="utf-8")
        command = [CHECKER, self.folder, faults]
        done = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
        assert done.returncode in (0, 1), done.stderr
        lines = [dict(re.findall(r"(\w+)=(\S+)", line)) for line in done.stdout.splitlines() if line.startswith("fault=")]
        return done.stdout, {line["fault"]: line for line in lines}


class Faults:
    """The faults of a stack while a history is made. Each lasts for some seconds and has some more to heal."""

    NAMES = (
        "nothing-broken",
        "redis-restarted",
        "redis-flushed",
        "redis-frozen",
        "redirector-frozen",
        "redis-1-MB-noeviction",
        "redis-1-MB-lru",
        "redis-snapshot",
        "relay-killed",
        "feed-cut",
        "kafka-stopped",
        "clocks-off",
        "fills-late",
    )

    def __init__(self, history, seconds):
        self.stack = history.stack
        self.history = history
        self.seconds = seconds

    def inflict(self, name):
        with self.history.span(f"fault {name}"):
            getattr(self, name.lower().replace("-", "_"))()
            time.sleep(self.seconds / 2)

    def settle(self):
        """Ends the changes while one redirector is about to fill Redis with values from before them."""
        with self.history.span("fault settled"):
            with self.history.span("stores-away"):
                self.history.command("p")
                with self.stack.with_slow_postgres("redirector-1", WORKERS=64):
                    self.stack.wait_until_fresh("redirector-1")
                    self.stack.redis("EVAL", FORGET_LINKS, 0)
                    self.history.command("r")
                    time.sleep(LATE_S / 2)
                    self.history.command("q")
                    time.sleep(LATE_S)
            self.history.settle()

    def wait(self, share=1.0):
        time.sleep(self.seconds * share)

    def nothing_broken(self):
        self.wait()

    def redis_restarted(self):
        for _ in range(REPEATS):
            self.stack.run("stop", "redis")
            self.wait(0.2)
            self.stack.run("start", "redis")
            self.wait(0.5)
        self.save()

    def save(self):
        self.stack.redis("SAVE")
        self.history.snapshot_at = time.monotonic()

    def redis_flushed(self):
        for _ in range(4):
            self.stack.redis("FLUSHALL")
            self.wait(0.25)

    def redis_frozen(self):
        pid = int(self.stack.pids["redis"])
        for share in (0.05, 0.2, 0.6):
            os.kill(pid, signal.SIGSTOP)
            self.wait(share)
            os.kill(pid, signal.SIGCONT)
            self.wait(0.2)

    def redirector_frozen(self):
        """Frozen while it fills Redis again, so that its values arrive late."""
        pid = int(self.stack.pids["redirector-1"])
        until = time.monotonic() + self.seconds * 1.5
        while time.monotonic() < until:
            self.stack.redis("FLUSHALL")
            os.kill(pid, signal.SIGSTOP)
            time.sleep(FREEZE_S)
            os.kill(pid, signal.SIGCONT)
            time.sleep(FREEZE_S / 4)

    def limit_redis(self, policy):
        self.stack.redis("CONFIG", "SET", "maxmemory-policy", policy)
        self.stack.redis("CONFIG", "SET", "maxmemory", "1mb")
        self.wait()
        self.stack.redis("CONFIG", "SET", "maxmemory", "0")
        self.stack.redis("CONFIG", "SET", "maxmemory-policy", "noeviction")

    def redis_1_mb_noeviction(self):
        self.limit_redis("noeviction")

    def redis_1_mb_lru(self):
        self.limit_redis("allkeys-lru")

    def redis_snapshot(self):
        if self.history.snapshot_at is None:
            self.save()
        time.sleep(max(0, self.history.snapshot_at + SNAPSHOT_AGE_S - time.monotonic()))
        self.stack.kill_and_start("redis")
        assert self.stack.redis("DBSIZE") != "0\n", "Redis came back without its snapshot"
        pathlib.Path(self.stack.state, "redis/dump.rdb").unlink()
        self.history.snapshot_at = None
        self.wait()

    def relay_killed(self):
        for _ in range(REPEATS):
            self.stack.run("kill", "-KILL", "links-api-1")
            self.wait(0.1)
            self.stack.run("start", "links-api-1")
            self.wait(0.4)

    def feed_cut(self):
        """Ends every connection to Kafka, then keeps them cut for a while."""
        for _ in range(REPEATS):
            self.cut(0)
            self.wait(0.2)
        with self.history.span("kafka-away"):
            self.cut(self.seconds * 0.6)

    def cut(self, seconds):
        pids = {self.stack.pids[name] for name in ("redirector-1", "redirector-2")}
        port = self.stack.env["KAFKA_BROKERS"].rpartition(":")[2]
        wait_until(lambda: connections_of(pids, port), "redirectors to be connected to Kafka")
        cut, until = set(), time.monotonic() + seconds
        while not cut or time.monotonic() < until:
            for inode, local in connections_of(pids, port).items():
                end_connection(local, port)
                cut.add(inode)
            time.sleep(0.01)
        assert not cut & connections_of(pids, port).keys(), "ss -K ends no connection on this kernel"

    def kafka_stopped(self):
        with self.history.span("kafka-away"):
            self.stack.run("stop", "kafka")
            self.wait()
            self.stack.run("start", "kafka")

    def clocks_off(self):
        """This load also asks redirectors that are not ready, and gets 503."""
        with contextlib.ExitStack() as clocks:
            with self.history.span("stores-away"):
                clocks.enter_context(self.stack.with_clock("redirector-1", "+0.1s"))
                clocks.enter_context(self.stack.with_clock("redirector-2", "-0.1s"))
            self.wait(1.5)
            with self.history.span("stores-away"):
                clocks.close()

    def fills_late(self):
        """
        One redirector fills Redis with values that are superseded by then. The other is restarted, so that it knows only
        what Redis holds.
        """
        with self.history.span("stores-away"):
            self.stack.redis("FLUSHALL")
            with self.stack.with_slow_postgres("redirector-1", WORKERS=64):
                until = time.monotonic() + self.seconds
                while time.monotonic() < until:
                    time.sleep(LATE_S)
                    self.stack.kill_and_start("redirector-2")
                time.sleep(LATE_S / 2)


@contextlib.contextmanager
def freshness_stack(build, session):
    """A stack that is up. Its folder is kept if a test of the session fails."""
    failed_before = session.testsfailed
    stack = FreshnessStack(BUILD / "stacks" / f"freshness-{os.getpid()}", build)
    try:
        stack.up()
        yield stack
    finally:
        stack.down()
    if session.testsfailed == failed_before:
        shutil.rmtree(stack.state)


@contextlib.contextmanager
def made_history(stack, **load):
    """A history that is being made. Its load ends with the context."""
    history = History(stack, **load)
    try:
        yield history
    finally:
        history.kill()


def connections_of(pids, port):
    """{inode: local port} of these processes' connections to a port. A new connection may have the port of an ended one."""
    command = ["ss", "-Htnpe", "state", "established", "dport", "=", f":{port}"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    owned = (line for line in shown.splitlines() if set(re.findall(r"pid=(\d+)", line)) & pids)
    return dict(re.search(r"127\.0\.0\.1:(\d+)\s+127\.0\.0\.1:.* ino:(\d+)", line).groups()[::-1] for line in owned)


def end_connection(local, port):
    command = ["ss", "-K", "-Htn", "state", "established", "dport", "=", f":{port}", "sport", "=", f":{local}"]
    subprocess.run(command, capture_output=True, check=True)
