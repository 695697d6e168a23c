"""The images that the cluster loads, as archives in the cache: Waymark's own, the stores and tools under the names of overlay
local, and those of the cluster's own pods. No registry is needed."""

import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile

from manifestlib import tree

from .errors import ClusterError
from .programs import BIN, CACHE, HERE

ARCHIVES = CACHE / "images"
BASE = "localhost/waymark/base:trixie"
WAYMARK = [f"localhost/waymark/{name}:{tree.version()}" for name in ("redirector", "links-api", "analytics-consumer", "janitor", "tools")]
# By the stage of stores/Containerfile.
STORES = {
    "postgres": "docker.io/library/postgres:17-trixie",
    "redis": "docker.io/library/redis:8",
    "kafka": "docker.io/apache/kafka:3.9.1",
    "tools": "localhost/waymark/test-tools:1",
}
SYSTEM = {"pause": "localhost/pause:1", "coredns": "localhost/coredns:1", "metrics-server": "localhost/metrics-server:1"}
# Holds the namespaces of a pod: it waits, and buries processes that have lost their parents.
PAUSE = """\
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
static void end(int n) { (void)n; _exit(0); }
static void bury(int n) { (void)n; while (waitpid(-1, 0, WNOHANG) > 0) {} }
int main(void) { signal(SIGTERM, end); signal(SIGINT, end); signal(SIGCHLD, bury); for (;;) pause(); }
"""


def podman(*arguments):
    environment = os.environ | {"CONTAINERS_CONF": str(tree.ROOT / "deploy/images/containers.conf")}
    run = subprocess.run(["podman", *arguments], capture_output=True, text=True, env=environment)
    if run.returncode:
        raise ClusterError(f"podman {' '.join(arguments[:2])}: {run.stderr.strip()}")
    return run.stdout.strip()


def id_of(image):
    try:
        return podman("image", "inspect", "--format={{.Id}}", image)
    except ClusterError:
        return None


def build_stores(say):
    """Builds the images of the stores from Debian packages, and Kafka from the jars that tools/setup installs."""
    context = CACHE / "stores"
    sources = sorted((HERE / "stores").iterdir())
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources) + (id_of(BASE) or "").encode()).hexdigest()
    stamp = context / "built"
    if stamp.exists() and stamp.read_text() == digest and all(map(id_of, STORES.values())):
        return
    shutil.rmtree(context, ignore_errors=True)
    shutil.copytree(HERE / "stores", context)
    shutil.copytree(tree.cache() / "kafka", context / "kafka-jars", ignore=lambda _, names: [name for name in names if not name.endswith(".jar")])
    for stage, image in STORES.items():
        say(f"building the image {image}")
        podman("build", "--quiet", "--isolation=chroot", "--network=host", "--pull=never", f"--target={stage}", f"--tag={image}", str(context))
    stamp.write_text(digest)


def archive(name, images):
    """Saves images of podman. The name of the file changes with them and their names."""
    ids = [id_of(image) for image in images]
    if None in ids:
        raise ClusterError(f"there is no image {images[ids.index(None)]}: run make images")
    path = ARCHIVES / f"{name}-{hashlib.sha256(' '.join([*images, *ids]).encode()).hexdigest()[:12]}.tar"
    if not path.exists():
        for old in ARCHIVES.glob(f"{name}-*.tar"):
            old.unlink()
        podman("save", "--quiet", "--multi-image-archive", f"--output={path}.new", *images)
        os.rename(f"{path}.new", path)
    return path


def one_program(name):
    """An image of one layer with one program, in the format of `docker save`."""
    program = (BIN / name).read_bytes()
    path = ARCHIVES / f"{name}-{hashlib.sha256(program).hexdigest()[:12]}.tar"
    if path.exists():
        return path
    layer = tar_of({name: program})
    digest = hashlib.sha256(layer).hexdigest()
    config = {"architecture": "amd64", "os": "linux", "config": {"Entrypoint": [f"/{name}"]}, "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]}}
    manifest = [{"Config": "config.json", "RepoTags": [SYSTEM[name]], "Layers": ["layer.tar"]}]
    parts = {"config.json": json.dumps(config).encode(), "layer.tar": layer, "manifest.json": json.dumps(manifest).encode()}
    path.write_bytes(tar_of(parts))
    return path


def tar_of(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(content), 0o755
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def build_pause():
    if not (BIN / "pause").exists():
        subprocess.run(["gcc", "-O2", "-static", "-xc", "-", "-o", BIN / "pause"], input=PAUSE.encode(), check=True)


def prepare(say):
    """The archives to load, built if necessary."""
    ARCHIVES.mkdir(parents=True, exist_ok=True)
    build_pause()
    build_stores(say)
    found = [one_program(name) for name in SYSTEM]
    found += [archive(stage, [image]) for stage, image in STORES.items()]
    return [*found, archive("waymark", WAYMARK)]
