"""`weft check` of a repository finds what the server would, and in its words.

Covers: src/cli/check.c, src/cli/check_repository.c, src/cli/check_scenario.c,
src/service/repository_check.c, src/service/ports_check.c
"""

import json
import os
import subprocess
import unittest

import onnx_models
import operated

WEFT = os.environ.get("WEFT", "build/weft")
INPUTS = "inputs: {a: {dtype: FP32, shape: [-1, 4]}}\n"
NOTHING = {"data": [[0, 0, 0, 0]], "datatype": "FP32", "shape": [1, 4], "name": "a"}

# By workflow: its tasks and outputs, the line of what is wrong, and what is. Tasks begin in line 4.
FAULTS = {
    "port": (
        "  r: {model: relu, in: {xx: inputs.a}}\n",
        "y: r.y",
        4,
        "model 'relu': input 'x' (FP32 [?,4]) is not given",
    ),
    "output": (
        "  r: {model: relu, in: {x: inputs.a}}\n  q: {model: relu, in: {x: r.z}}\n",
        "y: q.y",
        5,
        "output 'z', which task 'q' takes, was not made",
    ),
    "result": (
        "  r: {model: relu, in: {x: inputs.a}}\n",
        "y: r.out",
        5,
        "output 'out', which the answer has as 'y', was not made",
    ),
    "shape": (
        "  r: {model: wide, in: {x: inputs.a}}\n",
        "y: r.y",
        4,
        "model 'wide': input 'x' wants FP32 [?,8], and is given FP32 [",
    ),
    "declared": (
        "  r: {model: relu, in: {x: inputs.a}}\n",
        "y: {from: r.y, dtype: INT64, shape: [-1, 4]}",
        5,
        "output 'y' is declared as INT64 [?,4], and was made as FP32 [",
    ),
    "function": (
        "  f:\n    function: sample.inverted\n    in: {image: inputs.a}\n",
        "y: f.y",
        5,
        "sample.so: no function 'inverted' in it",
    ),
}


def workflow(name, tasks, outputs):
    return f"workflow: {name}\n{INPUTS}tasks:\n{tasks}outputs: {{{outputs}}}\n"


