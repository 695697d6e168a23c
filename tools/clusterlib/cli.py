"""The commands of tools/cluster."""

import argparse
import os
import pathlib
import sys
import time

from manifestlib import tree

from . import images, programs
from .control_plane import ControlPlane
from .errors import ClusterError
from .waymark import Waymark

DESCRIPTION = """\
A Kubernetes cluster of one node on this machine, with Waymark (deploy/k8s/overlays/local) on it. Its
programs come from their Go modules and from Debian, its images from make images; no registry is
needed. Everything runs in namespaces and control groups of its own. As root:

  tools/setup cluster && make images
  tools/cluster up                       builds what is missing (20 minutes once), then starts
  tools/cluster kubectl -n waymark get pods
  tools/cluster run curl -H 'Host: api.waymark.localhost' http://ADDRESS/api/stats
  tools/cluster down                     ends everything and removes its data"""


def parse(arguments):
    parser = argparse.ArgumentParser("tools/cluster", description=DESCRIPTION, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--state", default=tree.ROOT / "build/cluster", type=pathlib.Path, metavar="DIR", help="folder of logs and data (build/cluster)")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("build", help="build the programs and the images of the stores")
    up = commands.add_parser("up", help="start the cluster and Waymark on it")
    up.add_argument("--empty", action="store_true", help="without Waymark")
    down = commands.add_parser("down", help="end everything and remove its data")
    down.add_argument("--images", action="store_true", help="remove the loaded images too")
    commands.add_parser("status", help="nodes, pods, and the address of the edge")
    for name, what in (("kubectl", "kubectl in the cluster"), ("run", "any command in the node's namespaces")):
        commands.add_parser(name, help=what, add_help=False)
    # What follows one of the last two commands is not ours to read.
    end = next((place + 1 for place, word in enumerate(arguments) if word in ("kubectl", "run")), len(arguments))
    options = parser.parse_args(arguments[:end])
    options.rest = arguments[end:]
    return options


class Report:
    def __init__(self):
        self.began = time.monotonic()

    def __call__(self, text):
        print(f"cluster: {time.monotonic() - self.began:5.0f} s  {text}", flush=True)


def build(options, say):
    programs.check_commands()
    programs.build(say)
    return images.prepare(say)


def up(options, say):
    archives = build(options, say)
    node = ControlPlane(options.state, say)
    try:
        node.start()
        node.load_images(archives)
        say("images are loaded")
        node.apply_system()
        say("DNS and metrics-server are available")
        if not options.empty:
            waymark = Waymark(node, say)
            waymark.apply()
            say(f"Waymark is available; the edge is {waymark.edge_address()}")
    except BaseException:
        if os.environ.get("WAYMARK_CLUSTER_KEEP") != "1":
            node.stop()
        raise


def down(options, say):
    node = ControlPlane(options.state)
    node.stop()
    node.remove(options.images)


def status(options, say):
    node = ControlPlane(options.state)
    print(node.kubectl("get", "nodes").stdout + node.kubectl("get", "pods", "--all-namespaces").stdout, end="")
    print(f"edge: {Waymark(node).edge_address()}")


def kubectl(options, say):
    replace(options, programs.BIN / "kubernetes", "kubectl")


def run(options, say):
    replace(options)


def replace(options, *command):
    command = ControlPlane(options.state).command(*command, *options.rest)
    os.execvp(command[0], command)


COMMANDS = {"build": build, "up": up, "down": down, "status": status, "kubectl": kubectl, "run": run}


def main(arguments):
    options = parse(arguments)
    try:
        COMMANDS[options.command](options, Report())
        return 0
    except ClusterError as error:
        print(f"cluster: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
