"""What tools/setup says when something cannot be had, and that it leaves alone what is there. No test asks the network."""

import os
import pathlib
import shutil
import subprocess

import pytest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"


class Machine:
    """A copy of tools/, a cache, and a folder of programs that go before the real ones."""

    def __init__(self, folder):
        self.tools = folder / "tools"
        self.cache = folder / "cache"
        self.bin = folder / "bin"
        self.policy = folder / "policy-rc.d"
        shutil.copytree(TOOLS, self.tools, ignore=shutil.ignore_patterns("lint", "__pycache__"))
        self.bin.mkdir()
        (self.cache / "geoip").mkdir(parents=True)
        (self.cache / "geoip" / "country.mmdb").touch()
        self.packages("build coreutils # always there")
        self.has("mvn", "exit 1")
        self.checksums("")

    def has(self, name, script):
        path = self.bin / name
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)

    def packages(self, lines):
        (self.tools / "packages.txt").write_text(lines + "\n")

    def checksums(self, lines):
        (self.tools / "kafka" / "jars.sha256").write_text(lines)

    def setup(self, *arguments):
        environment = {
            **os.environ,
            "WAYMARK_CACHE": str(self.cache),
            "POLICY_RC_D": str(self.policy),
            "PATH": f"{self.bin}:{os.environ['PATH']}",
        }
        argv = [str(self.tools / "setup"), *arguments]
        return subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)


# What Maven does when all goes well: one jar in the folder that -DoutputDirectory names.
MAVEN = """
for word; do case $word in -DoutputDirectory=*) folder=${word#*=} ;; esac; done
echo "bytes of Kafka" >"$folder/kafka.jar"
"""


# Runs the command as whoever we are.
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
    machine.has("mvn", MAVEN)
    first = machine.setup("demo")
    assert first.returncode == 0
    assert "Apache Kafka" in first.stdout
    machine.has("mvn", "echo called >&2; exit 1")
    second = machine.setup("demo")
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")


def test_refuses_jars_that_are_not_the_ones_it_knows(machine, tmp_path):
    machine.checksums(jar_checksum(tmp_path).replace("a", "b"))
    machine.has("mvn", MAVEN)
    done = machine.setup("demo")
    assert done.returncode == 1
    assert "are not those of tools/kafka/jars.sha256" in done.stderr
    assert not (machine.cache / "kafka").exists()


def test_refuses_a_jar_too_many(machine, tmp_path):
    machine.checksums(jar_checksum(tmp_path))
    machine.has("mvn", MAVEN + 'echo more >"$folder/extra.jar"')
    assert machine.setup("demo").returncode == 1


def test_goes_on_without_kafka_and_says_what_that_means(machine):
    machine.checksums("0  kafka.jar\n")
    done = machine.setup("demo")
    assert done.returncode == 0
    assert "the stack will use the embedded broker. Later: tools/setup" in done.stdout


def test_names_the_packages_and_the_command_when_it_may_not_install(machine):
    machine.packages("build coreutils # here\nrun nowhere-to-be-had # not here\ntest not-asked-for # other group")
    machine.has("id", "echo 1000")
    machine.has("sudo", "exit 1")
    done = machine.setup("demo")
    assert done.returncode == 1
    assert "these packages need root: nowhere-to-be-had. Run: sudo tools/setup" in done.stderr


def test_names_the_packages_and_the_command_when_apt_fails(machine):
    machine.packages("build nowhere-to-be-had # not here")
    machine.has("id", "echo 1000")
    machine.has("sudo", SUDO)
    machine.has("apt-get", "echo 'E: Temporary failure resolving deb.debian.org'; exit 100")
    done = machine.setup("demo")
    assert done.returncode == 1
    assert "Temporary failure resolving" in done.stderr
    assert "Run: sudo apt-get update && sudo apt-get install nowhere-to-be-had" in done.stderr


def test_nothing_may_be_started_while_apt_works_and_only_then(machine):
    machine.packages("build nowhere-to-be-had # not here")
    machine.has("id", "echo 1000")
    machine.has("sudo", SUDO)
    machine.has("apt-get", f"sh {machine.policy} && echo started || echo kept off")
    machine.setup("demo")
    assert "kept off" in (machine.cache / "setup.log").read_text()
    assert "started" not in (machine.cache / "setup.log").read_text()
    assert not machine.policy.exists()


def test_a_package_counts_as_there_when_another_provides_it(machine):
    machine.packages("build awk # mawk provides it")
    machine.checksums("")
    done = machine.setup("demo")
    assert "Debian packages" not in done.stdout


def test_goes_on_without_kustomize_and_says_what_that_means(machine):
    machine.has("go", "exit 1")
    done = machine.setup("lint")
    assert done.returncode == 0
    assert "the checks of deploy/k8s will be skipped. Later: tools/setup" in done.stdout
    assert not list(machine.cache.glob("kustomize*"))


def test_builds_kustomize_once_and_needs_no_package_for_it_where_go_is(machine):
    machine.packages("build coreutils # here\ngo nowhere-to-be-had # not here")
    machine.has("go", 'touch "$GOBIN/kustomize"')
    assert "kustomize" in machine.setup("lint").stdout
    assert (machine.cache / "kustomize/kustomize").exists()
    machine.has("go", "echo called >&2; exit 1")
    second = machine.setup("lint")
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")


def test_knows_why_each_package_is_needed():
    for line in (TOOLS / "packages.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            entry, why = line.split(" # ", 1)
            group, package = entry.split()
            assert group in ("build", "run", "test", "lint", "image", "images", "go") and package and why
