#!/usr/bin/env python3
"""What keys and deputies cost a request, on three servers of this machine.

usage: keys_cost.py

Three `weft serve` processes are one cluster. A client asks them in turn, at a fixed rate, for one
small model. Blocks of requests with keys and without alternate, half a second each, so that a
machine that gets slower, or a kernel that moves processes to other processors, does it to both.
Prints the median latency, and the processor time of all three servers and how often a thread of
theirs was woken, per request, with keys and without, and their differences. What a single block
says of the processor differs by more than that, so the mean of all has an error: the standard
error of the differences of neighbours.

Settings, in the environment: WEFT (build/weft), SECONDS (40), RATE (200), NET (auto: as
--cluster-net).
"""

import os
import pathlib
import socket
import statistics
import sys
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "test/integration"), str(ROOT / "tools")]

import usage  # noqa: E402
from clustered import Cluster, request  # noqa: E402

SECONDS = float(os.environ.get("SECONDS", "40"))
RATE = float(os.environ.get("RATE", "200"))
BLOCK = int(RATE / 2)


def of_threads(cluster, file, number):
    """The sum of a number in a file of each thread of all servers."""
    return sum(
        number((task / file).read_text(encoding="utf-8"))
        for server in cluster.nodes.values()
        for task in pathlib.Path(f"/proc/{server.process.pid}/task").iterdir()
    )


def processor_us(cluster):
    return of_threads(cluster, "schedstat", lambda text: int(text.split()[0])) * 1e-3


def wakes(cluster):
    """How often a thread has waited for something so far."""
    name = "\nvoluntary_ctxt_switches:"
    return of_threads(cluster, "status", lambda text: int(text.split(name)[1].split()[0]))


class Client:
    """One connection to each server."""

    def __init__(self, addresses):
        self.connections = [socket.create_connection(address) for address in addresses]
        for connection in self.connections:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.body = request(1).encode()
        self.count = 0

    def close(self):
        for connection in self.connections:
            connection.close()

    def ask(self, has_key):
        """The time that an answer takes, in microseconds."""
        self.count += 1
        key = f"Idempotency-Key: {os.getpid()}-{self.count}\r\n" if has_key else ""
        head = f"POST /v2/models/twice/infer HTTP/1.1\r\nHost: a\r\n{key}"
        asked = f"{head}Content-Length: {len(self.body)}\r\n\r\n".encode() + self.body
        connection = self.connections[self.count % len(self.connections)]
        since = time.perf_counter()
        connection.sendall(asked)
        answer = connection.recv(1 << 16)
        passed_us = (time.perf_counter() - since) * 1e6
        head, _, body = answer.partition(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:")[1].split()[0])
        while len(body) < length:
            body += connection.recv(1 << 16)
        known = b"weft-deputy:" in head.lower()
        if not head.startswith(b"HTTP/1.1 200") or known != has_key or b"none" in head:
            sys.exit(f"keys_cost: {head}")
        return passed_us


def run_block(cluster, client, has_key):
    """Latencies, and processor time and wake-ups per request."""
    before = processor_us(cluster), wakes(cluster)
    since = time.perf_counter()
    latencies = []
    for i in range(BLOCK):
        time.sleep(max(since + i / RATE - time.perf_counter(), 0))
        latencies.append(client.ask(has_key))
    after = processor_us(cluster), wakes(cluster)
    return latencies, (after[0] - before[0]) / BLOCK, (after[1] - before[1]) / BLOCK


class Cost(unittest.TestCase):
    def test_cost(self):
        cluster = Cluster(self)
        cluster.net = os.environ.get("NET", "auto")
        cluster.launch_all("a", "b", "c")
        client = Client([server.address for server in cluster.nodes.values()])
        self.addCleanup(client.close)
        latencies, spent, woken = ([], []), ([], []), ([], [])
        for has_key in (False, True):
            run_block(cluster, client, has_key)  # It warms up.
        for i in range(int(SECONDS)):
            for has_key in (False, True) if i % 2 == 0 else (True, False):
                block = run_block(cluster, client, has_key)
                latencies[has_key].extend(block[0])
                spent[has_key].append(block[1])
                woken[has_key].append(block[2])
        p50s = [statistics.median(given) for given in latencies]
        costs = [keyed - without for without, keyed in zip(*spent)]
        error = statistics.stdev(costs) / len(costs) ** 0.5
        print(f"latency, p50: {p50s[True]:.0f} us with keys, {p50s[False]:.0f} without; processor "
              f"time: {statistics.mean(spent[True]):.0f} us, {statistics.mean(spent[False]):.0f}; "
              f"woken: {statistics.mean(woken[True]):.2f}, "
              f"{statistics.mean(woken[False]):.2f}")  # fmt: skip
        print(f"keys and deputies: {p50s[True] - p50s[False]:+.0f} us of latency, "
              f"{statistics.mean(costs):+.0f} us of processor time (within {error:.0f}), "
              f"{statistics.mean(woken[True]) - statistics.mean(woken[False]):+.2f} wake-ups "
              "per request")  # fmt: skip


if __name__ == "__main__":
    usage.words(__doc__)
    unittest.main(argv=sys.argv[:1])
