"""A proxy in front of a local server, which can inspect, delay and cut what passes."""

import contextlib
import socket
import threading


class TcpProxy:
    """Carries connections from a port of its own. Subclasses decide what passes."""

    def __init__(self, port):
        self.target = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        self.listener.close()

    def lets_pass(self, part, is_answer):
        """Returns false to end the connection instead. Many threads call this."""
        raise NotImplementedError

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client, contextlib.suppress(OSError):
            with socket.create_connection(("127.0.0.1", self.target)) as server:
                for end in (client, server):
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                back = threading.Thread(target=self.carry, args=(server, client, True))
                back.start()
                self.carry(client, server, False)
                back.join()

    def carry(self, source, sink, is_answer):
        with contextlib.suppress(OSError):
            while (part := source.recv(262144)) and self.lets_pass(part, is_answer):
                sink.sendall(part)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
