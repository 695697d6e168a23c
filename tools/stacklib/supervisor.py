"""
The process that owns all others of a stack.

No process outlives its owner. The kernel kills the members when the supervisor dies (tool.DIE_WITH_SUPERVISOR). The
supervisor stops the stack on `down` and SIGTERM, when `up` dies before the stack is ready, and when the process given
as --tied-to ends. It runs in STATE, holds STATE/lock, and listens on STATE/control. A connection carries one request
and one response, each a line of JSON.
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
from .state import CONTROL, State


class Supervisor:
    def __init__(self, folder, starter):
        self.state = State(folder)
        self.starter = starter  # the socket to `up`
        self.stack = None
        self.stop_requested = asyncio.Event()
        self.owner_died = False
        self.ended = asyncio.Event()
        self.problems = []
        self.failed = False

    async def run(self):
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop_requested.set)
        reader, self.writer = await asyncio.open_unix_connection(sock=self.starter)
        options = json.loads(await reader.readline())
        self._watch_owner(options["tied_to"])
        self._lock()
        self.state.replace("options", options)
        self.stack = Stack(self.state, options, self._report)
        server = await asyncio.start_unix_server(self._serve, CONTROL)

        up = asyncio.create_task(self._up())
        starter_watch = asyncio.create_task(self._watch_starter(reader))
        await self.stop_requested.wait()
        up.cancel()
        await asyncio.gather(up, return_exceptions=True)
        if self.owner_died:
            self.stack.kill()
        self.problems = await self.stack.down()
        for line in self.problems:
            print(line, flush=True)
        self.ended.set()
        os.remove(CONTROL)
        server.close()
        if not self.failed:
            self._send(ended=True)
        starter_watch.cancel()
        await self._flush()
        await asyncio.sleep(0)  # lets the response to `down` go out
        return 1 if self.problems else 0

    def _lock(self):
        self.lock = open("lock", "w", encoding="utf-8")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StackError(f"the stack in {self.state.folder} is up already") from None
        if os.path.exists(CONTROL):
            os.remove(CONTROL)

    def _watch_owner(self, pid):
        """Kills the stack when the process pid ends. Nothing is left that needs an orderly shutdown."""
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
        self.stop_requested.set()

    async def _watch_starter(self, reader):
        """`up` acknowledges that the stack is ready. An end of the connection before that means that `up` died."""
        with contextlib.suppress(ConnectionError):  # the connection breaks when `up` dies
            if await reader.readline():
                return
        self.stop_requested.set()

    async def _up(self):
        try:
            await self.stack.up()
        except StackError as error:
            self._fail(str(error))
        except Exception:  # a bug of the stack itself: show it to the user
            self._fail(traceback.format_exc())
        else:
            self._send(ready=True)

    def _fail(self, text):
        self.failed = True
        self._send(failed=text)
        self.stop_requested.set()

    def _report(self, text):
        self._send(progress=text)

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
            response = {"lines": await self._execute(**request)}
        except StackError as error:
            response = {"error": str(error)}
        except Exception:
            response = {"error": traceback.format_exc()}
        try:
            writer.write(json.dumps(response).encode() + b"\n")
            await writer.drain()
            writer.close()
        except OSError:
            pass  # the client has closed its end

    async def _execute(self, command, name=None, number=None, build=None, variables=None, email=None, user=None):
        if command == "down":
            self.stop_requested.set()
            await self.ended.wait()
            return [self.problems]
        if command == "ps":
            return self.stack.listing()
        if command == "status":
            return await self.stack.status()
        if command == "env":
            return list(self.stack.environment(user).items())
        if command == "admin":
            return await self.stack.make_admin(email)
        if command == "start":
            await self.stack.start(name, build, variables)
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
