"""deploy/images copies enough to build and only what is needed to run. tests/cluster runs the images."""

import hashlib
import json
import os
import pathlib
import re
import shutil
import stat
import subprocess

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
from manifestlib import description, rendering, tree

BUILD = pathlib.Path(os.environ["WAYMARK_BUILD_DIR"]).resolve()
TEXT = (ROOT / "deploy/images/Containerfile").read_text()
ASSEMBLE = ROOT / "deploy/images/assemble"
# An image may hold programs, libraries, the files that these read, and licences in usr/share/doc.
PLACES = re.compile(
    r"service$|bin/[a-z_-]+$|lib64/ld-linux-x86-64\.so\.2$|(usr/)?lib/[a-z0-9_-]+-linux-gnu/lib[^/]+\.so[.0-9a-z]*$|lib/ld-linux[a-z0-9-]*\.so\.1$|usr/share/zoneinfo/|"
    r"etc/(passwd|group|nsswitch\.conf)$|etc/ssl/certs/ca-certificates\.crt$|usr/lib/ssl/cert\.pem$|usr/share/sbom/[a-z-]+\.spdx\.json$|usr/share/doc/[^/]+/(copyright|LICENSE|NOTICE)$|"
    r"usr/share/waymark/(country\.mmdb|NOTICE)$|deploy/topics\.conf$|db/migrations/[0-9]{4}_[a-z0-9_]+\.sql$"
)  # fmt: skip
PROGRAMS = {name: {name} for name in ("redirector", "links-api", "analytics-consumer", "janitor")} | {
    "tools": {"migrate", "waymark-topics", "rebuild-stats"}
}
# What tools/backup runs, in the image tools.
BACKUP = {"bash", "dirname", "mktemp", "mv", "rm", "sed", "stat", "psql", "pg_dump", "pg_restore"}
# Parts that are not from Debian, by image.
FACTS = {"ipfire-location-database", "ua-parser-builtins"}
FOREIGN_IN = {"links-api": {"swagger-ui-dist"}, "analytics-consumer": FACTS, "redirector": FACTS}
FOREIGN = set().union(*FOREIGN_IN.values())


def test_the_image_holds_assembled_files_alone_and_its_program_is_not_root():
    last = TEXT[TEXT.rindex("\nFROM ") :]
    assert last.startswith("\nFROM scratch\n") and "\nUSER 65532:65532\n" in last and '\nENTRYPOINT ["' in last
    assert not re.search(r"^(RUN|ADD|COPY (?!--from=))", last, re.M)
    assert not re.search(r"^ADD |^COPY \. |\b(apt-get|curl|wget)\b|^(ARG|ENV) \w*(PASSWORD|SECRET|TOKEN|KEY)", TEXT, re.M)
    assert re.search(r"^ARG BASE=\S+:\S*\d", TEXT, re.M)


