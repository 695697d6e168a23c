"""One process of the stack: how it is started, asked, signalled and stopped."""

import asyncio
import os
import signal
import time

from . import tool
from .errors import StackError

PATIENCE_S = 60  # a process that ends is seen at once; this is for machines with much else to do
STOP_PATIENCE_S = 40  # services drain for up to 25 s
LOG_TAIL_LINES = 15


class Member:
    """A subclass says what to run (command) and when it works (probe); the rest is the same for all."""

    stop_signal = signal.SIGTERM
    port_names = ("port",)

    def __init__(self, name, state):
        self.name = name
        self.state = state
        self.process = None
        self.ports = ()

    # What a subclass fills in.

    def command(self):
        """The argument list."""
        raise NotImplementedError

    async def prepare(self):
        """What must be on disk before the process starts; cheap when it is there already."""

    async def probe(self):
        """None when the process does its work, else what is wrong."""
        raise NotImplementedError

    async def probe_alive(self):
        """None when the process itself works, whatever the servers that it needs do."""
        return await self.probe()

    async def settle(self):
        """What remains to be done once at each `up`, when the process works."""

    def launch(self):
        return tool.DIE_WITH_SUPERVISOR

    def environment(self):
        """None = the supervisor's own."""
        return None

    # What all do.

    def take_ports(self, ports):
        before = self.state.get("ports", self.name) or [None] * len(self.port_names)
        self.ports = tuple(ports.take(wanted) for wanted in before)
        self.state.set("ports", self.name, self.ports)

    @property
    def pid(self):
        return self.process.pid if self.running() else None

    def running(self):
        return self.process is not None and self.process.returncode is None

    async def start(self):
        """Returns when the process itself works; what it needs may still be away."""
        if self.running():
            raise StackError(f"{self.name} runs already (pid {self.pid})")
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
        deadline = time.monotonic() + PATIENCE_S
        while (problem := await probe()) is not None:
            if not self.running():
                raise StackError(f"{self.name} ended with {self.ending()}\n{self.log_tail()}")
            if time.monotonic() > deadline:
                raise StackError(f"{self.name} is not ready after {PATIENCE_S} s: {problem}\n{self.log_tail()}")
            await asyncio.sleep(0.05)

    def signal(self, number):
        if not self.running():
            raise StackError(f"{self.name} does not run")
        os.kill(self.pid, number)

    async def stop(self):
        """Asks it to end, also when it is frozen; gives False when it had to be killed."""
        if not self.running():
            return True
        # SIGCONT goes first. After the request it could arrive while LeakSanitizer stops the threads of an ending process
        # with SIGSTOP: it cancels one of these, and the process never ends.
        os.kill(self.pid, signal.SIGCONT)
        os.kill(self.pid, self.stop_signal)
        if await self.gone(STOP_PATIENCE_S):
            return True
        self.kill()
        await self.gone(PATIENCE_S)
        return False

    def kill(self):
        if self.running():
            os.kill(self.pid, signal.SIGKILL)

    async def gone(self, patience_s):
        try:
            await asyncio.wait_for(self.process.wait(), patience_s)
        except asyncio.TimeoutError:
            return False
        return True

    def ending(self):
        status = self.process.returncode
        return f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"

    def log_tail(self):
        with open(self.state.log(self.name), encoding="utf-8", errors="replace") as log:
            lines = log.readlines()[-LOG_TAIL_LINES:]
        return f"the end of {self.state.log(self.name)}:\n" + "".join("  | " + line for line in lines).rstrip()
