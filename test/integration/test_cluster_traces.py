"""Traces of several nodes on one clock. Skipped without ONNX Runtime.

Covers: src/cli/merge.c
"""

import json
import re
import subprocess
import threading
import time
import unittest

from clustered import Cluster, infer
from operated import LIBRARY, WEFT


def merge(*files):
    return subprocess.run(
        [WEFT, "merge", *map(str, files)], capture_output=True, text=True, check=False
    )


@unittest.skipUnless(LIBRARY.exists(), "there is no ONNX Runtime; see tools/fetch.sh")
class Traces(unittest.TestCase):
    def test_records_of_two_nodes_are_in_order(self):
        cluster = Cluster(self)
        traces = {name: cluster.root / f"{name}.jsonl" for name in "ab"}
        cluster.launch("a", "--trace", str(traces["a"]))
        time.sleep(1)  # So much later does the clock of b begin, at least.
        cluster.launch("b", "--trace", str(traces["b"]))
        cluster.nodes["a"].logged("event=member node=b ")
        cluster.nodes["b"].logged("event=member node=a ")
        address = cluster.nodes["a"].address
        end = time.monotonic() + 30
        while '"ended"' not in traces["b"].read_text() and time.monotonic() < end:
            asking = [
                threading.Thread(target=infer, args=(address, i % 4), daemon=True)
                for i in range(16)
            ]
            for thread in asking:
                thread.start()
            for thread in asking:
                thread.join()
        for server in cluster.nodes.values():
            server.end()

        out = cluster.root / "all.jsonl"
        merged = merge(out, traces["a"], traces["b"])
        self.assertEqual((merged.returncode, merged.stderr), (0, ""))
        shift = float(merged.stdout.split(": ")[1].split()[0])
        self.assertGreater(shift, 1)
        records = [json.loads(line) for line in out.read_text().splitlines()]
        counts = [len(path.read_text().splitlines()) for path in traces.values()]
        self.assertEqual(len(records), sum(counts))
        times = [record["at_ns"] for record in records]
        self.assertEqual(times, sorted(times))
        self.check_order(records)
        job = next(r["job"] for r in records if r["kind"] == "ended" and r["node"] == 1)
        story = subprocess.run([WEFT, "explain", str(out), job], capture_output=True, text=True)
        self.assertIn("answered after", story.stdout)

        events = cluster.root / "all.json"
        self.assertEqual(merge(events, traces["a"], traces["b"]).returncode, 0)
        drawn = json.loads(events.read_text())["traceEvents"]
        self.assertEqual({event["pid"] for event in drawn}, {0, 1})
        self.assertEqual(len(drawn), sum(record["kind"] == "ended" for record in records))

    def check_order(self, records):
        """Nothing of a job is before its arrival, nor does it end after its answer."""
        arrived, answered = {}, {}
        for record in records:
            if record["kind"] == "arrived":
                arrived[record["job"]] = record["at_ns"]
            elif record["kind"] == "answered":
                answered[record["job"]] = record["at_ns"]
        checked = 0
        for record in records:
            job = record.get("job")
            if record["node"] == 1 and job in answered and record["kind"] in ("queued", "ended"):
                self.assertLessEqual(arrived[job], record["at_ns"])
                self.assertLessEqual(record["at_ns"], answered[job])
                checked += 1
        self.assertGreater(checked, 0)

    def test_lives_of_a_node_have_jobs_of_the_same_names(self):
        """The second node starts again, counts from 1, and writes another file."""
        cluster = Cluster(self)
        paths = [cluster.root / f"{i}.jsonl" for i in range(3)]
        times = {1: 100, 2: 5000}
        of_first = []
        for life, at in times.items():
            about = {"job": "1.1", "life": life, "workflow": "w"}
            own = [{"at_ns": 10, "node": 1, "kind": "arrived", **about},
                   {"at_ns": 40, "node": 1, "kind": "answered", **about}]  # fmt: skip
            of_first += [{"at_ns": at + 20, "node": 0, "kind": "queued", **about},
                         {"at_ns": at + 30, "node": 0, "kind": "ended", **about}]  # fmt: skip
            paths[life].write_text("".join(json.dumps(record) + "\n" for record in own))
        paths[0].write_text("".join(json.dumps(record) + "\n" for record in of_first))
        out = cluster.root / "out.jsonl"
        merged = merge(out, *paths)
        self.assertEqual((merged.returncode, merged.stderr), (0, ""))
        records = [json.loads(line) for line in out.read_text().splitlines()]
        for life, at in times.items():
            told = [(r["kind"], r["at_ns"]) for r in records if r["life"] == life]
            self.assertEqual(told, [("arrived", at + 10), ("queued", at + 20), ("ended", at + 30),
                                    ("answered", at + 40)])  # fmt: skip
        story = subprocess.run([WEFT, "explain", str(out), "1.1"], capture_output=True, text=True)
        told = re.findall(r"^ .* ms  (\w+) ", story.stdout, re.MULTILINE)
        self.assertEqual(told, ["arrived", "queued", "ended", "answered"])  # Of one life.

    def test_what_cannot_be_compared_is_said(self):
        cluster = Cluster(self)
        line = '{"at_ns":1,"node":%d,"kind":"arrived","job":"%d.1"}\n'
        paths = [cluster.root / f"{i}.jsonl" for i in range(2)]
        for i, path in enumerate(paths):
            path.write_text(line % (i, i))
        out = cluster.root / "out.jsonl"
        failed = merge(out, *paths)
        self.assertEqual(failed.returncode, 2)
        self.assertIn("1.jsonl: no job went from its node", failed.stderr)
        self.assertFalse(out.exists())
        paths[1].write_text("[ 1.000 ms] n0 arrived job 0.1\n")
        failed = merge(out, *paths)
        self.assertEqual(failed.returncode, 2)
        self.assertIn("1.jsonl:1: not a line of a trace", failed.stderr)
        self.assertEqual(merge(out, cluster.root / "none.jsonl", paths[0]).returncode, 2)


if __name__ == "__main__":
    unittest.main()
