#!/usr/bin/env python3
"""What an idle cluster costs: processor time of each node, over that of a server alone.

usage: idle.py [--nodes N] [--seconds N] [--etcd]

Starts N servers (3) of a small model on this machine as one cluster, which finds itself in a
folder, or in an etcd of its own with --etcd; and one server without a cluster. Waits until all know
each other, then lets nothing happen for some seconds (30) and prints the processor time of every
process in per cent of a core, and the dearest node over the one alone.

Settings, in the environment: WEFT (build/weft).
"""

import os
import pathlib
import sys
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "test/integration"), str(ROOT / "tools")]
os.environ["WEFT"] = os.path.abspath(os.environ.get("WEFT", "build/weft"))

import clustered  # noqa: E402
import usage  # noqa: E402
from operated import LIMIT, Server  # noqa: E402

SETTLE_S = 5


def tasks(process):
    """Folders in /proc of all threads of @process and of the processes that it has started."""
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
            if process.pid in (int(path.parent.name), parent):
                yield from (path.parent / "task").iterdir()
        except OSError:
            continue  # It has ended.


def processor_seconds(process):
    """By the scheduler's own count, which has no ticks."""
    return 1e-9 * sum(int((task / "schedstat").read_text().split()[0]) for task in tasks(process))


def wakes(process):
    """How often a thread has waited for something so far."""
    return sum(
        int((task / "status").read_text().split("\nvoluntary_ctxt_switches:")[1].split()[0])
        for task in tasks(process)
    )


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
        woken = {name: wakes(process) for name, process in processes.items()}
        started = time.monotonic()
        time.sleep(OPTIONS.seconds)
        passed = time.monotonic() - started
        used = {
            name: 100 * (processor_seconds(process) - before[name]) / passed
            for name, process in processes.items()
        }
        for name, percent in used.items():
            often = (wakes(processes[name]) - woken[name]) / passed
            print(f"{name:6} {percent:.3f} % of a core, woken {often:.0f} times per second")
        most = max(used[name] for name in names)
        ratio = most / used["alone"] if used["alone"] > 0 else float("inf")
        print(f"dearest node {most:.2f} %, {ratio:.1f} times a server alone")


parser = usage.parser(__doc__)
parser.add_argument("--nodes", type=int, default=3)
parser.add_argument("--seconds", type=int, default=30)
parser.add_argument("--etcd", action="store_true")
OPTIONS = parser.parse_args()

if __name__ == "__main__":
    result = unittest.TextTestRunner(stream=sys.stderr, verbosity=0).run(Idle())
    sys.exit(0 if result.wasSuccessful() else 1)
