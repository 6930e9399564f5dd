"""Machines that differ join a running cluster, work with what they have, and leave again. Skipped
without ONNX Runtime; GPUs are fakes.

Covers: src/model/resources.c src/service/clustered.c src/service/machine.c
"""

import json
import signal
import threading
import time
import unittest

import exported
import onnx_models
from clustered import SETTINGS, Cluster, Load, busy_seconds, infer
from exported import Module
from operated import LIBRARY, LIMIT

SLOTS = 3
OPEN = (
    SETTINGS.replace("members: [a, b, c]", f"members: 3\nslots: {SLOTS}")
    .replace("device: cpu\n", "device: small\n")
    .replace("policy: {place: jit}\n", "")
)


def wait_for(test, question, what):
    end = time.monotonic() + LIMIT
    while not question():
        test.assertLess(time.monotonic(), end, what)
        time.sleep(0.1)


def busy_workers(server):
    """The workers that have run something, counted within their node."""
    return {worker % SLOTS for worker, seconds in busy_seconds(server).items() if seconds > 0}


class Machines(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(self)
        self.write(OPEN)

    def write(self, settings, name="repository"):
        folder = self.cluster.root / name
        folder.mkdir(exist_ok=True)
        (folder / "weft.yaml").write_text(settings, encoding="utf-8")
        return folder

    def wait_until_said(self, name, workers):
        """Until the directory says what node @name has."""
        wait_for(
            self, lambda: self.cluster.members().get(name, {}).get("workers") == workers,
            f"{name} says something else",
        )  # fmt: skip

    def sizes(self, server):
        """How many workers nodes have, as far as @server has heard of them."""
        status, _, body = server.ask("GET", "/v2/cluster")
        self.assertEqual(status, 200)
        heard = [one["node"] for one in json.loads(body)["workers"] if one["age_ms"] >= 0]
        return {heard.count(node) for node in heard}


@unittest.skipUnless(LIBRARY.exists(), "there is no ONNX Runtime; see tools/fetch.sh")
class Differ(Machines):
    def test_a_larger_machine_joins_works_and_leaves(self):
        self.cluster.launch_all("first", "second")
        nodes = self.cluster.nodes
        load = Load(list(nodes.values()))
        # It has an empty folder, three workers, and processors of another kind.
        own = self.write(OPEN.replace("device: small", "device: large"), "own")
        large = self.cluster.launch("large", "--workers", "3", "--memory", "300MB", folder=own)
        for name in ("first", "second"):
            nodes[name].logged("event=member node=large ")
        wait_for(self, lambda: busy_workers(large) == {0, 1, 2}, "not all of it is used")
        self.wait_until_said("large", "3 x large 286.102MiB")
        self.wait_until_said("first", "1 x small 190.735MiB")
        for server in nodes.values():
            wait_for(self, lambda of=server: {1, 3} == self.sizes(of), "it does not know of all")
        self.assertEqual(infer(large.address, 2), load.expected[2])
        self.cluster.drain("large")
        # Another machine takes its place, with less than it had.
        small = self.cluster.launch("small", "--workers", "2")
        wait_for(self, lambda: busy_workers(small) == {0, 1}, "not all of it is used")
        load.stop()
        self.assertEqual(load.wrong, [])
        self.wait_until_said("small", "2 x small 190.735MiB")

    def test_a_machine_that_stood_still_comes_back_with_another_number(self):
        self.cluster.launch_all("first", "third")
        large = self.cluster.launch("large", "--workers", "3")
        first = self.cluster.nodes["first"]
        first.logged("event=member node=large ")
        large.process.send_signal(signal.SIGSTOP)
        first.logged('event="member lost" node=large')
        self.cluster.launch("second")  # It has the only place that is free, with less.
        first.logged("event=member node=second ")
        self.cluster.drain("third")
        large.out.clear()
        large.process.send_signal(signal.SIGCONT)
        large.logged('event="name lost"')
        large.wait_until_ready()  # On other ports.
        wait_for(
            self, lambda: sum("event=member node=large " in line for line in first.log) > 1,
            "it does not come back",
        )  # fmt: skip
        load = Load([first], per_server=6)
        wait_for(self, lambda: busy_workers(large) == {0, 1, 2}, "not all of it is used")
        load.stop()
        self.assertEqual(load.wrong, [])

    def test_a_machine_is_refused_that_has_more_than_slots(self):
        refused = self.cluster.launch("x", "--workers", "4", wait=False)
        refused.logged("a node of the cluster has 3 slots, and not 4 workers")
        self.assertNotEqual(refused.process.wait(timeout=LIMIT), 0)

    def test_a_policy_that_plans_for_a_fixed_fleet_is_refused(self):
        refused = self.cluster.launch("x", "--policy", "esg", wait=False)
        refused.logged("plans for machines that stay as they are")
        self.assertNotEqual(refused.process.wait(timeout=LIMIT), 0)

    def test_weft_serves_machines_that_differ(self):
        small = self.cluster.launch("small", "--policy", "weft", "--workers", "1")
        large = self.cluster.launch("large", "--policy", "weft", "--workers", "3")
        small.logged("event=member node=large ")
        load = Load([small], per_server=6)
        wait_for(self, lambda: busy_workers(large) == {0, 1, 2}, "not all of it is used")
        load.stop()
        self.assertEqual(load.wrong, [])

    def test_slots_must_be_the_same_for_all(self):
        self.cluster.launch("first")
        wait_for(self, lambda: self.cluster.members()["first"]["state"] == "ready", "not ready")
        own = self.write(OPEN.replace(f"slots: {SLOTS}", "slots: 2"), "own")
        other = self.cluster.launch("other", folder=own, wait=False)
        other.logged("node 'first' is of another cluster")
        self.assertNotEqual(other.process.wait(timeout=LIMIT), 0)


@unittest.skipUnless(LIBRARY.exists(), "there is no ONNX Runtime; see tools/fetch.sh")
class WithGpu(Machines):
    def test_a_machine_with_a_gpu_joins_those_without(self):
        width = 256  # Milliseconds on a processor; the fake GPU only scales, and takes less.
        folder = self.write(OPEN.replace("isolate: false\n", ""), "both")
        (folder / "deep/1").mkdir(parents=True)
        layers = onnx_models.layers(width, 16, output="output")
        (folder / "deep/1/model.onnx").write_bytes(layers)
        exported.write(str(folder / "deep/1/model.cuda"), Module(3, -1), width)
        self.cluster.folder = folder
        self.cluster.launch_all("first", "second")
        nodes = self.cluster.nodes
        given = {"name": "x", "datatype": "FP32", "shape": [1, width], "data": [2] * width}
        answers, until = [], threading.Event()

        def ask():
            while not until.is_set():
                status, _, body = nodes["first"].ask(
                    "POST", "/v2/models/deep/infer", {"inputs": [given]}
                )
                answers.append((status, json.loads(body)["outputs"][0]["data"][0]))

        threads = [threading.Thread(target=ask, daemon=True) for _ in range(6)]
        for thread in threads:
            thread.start()
        wait_for(self, lambda: len(answers) > 10, "nothing is answered")
        self.assertNotIn((200, 5.0), answers)  # Processors alone.
        gpu = self.cluster.launch("gpu", environment=exported.ENVIRONMENT)
        wait_for(self, lambda: (200, 5.0) in answers, "the GPU of another node is not used")
        self.wait_until_said("gpu", "1 x small 190.735MiB, 2 x fake-gpu 6.75GiB")
        self.assertEqual(gpu.end()[0], 0)  # It leaves.
        for name in ("first", "second"):
            nodes[name].logged('event="member lost" node=gpu')
        count = len(answers)
        wait_for(self, lambda: len(answers) > count + 10, "nothing is answered")
        until.set()
        for thread in threads:
            thread.join(timeout=LIMIT)
        self.assertEqual({status for status, _ in answers}, {200})
        self.assertNotEqual(answers[-1][1], 5.0)


if __name__ == "__main__":
    unittest.main()