def test_the_copied_files_are_enough_to_build(tmp_path):
    """Builds without compiling: CMake must find each folder, and Ninja each file."""
    lines = re.sub(r"\\\n\s*", "", TEXT).splitlines()
    copies = [line.split()[1:] for line in lines if line.startswith("COPY ") and "--from" not in line]
    for source, target in ((source, target) for *sources, target in copies for source in sources):
        place = tmp_path / target if not target.endswith("/") else tmp_path / target / pathlib.Path(source).name
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, place)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / source, place)
    (command,) = [line.removeprefix("RUN ") for line in lines if line.startswith("RUN cmake")]
    configure, build = command.split(" && ")
    run = subprocess.run(configure.split(), cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    targets = build.partition("--target ")[2].split()
    # Not a dry run: it would only repeat the configuration, because CMake has patterns of files.
    run = subprocess.run(["ninja", "-C", "build/release", "-t", "inputs", *targets], cwd=tmp_path, capture_output=True, text=True, check=True)
    sources = [pathlib.Path(line) for line in run.stdout.splitlines() if line.startswith(f"{tmp_path}/")]
    assert len(sources) > 100
    assert [path for path in sources if tmp_path / "build" not in path.parents and not path.exists()] == []
    assert set(targets) == set().union(*PROGRAMS.values())


@pytest.fixture(scope="module", params=PROGRAMS)
def root(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("images") / request.param
    environment = os.environ | {"SOURCE_DATE_EPOCH": "1700000000"}
    run = subprocess.run([ASSEMBLE, request.param, "0.0.0", "a commit", BUILD, folder], capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stderr
    return folder


def files(root):
    return [path for path in root.rglob("*") if path.is_symlink() or not path.is_dir()]


def test_an_image_holds_only_what_is_needed(root):
    names = [str(path.relative_to(root)) for path in files(root)]
    assert [name for name in names if not PLACES.match(name)] == []
    assert {path.name for path in (root / "bin").iterdir()} == PROGRAMS[root.name] | (BACKUP | {"backup"} if root.name == "tools" else set())
    assert not [path for path in files(root) if path.lstat().st_mode & (stat.S_ISUID | stat.S_ISGID)]
    elsewhere = [path for path in files(root) if path.is_symlink() and not (path.parent / os.readlink(path)).exists()]
    assert elsewhere == []


# A sanitizer needs /proc.
INSIDE = 'mkdir -p "$0/proc" && mount --rbind /proc "$0/proc" && exec chroot "$0" "$@"'


def inside(root, *command):
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", INSIDE, root, *command]
    return subprocess.run(command, capture_output=True, text=True, env={"ASAN_OPTIONS": "detect_leaks=0"})


def test_its_programs_find_their_libraries_there(root):
    for program in (*sorted(PROGRAMS[root.name]), "../service"):
        run = inside(root, f"/bin/{program}", "--help")
        assert run.returncode == 0 and "usage: " in run.stdout, run.stderr


@pytest.mark.parametrize("root", ["tools"], indirect=True)
def test_a_backup_finds_there_what_it_runs(root):
    for program in sorted(BACKUP):
        run = inside(root, f"/bin/{program}", "--version")
        assert run.returncode == 0 and run.stdout, f"{program}: {run.stderr}"
    script = (ROOT / "tools/backup").read_text()
    run = inside(root, "/bin/backup", "--help")
    assert run.returncode == 0 and "kafka-lost" in run.stdout, run.stderr
    assert BACKUP >= set(re.findall(r"\b(?:pg_\w+|psql|sed|mktemp|mv|stat|rm|dirname|cat|tr|date|head|grep)(?= -)", script))


def test_the_sbom_names_the_package_of_each_library(root):
    document = json.loads((root / f"usr/share/sbom/{root.name}.spdx.json").read_text())
    packages = {package["name"]: package for package in document["packages"]}
    assert {f"waymark-{root.name}", "libc6", "ca-certificates", "tzdata"} <= set(packages)
    libraries = {path.name for path in files(root) if ".so" in path.name}
    assert len(libraries) > 5 and libraries <= files_of(set(packages) - {f"waymark-{root.name}", *FOREIGN})
    for name, package in packages.items():
        assert re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", package["SPDXID"]) and package["versionInfo"], name
    assert document["creationInfo"]["created"] == "2023-11-14T22:13:20Z"
    assert packages[f"waymark-{root.name}"]["sourceInfo"] == "built from commit a commit"
    own = {relation["relatedSpdxElement"] for relation in document["relationships"]}
    assert own == {package["SPDXID"] for package in document["packages"]}
    assert {name for name, package in packages.items() if name in FOREIGN} == FOREIGN_IN.get(root.name, set())
    copied = {path.parent.name for path in root.glob("usr/share/doc/*/copyright")}
    assert copied == {name for name, package in packages.items() if package["supplier"] == "Organization: Debian"}
    assert len(copied) > 5


def files_of(packages):
    """The file names, without folders, in these packages of Debian."""
    run = subprocess.run(["dpkg-query", "--listfiles", *packages], capture_output=True, text=True, check=True)
    return {line.rpartition("/")[2] for line in run.stdout.splitlines()}


def test_an_unknown_service_is_refused(tmp_path):
    run = subprocess.run([ASSEMBLE, "shell", "0", "0", BUILD, tmp_path / "x"], capture_output=True, text=True)
    assert run.returncode == 64 and "unknown image shell" in run.stderr


# In the place of podman: a push writes the digest of its image, which is made from the name.
PODMAN = """#!/bin/bash
[ "$1" = push ] || exit 1
while [ $# -gt 2 ]; do [ "$1" != --digestfile ] || file=$2; shift; done
printf 'sha256:%s' "$(printf %s "$2" | sha256sum | cut -c1-64)" >"$file"
echo "$1 $2" >>"${0%/*}/pushed"
"""


def test_pushed_digests_reach_every_pod_of_the_overlay(tmp_path):
    if not tree.kustomize().exists():
        pytest.skip("kustomize is missing: tools/setup test")
    (tmp_path / "podman").write_text(PODMAN)
    (tmp_path / "podman").chmod(0o755)
    shutil.copytree(tree.MANIFESTS, tmp_path / "k8s")
    folder = tmp_path / "k8s/overlays/production/images"
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    subprocess.run([ROOT / "tools/images", "--push", "r.example:5000/w", folder], env=environment, stdout=subprocess.DEVNULL, check=True)

    names = sorted(tree.images())
    pushed = sorted((tmp_path / "pushed").read_text().splitlines())
    assert pushed == sorted(f"localhost/waymark/{name}:{tree.version()} r.example:5000/w/{name}:{tree.version()}" for name in names)
    digests = {name: "sha256:" + hashlib.sha256(f"r.example:5000/w/{name}:{tree.version()}".encode()).hexdigest() for name in names}
    rendered = rendering.render(folder.parent)
    found = {container["image"] for workload in rendered.workloads for container in workload.containers}
    assert found == {f"r.example:5000/w/{name}:{tree.version()}@{digest}" for name, digest in digests.items()}
    assert list(description.check_versions(rendered)) == []
    assert yaml.safe_load((folder / "values.yaml").read_text()) == {"images": {"registry": "r.example:5000/w", "digests": digests}}
