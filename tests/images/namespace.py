"""Sockets in the network of a container, used from here."""

import asyncio
import contextlib
import ctypes
import os
import socket

CLONE_NEWNET = 0x40000000
libc = ctypes.CDLL(None, use_errno=True)


def enter(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        if libc.setns(descriptor, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"cannot enter {path}")
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def network_of(pid):
    """What this thread opens inside of it belongs to the network of process pid."""
    own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        enter(f"/proc/{pid}/ns/net")
        try:
            yield
        finally:
            if libc.setns(own, CLONE_NEWNET) != 0:
                os._exit(70)  # in a foreign network nothing of this program would be right
    finally:
        os.close(own)


def talk(pid, port, question):
    """What a server at 127.0.0.1 of that network answers first; b"" if it ends the connection."""
    with network_of(pid):
        connection = socket.create_connection(("127.0.0.1", port), timeout=10)
    with connection:
        connection.sendall(question)
        with contextlib.suppress(ConnectionResetError):
            return connection.recv(4096)
    return b""


async def forward(pid, port, target):
    """Carries what comes to port in the network of pid to the port target of 127.0.0.1 here, until the server that it gives is closed."""
    with network_of(pid):
        listener = socket.create_server(("0.0.0.0", port), backlog=256)

    async def serve(reader, writer):
        with contextlib.suppress(OSError):
            back_reader, back_writer = await asyncio.open_connection("127.0.0.1", target)
            await asyncio.gather(carry(reader, back_writer), carry(back_reader, writer))

    return await asyncio.start_server(serve, sock=listener)


async def carry(reader, writer):
    with contextlib.suppress(OSError):
        while part := await reader.read(262144):
            writer.write(part)
            await writer.drain()
    with contextlib.suppress(OSError):
        writer.close()
