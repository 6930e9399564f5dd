#!/usr/bin/env python3
"""What keys and deputies cost a request, on three servers of this machine.

usage: keys_cost.py

Three `weft serve` processes are one cluster. Requests of one small model come to all of them at a
fixed rate, in turn with keys and without: same servers, same arrivals; every other round the other
way round, so that a machine that gets slower does not count. Prints, for each round, the median
latency and the processor time of all three servers per request, with keys over without; then the
medians of both differences, and how often a process was woken per request.

Settings, in the environment: WEFT (build/weft), ROUNDS (10), SECONDS (2), RATE (200).
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "test/integration"))
os.environ.setdefault("WEFT", "build/weft")

from clustered import Cluster  # noqa: E402

ROUNDS = int(os.environ.get("ROUNDS", "10"))
SECONDS = os.environ.get("SECONDS", "2")
RATE = os.environ.get("RATE", "200")


def processor_s(cluster):
    """Of all threads so far."""
    return 1e-9 * sum(
        int((task / "schedstat").read_text(encoding="utf-8").split()[0])
        for server in cluster.nodes.values()
        for task in pathlib.Path(f"/proc/{server.process.pid}/task").iterdir()
    )


def wakes(cluster):
    """How often a thread of any server has waited for something so far."""
    return sum(
        int((task / "status").read_text().split("\nvoluntary_ctxt_switches:")[1].split()[0])
        for server in cluster.nodes.values()
        for task in pathlib.Path(f"/proc/{server.process.pid}/task").iterdir()
    )


def measure(cluster, urls, *more):
    """Median latency and processor time in microseconds, and wake-ups, per request."""
    before, woken = processor_s(cluster), wakes(cluster)
    done = subprocess.run(
        [os.environ["WEFT"], "bench", urls, "twice", "--rate", RATE, "--seconds", SECONDS,
         "--connections", "12", "--json", *more],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    report = json.loads(done.stdout)
    good = report["requests"]["good"]
    if good != report["requests"]["due"]:
        sys.exit(f"keys_cost: {report['requests']}")
    spent, woken = processor_s(cluster) - before, wakes(cluster) - woken
    count = good * (1 + 1 / float(SECONDS))  # It warms up for a second.
    return report["latency_ms"]["p50"] * 1e3, spent * 1e6 / count, woken / count


class Cost(unittest.TestCase):
    def test_cost(self):
        cluster = Cluster(self)
        cluster.launch_all("a", "b", "c")
        urls = ",".join("http://%s:%d" % server.address for server in cluster.nodes.values())
        measure(cluster, urls)
        slower, costlier, woken = [], [], []
        for i in range(ROUNDS):
            keyed = measure(cluster, urls) if i % 2 == 1 else None
            without = measure(cluster, urls, "--no-keys")
            keyed = keyed or measure(cluster, urls)
            print(f"round {i + 1}: p50 {keyed[0]:.0f} us with keys, {without[0]:.0f} without "
                  f"({keyed[0] / without[0]:.2f}); processor {keyed[1]:.0f} us, {without[1]:.0f} "
                  f"({keyed[1] / without[1]:.2f})", flush=True)  # fmt: skip
            slower.append(keyed[0] - without[0])
            costlier.append(keyed[1] - without[1])
            woken.append(keyed[2] - without[2])
        print(f"keys and deputies: {statistics.median(slower):+.0f} us of latency, "
              f"{statistics.median(costlier):+.0f} us of processor time, "
              f"{statistics.median(woken):+.2f} wake-ups per request")  # fmt: skip


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
