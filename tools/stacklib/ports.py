"""Free ports of 127.0.0.1, reserved against other stacks even while their process is down."""

import random
import socket

from .errors import StackError

# Below Linux's ephemeral range, so that no outgoing connection takes a port while its process restarts.
RANGE = range(20000, 32000)


class Ports:
    """Reserves each port with an abstract socket name, which the kernel releases when this process ends."""

    def __init__(self):
        self._reservations = {}

    def take(self, wanted=None):
        """Returns wanted if it is free, else another port."""
        candidates = random.sample(RANGE, 200)
        if wanted:
            candidates.insert(0, wanted)
        for port in candidates:
            if self._reserve(port):
                return port
        raise StackError("no free port on 127.0.0.1 between 20000 and 32000")

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
