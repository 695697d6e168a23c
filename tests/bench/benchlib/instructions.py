"""Counts the instructions that a request costs the redirector, and a click the analytics-consumer, in user space, under callgrind.

Another load on the machine does not change them, so they show savings that a time cannot. What runs in the kernel does not
count, and callgrind's processor has no instructions for SHA-256, which the hash of a visitor uses.

Redirector: after a warm-up, visitors ask without a pause; the figure is the mean of all requests that were answered meanwhile,
for the thread that answers them and for all others, which write journals and ship clicks. Those get larger batches on a machine
without callgrind, so only the first is judged.

Consumer: one worker reads a prepared topic and stores it, batch by batch. Once its caches know the visitors, batches of 10,000
clicks are counted, from one COPY into the visit log to the next. The figure is the mean of whole batches.
"""

import collections
import dataclasses
import glob
import os
import re
import shutil
import subprocess
import time

from . import ingest, load, report
from .bounds import judge
from .contenders import Consumer, Redirector

BASELINE = os.path.join(os.path.dirname(__file__), "..", "instructions.txt")
GROWTH_MAX = 1.02
TIMEOUT_S = 3600

LIBRARIES = {
    "libmicrohttpd": "libmicrohttpd",
    "librdkafka": "Kafka's client",
    "liblz4": "Kafka's client",
    "libpq": "PostgreSQL's client",
    "libhiredis": "Redis's client",
    "libjemalloc": "memory allocation",
    "libprotobuf-c": "protobuf-c",
    "libmaxminddb": "location database",
    "libpcre2": "regular expressions",
    "libcrypto": "libcrypto",
    "libssl": "TLS",
}
C_LIBRARY = re.compile(r"(mem|str|__mem|__str|bcmp)")


def callgrind(profile, *options):
    command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--fair-sched=yes"]
    return [*command, f"--callgrind-out-file={profile}", *options]


def switch(process, state):
    subprocess.run(["callgrind_control", "-i", state, str(process.pid)], stdout=subprocess.DEVNULL, check=True)


# --- profiles ---


class Profile:
    """The instructions of callgrind's profiles by (object, file, function). The file is the one that a line was inlined from."""

    def __init__(self, paths=()):
        self.costs = collections.Counter()
        for path in paths:
            self.read(path)

    def read(self, path):
        names, at = {}, {"ob": "", "fl": "", "fn": ""}
        is_call = False
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                if found := re.match(r"(ob|fl|fi|fe|fn|cob|cfi|cfl|cfn)=\((\d+)\)(?: (.*))?", line):
                    kind, number, name = found.groups()
                    table = kind[-2:].replace("fi", "fl").replace("fe", "fl")
                    if name:
                        names[table, number] = name.strip()
                    if not kind.startswith("c"):
                        at[table] = names[table, number]
                elif line.startswith("calls="):
                    is_call = True
                elif line[0] in "0123456789+-*":
                    # The line after a call is the cost of what was called.
                    if not is_call:
                        self.costs[at["ob"], at["fl"], at["fn"]] += int(line.split()[1])
                    is_call = False

    def total(self):
        return sum(self.costs.values())

    def runs(self, function):
        return any(name.startswith(function) for _, _, name in self.costs)

    def by(self, key):
        sums = collections.Counter()
        for place, cost in self.costs.items():
            sums[key(*place)] += cost
        return sums.most_common()


def part_of(library, file, function):
    name = os.path.basename(library)
    for start, part in LIBRARIES.items():
        if name.startswith(start):
            return part
    if name.startswith(("analytics-consumer", "redirector")):
        # A path of the build begins with the folder of the source, or with "/./".
        found = re.search(r"(services/[\w-]+(?:/\w+(?=/))?|lib/\w+)/", file)
        return found[1] if found else "the rest of the program"
    if name.startswith("libc"):
        return "memory and text functions of the C library" if C_LIBRARY.match(function) else "the rest of the C library"
    return name or "unknown"


