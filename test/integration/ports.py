"""Ports for servers that must know theirs before they start."""

import random
import socket

# Below those that the system gives to whoever asks for any: nothing else takes one of these before
# its server has started, or while it is away.
FIRST, LAST = 20000, 32000


def free_ports(count):
    """As many, on which nothing listens."""
    ports = set()
    while len(ports) < count:
        port = random.randint(FIRST, LAST)
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
        ports.add(port)
    return list(ports)
