"""Real models over HTTP, from a folder to an answer. Skipped without ONNX Runtime."""

import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import unittest
import urllib.request

import onnx_models

WEFT = os.environ["WEFT"]
LIBRARY = onnx_models.LIBRARY


@unittest.skipUnless(LIBRARY.exists(), "there is no ONNX Runtime; see tools/fetch.sh")
class Served(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "repository"
        onnx_models.write_repository(self.folder)
        self.process = subprocess.Popen(
            [WEFT, "serve", str(self.folder), "--plain", "--http", "127.0.0.1:0",
             "--metrics", "none"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=dict(os.environ, WEFT_ONNXRUNTIME=str(LIBRARY),
                     WEFT_CACHE=str(pathlib.Path(folder.name) / "cache")),
        )  # fmt: skip
        self.addCleanup(self.process.kill)
        for line in self.process.stdout:
            found = re.match(r"listening on (http://\S+)$", line)
            if found:
                self.url = found.group(1)
                return
        self.fail(self.process.communicate(timeout=30))

    def ask(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(self.url + path, data, timeout=60) as reply:
            return json.load(reply)

    def test_a_workflow_and_a_model_alone(self):
        metadata = self.ask("/v2/models/sum")
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

        [declared] = self.ask("/v2/models/relu")["inputs"]
        reply = self.ask("/v2/models/relu/infer", {"inputs": [dict(given, name=declared["name"])]})
        self.assertEqual(reply["outputs"][0]["data"], outputs["positive"])

        done = subprocess.run(
            [WEFT, "infer", "sum", "a=1,-2,3,-4", "--url", self.url],
            capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        self.assertIn("sum  FP32 [1,4]  2, -2, 6, -4\n", done.stdout)
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=60)
        self.assertEqual((self.process.returncode, err), (0, ""), out)


if __name__ == "__main__":
    unittest.main()
