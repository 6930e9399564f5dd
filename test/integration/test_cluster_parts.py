"""Only what an edge needs crosses the net between two nodes. Skipped without ONNX Runtime.

Covers: src/engine/edge_part.c src/runtime/remote.c
"""

import http.client
import json
import re
import shutil
import time
import unittest

import onnx_models
from clustered import SETTINGS, Cluster
from operated import LIBRARY, LIMIT

NARROW, WIDE, UNUSED = 4, 16_384, 3_000
JOBS = 5
WORKFLOW = f"""workflow: parts
inputs:
  x: {{dtype: FP32, shape: [-1, {NARROW}]}}
  unused: {{dtype: FP32, shape: [-1, {UNUSED}]}}
tasks:
  split: {{model: split, in: {{x: inputs.x}}, bytes: {{inputs: {4 * NARROW}}}}}
  one: {{model: relu, in: {{x: split.small}}, bytes: {4 * NARROW}}}
  two: {{model: narrow, in: {{x: split.large}}, bytes: {4 * WIDE}}}
  sum: {{model: add, in: {{x: one.y, y: two.y}}, bytes: {4 * NARROW}}}
outputs: {{y: sum.z}}
"""


def matrix(name, rows, columns):
    return onnx_models.weight(name, [rows, columns], [1.0 / rows] * (rows * columns))


def split():
    """A model that gives two tensors, one of them large."""
    return onnx_models.model(
        [onnx_models.node("Relu", ["x"], "small"), onnx_models.node("MatMul", ["x", "w"], "large")],
        [onnx_models.value_info("x", ["N", NARROW])],
        [onnx_models.value_info("small", ["N", NARROW]),
         onnx_models.value_info("large", ["N", WIDE])],
        [matrix("w", NARROW, WIDE)],
    )  # fmt: skip


def narrow():
    return onnx_models.model(
        [onnx_models.node("MatMul", ["x", "w"], "y")],
        [onnx_models.value_info("x", ["N", WIDE])],
        [onnx_models.value_info("y", ["N", NARROW])],
        [matrix("w", WIDE, NARROW)],
    )


def write_repository(folder):
    """In place of what a cluster has otherwise, which would only be measured."""
    shutil.rmtree(folder)
    files = {
        "split/1/model.onnx": split(),
        "relu/1/model.onnx": onnx_models.relu(NARROW),
        "narrow/1/model.onnx": narrow(),
        "add/1/model.onnx": onnx_models.add(NARROW),
        "parts.workflow.yaml": WORKFLOW.encode(),
        # Hashes put tasks of every job on both nodes.
        "weft.yaml": SETTINGS.replace("jit", "hash").encode(),
    }
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def ask(address):
    inputs = [
        {"name": name, "datatype": "FP32", "shape": [1, columns], "data": [1.0] * columns}
        for name, columns in (("x", NARROW), ("unused", UNUSED))
    ]
    connection = http.client.HTTPConnection(*address, timeout=LIMIT)
    connection.request("POST", "/v2/models/parts/infer", json.dumps({"inputs": inputs}))
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, text


@unittest.skipUnless(LIBRARY.exists(), "there is no ONNX Runtime; see tools/fetch.sh")
class Parts(unittest.TestCase):
    def sent_bytes(self, name):
        text = self.cluster.nodes[name].metrics()
        return int(float(re.search(r"^weft_tensor_sent_bytes_total (\S+)", text, re.M)[1]))

    def crossed(self, name, records):
        """What @records of a node say has gone to another, in bytes."""
        narrow_bytes = 4 * NARROW
        by_task = {"split": narrow_bytes, "one": narrow_bytes, "two": 4 * WIDE, "sum": narrow_bytes}
        node = "ab".index(name)
        sent = [r for r in records if r["kind"] == "sent" and r["worker"] != node]
        for record in sent:  # What the scheduler charges, as in a simulation: see the document.
            self.assertEqual(record["bytes"], by_task[record["task"]])
        answers = [
            r for r in records
            if r["kind"] == "ended" and r["task"] == "sum" and not r["job"].startswith(f"{node}.")
        ]  # fmt: skip
        self.assertTrue(any(record["task"] == "two" for record in sent))
        return sum(by_task[record["task"]] for record in sent) + narrow_bytes * len(answers)

    def test_a_consumer_is_sent_its_tensor_alone(self):
        self.cluster = Cluster(self)
        write_repository(self.cluster.folder)
        traces = {name: self.cluster.root / f"{name}.jsonl" for name in "ab"}
        for name in "ab":
            self.cluster.launch(name, "--trace", str(traces[name]))
        self.cluster.nodes["a"].logged("event=member node=b ")
        self.cluster.nodes["b"].logged("event=member node=a ")
        end = time.monotonic() + LIMIT
        while min(map(self.sent_bytes, "ab")) < JOBS * 4 * WIDE:
            self.assertLess(time.monotonic(), end, "one of the nodes keeps everything")
            for name in "ab":
                status, text = ask(self.cluster.nodes[name].address)
                self.assertEqual(status, 200, text)
                self.assertEqual(json.loads(text)["outputs"][0]["data"], [2.0] * NARROW)
        sent = {name: self.sent_bytes(name) for name in "ab"}
        for server in self.cluster.nodes.values():
            server.end()
        for name in "ab":
            records = [json.loads(line) for line in traces[name].read_text().splitlines()]
            self.assertEqual(sent[name], self.crossed(name, records), name)


if __name__ == "__main__":
    unittest.main()
