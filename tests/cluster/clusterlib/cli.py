"""The commands of tests/cluster/cluster."""

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
  tests/cluster/cluster up                       builds what is missing (20 minutes once), then starts
  tests/cluster/cluster kubectl -n waymark get pods
  tests/cluster/cluster down                     ends everything and removes its data"""


def parse(arguments):
    parser = argparse.ArgumentParser("cluster", description=DESCRIPTION, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--state", default=tree.ROOT / "build/cluster", type=pathlib.Path, metavar="DIR", help="folder of logs and data (build/cluster)")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("up", help="start the cluster and Waymark on it")
    commands.add_parser("down", help="end everything and remove its data")
    for name, what in (("kubectl", "kubectl in the cluster"), ("run", "any command in the node's namespaces, e.g. curl to the edge")):
        commands.add_parser(name, help=what, add_help=False)
    options, options.rest = parser.parse_known_args(arguments)
    if options.rest and options.command in ("up", "down"):
        parser.error(f"unrecognized arguments: {' '.join(options.rest)}")
    return options


class Report:
    def __init__(self):
        self.began = time.monotonic()

    def __call__(self, text):
        print(f"cluster: {time.monotonic() - self.began:5.0f} s  {text}", flush=True)


def up(options):
    say = Report()
    programs.check_commands()
    programs.build(say)
    archives = images.prepare(say)
    node = ControlPlane(options.state, say)
    try:
        node.start()
        node.load_images(archives)
        say("images are loaded")
        node.apply_system()
        say("DNS and metrics-server are available")
        waymark = Waymark(node)
        waymark.apply()
        say(f"Waymark is available; the edge is {waymark.edge_address()}")
    except BaseException:
        if os.environ.get("WAYMARK_CLUSTER_KEEP") != "1":
            node.stop()
        raise


def down(options):
    node = ControlPlane(options.state)
    node.stop()
    node.remove()


def kubectl(options):
    replace(options, programs.BIN / "kubernetes", "kubectl")


def replace(options, *command):
    command = ControlPlane(options.state).command(*command, *options.rest)
    os.execvp(command[0], command)


COMMANDS = {"up": up, "down": down, "kubectl": kubectl, "run": replace}


def main(arguments):
    options = parse(arguments)
    try:
        COMMANDS[options.command](options)
        return 0
    except ClusterError as error:
        print(f"cluster: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
