"""tools/setup reports what it cannot install, and skips what is installed. No test uses the network."""

import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess

import pytest

from waiting import wait_until

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"


class Machine:
    """A copy of tools/, a cache, and a folder of fake programs at the front of PATH."""

    def __init__(self, folder):
        self.tools = folder / "tools"
        self.cache = folder / "cache"
        self.bin = folder / "bin"
        self.policy = folder / "policy-rc.d"
        shutil.copytree(TOOLS, self.tools, ignore=shutil.ignore_patterns("lint", "__pycache__"))
        self.bin.mkdir()
        (self.cache / "geoip").mkdir(parents=True)
        (self.cache / "geoip" / "country.mmdb").touch()
        self.packages("build coreutils # always installed")
        self.fake("mvn", "exit 1")
        self.archive_classes("exit 0")
        self.swagger_ui()
        self.fake("npm", NPM)
        self.dashboard = folder / "web/dashboard"
        for file in (self.dashboard / "package-lock.json", folder / "docs/api/openapi.yaml"):
            file.parent.mkdir(parents=True)
            file.touch()
        self.checksums("")

    def fake(self, name, script):
        path = self.bin / name
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)

    def swagger_ui(self):
        """In the cache, so that only the dashboard needs npm."""
        folder = self.cache / "swagger-ui"
        folder.mkdir()
        (folder / "page").write_text("a page\n")
        checksum = hashlib.sha256(b"a page\n").hexdigest()
        (self.tools / "setup.d/reader.sha256").write_text(f"{checksum}  page\n")

    def archive_classes(self, script):
        (self.tools / "kafka/archive-classes").write_text(f"#!/bin/bash\n{script}\n")

    def packages(self, lines):
        (self.tools / "packages.txt").write_text(lines + "\n")

    def checksums(self, lines):
        (self.tools / "kafka" / "jars.sha256").write_text(lines)

    def start(self, *arguments, **options):
        environment = {
            **os.environ,
            "WAYMARK_CACHE": str(self.cache),
            "POLICY_RC_D": str(self.policy),
            "PATH": f"{self.bin}:{os.environ['PATH']}",
        }
        return subprocess.Popen([str(self.tools / "setup"), *arguments], env=environment, text=True, **options)

    def setup(self, *arguments):
        process = self.start(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        stdout, stderr = process.communicate()
        return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


# A successful npm: installs nothing, and builds one page.
NPM = """
case $1 in
ci) mkdir node_modules ;;
run) mkdir dist && touch dist/index.html ;;
esac
"""


# A successful Maven: writes one jar into the folder of -DoutputDirectory.
MAVEN = """
for word; do case $word in -DoutputDirectory=*) folder=${word#*=} ;; esac; done
echo "bytes of Kafka" >"$folder/kafka.jar"
"""


# Runs the command as the current user.
SUDO = 'while [[ $1 == -* || $1 == env ]]; do shift; done; [ $# -eq 0 ] || env "$@"'


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def jar_checksum(folder):
    jar = folder / "kafka.jar"
    jar.write_text("bytes of Kafka\n")
    return subprocess.run(["sha256sum", "kafka.jar"], cwd=folder, capture_output=True, text=True, check=True).stdout


def test_a_second_run_does_nothing(machine, tmp_path):
    machine.checksums(jar_checksum(tmp_path))
    machine.fake("mvn", MAVEN)
    first = machine.setup("demo")
    assert first.returncode == 0
    assert "Apache Kafka" in first.stdout
    machine.fake("mvn", "echo called >&2; exit 1")
    second = machine.setup("demo")
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")


def test_shows_its_usage_without_waiting_for_another_run(machine):
    machine.cache.mkdir(exist_ok=True)
    with open(machine.cache / "setup.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        help_asked, wrong = machine.setup("--help"), machine.setup("everything")
    assert (help_asked.returncode, wrong.returncode) == (0, 64)
    assert help_asked.stdout == wrong.stderr and "checksums" in wrong.stderr


def test_says_that_it_waits_for_another_run(machine, tmp_path):
    machine.checksums(jar_checksum(tmp_path))
    machine.fake("mvn", MAVEN)
    assert machine.setup("demo").returncode == 0
    said = tmp_path / "said"
    with open(machine.cache / "setup.lock", "w", encoding="ascii") as lock, open(said, "wb") as output:
        fcntl.flock(lock, fcntl.LOCK_EX)
        waiting = machine.start("demo", stdout=output)
        try:
            wait_until(lambda: "Another tools/setup is running" in said.read_text(), 60, "a word about the lock")
            assert waiting.poll() is None
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)
            assert waiting.wait(timeout=600) == 0


def test_refuses_jars_with_other_checksums(machine, tmp_path):
    machine.checksums(jar_checksum(tmp_path).replace("a", "b"))
    machine.fake("mvn", MAVEN)
    done = machine.setup("demo")
    assert done.returncode == 1
    assert "do not match tools/kafka/jars.sha256" in done.stderr
    assert not (machine.cache / "kafka").exists()


def test_refuses_an_unexpected_jar(machine, tmp_path):
    machine.checksums(jar_checksum(tmp_path))
    machine.fake("mvn", MAVEN + 'echo more >"$folder/extra.jar"')
    assert machine.setup("demo").returncode == 1


def test_continues_without_kafka_and_names_the_consequence(machine):
    machine.checksums("0  kafka.jar\n")
    done = machine.setup("demo")
    assert done.returncode == 0
    assert "the stack will use the embedded broker. Later: tools/setup" in done.stdout


def test_continues_without_the_archive_of_classes_and_names_the_consequence(machine):
    (machine.cache / "kafka").mkdir()
    (machine.cache / "kafka/verified").touch()
    for program, said in (("exit 1", True), ("exit 0", False)):
        machine.archive_classes(program)
        done = machine.setup("demo")
        assert done.returncode == 0, done.stderr
        assert ("Kafka: it will start more slowly" in done.stdout) is said


def test_the_classes_of_kafka_can_be_archived(tmp_path):
    """A second run of tools/setup replaces the archive only if it is unusable, so this test makes a new one."""
    jars = pathlib.Path(os.environ.get("WAYMARK_CACHE") or pathlib.Path.home() / ".cache/waymark") / "kafka"
    if not (jars / "verified").exists():
        pytest.skip(f"Apache Kafka is not in {jars}; run tools/setup")
    (tmp_path / "kafka").mkdir()
    for file in jars.iterdir():
        if file.suffix != ".jsa":
            (tmp_path / "kafka" / file.name).symlink_to(file)
    subprocess.run([TOOLS / "kafka/archive-classes"], env=os.environ | {"WAYMARK_CACHE": str(tmp_path)}, check=True)
    assert (tmp_path / "kafka/classes.jsa").stat().st_size > 0


def test_continues_without_npm_and_names_the_consequence(machine):
    machine.fake("npm", "exit 1")
    done = machine.setup("demo")
    assert done.returncode == 0, done.stderr
    assert "cannot download from npm: /app/ of the API will be a plain page. Later: tools/setup" in done.stdout


def test_builds_the_dashboard_again_when_a_source_changed(machine):
    assert machine.setup("demo").returncode == 0
    machine.fake("npm", "[ $1 != run ] || exit 1")
    assert machine.setup("demo").returncode == 0
    (machine.dashboard / "index.html").write_text("changed")
    done = machine.setup("demo")
    assert done.returncode == 1
    assert "the dashboard does not build" in done.stderr


def test_names_packages_and_command_without_permission_to_install(machine):
    machine.packages("build coreutils # installed\nrun no-such-package # missing\ntest other-package # other group")
    machine.fake("id", "echo 1000")
    machine.fake("sudo", "exit 1")
    done = machine.setup("demo")
    assert done.returncode == 1
    assert "these packages need root: no-such-package. Run: sudo tools/setup" in done.stderr


def test_names_packages_and_command_when_apt_fails(machine):
    machine.packages("build no-such-package # missing")
    machine.fake("id", "echo 1000")
    machine.fake("sudo", SUDO)
    machine.fake("apt-get", "echo 'E: Temporary failure resolving deb.debian.org'; exit 100")
    done = machine.setup("demo")
    assert done.returncode == 1
    assert "Temporary failure resolving" in done.stderr
    assert "Run: sudo apt-get update && sudo apt-get install no-such-package" in done.stderr


def test_prevents_service_starts_only_while_apt_runs(machine):
    machine.packages("build no-such-package # missing")
    machine.fake("id", "echo 1000")
    machine.fake("sudo", SUDO)
    machine.fake("apt-get", f"sh {machine.policy} && echo allowed || echo denied")
    machine.setup("demo")
    assert "denied" in (machine.cache / "setup.log").read_text()
    assert "allowed" not in (machine.cache / "setup.log").read_text()
    assert not machine.policy.exists()


def test_a_provided_package_counts_as_installed(machine):
    machine.packages("build awk # mawk provides it")
    machine.checksums("")
    done = machine.setup("demo")
    assert "Debian packages" not in done.stdout


def test_continues_without_kustomize_and_names_the_consequence(machine):
    machine.fake("go", "exit 1")
    done = machine.setup("lint")
    assert done.returncode == 0
    assert "the checks of deploy/k8s will be skipped. Later: tools/setup" in done.stdout
    assert not list(machine.cache.glob("kustomize*"))


# A successful Go, which is new enough: writes one program, and unpacks each module into an empty folder.
GO = """
case $1 in
version) echo "go version go1.99.0 linux/amd64" ;;
install) touch "$GOBIN/kustomize" ;;
mod) shift 3 && for module; do printf '\\t"Dir": "%s",\\n' "$GOPATH"; done ;;
esac
"""


def test_builds_kustomize_once_with_an_installed_go(machine):
    machine.packages("build coreutils # installed\ngo no-such-package # missing")
    machine.fake("go", GO)
    assert "kustomize" in machine.setup("lint").stdout
    assert (machine.cache / "kustomize/kustomize").exists()
    machine.fake("go", "echo called >&2; exit 1")
    second = machine.setup("lint")
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")


def test_continues_without_helm_and_names_the_consequence(machine):
    """Only the purpose test installs it, which needs far more than this machine has."""
    machine.fake("go", "exit 1")
    script = "cache=$1 log=$1/setup.log; . report.sh; . go.sh; helm_install"
    done = subprocess.run(["bash", "-c", script, "-", machine.cache], cwd=machine.tools / "setup.d", env={"PATH": f"{machine.bin}:{os.environ['PATH']}"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "cannot build it: the test of the Helm chart will be skipped. Later: tools/setup" in done.stdout
    assert not list(machine.cache.glob("helm*"))


def test_every_package_has_a_reason():
    for line in (TOOLS / "packages.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            entry, reason = line.split(" # ", 1)
            group, package = entry.split()
            assert group in ("build", "run", "test", "lint", "image", "images", "cluster", "go") and package and reason
