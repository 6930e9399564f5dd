"""GPUs of several nodes are one fleet: a task runs on that of another node. Skipped without ONNX
Runtime; the GPUs are fakes.

Covers: src/service/machine.c src/service/clustered.c src/process/child.c
"""

import json
import subprocess
import threading
import time
import unittest

import exported
import onnx_models
from clustered import Cluster, busy_seconds
from exported import Module
from operated import LIBRARY, LIMIT

SETTINGS = """weft: clustered
members: [a, b]
workers: 1
memory: 1GB
device: box
gpus: {count: 1, memory: 1GB}
admission: off
"""
MIXED = """workflow: mixed
inputs: {x: {dtype: FP32, shape: [-1, 4]}}
tasks:
  first: {model: relu, in: {x: inputs.x}}
  last: {model: tripled, in: {x: first.y}}
outputs: {out: last.output}
"""
GPU_OF = {"a": 1, "b": 3}  # Workers: each node has a processor, then a GPU.


@unittest.skipUnless(LIBRARY.exists(), "there is no ONNX Runtime; see tools/fetch.sh")
class ClusterGpus(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(self)
        folder = self.cluster.root / "models"
        (folder / "relu/1").mkdir(parents=True)
        (folder / "relu/1/model.onnx").write_bytes(onnx_models.relu())
        (folder / "tripled/1").mkdir(parents=True)
        exported.write(str(folder / "tripled/1/model.cuda"), Module(3, -1), 4)
        (folder / "mixed.workflow.yaml").write_text(MIXED, encoding="utf-8")
        self.cluster.folder = folder

    def launch_all(self, settings=SETTINGS):
        (self.cluster.folder / "weft.yaml").write_text(settings, encoding="utf-8")
        for name in "ab":
            self.cluster.launch(name, environment=exported.ENVIRONMENT)
        for name, other in ("ab", "ba"):
            self.cluster.nodes[name].logged(f"event=member node={other} ")

    def infer(self, name, row):
        given = {"name": "x", "datatype": "FP32", "shape": [1, 4], "data": row}
        status, _, body = self.cluster.nodes[name].ask(
            "POST", "/v2/models/mixed/infer", {"inputs": [given]}
        )
        return status, json.loads(body)["outputs"][0]["data"] if status == 200 else body

    def ask_on(self, until, wrong):
        while not until.is_set():
            got = self.infer("a", [1, -2, 3, 0.5])
            if got != (200, [2, -1, 8, 0.5]):
                wrong.append(got)

    def test_a_task_runs_on_the_gpu_of_another_node(self):
        self.launch_all()
        wrong, until = [], threading.Event()
        threads = [threading.Thread(target=self.ask_on, args=(until, wrong)) for _ in range(12)]
        for thread in threads:
            thread.start()
        end = time.monotonic() + LIMIT
        while time.monotonic() < end and not all(
            busy_seconds(self.cluster.nodes[name])[GPU_OF[name]] > 0 for name in "ab"
        ):
            time.sleep(0.1)
        until.set()
        for thread in threads:
            thread.join(timeout=LIMIT)
        self.assertEqual(wrong, [])
        for name in "ab":  # All clients are those of 'a'.
            busy = busy_seconds(self.cluster.nodes[name])
            self.assertIn(GPU_OF[name], busy)
            self.assertGreater(busy[GPU_OF[name]], 0)
        for name in "ba":
            self.assertEqual(self.cluster.nodes[name].end()[0], 0)

    def write_version(self, version, module, spoil=None):
        """Of the model on GPUs, whole from the moment that it can be seen."""
        beside = self.cluster.folder / f".{version}"
        beside.mkdir()
        exported.write(str(beside / "model.cuda"), module, 4)
        if spoil is not None:
            (beside / "model.cuda" / spoil).write_bytes(bytes(4096))
        beside.rename(self.cluster.folder / "tripled" / str(version))

    def load(self, name):
        return self.cluster.nodes[name].ask("POST", "/v2/repository/models/tripled/load")

    def test_new_versions_are_served_once_all_gpus_have_run_them(self):
        self.launch_all()
        for name in "ab":
            self.assertEqual(self.infer(name, [1, -2, 3, 0.5]), (200, [2, -1, 8, 0.5]))
        self.write_version(2, Module(5, -1), spoil="weights.bin")
        status, _, body = self.load("a")
        self.assertEqual(status, 400, body)
        self.assertIn("contents differ from what was exported", body)
        self.write_version(3, Module(5, 1))
        status, _, body = self.load("b")
        self.assertEqual(status, 200, body)
        for name in "ab":
            end = time.monotonic() + LIMIT  # One of them may be the last to hear of it.
            while self.infer(name, [1, -2, 3, 0.5]) != (200, [6, 1, 16, 3.5]):
                self.assertLess(time.monotonic(), end)
                time.sleep(0.05)
        for name in "ba":
            self.assertEqual(self.cluster.nodes[name].end()[0], 0)

    def fails_with(self, settings):
        """The log of a node that does not start."""
        (self.cluster.folder / "weft.yaml").write_text(settings, encoding="utf-8")
        node = self.cluster.launch("a", wait=False, environment=exported.ENVIRONMENT)
        try:
            node.process.wait(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            self.fail("it started")
        return "".join(node.ended()[2])

    def test_all_nodes_must_have_the_gpus_that_were_said(self):
        more = SETTINGS.replace("count: 1", "count: 40")
        self.assertIn("every node of the cluster has 40 GPUs, as weft.yaml says; of this machine",
                      self.fails_with(more))  # fmt: skip
        less = SETTINGS.replace("{count: 1, memory: 1GB}", "{count: 1}")
        self.assertIn("'gpus' of a cluster need 'memory'", self.fails_with(less))


if __name__ == "__main__":
    unittest.main()
