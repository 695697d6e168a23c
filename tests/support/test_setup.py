"""tools/setup reports what it cannot install, and skips what is installed. No test uses the network."""

import hashlib
import os
import pathlib
import shutil
import subprocess

import pytest


TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"


class Machine:
    """A copy of tools/, a cache, and a folder of fake programs at the front of PATH."""

    def __init__(self, folder):
        self.tools = folder / "tools"
        self.cache = folder / "cache"
        self.bin = folder / "bin"
        self.policy = folder / "policy-rc.d"
        self.release = folder / "os-release"
        self.is_release("ID=debian", 'VERSION_ID="13"')
        shutil.copytree(TOOLS, self.tools, ignore=shutil.ignore_patterns("lint", "__pycache__"))
        self.bin.mkdir()
        (self.cache / "geoip").mkdir(parents=True)
        (self.cache / "geoip" / "country.mmdb").touch()
        self.packages("build coreutils # always installed")
        self.fake("mvn", "exit 1")
        self.archive_classes("exit 0")
        self.swagger_ui()
        self.user_agents()
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

    def user_agents(self):
        """In the cache too."""
        folder = self.cache / "ua-parser-builtins"
        folder.mkdir()
        shutil.copy(self.tools / "setup.d/user-agents.txt", folder / "requirements.txt")

    def archive_classes(self, script):
        (self.tools / "kafka/archive-classes").write_text(f"#!/bin/bash\n{script}\n")

    def is_release(self, *lines):
        self.release.write_text("\n".join(lines) + "\n")

    def packages(self, lines):
        (self.tools / "packages.txt").write_text(lines + "\n")

    def checksums(self, lines):
        (self.tools / "kafka" / "jars.sha256").write_text(lines)

    def start(self, *arguments, **options):
        environment = {
            **os.environ,
            "WAYMARK_CACHE": str(self.cache),
            "POLICY_RC_D": str(self.policy),
            "OS_RELEASE": str(self.release),
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


def test_refuses_jars_with_other_checksums(machine, tmp_path):
    machine.checksums(jar_checksum(tmp_path).replace("a", "b"))
    machine.fake("mvn", MAVEN)
    done = machine.setup("demo")
    assert done.returncode == 1
    assert "do not match tools/kafka/jars.sha256" in done.stderr
    assert not (machine.cache / "kafka").exists()


def test_continues_without_kafka_and_names_the_consequence(machine):
    machine.checksums("0  kafka.jar\n")
    done = machine.setup("demo")
    assert done.returncode == 0
    assert "the stack will use the embedded broker. Later: tools/setup" in done.stdout


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


@pytest.mark.parametrize(
    "lines", [("ID=ubuntu", 'VERSION_ID="24.04"', 'PRETTY_NAME="Ubuntu 24.04"'), ("ID=debian", 'PRETTY_NAME="Debian GNU/Linux forky/sid"'), ("ID=debian", 'VERSION_ID="11"', 'PRETTY_NAME="Debian GNU/Linux 11 (bullseye)"')]
)
def test_names_the_releases_that_it_supports_on_any_other(machine, lines):
    machine.packages("build no-such-package # missing")
    machine.is_release(*lines)
    done = machine.setup("demo")
    assert done.returncode == 1
    name = lines[-1].partition("=")[2].strip('"')
    assert f"this is {name}. Waymark builds and runs on Debian 12 and 13; README.md says what to do elsewhere." in done.stderr


@pytest.mark.parametrize("version", ["12", "13"])
def test_installs_on_both_releases(machine, version):
    machine.packages(f"build no-such-package @{version} # missing\nbuild other-package @11 # of another release")
    machine.is_release("ID=debian", f'VERSION_ID="{version}"')
    machine.fake("id", "echo 1000")
    machine.fake("sudo", SUDO)
    machine.fake("apt-get", "echo \"$@\"")
    machine.setup("demo")
    assert "install -y --no-install-recommends no-such-package\n" in (machine.cache / "setup.log").read_text()


def test_says_which_stage_of_the_packages_takes_its_time(machine):
    machine.packages("build no-such-package # missing")
    machine.fake("id", "echo 1000")
    machine.fake("sudo", SUDO)
    machine.fake("apt-get", "echo '0 upgraded, 2 newly installed, 0 to remove'; for n in 1 2; do echo Get:$n; done; for n in 1 2; do echo Unpacking $n; done; echo Setting up 1")
    lines = machine.setup("demo").stdout.splitlines()
    at = lines.index("==> Debian packages: no-such-package")
    stages = [line.strip() for line in lines[at + 1 : at + 7]]
    assert stages == ["fetching: 2 packages", "unpacking: 2 packages", "setting up: 2 packages"] * 2, "update and install"


def test_prevents_service_starts_only_while_apt_runs(machine):
    machine.packages("build no-such-package # missing")
    machine.fake("id", "echo 1000")
    machine.fake("sudo", SUDO)
    machine.fake("apt-get", f"sh {machine.policy} && echo allowed || echo denied")
    machine.setup("demo")
    assert "denied" in (machine.cache / "setup.log").read_text()
    assert "allowed" not in (machine.cache / "setup.log").read_text()
    assert not machine.policy.exists()


def test_continues_without_kustomize_and_names_the_consequence(machine):
    """By its part alone: the purpose lint installs squawk too, in a virtual environment that takes seconds."""
    machine.fake("go", "exit 1")
    script = "here=.. cache=$1 log=$1/setup.log; . ./report.sh; . ./go.sh; manifest_checks_install"
    done = subprocess.run(["bash", "-c", script, "-", machine.cache], cwd=machine.tools / "setup.d", env={"PATH": f"{machine.bin}:{os.environ['PATH']}"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "the checks of deploy/k8s will be skipped. Later: tools/setup" in done.stdout
    assert not list(machine.cache.glob("kustomize*"))
