"""The commands of tools/stack, and their connection to the supervisor."""

import argparse
import contextlib
import json
import os
import pathlib
import re
import select
import shlex
import signal
import socket
import struct
import subprocess
import sys
import time

from . import paths
from .errors import StackError
from .state import CONTROL, TIMEOUT_S, State

DESCRIPTION = """\
A private Waymark on this machine: PostgreSQL, Redis, Kafka and the four services on free ports of
127.0.0.1. All files are in one folder. Several stacks can run side by side.

  tools/stack up --state /tmp/waymark        starts all; returns when every /readyz returns 200
  eval "$(tools/stack env --state /tmp/waymark)"; curl "$LINKS_API_URL/api/stats"
  tools/stack kill -9 consumer-1 --state /tmp/waymark && tools/stack start consumer-1 --state /tmp/waymark
  tools/stack logs links-api --state /tmp/waymark
  tools/stack down --state /tmp/waymark      stops all; the folder keeps data and logs

Limits of requests, links in bulk requests and registrations are off, because all clients here share
one network. With --set NAME=VALUE they are as in production:

  tools/stack up --state /tmp/waymark --set REQUESTS_PER_MINUTE=600 \\
      --set BULK_LINKS_PER_MINUTE=3000 --set ACCOUNTS_PER_HOUR=20

`start` has --set as well, to change a variable of one service after `stop`.

BROKER=kafka requires Apache Kafka. BROKER=embedded uses the in-memory broker.
STACK_FSYNC=off: PostgreSQL does not wait for the disk, and a power failure may lose data."""


def main(arguments):
    options = parse(arguments)
    try:
        result = COMMANDS[options.command](options) or 0
        sys.stdout.flush()
        return result
    except StackError as error:
        print(f"stack: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # nobody reads the output any more: head has its lines
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE


def parse(arguments):
    keep_lines = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser("tools/stack", description=DESCRIPTION, formatter_class=keep_lines)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name, help_text):
        added = commands.add_parser(name, help=help_text, description=help_text)
        added.add_argument("--state", required=True, metavar="DIR", help="the folder of this stack")
        return added

    up = command("up", "start everything and return when it is ready")
    up.add_argument("--build", default=os.path.join(paths.TREE, "build", "release"), metavar="DIR", help="build folder")
    up.add_argument("--services", choices=("all", "none"), default="all", help="none: PostgreSQL, Redis and Kafka only")
    up.add_argument(
        "--secure", action="store_true", help="TLS and passwords for all stores, with certificates of a private authority"
    )
    for noun in ("redirectors", "links-apis", "consumers", "janitors"):
        up.add_argument(f"--{noun}", type=count, default=1, metavar="N", help="how many (default 1)")
    add_set(
        up,
        "set an environment variable of the services; REQUESTS_PER_MINUTE, BULK_LINKS_PER_MINUTE and "
        "ACCOUNTS_PER_HOUR are unlimited otherwise",
    )
    up.add_argument("--tied-to", type=int, metavar="PID", help="stop the stack when this process ends")
    command("down", "stop everything; exit status 1 if a sanitizer reported an error")
    command("status", "state of each process; exit status 0 if all are ready")
    command("env", "lines that export the addresses, for a shell").add_argument(
        "--kafka-user", metavar="USER", help="a user of deploy/kafka-rights.conf instead of admin, like subscriber"
    )
    command("ps", "name, pid and ports of each process (HTTP, then operations)")
    for name, help_text in (
        ("kill", "send a signal: kill [-SIGNAL] NAME (default TERM)"),
        ("stop", "stop one process and wait until it has ended"),
        ("start", "start a stopped process with the same ports and data"),
    ):
        command(name, help_text).add_argument("name", metavar="NAME")
    command("logs", "print the log of one process (consumer-1, kafka) or of all of one service").add_argument("name", metavar="NAME")
    command("admin", "make an account an administrator, or a new one, and print a link that sets its password").add_argument("email", metavar="EMAIL")
    commands.choices["start"].add_argument("--build", metavar="DIR", help="use this build folder from now on")
    add_set(commands.choices["start"], "set an environment variable of this service from now on")
    commands.choices["kill"].add_argument("--signal", type=signal_number, default=signal.SIGTERM, help="name or number (default TERM)")
    return parser.parse_args(with_long_signal(arguments))


def add_set(command, help_text):
    command.add_argument("--set", action="append", default=[], type=variable, metavar="NAME=VALUE", help=help_text)


def with_long_signal(arguments):
    """Accepts `kill -9` and `kill -STOP`."""
    if "kill" not in arguments:
        return arguments
    return [re.sub(r"^-([0-9A-Z]+)$", r"--signal=\1", argument) for argument in arguments]


def signal_number(text):
    try:
        return signal.Signals(int(text)) if text.isdigit() else signal.Signals["SIG" + text.removeprefix("SIG")]
    except (ValueError, KeyError):
        raise argparse.ArgumentTypeError(f"unknown signal: {text}") from None


def count(text):
    if not text.isdigit() or not 1 <= int(text) <= 32:
        raise argparse.ArgumentTypeError(f"must be a number from 1 to 32: {text}")
    return int(text)


def variable(text):
    name, equals, value = text.partition("=")
    if not equals or not re.fullmatch("[A-Z][A-Z0-9_]*", name):
        raise argparse.ArgumentTypeError(f"must have the form NAME=VALUE: {text}")
    return name, value


