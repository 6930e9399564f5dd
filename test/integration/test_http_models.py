"""Real models over HTTP, from a folder to an answer. Skipped without ONNX Runtime.

Covers: src/service/listening.c src/service/local_change.c
"""

import json
import os
import pathlib
import re
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
class Served(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "repository"
        onnx_models.write_repository(self.folder)
        settings = self.folder / "weft.yaml"  # A second worker would read a file when it likes.
        settings.write_text(settings.read_text().replace("workers: 2", "workers: 1"))
        self.process = subprocess.Popen(
            [WEFT, "serve", str(self.folder), "--plain", "--http", "127.0.0.1:0",
             "--metrics", "none", "--log-level", "warn"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=dict(os.environ, WEFT_ONNXRUNTIME=str(LIBRARY),
                     WEFT_CACHE=str(pathlib.Path(folder.name) / "cache")),
        )  # fmt: skip
        self.addCleanup(self.end)
        for line in self.process.stdout:
            found = re.match(r"listening on (http://\S+)$", line)
            if found:
                self.url = found.group(1)
                return
        self.fail(self.process.communicate(timeout=30))

    def end(self):
        """End the server, which has nothing to complain about."""
        if self.process.stdout.closed:
            return
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=60)
        self.assertEqual((self.process.returncode, err), (0, ""), out)

    def ask(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(self.url + path, data, timeout=60) as reply:
            return json.load(reply)

    def status(self, path, body=None):
        """The status of an answer, and what it says."""
        data = None if body is None else json.dumps(body).encode()
        try:
            with urllib.request.urlopen(self.url + path, data, timeout=60) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode()

    def change(self, name, verb):
        return self.status(f"/v2/repository/models/{name}/{verb}", {})

    def statistics(self, name):
        """How many inferences there were, and when the last one was, in seconds since 1970."""
        [found] = self.ask(f"/v2/models/{name}/stats")["model_stats"]
        return found["inference_count"], found["last_inference"] / 1000

    def index(self):
        entries = self.ask("/v2/repository/index", {})
        return {entry["name"]: (entry["state"], entry["reason"]) for entry in entries}

    def relu(self):
        given = {"name": "x", "shape": [1, 4], "datatype": "FP32", "data": [1, -2, 3, -4]}
        status, text = self.status("/v2/models/relu/infer", {"inputs": [given]})
        return status, json.loads(text)["outputs"][0]["data"] if status == 200 else text

    def sum(self):
        given = {"name": "a", "shape": [1, 4], "datatype": "FP32", "data": [1, -2, 3, -4]}
        status, text = self.status("/v2/models/sum/infer", {"inputs": [given]})
        return status, json.loads(text)["outputs"][0]["data"] if status == 200 else text

    def replace(self, name, data):
        path = self.folder / name / "3" / "model.onnx"
        beside = path.with_suffix(".new")
        beside.write_bytes(data)
        beside.rename(path)

    def test_models_are_unloaded_and_loaded(self):
        self.assertEqual(self.sum(), (200, [2, -2, 6, -4]))
        self.assertEqual(self.change("relu", "unload")[0], 200)
        self.assertEqual(
            self.index(),
            {"relu": ("UNAVAILABLE", "unloaded"), "add": ("READY", ""),
             "sum": ("UNAVAILABLE", "'relu' is unloaded")},
        )  # fmt: skip
        self.assertEqual([self.sum()[0], self.relu()[0]], [503, 503])
        self.assertIn("unloaded", self.relu()[1])
        self.assertEqual(self.status("/v2/models/sum/ready")[0], 503)
        self.assertEqual(self.status("/v2/models/add/ready")[0], 200)
        self.assertEqual(
            [self.change("none", verb)[0] for verb in ("load", "unload")], [404, 404]
        )
        self.assertEqual(self.change("relu", "load"), (200, ""))
        self.assertEqual(self.sum(), (200, [2, -2, 6, -4]))
        self.assertEqual(self.change("sum", "unload")[0], 200)
        self.assertEqual(self.index()["sum"], ("UNAVAILABLE", "unloaded"))
        self.assertEqual((self.sum()[0], self.relu()[0]), (503, 200))
        self.assertEqual(self.change("relu", "unload")[0], 200)
        self.assertEqual(self.change("sum", "load")[0], 200)  # With all that it needs.
        self.assertEqual((self.sum()[0], self.relu()[0]), (200, 200))
        given = {"parameters": {"config": "{}"}}
        status, text = self.status("/v2/repository/models/relu/load", given)
        self.assertEqual((status, "without parameters" in text), (400, True))

    def test_a_file_that_was_replaced_is_read_again(self):
        self.assertEqual(self.relu(), (200, [1, 0, 3, 0]))
        negative = onnx_models.model(
            [onnx_models.node("Neg", ["x"], "y")],
            [onnx_models.value_info("x", ["N", 4])], [onnx_models.value_info("y", ["N", 4])],
        )  # fmt: skip
        self.replace("relu", negative)
        self.assertEqual(self.relu(), (200, [1, 0, 3, 0]))  # Until a client says so.
        self.assertEqual(self.change("relu", "load")[0], 200)
        self.assertEqual(self.relu(), (200, [-1, 2, -3, 4]))

        self.replace("relu", onnx_models.relu(columns=5))
        status, text = self.change("relu", "load")
        self.assertEqual((status, "inputs or outputs differ" in text), (400, True), text)
        self.replace("relu", b"this is no model")
        status, text = self.change("relu", "load")
        self.assertEqual((status, "model.onnx" in text), (400, True), text)
        self.assertEqual(self.relu(), (200, [-1, 2, -3, 4]))  # What is in memory stays.

    def test_statistics_count_rows_and_tell_the_time(self):
        self.assertEqual(self.statistics("relu"), (0, 0))
        begun = time.time()
        self.assertEqual(self.relu()[0], 200)
        for shape in ([7, 4], [0, 4], [2, 4]):
            given = {"name": "x", "shape": shape, "datatype": "FP32", "data": [1] * 4 * shape[0]}
            output = self.ask("/v2/models/relu/infer", {"inputs": [given]})["outputs"][0]
            self.assertEqual(output["shape"], shape)
        count, last = self.statistics("relu")
        self.assertEqual(count, 1 + 7 + 1 + 2)  # A request without rows is one all the same.
        self.assertTrue(begun - 1 <= last <= time.time() + 1, (begun, last))
        given = {"name": "a", "shape": [2, 4], "datatype": "FP32", "data": [1] * 8}
        self.ask("/v2/models/sum/infer", {"inputs": [given]})
        self.assertEqual(self.statistics("sum")[0], 2)  # Models take all of the request.
        self.ask("/v2/models/sum/infer", {"inputs": [given], "parameters": {"items": 5}})
        self.assertEqual(self.statistics("sum")[0], 2 + 5)

    def test_errors_do_not_tell_where_files_lie(self):
        self.replace("relu", b"this is no model")
        status, text = self.change("relu", "load")
        self.assertEqual(status, 400)
        self.assertIn("model.onnx", text)
        self.assertNotIn(str(self.folder), text)

    def test_a_server_that_is_ended_again_and_again_ends_well(self):
        self.assertEqual(self.sum()[0], 200)
        while self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            time.sleep(0.0005)
        out, err = self.process.communicate(timeout=60)
        self.assertEqual((self.process.returncode, err), (0, ""), out)
        [profile] = (self.folder / "profiles").glob("*.json")
        self.assertIn("relu", profile.read_text())

    def test_a_workflow_and_a_model_alone(self):
        metadata = self.ask("/v2/models/sum")
        self.assertEqual((metadata["platform"], metadata["versions"]), ("weft_workflow", ["1"]))
        floats = {"datatype": "FP32", "shape": [-1, 4]}
        self.assertEqual(
            metadata["outputs"], [dict(floats, name="sum"), dict(floats, name="positive")]
        )
        self.assertEqual(
            metadata["inputs"], [{"name": "a", "datatype": "FP32", "shape": [-1, 4]}]
        )
        values = [[1, -2, 3, -4], [0.5, 0, -0.5, 8]]
        given = {"name": "a", "shape": [2, 4], "datatype": "FP32", "data": values}
        reply = self.ask("/v2/models/sum/infer", {"inputs": [given]})
        outputs = {output["name"]: output["data"] for output in reply["outputs"]}
        flat = [value for row in values for value in row]
        self.assertEqual(outputs["positive"], [max(value, 0) for value in flat])
        self.assertEqual(outputs["sum"], [max(value, 0) + value for value in flat])

        alone = self.ask("/v2/models/relu")
        self.assertEqual((alone["platform"], alone["versions"]), ("onnxruntime_onnx", ["3"]))
        self.assertEqual(alone["outputs"], [dict(floats, name="y")])
        self.assertEqual(self.ask("/v2/models/relu/versions/3"), alone)
        self.assertEqual(self.status("/v2/models/relu/versions/1")[0], 404)
        [declared] = alone["inputs"]
        reply = self.ask("/v2/models/relu/infer", {"inputs": [dict(given, name=declared["name"])]})
        self.assertEqual(reply["model_version"], "3")
        self.assertEqual(reply["outputs"][0]["data"], outputs["positive"])

        done = subprocess.run(
            [WEFT, "infer", "sum", "a=1,-2,3,-4", "--url", self.url],
            capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        self.assertIn("sum  FP32 [1,4]  2, -2, 6, -4\n", done.stdout)


if __name__ == "__main__":
    unittest.main()
