#!/usr/bin/env python3
"""What an idle cluster costs: processor time of each node, over that of a server alone.

usage: idle.py [--nodes N] [--seconds N] [--etcd]

Starts N servers (3) of a small model on this machine as one cluster, which finds itself in a
folder, or in an etcd of its own with --etcd; and one server without a cluster. Waits until all know
each other, then lets nothing happen for some seconds (30) and prints the processor time of every
process in per cent of a core, and the dearest node over the one alone.

Settings, in the environment: WEFT (build/weft).
"""

import argparse
import os
import pathlib
import sys
import time
import unittest

os.environ["WEFT"] = os.path.abspath(os.environ.get("WEFT", "build/weft"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "test/integration"))

import clustered  # noqa: E402
from operated import LIMIT, Server  # noqa: E402

SETTLE_S = 5
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def processor_seconds(process):
    """Of @process and those that it has started."""
    total = 0
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # It has ended.
        if int(path.parent.name) == process.pid or int(fields[1]) == process.pid:
            total += int(fields[11]) + int(fields[12])
    return total / TICKS_PER_S


def wait_for_members(server, count):
    end = time.monotonic() + LIMIT
    while f"\nweft_members {count}\n" not in server.metrics():
        if time.monotonic() > end:
            raise AssertionError(f"not all nodes are members: {server.log}")
        time.sleep(0.1)


class Idle(unittest.TestCase):
    """Only for its clean-up."""

    def runTest(self):
        names = [f"n{i}" for i in range(OPTIONS.nodes)]
        etcd = clustered.Etcd(self) if OPTIONS.etcd else None
        cluster = clustered.Cluster(self, etcd.directory if etcd else None)
        settings = cluster.folder / "weft.yaml"
        alone = cluster.root / "alone"
        clustered.write_repository(alone)
        settings.write_text(settings.read_text().replace("[a, b, c]", f"[{', '.join(names)}]"))
        for name in names:
            cluster.launch(name)
        for name in names:
            wait_for_members(cluster.nodes[name], len(names))
        single = Server(alone, cache=cluster.root / "cache")
        self.addCleanup(single.kill)
        time.sleep(SETTLE_S)
        processes = {name: cluster.nodes[name].process for name in names}
        processes["alone"] = single.process
        before = {name: processor_seconds(process) for name, process in processes.items()}
        started = time.monotonic()
        time.sleep(OPTIONS.seconds)
        passed = time.monotonic() - started
        used = {
            name: 100 * (processor_seconds(process) - before[name]) / passed
            for name, process in processes.items()
        }
        for name, percent in used.items():
            print(f"{name:6} {percent:.2f} % of a core")
        most = max(used[name] for name in names)
        ratio = most / used["alone"] if used["alone"] > 0 else float("inf")
        print(f"dearest node {most:.2f} %, {ratio:.1f} times a server alone")


parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("--nodes", type=int, default=3)
parser.add_argument("--seconds", type=int, default=30)
parser.add_argument("--etcd", action="store_true")
OPTIONS = parser.parse_args()

if __name__ == "__main__":
    result = unittest.TextTestRunner(stream=sys.stderr, verbosity=0).run(Idle())
    sys.exit(0 if result.wasSuccessful() else 1)
