"""
The one process that owns all others of a stack.

Nothing outlives its owner: the kernel kills the members when the supervisor dies (tool.DIE_WITH_SUPERVISOR), and the
supervisor ends the stack when `up` dies before the stack was ready, when the process that the stack is tied to ends,
and when `down` or a SIGTERM comes. It runs in STATE, holds STATE/lock, and listens on STATE/control: one request and one
answer per connection, each a line of JSON.
"""

import asyncio
import contextlib
import fcntl
import json
import os
import signal
import socket
import sys
import traceback

from .errors import StackError
from .stack import Stack
from .state import State

CONTROL = "control"  # relative: a socket's path may have 107 bytes only


class Supervisor:
    def __init__(self, folder, starter):
        self.state = State(folder)
        self.starter = starter  # the socket to `up`
        self.stack = None
        self.over = asyncio.Event()
        self.owner_died = False
        self.ended = asyncio.Event()
        self.complaints = []
        self.failed = False

    async def run(self):
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.over.set)
        reader, self.writer = await asyncio.open_unix_connection(sock=self.starter)
        options = json.loads(await reader.readline())
        self._watch(options["tied_to"])
        self._lock()
        self.state.replace("options", options)
        self.stack = Stack(self.state, options, self._tell)
        server = await asyncio.start_unix_server(self._serve, CONTROL)

        up = asyncio.create_task(self._up())
        starter_watch = asyncio.create_task(self._watch_starter(reader))
        await self.over.wait()
        up.cancel()
        await asyncio.gather(up, return_exceptions=True)
        if self.owner_died:
            self.stack.kill()
        self.complaints = await self.stack.down()
        for line in self.complaints:
            print(line, flush=True)
        self.ended.set()
        os.remove(CONTROL)
        server.close()
        if not self.failed:
            self._send(ended=True)
        starter_watch.cancel()
        await self._flush()
        await asyncio.sleep(0)  # lets the answer to `down` go out
        return 1 if self.complaints else 0

    def _lock(self):
        self.lock = open("lock", "w", encoding="utf-8")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StackError(f"the stack in {self.state.folder} is up already") from None
        if os.path.exists(CONTROL):
            os.remove(CONTROL)

    def _watch(self, pid):
        """Ends the stack at once when the process pid ends: nobody is left who waits for an orderly end."""
        if pid is None:
            return
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            self._owner_ended()
            return
        asyncio.get_running_loop().add_reader(descriptor, self._owner_ended)

    def _owner_ended(self):
        self.owner_died = True
        self.over.set()

    async def _watch_starter(self, reader):
        """`up` says one word when it has seen that the stack is ready; no word before the end means that it died."""
        with contextlib.suppress(ConnectionError):  # we wrote to it before we saw that it had died
            if await reader.readline():
                return
        self.over.set()

    async def _up(self):
        try:
            await self.stack.up()
        except StackError as error:
            self._fail(str(error))
        except Exception:  # a bug of the stack itself: show it where the person looks
            self._fail(traceback.format_exc())
        else:
            self._send(ready=True)

    def _fail(self, text):
        self.failed = True
        self._send(failed=text)
        self.over.set()

    def _tell(self, text):
        self._send(say=text)

    def _send(self, **message):
        print(json.dumps(message), flush=True)
        if not self.writer.is_closing():
            self.writer.write(json.dumps(message).encode() + b"\n")

    async def _flush(self):
        try:
            await self.writer.drain()
            self.writer.close()
            await self.writer.wait_closed()
        except OSError:
            pass

    async def _serve(self, reader, writer):
        try:
            request = json.loads(await reader.readline())
            answer = {"lines": await self._obey(**request)}
        except StackError as error:
            answer = {"error": str(error)}
        except Exception:
            answer = {"error": traceback.format_exc()}
        try:
            writer.write(json.dumps(answer).encode() + b"\n")
            await writer.drain()
            writer.close()
        except OSError:
            pass  # nobody waits for the answer any more

    async def _obey(self, command, name=None, number=None, build=None):
        if command == "down":
            self.over.set()
            await self.ended.wait()
            return [self.complaints]
        if command == "ps":
            return self.stack.listing()
        if command == "status":
            return await self.stack.status()
        if command == "env":
            return list(self.stack.environment().items())
        if command == "start":
            await self.stack.start(name, build)
        if command == "stop":
            await self.stack.stop(name)
        if command == "kill":
            await self.stack.signal(name, number)
        return []


def main(folder, descriptor):
    os.chdir(folder)
    starter = socket.socket(fileno=descriptor)
    asyncio.set_child_watcher(asyncio.PidfdChildWatcher())
    try:
        return asyncio.run(Supervisor(folder, starter).run())
    except StackError as error:
        starter.sendall(json.dumps({"failed": str(error)}).encode() + b"\n")
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
