"""A stack under faults, a load whose every operation is written down, and the checker's verdict on that history."""

import contextlib
import os
import pathlib
import re
import secrets
import signal
import subprocess
import time
import urllib.parse

from rig import BUILD, Stack, wait_until
from tcp_way import TcpWay

from clients import Api, ask, unique_email

LOAD = BUILD / "tests/chaos/freshness/freshness_load"
CHECKER = BUILD / "tests/chaos/freshness/check_freshness"
LIBRARIES = "/usr/lib/x86_64-linux-gnu"
FAKETIME = f"{LIBRARIES}/faketime/libfaketimeMT.so.1"
CHANGE_BYTES, READ_BYTES = 64, 24  # history.h
SNAPSHOT_AGE_S = 10
FREEZE_S = 0.3
LATE_S = 1.5  # less than a redirector waits for PostgreSQL
DESTINATION = b"https://t.example/"  # draft.c
# Nothing is limited; what was deleted stays, so that it can be restored; the janitor marks what expired while readers look.
VARIABLES = {
    "LINKS_PER_DAY": 0,
    "ANONYMOUS_LINKS_PER_HOUR": 0,
    "UNKNOWN_SLUGS_PER_MINUTE": 0,
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
    """LD_PRELOAD for it. jemalloc asks for the time before libfaketime can tell it: the allocator is libc's for once."""
    linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return f"{FAKETIME}:{LIBRARIES}/libc.so.6" if "jemalloc" in linked else FAKETIME


class SlowWay(TcpWay):
    """A way to a local PostgreSQL on which answers with a link in them come LATE_S later."""

    def lets_pass(self, part, is_answer):
        time.sleep(LATE_S if is_answer and DESTINATION in part else 0)
        return True


class FreshnessStack(Stack):
    """Two redirectors, and what feeds them."""

    def __init__(self, state, build):
        super().__init__(state, build)
        self.doors = {}
        self.token = None
        self.own = {}  # redirectors that are not the stack's own children just now

    def up(self):
        settings = [word for name, value in VARIABLES.items() for word in ("--set", f"{name}={value}")]
        self.run("up", "--build", self.build, "--redirectors", 2, "--tied-to", os.getpid(), *settings)
        self.doors = self.addresses()
        self.run("stop", "consumer-1")  # it only takes CPU
        api = Api(self.doors["LINKS_API_URL"])
        api.register_and_login(unique_email())
        self.token = api.token

    def down(self):
        for process in self.own.values():
            process.kill()
            process.wait()
        self.run("down")

    def redis(self, *words):
        command = ["redis-cli", "-u", self.doors["REDIS_URL"], *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout

    def kill_and_start(self, name):
        self.run("kill", "-KILL", name)
        self.run("start", name)

    def wait_until_ready(self, name):
        number = int(name.rpartition("-")[2])
        url = self.doors["REDIRECTOR_OPS_URLS"].split()[number - 1]
        wait_until(lambda: is_ready(url), 30, f"{name} to be ready")

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
        """The redirector runs with its wall clock off, as a child of ours, and then as before."""
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
        """The redirector runs with a SlowWay to PostgreSQL, and then as before."""
        url = urllib.parse.urlsplit(self.variables_of(name)["PG_URL"])
        way = SlowWay(url.port)
        netloc = url.netloc.rpartition(":")[0] + f":{way.port}"
        try:
            slow_url = urllib.parse.urlunsplit(url._replace(netloc=netloc))
            with self.with_variables(name, PG_URL=slow_url, **changed):
                yield
        finally:
            way.close()

    @contextlib.contextmanager
    def with_variables(self, name, **changed):
        """The redirector runs as a child of ours with other variables, and then as before."""
        variables = self.variables_of(name) | {key: str(value) for key, value in changed.items()}
        self.run("stop", name)
        with open(f"{self.state}/logs/{name}-changed.log", "ab") as log:
            self.own[name] = subprocess.Popen([self.redirector], env=variables, stdout=log, stderr=log, cwd=self.state)
        try:
            self.wait_until_ready(name)
            yield
        finally:
            process = self.own.pop(name)
            process.terminate()
            process.wait(timeout=40)
            self.run("start", name)
            self.wait_until_ready(name)


class History:
    """What a load does and sees, and what was done to the stack meanwhile."""

    def __init__(self, stack, **options):
        self.stack = stack
        self.folder = pathlib.Path(stack.state, f"history-{secrets.token_hex(3)}")
        self.folder.mkdir()
        self.lines = []
        self.snapshot_at = None
        urls = stack.doors["REDIRECTOR_URLS"].split()
        command = [LOAD, "--folder", self.folder, "--prefix", secrets.token_hex(3)]
        command += ["--api", port_of(stack.doors["LINKS_API_URL"])]
        command += [word for url in urls for word in ("--redirector", port_of(url))]
        command += [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", value)]
        environment = {**os.environ, "TOKEN": stack.token}
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, env=environment)

    def operations(self):
        """How many are in the files; what is still in the load's hands is not counted."""
        sizes = {"changes": CHANGE_BYTES, "reads": READ_BYTES}
        files = self.folder.iterdir()
        return sum(path.stat().st_size // sizes[path.name.partition("-")[0]] for path in files)

    @contextlib.contextmanager
    def span(self, what):
        """A line of the checker's faults, with when it began and ended."""
        begin = now_us()
        self.lines.append(None)
        place = len(self.lines) - 1
        yield
        self.lines[place] = f"{what} {begin} {now_us()}\n"

    def stop(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=60) == 0

    def kill(self):
        self.process.kill()
        self.process.wait()

    def verdict(self):
        """The checker's report and its sums by fault."""
        faults = self.folder.with_name(self.folder.name + "-faults")
        faults.write_text("".join(self.lines), encoding="utf-8")
        command = [CHECKER, self.folder, faults]
        done = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
        assert done.returncode in (0, 1), done.stderr
        lines = [dict(re.findall(r"(\w+)=(\S+)", line)) for line in done.stdout.splitlines() if line.startswith("fault=")]
        return done.stdout, {line["fault"]: line for line in lines}


class Faults:
    """What is done to a stack while a history is being made; each fault has some seconds, and some to come back."""

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

    def wait(self, share=1.0):
        time.sleep(self.seconds * share)

    def nothing_broken(self):
        self.wait()

    def redis_restarted(self):
        for _ in range(2):
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
        """While it fills Redis anew: what it has read before comes late."""
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
        for _ in range(3):
            self.stack.run("kill", "-KILL", "links-api-1")
            self.wait(0.1)
            self.stack.run("start", "links-api-1")
            self.wait(0.4)

    def feed_cut(self):
        """Each connection ends at once and again and again, then there is none for some time."""
        for _ in range(3):
            self.cut(0)
            self.wait(0.2)
        with self.history.span("kafka-away"):
            self.cut(self.seconds * 0.6)

    def cut(self, seconds):
        pids = {self.stack.pids[name] for name in ("redirector-1", "redirector-2")}
        door = self.stack.doors["KAFKA_BROKERS"].rpartition(":")[2]
        wait_until(lambda: connections_of(pids, door), 10, "redirectors to be connected to Kafka")
        cut, until = set(), time.monotonic() + seconds
        while not cut or time.monotonic() < until:
            for port in connections_of(pids, door):
                end_connection(port, door)
                cut.add(port)
            time.sleep(0.01)
        assert not cut & connections_of(pids, door), "ss -K ends no connection on this kernel"

    def kafka_stopped(self):
        with self.history.span("kafka-away"):
            self.stack.run("stop", "kafka")
            self.wait()
            self.stack.run("start", "kafka")

    def clocks_off(self):
        """Nobody sends visitors to a redirector that is not ready; this load does, and is told 503."""
        with contextlib.ExitStack() as clocks:
            with self.history.span("stores-away"):
                clocks.enter_context(self.stack.with_clock("redirector-1", "+0.1s"))
                clocks.enter_context(self.stack.with_clock("redirector-2", "-0.1s"))
            self.wait(1.5)
            with self.history.span("stores-away"):
                clocks.close()

    def fills_late(self):
        """
        What one redirector has read comes to Redis when it is superseded; and the other one knows nothing but what Redis
        tells.
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
def freshness_stack(build, state):
    """A stack of a build's programs; ends whatever happens."""
    stack = FreshnessStack(state, build)
    try:
        stack.up()
        yield stack
    finally:
        stack.down()


@contextlib.contextmanager
def made_history(stack, **load):
    """The history that is being made on a stack; its load ends whatever happens."""
    history = History(stack, **load)
    try:
        yield history
    finally:
        history.kill()


def connections_of(pids, door):
    """The local ports of these processes' connections to a port."""
    command = ["ss", "-Htnp", "state", "established", "dport", "=", f":{door}"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    owned = (line for line in shown.splitlines() if set(re.findall(r"pid=(\d+)", line)) & pids)
    return {re.search(r"127\.0\.0\.1:(\d+)\s+127\.0\.0\.1:", line).group(1) for line in owned}


def end_connection(port, door):
    command = ["ss", "-K", "-Htn", "state", "established", "dport", "=", f":{door}", "sport", "=", f":{port}"]
    subprocess.run(command, capture_output=True, check=True)
