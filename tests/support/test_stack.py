"""tools/stack leaves no process behind, isolates stacks from each other, and restarts killed processes unchanged."""

import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import time

import psycopg2
import pytest
import redis
from clients import Api
from waiting import wait_until

from stacklib.state import State

ROOT = pathlib.Path(__file__).resolve().parents[2]
STACK = str(ROOT / "tools/stack")
BUILD = os.environ.get("WAYMARK_BUILD_DIR", str(ROOT / "build/dev"))


def stack(*arguments, check=True):
    done = subprocess.run([STACK, *map(str, arguments)], capture_output=True, text=True, check=False)
    if check:
        assert done.returncode == 0, done.stdout + done.stderr
    return done


TIED = ("--tied-to", str(os.getpid()))


def up_arguments(folder, *more):
    return ["up", "--services", "none", "--build", BUILD, "--state", str(folder), *TIED, *more]


@pytest.fixture
def embedded(monkeypatch):
    """For tests that work with any broker: a JVM takes most of the start-up time of a stack."""
    monkeypatch.setenv("BROKER", "embedded")


def addresses(folder):
    lines = stack("env", "--state", folder).stdout.splitlines()
    return dict(shlex.split(line)[-1].split("=", 1) for line in lines)


def listing(folder):
    """{name: other columns} of `stack ps`."""
    return {words[0]: words[1:] for words in map(str.split, stack("ps", "--state", folder).stdout.splitlines())}


def processes_of(folder):
    """Every running process whose working directory or command line contains the folder."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if (entry / "stat").read_text().rpartition(")")[2].split()[0] == "Z":
                continue
            command = (entry / "cmdline").read_bytes().decode(errors="replace")
            directory = os.readlink(entry / "cwd")
        except OSError:  # it has just ended
            continue
        if str(folder) in command or pathlib.Path(directory).is_relative_to(folder):
            found.append(f"{entry.name} {command}")
    return found


def assert_all_gone(folder, seconds=300):
    try:
        wait_until(lambda: not processes_of(folder), "the end of every process", seconds=seconds)
    except AssertionError:
        pytest.fail("left behind: " + "\n".join(processes_of(folder)))


@pytest.fixture
def folder(tmp_path):
    yield tmp_path / "stack"
    stack("down", "--state", tmp_path / "stack", check=False)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A stack for the tests that leave it running."""
    path = tmp_path_factory.mktemp("shared")
    stack(*up_arguments(path))
    yield path
    stack("down", "--state", path)


def test_down_leaves_no_process_and_the_next_up_has_the_same_data(embedded, folder):
    stack(*up_arguments(folder))
    with psycopg2.connect(addresses(folder)["PG_URL"]) as connection:
        connection.cursor().execute("CREATE TABLE kept (n int); INSERT INTO kept VALUES (17)")
    ports = addresses(folder)
    assert processes_of(folder)
    stack("down", "--state", folder)
    assert not processes_of(folder)

    stack(*up_arguments(folder))
    assert addresses(folder)["PG_URL"] == ports["PG_URL"]
    with psycopg2.connect(ports["PG_URL"]) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT n FROM kept")
        assert cursor.fetchall() == [(17,)]


@pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGINT])
def test_leaves_no_process_when_up_is_killed(embedded, folder, signal_number):
    with subprocess.Popen([STACK, *up_arguments(folder)], stdout=subprocess.DEVNULL) as up:
        wait_until(lambda: len(processes_of(folder)) > 2, "the first process")
        up.send_signal(signal_number)
        up.wait()
    assert_all_gone(folder)
    assert stack("ps", "--state", folder, check=False).returncode == 1


def test_leaves_no_process_when_the_supervisor_is_killed(embedded, folder):
    stack(*up_arguments(folder))
    (supervisor,) = [int(line.split()[0]) for line in processes_of(folder) if "stacklib.supervisor" in line]
    os.kill(supervisor, signal.SIGKILL)
    assert_all_gone(folder)
    stack(*up_arguments(folder))  # and it starts again


def test_ends_with_the_process_that_it_is_tied_to(embedded, folder):
    """The services are not asked to end, which would take them ten minutes here."""
    with subprocess.Popen(["sleep", "1000"]) as owner:
        words = ["--set", "DRAIN_NOTICE_MS=600000", "--tied-to", str(owner.pid)]
        stack("up", "--build", BUILD, "--state", folder, *words)
        owner.kill()
    assert_all_gone(folder)


def test_leaves_no_process_when_a_member_cannot_start(embedded, folder, tmp_path):
    done = stack("up", "--build", tmp_path, "--state", folder, *TIED, check=False)
    assert done.returncode == 1
    assert "run make build" in done.stderr
    assert_all_gone(folder)


def test_isolates_two_stacks(shared, embedded, folder):
    stack(*up_arguments(folder))
    ours, theirs = addresses(folder), addresses(shared)
    for name in ("PG_URL", "REDIS_URL", "KAFKA_BROKERS"):
        assert ours[name] != theirs[name]
    redis.Redis.from_url(ours["REDIS_URL"]).set("owner", "ours")
    assert redis.Redis.from_url(theirs["REDIS_URL"]).get("owner") is None
    stack("down", "--state", folder)
    assert stack("status", "--state", shared).returncode == 0


