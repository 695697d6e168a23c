"""HTTP from inside of the cluster's network namespaces: of the node, or of a pod."""

import contextlib
import ctypes
import http.client
import os
import secrets
import socket

from clients import Answer, Api as OutsideApi

CLONE_NEWNET = 0x40000000
libc = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def network_of(pid):
    """Sockets that this thread opens within the context belong to the network of process pid."""
    with open("/proc/thread-self/ns/net", "rb") as own, open(f"/proc/{pid}/ns/net", "rb") as network:
        if libc.setns(network.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"cannot enter the network of {pid}")
        try:
            yield
        finally:
            if libc.setns(own.fileno(), CLONE_NEWNET) != 0:
                os._exit(70)  # nothing of this program works in a foreign network


def connect(pid, address, port, timeout):
    """A connection from the network of process pid."""
    with network_of(pid):
        connection = socket.socket()
    try:
        connection.settimeout(timeout)
        connection.connect((address, port))
        return connection
    except BaseException:
        connection.close()
        raise


class Connection(http.client.HTTPConnection):
    def __init__(self, pid, address, port=80, timeout=60):
        super().__init__(address, port, timeout=timeout)
        self.pid = pid

    def connect(self):
        self.sock = connect(self.pid, self.host, self.port, self.timeout)


def ask(pid, address, method, path, headers, body=None, port=80, timeout=60):
    """Sends one request on a new connection."""
    connection = Connection(pid, address, port, timeout)
    with contextlib.closing(connection):
        connection.request(method, path, body=body, headers=headers)
        response = connection.getresponse()
        return Answer(response, response.read())


class Api(OutsideApi):
    """The API through the edge, from the node, for a client with an address of its own: limits count by address."""

    def __init__(self, node, address, host):
        super().__init__(None)
        self.node, self.address = node, address
        self.headers = {"Host": host, "X-Forwarded-For": f"198.18.{secrets.randbelow(256)}.{secrets.randbelow(256)}"}

    def send(self, method, path, headers, body):
        return ask(self.node.pid, self.address, method, path, self.headers | headers, body)