def up(options):
    state = State(options.state)
    state.make()
    services = options.services == "all"
    settings = {
        "build": os.path.abspath(options.build),
        "broker": os.environ.get("BROKER") or None,
        "variables": dict(options.set),
        "services": services,
        "secure": options.secure,
        "tied_to": options.tied_to,
        "redirectors": options.redirectors if services else 0,
        "links_apis": options.links_apis if services else 0,
        "consumers": options.consumers if services else 0,
        "janitors": options.janitors if services else 0,
    }
    began = time.monotonic()
    ours, theirs = socket.socketpair()
    with open(state.log("supervisor"), "ab") as log:
        subprocess.Popen(
            [sys.executable, "-m", "stacklib.supervisor", state.folder, str(theirs.fileno())],
            env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(__file__))},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
    theirs.close()
    with ours:
        ours.sendall(json.dumps(settings).encode() + b"\n")
        follow_start(ours, state, began)
    print_addresses(options, state)


def follow_start(connection, state, began):
    """Prints the progress that the supervisor reports, until the stack is ready or has failed and ended."""
    with connection.makefile(encoding="utf-8") as lines:
        for line in lines:
            message = json.loads(line)
            if "progress" in message:
                print(f"{time.monotonic() - began:5.1f} s  {message['progress']}", flush=True)
            elif "ready" in message:
                connection.sendall(b"acknowledged\n")
                print(f"{time.monotonic() - began:5.1f} s  the stack in {state.folder} is up", flush=True)
                return
            elif "failed" in message:
                lines.read()  # returns when everything has ended
                raise StackError(message["failed"])
    raise StackError(f"the stack ended before it was ready. See {state.log('supervisor')}")


def print_addresses(options, state):
    values = dict(request(options, command="env", user=None))
    if "LINKS_API_URL" in values:
        print(f"dashboard      {values['LINKS_API_URL']}/app/")
        print(f"API            {values['LINKS_API_URL']}/docs")
    if "REDIRECTOR_URL" in values:
        print(f"short links    {values['REDIRECTOR_URL']}/…")
    print(f'for a shell    eval "$(tools/stack env --state {shlex.quote(state.folder)})"')


def request(options, **arguments):
    """Sends the command to the supervisor and returns its result. Raises StackError if it fails."""
    state = State(options.state)
    connection = connect(state)
    if connection is None:
        raise StackError(f"no stack is up in {state.folder}")
    with connection, connection.makefile(encoding="utf-8") as stream:
        with contextlib.suppress(BrokenPipeError):  # it has ended: no line follows
            connection.sendall(json.dumps({"command": options.command, **arguments}).encode() + b"\n")
        line = stream.readline()
    if not line:
        raise StackError("the supervisor ended without a response")
    response = json.loads(line)
    if "error" in response:
        raise StackError(response["error"])
    return response["lines"]


def connect(state):
    """Connects to the supervisor; returns None if none listens.

    Changes into the folder first: the path of a Unix socket has at most 107 bytes.
    """
    connection = socket.socket(socket.AF_UNIX)
    here = os.open(".", os.O_PATH)
    try:
        os.chdir(state.folder)
        connection.connect(CONTROL)
    except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
        connection.close()
        return None
    finally:
        os.fchdir(here)
        os.close(here)
    return connection


def peer_of(connection):
    """The pid of the process at the other end of a Unix socket."""
    pid, _, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return pid


def down(options):
    """Returns when the supervisor has ended as well, so that the folder can be reused or removed."""
    connection = connect(State(options.state))
    if connection is None:
        print(f"no stack is up in {os.path.abspath(options.state)}")
        return 0
    with connection:
        supervisor = os.pidfd_open(peer_of(connection))
    (problems,) = request(options)
    select.select([supervisor], [], [], TIMEOUT_S)
    os.close(supervisor)
    for line in problems:
        print(line, file=sys.stderr)
    return 1 if problems else 0


def status(options):
    lines = request(options)
    for name, text, _ in lines:
        print(f"{name:14} {text}")
    return 0 if all(ready for _, _, ready in lines) else 1


def ps(options):
    for name, pid, *ports in request(options):
        print(f"{name:14} {pid:>7} {' '.join(ports)}")


def env(options):
    for name, value in request(options, user=options.kafka_user):
        print(f"export {name}={shlex.quote(value)}")


def stop(options):
    request(options, name=options.name)


def start(options):
    build = options.build and os.path.abspath(options.build)
    request(options, name=options.name, build=build, variables=dict(options.set))


def kill(options):
    request(options, name=options.name, number=options.signal)


def admin(options):
    for line in request(options, email=options.email):
        print(line)


def logs(options):
    """Works also when the stack is down."""
    folder = pathlib.Path(State(options.state).path("logs"))
    names = sorted(path.stem for path in folder.glob("*.log"))
    process = {"analytics-consumer": "consumer"}.get(options.name, options.name)
    found = [name for name in names if name == process or re.fullmatch(rf"{re.escape(process)}-\d+", name)]
    if not found:
        raise StackError(f"no log of {options.name} in {folder}; there are logs of {', '.join(names) or 'nothing'}")
    for name in found:
        sys.stdout.write((folder / f"{name}.log").read_text(encoding="utf-8", errors="replace"))


COMMANDS = {
    "up": up,
    "down": down,
    "status": status,
    "ps": ps,
    "env": env,
    "start": start,
    "stop": stop,
    "kill": kill,
    "logs": logs,
    "admin": admin,
}