@dataclasses.dataclass
class Counted:
    name: str
    profile: Profile
    unit: str
    units: float

    @property
    def figure(self):
        return round(self.profile.total() / self.units)

    def tables(self, functions):
        total = self.profile.total()
        rows = [[part, f"{cost / self.units:,.0f}", f"{100 * cost / total:.1f} %"] for part, cost in self.profile.by(part_of) if cost > total / 1000]
        text = f"{self.name}: {self.figure:,} instructions per {self.unit}\n\n" + report.table(["part", f"per {self.unit}", "share"], rows)
        if functions:
            found = self.profile.by(lambda library, _, function: (os.path.basename(library), function))[:functions]
            rows = [[*name, f"{cost / self.units:,.0f}"] for name, cost in found]
            text += "\n\n" + report.table(["library", "function", f"per {self.unit}"], rows)
        return text


# --- the redirector ---

LINKS = 20_000
FILL_S = 5
STEP_S = 4
STEPS_MAX = 100
WARM_REQUESTS = 4000
COUNTED_REQUESTS = 6000
# Memory has room for a quarter of the links, which visitors follow in turn, so it never has the next one.
SMALL_MEMORY = {"MEMORY_CACHE_BYTES": 1 << 20}
# On a slow processor a login alone would otherwise time out, and be tried again.
PATIENCE = {"REDIS_TIMEOUT_MS": 60_000, "PG_WAIT_MS": 60_000, "PG_STATEMENT_TIMEOUT_MS": 60_000}
CASES = (
    ("hot", load.Load("hot", 2000), {}),
    ("miss", load.Load("hot", LINKS), SMALL_MEMORY),
    ("unknown", load.Load("none", 1000), {}),
)
JUDGED = "requests"


def answered(redirector):
    return sum(value for name, value in redirector.wait_until_acked().items() if name.startswith("waymark_http_requests_total"))


def ask(redirector, visitors, requests):
    """Returns how many were answered: at least so many. Each step goes on where the last one ended, or memory would have its links."""
    before, seen = answered(redirector), 0
    for _ in range(STEPS_MAX):
        load.run(redirector, dataclasses.replace(visitors, first=int(before + seen)), STEP_S)
        seen = answered(redirector) - before
        if seen >= requests:
            return seen
    raise SystemExit(f"instructions: only {seen:,.0f} of {requests:,} requests were answered")


def fill_redis(folder, stage, build, visitors):
    """Redis keeps for a minute that a slug is unknown."""
    filler = Redirector(folder, build, stage.stores, **SMALL_MEMORY)
    try:
        stage.fill_redis(filler, LINKS)
        load.run(filler, visitors, FILL_S)
    finally:
        filler.stop()


def count_requests(folder, stage, build, case):
    name, visitors, variables = case
    fill_redis(folder, stage, build, visitors)
    profile = os.path.join(folder, f"{name}.profile")
    under = callgrind(profile, "--separate-threads=yes")
    redirector = Redirector(folder, build, stage.stores, under, **PATIENCE, **variables)
    try:
        ask(redirector, visitors, WARM_REQUESTS)
        switch(redirector.process, "on")
        requests = ask(redirector, visitors, COUNTED_REQUESTS)
        switch(redirector.process, "off")
    finally:
        redirector.stop()
    threads = [Profile([path]) for path in glob.glob(profile + "-*")]
    groups = {JUDGED: Profile(), "other threads": Profile()}
    for thread in threads:
        groups[JUDGED if thread.runs("redirect_handle") else "other threads"].costs.update(thread.costs)
    return [Counted(f"redirector, {name}, {group}", each, "request", requests) for group, each in groups.items()]


def redirector(folder, stage, options):
    stage.add_links(LINKS)
    return [counted for case in CASES for counted in count_requests(folder, stage, options.build, case)]


# --- the consumer ---

TARGETS = ("bench_flood", "bench_kafka_statistics")
CONSUMER_LINKS = 1000
BATCH = 10_000
BATCHES = 6
# The worker looks visitors up in the log until so many batches had no known one (LOOKUP_BATCHES in unique_visitors.c).
WARM_BATCHES = 22
# Of batches that callgrind counts, the first is incomplete, and the last may be stored while nothing else is read.
SPARE_BATCHES = 4
# Called once to end a batch's rows of the visit log, and once to end those of its roll-ups.
BOUNDARY = "PQputCopyEnd"
DUMPS_PER_BATCH = 2


