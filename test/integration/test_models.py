"""Real models of a repository: measured and served. Skipped without ONNX Runtime.

Covers: src/service/measure.c, src/service/measure_repository.c, src/cli/profile.c,
src/service/local_index.c
"""

import json
import os
import pathlib
import pty
import signal
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import onnx_models

WEFT = os.environ.get("WEFT", "build/weft")
LIBRARY = onnx_models.LIBRARY


@unittest.skipUnless(LIBRARY.exists(), "there is no ONNX Runtime; see tools/fetch.sh")
class Models(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "repository"
        self.cache = pathlib.Path(folder.name) / "cache"
        onnx_models.write_repository(self.folder)

    def put(self, name, data):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def weft(self, *arguments):
        environment = dict(os.environ, WEFT_ONNXRUNTIME=str(LIBRARY), WEFT_CACHE=str(self.cache))
        return subprocess.run(
            [WEFT, *arguments],
            capture_output=True, text=True, timeout=100, check=False, env=environment,
        )  # fmt: skip

    def profile(self):
        [path] = (self.folder / "profiles").iterdir()
        self.assertRegex(path.name, r"^box_onnxruntime-[0-9.]+\.profile\.json$")
        return json.loads(path.read_text(encoding="utf-8"))

    def test_models_are_measured_once(self):
        done = self.weft("profile", str(self.folder))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(": 2 models measured now\n", done.stdout)
        first = self.profile()
        self.assertEqual(first["figures"], "measured")
        self.assertIn("ONNX Runtime", first["source"])
        for name in ("add", "relu"):
            model = first["models"][name]
            points = model["devices"]["box"]["points"]
            self.assertEqual([point["items"] for point in points], [1, 2, 4, 8, 16, 32])
            self.assertTrue(all(point["ms"] > 0 for point in points))
            self.assertGreater(model["resident"], 0)
            self.assertGreater(model["load_fixed_ms"], 0)
        done = self.weft("profile", str(self.folder))
        self.assertIn(": 0 models measured now\n", done.stdout)
        self.assertEqual(self.profile(), first)
        done = self.weft("profile", str(self.folder), "--model", "add", "--json")
        self.assertEqual(done.returncode, 0)
        again = json.loads(done.stdout)
        self.assertEqual(again, self.profile())
        self.assertEqual(again["models"]["relu"], first["models"]["relu"])
        self.assertNotEqual(again["models"]["add"], first["models"]["add"])
        self.assertEqual(self.weft("check", str(self.folder)).returncode, 0)

    def test_a_terminal_shows_what_is_done_to_which_model(self):
        for i in range(12):  # The line is not drawn for each, and not at all for short work.
            self.put(f"m{i}/1/model.onnx", onnx_models.layers(64, 2, seed=i))
        terminal, end = pty.openpty()
        process = subprocess.Popen(
            [WEFT, "profile", str(self.folder)], stdout=subprocess.DEVNULL, stderr=end,
            env=dict(os.environ, WEFT_ONNXRUNTIME=str(LIBRARY), WEFT_CACHE=str(self.cache)),
        )  # fmt: skip
        self.assertEqual(process.wait(timeout=100), 0)
        shown = os.read(terminal, 100000)
        os.close(end)
        os.close(terminal)
        self.assertRegex(shown, rb"\x1b\[Kmeasuring m\d+ \[[#.]{30}\] +\d+ %")

    def test_what_cannot_be_measured_is_said_and_the_rest_is(self):
        self.put("broken/1/model.onnx", b"no model")
        self.put("fixed/1/model.onnx", onnx_models.relu(rows=3))
        done = self.weft("profile", str(self.folder))
        self.assertEqual(done.returncode, 1)
        self.assertIn("weft profile: broken: not measured: ", done.stderr)
        models = self.profile()["models"]
        self.assertEqual(sorted(models), ["add", "fixed", "relu"])
        # Its rows are fixed: there is nothing to batch.
        self.assertEqual(len(models["fixed"]["devices"]["box"]["points"]), 1)

    def test_limits_of_batches_are_kept(self):
        self.put("weft.yaml", b"weft: here\ndevice: box\nmodels: {relu: {batch: 4}}\n")
        self.assertEqual(self.weft("profile", str(self.folder), "--model", "relu").returncode, 0)
        points = self.profile()["models"]["relu"]["devices"]["box"]["points"]
        self.assertEqual([point["items"] for point in points], [1, 2, 4])

    def test_an_interruption_loses_nothing(self):
        for i in range(12):
            self.put(f"m{i}/1/model.onnx", onnx_models.layers(64, 2, seed=i))
        limits = ", ".join(f"m{i}: {{batch: 1}}" for i in range(12))
        self.put("weft.yaml", f"weft: here\ndevice: box\nmodels: {{{limits}}}\n".encode())
        environment = dict(os.environ, WEFT_ONNXRUNTIME=str(LIBRARY), WEFT_CACHE=str(self.cache))
        process = subprocess.Popen(
            [WEFT, "profile", str(self.folder)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
        )  # fmt: skip
        end = time.monotonic() + 60
        while not (self.folder / "profiles").exists() and time.monotonic() < end:
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGINT)
        before = self.profile()["models"]
        self.assertGreaterEqual(len(before), 1)
        self.assertLess(len(before), 14)
        self.assertEqual(self.weft("profile", str(self.folder)).returncode, 0)
        after = self.profile()["models"]
        self.assertEqual(len(after), 14)
        for name, model in before.items():
            self.assertEqual(after[name], model)

    def test_served_models_are_learnt(self):
        done = self.weft(
            "serve", str(self.folder), "--rate", "100/s", "--seconds", "1", "--json",
            "--no-admission",  # A busy machine would rightly refuse some.
        )  # fmt: skip
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        both = json.loads(done.stdout)
        self.assertGreater(both["served"]["jobs"], 30)
        self.assertEqual(both["served"]["completed"], both["served"]["jobs"])
        self.assertEqual(both["served"]["failed"], 0)
        self.assertEqual(sorted(self.profile()["models"]), ["add", "relu"])
        learnt = self.profile()["models"]["relu"]["devices"]["box"]["points"][0]
        self.weft("serve", str(self.folder), "--rate", "100/s", "--seconds", "1", "--json")
        self.assertNotEqual(
            learnt, self.profile()["models"]["relu"]["devices"]["box"]["points"][0]
        )

    def test_clients_are_answered(self):
        self.put("relu/3/model.onnx", onnx_models.relu())
        self.put("broken/1/model.onnx", b"no model")
        environment = dict(os.environ, WEFT_ONNXRUNTIME=str(LIBRARY), WEFT_CACHE=str(self.cache))
        process = subprocess.Popen(
            [WEFT, "serve", str(self.folder), "--http", "127.0.0.1:0", "--metrics", "none",
             "--log-level", "warn"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip
        self.addCleanup(process.kill)
        line = process.stdout.readline()
        self.assertRegex(line, r"^listening on http://127\.0\.0\.1:\d+\n$")
        url = line.split()[-1] + "/v2/"

        def ask(path, body=None):
            data = None if body is None else json.dumps(body).encode()
            try:
                with urllib.request.urlopen(url + path, data=data, timeout=30) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                return json.load(error)

        def tensor(name, rows):
            return {"inputs": [{"name": name, "datatype": "FP32", "shape": [1, 4], "data": rows}]}

        [output] = ask("models/add")["outputs"]
        self.assertEqual(output, {"name": "z", "datatype": "FP32", "shape": [-1, 4]})
        outputs = ask("models/sum")["outputs"]
        self.assertEqual([one["datatype"] for one in outputs], ["FP32", "FP32"])
        index = {one["name"]: one for one in ask("repository/index", {})}
        self.assertEqual(index["relu"]["version"], "3")
        self.assertEqual(index["sum"]["state"], "READY")
        self.assertEqual(index["broken"]["state"], "UNAVAILABLE")
        self.assertIn("not an ONNX model", index["broken"]["reason"])

        answer = ask("models/sum/infer", tensor("a", [-1, 2, -3, 4]))
        data = {one["name"]: one["data"] for one in answer["outputs"]}
        self.assertEqual(data, {"sum": [-1, 4, -3, 8], "positive": [0, 2, 0, 4]})
        answer = ask("models/relu/infer", tensor("x", [-1, 2, -3, 4]))
        self.assertEqual(answer["outputs"][0]["data"], [0, 2, 0, 4])
        error = ask("models/broken/infer", tensor("x", [1, 2, 3, 4]))["error"]
        self.assertIn("not an ONNX model", error)

        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, out)
        self.assertEqual(err.count("\n"), 1, err)  # What could not be measured.

    def test_what_is_asked_for_must_be_there(self):
        done = self.weft("profile", str(self.folder), "--model", "rule")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no model is called 'rule'", done.stderr)
        self.assertFalse((self.folder / "profiles").exists())


if __name__ == "__main__":
    unittest.main()
