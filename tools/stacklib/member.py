"""One process of the stack: start, probe, signal, stop."""

import asyncio
import os
import signal
import time

from . import tool
from .errors import StackError
from .state import TIMEOUT_S

LOG_TAIL_LINES = 15


class Member:
    """A subclass defines what to run (command) and when it is ready (probe)."""

    stop_signal = signal.SIGTERM
    port_names = ("port",)

    def __init__(self, name, state):
        self.name = name
        self.state = state
        self.process = None
        self.ports = ()

    # Subclasses override these.

    def command(self):
        """The argument list."""
        raise NotImplementedError

    async def prepare(self):
        """Creates the files that the process needs. Does nothing if they exist."""

    async def probe(self):
        """Returns None if the process is ready, else the problem."""
        raise NotImplementedError

    async def probe_alive(self):
        """Returns None if the process is alive, even if the servers that it needs are down."""
        return await self.probe()

    async def initialize(self):
        """Runs once in each `up`, when the process is ready."""

    def launch(self):
        return tool.DIE_WITH_SUPERVISOR

    def environment(self):
        """The environment of the process; None is that of the supervisor."""
        return None

    # The same for all members.

    def take_ports(self, ports):
        # A state of an earlier version may have fewer.
        before = [*(self.state.get("ports", self.name) or ()), *[None] * len(self.port_names)]
        self.ports = tuple(ports.take(wanted) for wanted in before[: len(self.port_names)])
        self.state.set("ports", self.name, self.ports)

    @property
    def pid(self):
        return self.process.pid if self.is_running() else None

    def is_running(self):
        return self.process is not None and self.process.returncode is None

    async def start(self):
        """Returns when the process is alive. The servers that it needs may still be down."""
        if self.is_running():
            raise StackError(f"{self.name} is already running (pid {self.pid})")
        await self.prepare()
        with open(self.state.log(self.name), "ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                *self.launch(),
                *self.command(),
                env=self.environment(),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.state.folder,
                start_new_session=True,
            )
        await self.wait_until(self.probe_alive)

    async def wait_until(self, probe):
        deadline = time.monotonic() + TIMEOUT_S
        while (problem := await probe()) is not None:
            if not self.is_running():
                raise StackError(f"{self.name} ended with {self.exit_reason()}\n{self.log_tail()}")
            if time.monotonic() > deadline:
                raise StackError(f"{self.name} is not ready after {TIMEOUT_S} s: {problem}\n{self.log_tail()}")
            await asyncio.sleep(0.05)

    def signal(self, number):
        if not self.is_running():
            raise StackError(f"{self.name} is not running")
        os.kill(self.pid, number)

    async def stop(self):
        """Stops the process, even if it is frozen. Returns False if it had to be killed."""
        if not self.is_running():
            return True
        # SIGCONT must come first. After the stop signal it could cancel a SIGSTOP with which LeakSanitizer stops the
        # threads of an ending process, and the process would never end.
        os.kill(self.pid, signal.SIGCONT)
        os.kill(self.pid, self.stop_signal)
        if await self.wait_for_exit(TIMEOUT_S):
            return True
        self.kill()
        await self.wait_for_exit(TIMEOUT_S)
        return False

    def kill(self):
        if self.is_running():
            os.kill(self.pid, signal.SIGKILL)

    async def wait_for_exit(self, timeout_s):
        try:
            await asyncio.wait_for(self.process.wait(), timeout_s)
        except asyncio.TimeoutError:
            return False
        return True

    def exit_reason(self):
        status = self.process.returncode
        return f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"

    def log_tail(self):
        with open(self.state.log(self.name), encoding="utf-8", errors="replace") as log:
            lines = log.readlines()[-LOG_TAIL_LINES:]
        return f"the end of {self.state.log(self.name)}:\n" + "".join("  | " + line for line in lines).rstrip()
