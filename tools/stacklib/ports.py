"""Free ports of 127.0.0.1 that no other stack will take, even while the process that uses them is down."""

import random
import socket

from .errors import StackError

# Below Linux's range for outgoing connections, so that none of those sits on a port while its owner is restarted.
RANGE = range(20000, 32000)


class Ports:
    """Holds a reservation for each port: an abstract socket name, which the kernel gives up with this process."""

    def __init__(self):
        self._reservations = {}

    def take(self, wanted=None):
        """wanted again if it is still free, else another."""
        candidates = random.sample(RANGE, 200)
        if wanted:
            candidates.insert(0, wanted)
        for port in candidates:
            if self._reserve(port):
                return port
        raise StackError("found no free port of 127.0.0.1 between 20000 and 32000")

    def _reserve(self, port):
        name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            name.bind(f"\0waymark-port-{port}")
            with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("0.0.0.0", port))
        except OSError:
            name.close()
            return False
        self._reservations[port] = name
        return True