@unittest.skipUnless(onnx_models.LIBRARY.exists(), "ONNX Runtime is not there")
class Check(unittest.TestCase):
    def setUp(self):
        self.folder = operated.temporary(self)
        operated.write_repository(self.folder)
        self.put("wide/1/model.onnx", onnx_models.relu(columns=8))

    def put(self, name, data):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())

    def check(self):
        return subprocess.run(
            [WEFT, "check", str(self.folder)], capture_output=True, text=True, timeout=60,
            env=dict(os.environ, WEFT_ONNXRUNTIME=str(onnx_models.LIBRARY)), check=False,
        )  # fmt: skip

    def test_every_fault_is_found_where_it_is_and_as_the_server_says_it(self):
        for name, (tasks, outputs, _, _) in FAULTS.items():
            self.put(f"{name}.workflow.yaml", workflow(name, tasks, outputs))
        done = self.check()
        lines = done.stderr.splitlines()
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(len(lines), len(FAULTS), done.stderr)
        server = operated.Server(self.folder)
        self.addCleanup(server.kill)
        logged = server.logged("workflow does not fit its models.*port.workflow.yaml:4: ")
        self.assertIn(FAULTS["port"][3], logged.string)
        for name, (_, _, line, cause) in FAULTS.items():
            where = f"{self.folder}/{name}.workflow.yaml:{line}: "
            found = [one for one in lines if one.startswith(where)]
            self.assertEqual(len(found), 1, done.stderr)
            self.assertIn(cause, found[0])
            status, _, body = server.ask("POST", f"/v2/models/{name}/infer", {"inputs": [NOTHING]})
            self.assertGreaterEqual(status, 400)
            self.assertIn(cause, json.loads(body)["error"])

    def test_files_that_are_no_models_are_told_as_the_server_tells_them(self):
        whole = onnx_models.relu()
        files = {
            "empty": (b"", "the file is empty"),
            "half": (whole[: len(whole) // 2], "cut short"),
            "text": (b"This is no model.", "not an ONNX model"),
        }
        for name, (data, _) in files.items():
            self.put(f"{name}/1/model.onnx", data)
        done = self.check()
        lines = done.stderr.splitlines()
        self.assertEqual((done.returncode, done.stdout, len(lines)), (2, "", 3), done.stderr)
        server = operated.Server(self.folder)
        self.addCleanup(server.kill)
        index = json.loads(server.ask("POST", "/v2/repository/index", {})[2])
        reasons = {entry["name"]: entry.get("reason", "") for entry in index}
        for name, (_, cause) in files.items():
            told = f"{self.folder}/{name}/1/model.onnx: {cause}"
            self.assertTrue(any(line.startswith(told) for line in lines), lines)
            self.assertIn(cause, reasons[name])

    def test_what_is_good_is_described_and_answers(self):
        two = onnx_models.model(
            [onnx_models.node("Relu", ["x"], "y")],
            [onnx_models.value_info("x", ["unk__214", 4])],
            [onnx_models.value_info("y", ["unk__215", 4])],
        )
        mixed = onnx_models.model(
            [onnx_models.node("ReduceMean", ["x"], "m"), onnx_models.node("Sub", ["x", "m"], "y")],
            [onnx_models.value_info("x", ["N", 4])],
            [onnx_models.value_info("y", ["N", 4])],
        )
        self.put("two/1/model.onnx", two)
        self.put("mixed/1/model.onnx", mixed)
        self.put("relu/config.pbtxt", "max_batch_size: 8\n")
        self.put("notes.txt", "")
        self.put("inputs/bytes/one.txt", "")
        self.put("inputs/bytes/one.bin", "1")
        self.put(
            "bytes.workflow.yaml",
            "workflow: bytes\ninputs: {image: {dtype: UINT8, shape: [-1]}}\n"
            "tasks: {f: {function: sample.invert, in: {image: inputs.image}}}\n"
            "outputs: {out: f.out}\n",
        )
        done = self.check()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], f"{self.folder}: repository ok")
        heads = [line.split(":")[0] for line in lines]
        at = heads.index("  model     mixed")
        self.assertEqual(
            lines[at + 1 : at + 4],
            [
                "            takes x FP32[-1,4]",
                "            gives y FP32[-1,4]",
                "            never batched: rows of one run change one another",
            ],
        )
        at = heads.index("  model     two")
        self.assertEqual(lines[at + 2], "            gives y FP32[-1,4]")
        self.assertNotIn("never batched", lines[at + 3])
        ignored = [line for line in lines if line.startswith("  ignored ")]
        self.assertEqual(
            ignored,
            [
                f"  ignored   {self.folder}/notes.txt",
                f"  ignored   {self.folder}/relu/config.pbtxt",
            ],
        )
        server = operated.Server(self.folder)
        self.addCleanup(server.kill)
        status, _, _ = server.ask("POST", "/v2/models/sum/infer", {"inputs": [NOTHING]})
        self.assertEqual(status, 200)
        about = json.loads(server.ask("GET", "/v2/models/mixed")[2])
        self.assertEqual(
            about["parameters"], {"never_batched": "rows of one run change one another"}
        )
        self.assertNotIn("parameters", json.loads(server.ask("GET", "/v2/models/two")[2]))
        # What was measured once is known at the next start.
        server.end()
        server = operated.Server(self.folder)
        self.addCleanup(server.kill)
        about = json.loads(server.ask("GET", "/v2/models/mixed")[2])
        self.assertIn("never_batched", about["parameters"])

    def test_samples_for_no_workflow_are_told(self):
        self.put("inputs/none/one.bin", "1")
        done = self.check()
        self.assertEqual(done.returncode, 2)
        self.assertIn("inputs/none: no workflow has this name", done.stderr)


class Documents(unittest.TestCase):
    def check(self, *files):
        done = subprocess.run(
            [WEFT, "check", *files], capture_output=True, text=True, timeout=60, check=False
        )
        return done.returncode, done.stdout.splitlines(), done.stderr.splitlines()

    def test_a_scenario_is_told_with_its_load(self):
        code, out, err = self.check("scenarios/compass/compass.yaml")
        self.assertEqual((code, err), (0, []))
        self.assertEqual(out[0], "scenarios/compass/compass.yaml: scenario ok")
        self.assertEqual(out[1], "  at 2/s: 1.99 of 5 workers busy if nothing is batched")
        self.assertEqual(out[2].split(), ["workflow", "task", "items", "run", "ms", "busy"])
        self.assertEqual(out[3].split(), ["translation", "generate", "1", "561", "0.28"])

    def test_all_errors_of_all_files_are_told(self):
        code, out, err = self.check(
            "test/documents/many/cluster.yaml", "test/documents/many/trace.csv"
        )
        self.assertEqual((code, out, len(err)), (2, [], 8))


if __name__ == "__main__":
    unittest.main()
