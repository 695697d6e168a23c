"""Clicks on a link as fast as its redirectors answer, on connections of their own to the Service. Each is counted, none has a mark."""

import socket
import threading

from network_namespace import connect
from threads import Threads

THREADS = 4
# Requests on a connection before their answers are read.
BATCH = 32
ANSWER = b"HTTP/1.1 302 "


class Flood(Threads):
    """Clicks within the context."""

    def __init__(self, cluster, link):
        super().__init__(THREADS)
        service = cluster.get("service", "redirector")
        self.pid, self.address = cluster.node.pid, service["spec"]["clusterIP"]
        self.requests = f"GET /{link['slug']} HTTP/1.1\r\nHost: {cluster.redirect_host}\r\n\r\n".encode() * BATCH
        self.answered = 0
        self.unclear = 0  # sent, not answered: such a click may be counted or not
        self.lock = threading.Lock()

    def work(self, number):
        while not self.is_ending.is_set():
            try:
                with connect(self.pid, self.address, 80, 60) as connection:
                    while not self.is_ending.is_set() and self._click(connection):
                        pass
            except OSError:
                continue  # no connection, no click

    def _click(self, connection):
        """Sends a batch and reads its answers; False: the connection ends."""
        answers = b""
        try:
            connection.sendall(self.requests)
            while answers.count(b"\r\n\r\n") < BATCH:
                part = connection.recv(65536)
                if not part:
                    break
                answers += part
        except (socket.timeout, OSError):
            pass
        answered = answers.count(ANSWER)
        with self.lock:
            self.answered += answered
            self.unclear += BATCH - answered
        return answered == BATCH
