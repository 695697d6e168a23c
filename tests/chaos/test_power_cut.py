"""Clicks while the power of the journal's disk is cut.

The journal lies on an ext4 of its own, which only this stack's processes see, in an image. What the image holds at one
moment is what a disk holds when its power goes: what the kernel had not written back yet is lost.
CHAOS_RATE changes the load.
"""

import os
import shutil
import subprocess
import time

import pytest
from harness import BUILD, SEED, long_form, size, wait_until
from redirector_harness import MB, redirector_stack
from test_redirector import check_clicks

IMAGE_BYTES = 128 * MB
JOURNAL_BYTES = 64 * MB
FSYNC_MS = 1000
SYNCING_MS = 250  # the longest that writing back may take
RATE = int(os.environ.get("CHAOS_RATE", size(500, 1000)))
CUTS = size(2, 20)
SLUGS = 400


@pytest.fixture(scope="module")
def stack(request):
    state = BUILD / "stacks" / f"chaos-{os.getpid()}-power"
    folder, image = state / "journal", state / "disk"
    private = ["unshare", "--mount", "--propagation", "private"]
    mount = ["sh", "-c", 'mount -o loop "$0" "$1" && shift && exec "$@"', str(image), str(folder)]
    folder.mkdir(parents=True)
    with open(image, "wb") as file:
        file.truncate(IMAGE_BYTES)
    subprocess.run(["mkfs.ext4", "-q", image], check=True)
    tried = subprocess.run([*private, *mount, "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"no image can be mounted here: {tried.stderr.strip()}")
    settings = {"JOURNAL_MAX_BYTES": JOURNAL_BYTES, "JOURNAL_FSYNC_MS": FSYNC_MS}
    with redirector_stack("power", request.session, [*private, *mount], **settings) as stack:
        stack.make_links("power", SLUGS)
        stack.warm("power", SLUGS)
        yield stack


@long_form
def test_a_power_cut_costs_what_was_not_synced_and_doubles_nothing(stack, batch_type, record_property, promise):
    """In every second round Kafka is away, so that all clicks of the last seconds are in the journal alone."""
    record_property("did", f"{CUTS} power cuts at {RATE:,} req/s, seed {SEED}")
    visitors = stack.visitors("power", connections=64, rate=RATE, slug="power", slugs=SLUGS)
    cuts = []
    for turn in range(CUTS):
        if turn % 2:
            stack.run("stop", "kafka")
        visitors.wait_for_rows(RATE * stack.random.randint(2, 4))
        cuts.append(cut_power(stack))
        if turn % 2:
            stack.run("start", "kafka")
    visitors.wait_for_rows(RATE)
    log = visitors.stop()
    stack.wait_until_shipped()
    events, lost = check_clicks(stack, log, batch_type, record_property)
    ended = dict(zip(log.numbers, log.ended_us))
    ages_ms = [age_at_cut_ms(ended[number], cuts) for number in log.redirected() - events.ids["power"].keys()]
    assert lost > 0, "the disk has forgotten nothing: this proves nothing"
    promise("oldest click that a power cut has lost", max(ages_ms), FSYNC_MS + SYNCING_MS, " ms")


def cut_power(stack):
    """The disk forgets what was not written to it. Returns when that was, in seconds of time.monotonic()."""
    image, kept = f"{stack.state}/disk", f"{stack.state}/disk-kept"
    in_namespace = ["nsenter", f"--mount=/proc/{stack.pid('postgres')}/ns/mnt"]
    stack.run("kill", "-STOP", "redirector-1")
    cut = time.monotonic()
    wait_until(lambda: copies_are_equal(image, kept), "the disk to be at rest")
    stack.run("kill", "-KILL", "redirector-1")
    unmount = [*in_namespace, "umount", f"{stack.state}/journal"]
    wait_until(lambda: subprocess.run(unmount, check=False).returncode == 0, "the disk to be free")
    os.replace(kept, image)
    subprocess.run([*in_namespace, "mount", "-o", "loop", image, f"{stack.state}/journal"], check=True)
    stack.run("start", "redirector-1")
    return cut


def copies_are_equal(image, kept):
    """Copies the image twice. What lies between two equal copies is one moment."""
    shutil.copyfile(image, kept)
    with open(image, "rb") as now, open(kept, "rb") as then:
        return now.read() == then.read()


def age_at_cut_ms(ended_us, cuts):
    """How long before its cut a click was answered. An answer may be read a moment after the process was stopped."""
    at = ended_us / 1e6
    return max(0, next(cut for cut in cuts if cut + 0.1 > at) - at) * 1e3