# A slow processor must change nothing: batches are full, and nothing times out.
WHOLE_BATCHES = {
    "WORKERS": 1,
    "BATCH_EVENTS": BATCH,
    "BATCH_MS": 60_000,
    "PG_STATEMENT_TIMEOUT_MS": 600_000,
    "SESSION_TIMEOUT_MS": 600_000,
    "FACTS_CHECK_MS": 86_400_000,
}


def wait_until(consumer, holds, what):
    deadline = time.monotonic() + TIMEOUT_S
    while not holds():
        if consumer.process.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"instructions: the consumer has not {what}; its log ends with\n{consumer.logged()[-3000:]}")
        time.sleep(0.1)


def consumer(folder, stage, options):
    subprocess.run(["cmake", "--build", options.build, "--target", *TARGETS], stdout=subprocess.DEVNULL, check=True)
    bench = ingest.Bench(folder, stage, options.build)
    events = (WARM_BATCHES + BATCHES + SPARE_BATCHES) * BATCH
    bench.flood(events, CONSUMER_LINKS)
    bench.database.empty()

    def counted():
        return bench.database.ask(ingest.COUNTED)

    profile, preload = os.path.join(folder, "consumer.profile"), os.path.join(options.build, "tests/bench/libbench_kafka_statistics.so")
    under = callgrind(profile, f"--dump-before={BOUNDARY}")
    running = Consumer(folder, options.build, stage, f"instructions-{os.getpid()}", under, LD_PRELOAD=preload, **WHOLE_BATCHES)
    running.start()
    try:
        wait_until(running, lambda: counted() >= WARM_BATCHES * BATCH, "read the first batches")
        switch(running.process, "on")
        wait_until(running, lambda: counted() >= events, "counted all clicks")
    finally:
        running.stop()
    bench.check(events, ())
    profiles = sorted(glob.glob(profile + ".*"), key=lambda name: int(name.rpartition(".")[2]))
    # The first that was counted is incomplete.
    whole = profiles[DUMPS_PER_BATCH : DUMPS_PER_BATCH * (BATCHES + 1)]
    if len(whole) < DUMPS_PER_BATCH * BATCHES:
        raise SystemExit(f"instructions: {len(profiles)} profiles are too few for {BATCHES} batches")
    return [Counted("consumer", Profile(whole), "click", BATCHES * BATCH)]


# --- the baseline ---


def read_baseline():
    with open(BASELINE, encoding="utf-8") as lines:
        pairs = (line.rsplit(":", 1) for line in lines if not line.startswith("#"))
        return {name: int(figure.replace(",", "")) for name, figure in pairs}


def write_baseline(found):
    with open(BASELINE, encoding="utf-8") as file:
        head = [line for line in file if line.startswith("#")]
    figures = read_baseline() | {each.name: each.figure for each in found}
    with open(BASELINE, "w", encoding="utf-8") as file:
        file.writelines([*head, *(f"{name}: {figure:,}\n" for name, figure in figures.items())])


def compare(found):
    """A table of the baseline and now; the bounds judge what grew."""
    baseline, rows = read_baseline(), []
    for each in found:
        then = baseline.get(each.name)
        change = f"{100 * (each.figure / then - 1):+.1f} %" if then else "new"
        if then and not each.name.endswith("other threads"):
            change += judge(f"instructions per {each.unit}: {each.name}", each.figure, int(then * GROWTH_MAX))
        rows.append([each.name, f"{then:,}" if then else "", f"{each.figure:,}", change])
    return report.table(["instructions", "baseline", "now", "change"], rows)


PARTS = {"redirector": redirector, "consumer": consumer}


def need():
    if not shutil.which("valgrind"):
        raise SystemExit("instructions: missing valgrind; apt-get install valgrind")