def test_refuses_a_second_up_of_a_running_stack(shared):
    done = stack(*up_arguments(shared), check=False)
    assert done.returncode == 1
    assert "is up already" in done.stderr
    assert stack("status", "--state", shared).returncode == 0


@pytest.mark.parametrize("name", ["postgres", "kafka"])
def test_a_killed_process_restarts_with_its_ports(shared, name):
    before = listing(shared)[name]
    stack("kill", "-9", name, "--state", shared)
    assert listing(shared)[name] == ["-", *before[1:]]
    assert stack("status", "--state", shared, check=False).returncode == 1
    stack("start", name, "--state", shared)
    after = listing(shared)[name]
    assert after[1:] == before[1:]
    assert after[0] not in ("-", before[0])
    assert stack("status", "--state", shared).returncode == 0


def test_stops_a_frozen_process(shared):
    stack("kill", "-STOP", "redis", "--state", shared)
    assert "redis          no response" in stack("status", "--state", shared, check=False).stdout
    stack("stop", "redis", "--state", shared)
    assert listing(shared)["redis"][0] == "-"
    stack("start", "redis", "--state", shared)


def test_ends_quietly_when_nobody_reads_its_output(shared):
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "wb") as output:
        done = subprocess.run([STACK, "ps", "--state", shared], stdout=output, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


def test_lists_the_processes_when_asked_for_an_unknown_one(shared):
    done = stack("stop", "zookeeper", "--state", shared, check=False)
    assert done.returncode == 1
    assert "there are postgres, redis, kafka" in done.stderr


def test_the_embedded_broker_has_the_topics_and_refuses_a_restart(embedded, folder):
    stack(*up_arguments(folder))
    from confluent_kafka.admin import AdminClient

    found = addresses(folder)
    assert found["BROKER"] == "embedded"
    topics = AdminClient({"bootstrap.servers": found["KAFKA_BROKERS"]}).list_topics(timeout=300).topics
    lines = [line.split() for line in (ROOT / "deploy/topics.conf").read_text().splitlines()]
    for name, partitions in ((words[0], words[1]) for words in lines if words and not words[0].startswith("#")):
        assert len(topics[name].partitions) == int(partitions), name
    stack("kill", "-9", "kafka", "--state", folder)
    assert "use BROKER=kafka" in stack("start", "kafka", "--state", folder, check=False).stderr


def test_a_secure_stack_requires_kafka_and_stays_secure(folder, monkeypatch):
    """tests/chaos/test_secure.py tests a running secure stack."""
    with monkeypatch.context() as patch:
        patch.setenv("BROKER", "embedded")
        done = stack(*up_arguments(folder, "--secure"), check=False)
        assert done.returncode == 1
        assert "--secure needs BROKER=kafka" in done.stderr
    done = stack(*up_arguments(folder), check=False)
    assert done.returncode == 1
    assert "was made with --secure: so it stays" in done.stderr
    assert_all_gone(folder)


def test_starts_several_instances_restarts_them_with_their_ports_and_ends_them(embedded, folder):
    options = ["--redirectors", "2", "--links-apis", "2", "--consumers", "2", "--set", "ROOT_URL=https://example.com/home"]
    said = stack("up", "--build", BUILD, "--state", folder, *TIED, *options).stdout
    found = addresses(folder)
    assert f"dashboard      {found['LINKS_API_URL']}/app/\n" in said
    redirectors = found["REDIRECTOR_URLS"].split()
    assert len(set(redirectors)) == 2
    assert redirectors[0] == found["REDIRECTOR_URL"]
    before = listing(folder)
    assert len(set(found["LINKS_API_URLS"].split())) == 2
    assert {"redirector-1", "redirector-2", "links-api-1", "links-api-2", "consumer-1", "consumer-2", "janitor-1"} < before.keys()

    stack("kill", "-9", "redirector-2", "--state", folder)
    stack("stop", "consumer-1", "--state", folder)
    stack("start", "redirector-2", "--state", folder)
    build = another_build(folder)
    stack("start", "consumer-1", "--state", folder, "--build", build)
    wait_until(lambda: stack("status", "--state", folder, check=False).returncode == 0, "every process to be ready")
    assert ports_of(listing(folder)) == ports_of(before)
    assert folder in pathlib.Path(os.readlink(f"/proc/{listing(folder)['consumer-1'][0]}/exe")).parents
    for url in redirectors:  # both have the variable, also after a restart
        assert get_location(url + "/") == "https://example.com/home"
    stack("stop", "redirector-2", "--state", folder)
    for wrong, said in (
        ("ROOT_ULR=https://example.com/", "redirector has no variable ROOT_ULR; the nearest is ROOT_URL"),
        ("REQUESTS_PER_MINUTE=5", "redirector has no variable"), ("ROOT_URL=nonsense", "ROOT_URL: "),
    ):  # fmt: skip
        refused = stack("start", "redirector-2", "--state", folder, "--set", wrong, check=False)
        assert refused.returncode == 1 and said in refused.stderr, refused.stderr
    stack("start", "redirector-2", "--state", folder)
    wait_until(lambda: get_location(redirectors[1] + "/") == "https://example.com/home", "what it had: nothing refused is kept")
    refused = stack("start", "redirector-2", "--state", folder, "--set", "ROOT_URL=https://example.com/late", check=False)
    assert refused.returncode == 1 and "already running" in refused.stderr
    stack("stop", "redirector-2", "--state", folder)
    stack("start", "redirector-2", "--state", folder, "--set", "ROOT_URL=https://example.com/other")
    wait_until(lambda: stack("status", "--state", folder, check=False).returncode == 0, "every process to be ready")
    assert [get_location(url + "/") for url in redirectors] == ["https://example.com/home", "https://example.com/other"]
    assert_promotes(folder, found["LINKS_API_URL"])
    assert_down_fails_after_a_sanitizer_report(folder)


@pytest.mark.parametrize("wrong,said", [("RQUESTS_PER_MINUTE=7", "has no variable RQUESTS_PER_MINUTE; the nearest is REQUESTS_PER_MINUTE"), ("REQUESTS_PER_MINUTE=seven", "REQUESTS_PER_MINUTE: ")])
def test_refuses_what_no_service_reads_or_one_refuses(embedded, folder, wrong, said):
    done = stack("up", "--build", BUILD, "--state", folder, *TIED, "--set", wrong, check=False)
    assert done.returncode == 1 and said in done.stderr, done
    assert not list((folder / "logs").glob("links-api*")), "no service has started"
    assert_all_gone(folder)


def assert_promotes(folder, url):
    """`admin` makes a registered account an administrator, or a new one, and names what is wrong otherwise."""
    refused = stack("admin", "ann", "--state", folder, check=False)
    assert refused.returncode == 1 and "address" in refused.stderr
    assert "/app/reset#wmr_" in stack("admin", "bob@example.com", "--state", folder).stdout
    api = Api(url)
    api.register_and_login("ann@example.com")
    assert api.call("GET", "/api/admin/users").status == 403
    assert "is an administrator" in stack("admin", "ann@example.com", "--state", folder).stdout
    assert api.call("GET", "/api/admin/users").status == 200


def assert_down_fails_after_a_sanitizer_report(folder):
    with open(folder / "logs" / "janitor-1.log", "a", encoding="utf-8") as log:
        log.write("==1==ERROR: AddressSanitizer: heap-use-after-free\n")
    done = stack("down", "--state", folder, check=False)
    assert done.returncode == 1
    assert "heap-use-after-free" in done.stderr
    assert_all_gone(folder)


def another_build(folder):
    """A build folder with a copy of one program."""
    (folder / "another/bin").mkdir(parents=True)
    shutil.copy(f"{BUILD}/bin/analytics-consumer", folder / "another/bin")
    return folder / "another"


def ports_of(processes):
    return {name: words[1:] for name, words in processes.items()}


def get_location(url):
    argv = ["curl", "-s", "-o", "/dev/null", "-w", "%{redirect_url}", url]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("kind", ("a folder", "a link to a folder", "a link of somebody else"))
@pytest.mark.parametrize("command", ("up", "env", "logs"))
def test_refuses_a_folder_of_somebody_else(embedded, tmp_path, kind, command):
    """As in /tmp, where anybody can be first: their links would say what is overwritten, and their socket what a shell evaluates."""
    nobody, folder = 65534, tmp_path / "folder"
    folder.mkdir()
    if kind == "a link of somebody else":
        folder = tmp_path / "link"
        folder.symlink_to("folder")
    os.chown(folder, nobody, nobody, follow_symlinks=False)
    if kind == "a link to a folder":
        folder = tmp_path / "link"
        folder.symlink_to("folder")
    more = {"up": ("--services", "none", "--build", BUILD, *TIED), "env": (), "logs": ("kafka",)}[command]
    done = stack(command, "--state", folder, *more, check=False)
    assert done.returncode == 1 and f"{folder} belongs to another user" in done.stderr
    assert not any((tmp_path / "folder").iterdir())


@pytest.mark.parametrize("kind", ("a link to a file", "a link to nothing", "another name of a file", "a file that all can read", "a FIFO"))
def test_writes_secrets_to_new_files_only(tmp_path, kind):
    victim, planted, secret = tmp_path / "victim", tmp_path / "secret.new", tmp_path / "secret"
    if kind in ("a link to a file", "another name of a file"):
        victim.write_text("important")
    {
        "a link to a file": lambda: planted.symlink_to(victim),
        "a link to nothing": lambda: planted.symlink_to(victim),
        "another name of a file": lambda: planted.hardlink_to(victim),
        "a file that all can read": lambda: planted.touch(0o666),
        "a FIFO": lambda: os.mkfifo(planted),
    }[kind]()
    State.write_secret(str(secret), "word")
    assert (secret.read_text(), secret.stat().st_mode & 0o777) == ("word", 0o600)
    assert not victim.exists() or victim.read_text() == "important"
