"""The programs of a node: Kubernetes, CoreDNS and metrics-server from their Go modules, verified by the sums in go/*/go.sum, etcd
and containerd from packages of Debian. They are built and unpacked once, into the cache: nothing is installed that would start
a service."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from manifestlib import tree

from .errors import ClusterError

HERE = pathlib.Path(__file__).parent
CACHE = tree.cache() / "cluster"
BIN = CACHE / "bin"
# By the folder below go/: the programs and their packages.
PROGRAMS = {
    "kubernetes": {"kubernetes": ".", "netpol": "./netpol"},
    "addons": {"coredns": "./coredns", "metrics-server": "sigs.k8s.io/metrics-server/cmd/metrics-server"},
}
FLAGS = ["-trimpath", "-buildvcs=false", "-ldflags=-s -w -X k8s.io/component-base/version.gitVersion=v1.36.3"]
# Packages of Debian and their programs.
DEBIAN = {"etcd-server": ["usr/bin/etcd"], "containerd": ["usr/bin/containerd", "usr/bin/containerd-shim-runc-v2", "usr/bin/ctr"]}
# What else the node needs: the runtime of containers, network plugins, nftables, the tools of kube-proxy.
COMMANDS = ("runc", "nft", "conntrack", "openssl", "nsenter", "unshare", "gcc")
NETWORK_PLUGINS = "/usr/lib/cni"


def fingerprint(folder):
    """Changes with the sources and sums of a module."""
    digest = hashlib.sha256(" ".join(FLAGS).encode())
    for path in sorted((HERE / "go" / folder).rglob("*")):
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()


def is_built(folder):
    stamp = BIN / f"{folder}.built"
    return stamp.exists() and stamp.read_text() == fingerprint(folder)


def environment():
    values = {"GOPATH": CACHE / "go", "GOCACHE": CACHE / "go/build", "GOFLAGS": "-modcacherw", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"}
    return os.environ | {name: str(value) for name, value in values.items()}


def find_go():
    """The newer Go that tools/setup downloads where the installed one is too old, or that one."""
    found = next((tree.cache() / "go").glob("pkg/mod/golang.org/toolchain@*/bin/go"), None) or shutil.which("go")
    if not found:
        raise ClusterError("Go is missing: run tools/setup cluster")
    return found


def unpack(say):
    """Unpacks the programs of Debian that are missing; apt verifies the packages."""
    missing = [package for package, paths in DEBIAN.items() if not all((BIN / path.rpartition("/")[2]).exists() for path in paths)]
    if not missing:
        return
    say(f"unpacking {', '.join(missing)}")
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        os.chmod(folder, 0o755)
        run = subprocess.run(["apt-get", "-q", "download", *missing], cwd=folder, capture_output=True, text=True)
        if run.returncode:
            raise ClusterError(f"cannot download {', '.join(missing)}: {run.stderr}")
        for archive in pathlib.Path(folder).glob("*.deb"):
            subprocess.run(["dpkg", "-x", archive, folder], check=True)
        for package in missing:
            for path in DEBIAN[package]:
                shutil.copy2(pathlib.Path(folder, path), BIN)


def build(say):
    """Builds what is missing or was built from other sources."""
    BIN.mkdir(parents=True, exist_ok=True)
    unpack(say)
    missing = [folder for folder in PROGRAMS if not is_built(folder)]
    if not missing:
        return
    go = find_go()
    for folder in missing:
        for name, package in PROGRAMS[folder].items():
            began = time.monotonic()
            say(f"building {name}")
            command = [go, "build", *FLAGS, f"-o={BIN / name}", package]
            if subprocess.run(command, cwd=HERE / "go" / folder, env=environment()).returncode:
                raise ClusterError(f"cannot build {name}")
            say(f"built {name} in {time.monotonic() - began:.0f} s")
        (BIN / f"{folder}.built").write_text(fingerprint(folder))
    shutil.rmtree(CACHE / "go")  # sources and objects: 5 GB


def check_commands():
    missing = [name for name in COMMANDS if not shutil.which(name)] + [path for path in [NETWORK_PLUGINS] if not os.path.isdir(path)]
    if missing:
        raise ClusterError(f"missing: {', '.join(missing)}. Run tools/setup cluster")
