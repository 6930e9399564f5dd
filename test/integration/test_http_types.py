"""Models of all types over HTTP, in JSON and in bytes: texts, BF16, maps, any rank, many inputs.

Skipped without ONNX Runtime.
"""

import json
import math
import os
import pathlib
import re
import signal
import struct
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.request

import onnx_models

WEFT = os.environ.get("WEFT", "build/weft")
LIBRARY = onnx_models.LIBRARY
MODELS = {
    "texts": onnx_models.same(["N", "M"], onnx_models.STRING),
    "bf16": onnx_models.same(["N", 2], onnx_models.BFLOAT16),
    "any": onnx_models.same(None, onnx_models.FLOAT),
    "labels": onnx_models.zipmap(["cat", "dog", "eel"]),
    "many": onnx_models.sums(100),
    "long": onnx_models.same(["N"], onnx_models.FLOAT),
    "sequence": onnx_models.sequence(),
}


def texts_bytes(texts):
    return b"".join(struct.pack("<I", len(text)) + text for text in texts)


@unittest.skipUnless(LIBRARY.exists(), "there is no ONNX Runtime; see tools/fetch.sh")
class Types(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name) / "repository"
        for name, data in MODELS.items():
            path = cls.folder / name / "1" / "model.onnx"
            path.parent.mkdir(parents=True)
            path.write_bytes(data)
        (cls.folder / "weft.yaml").write_text(
            "weft: here\nworkers: 2\nmemory: 1GB\ndevice: box\nmodels: {bf16: {batch: 8}}\n",
            encoding="utf-8",
        )
        cls.process = subprocess.Popen(
            [WEFT, "serve", str(cls.folder), "--plain", "--http", "127.0.0.1:0",
             "--metrics", "none", "--log-level", "error"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env=dict(os.environ, WEFT_ONNXRUNTIME=str(LIBRARY),
                     WEFT_CACHE=str(pathlib.Path(folder.name) / "cache")),
        )  # fmt: skip
        cls.addClassCleanup(cls.end)
        for line in cls.process.stdout:
            found = re.match(r"listening on (http://\S+)$", line)
            if found:
                cls.url = found.group(1)
                return
        raise AssertionError("it does not listen")

    @classmethod
    def end(cls):
        cls.process.send_signal(signal.SIGTERM)
        cls.process.communicate(timeout=60)
        if cls.process.returncode != 0:
            raise AssertionError(f"it ended with {cls.process.returncode}")

    def ask(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(self.url + path, data, timeout=60) as reply:
            return json.load(reply)

    def infer(self, model, *inputs):
        """What JSON gives for inputs of (name, type, shape, data), by name."""
        keys = ("name", "datatype", "shape", "data")
        given = [dict(zip(keys, one, strict=True)) for one in inputs]
        outputs = self.ask(f"/v2/models/{model}/infer", {"inputs": given})["outputs"]
        return {one["name"]: (one["datatype"], one["shape"], one["data"]) for one in outputs}

    def infer_bytes(self, model, name, kind, shape, data):
        """The outputs of one input, both in bytes."""
        head = json.dumps({
            "inputs": [{"name": name, "datatype": kind, "shape": shape,
                        "parameters": {"binary_data_size": len(data)}}],
            "parameters": {"binary_data_output": True},
        }).encode()  # fmt: skip
        request = urllib.request.Request(
            f"{self.url}/v2/models/{model}/infer", head + data,
            {"Inference-Header-Content-Length": str(len(head))},
        )  # fmt: skip
        with urllib.request.urlopen(request, timeout=60) as reply:
            length = int(reply.headers["Inference-Header-Content-Length"])
            body = reply.read()
        outputs, at = {}, length
        for one in json.loads(body[:length])["outputs"]:
            size = one["parameters"]["binary_data_size"]
            outputs[one["name"]] = (one["datatype"], one["shape"], body[at : at + size])
            at += size
        self.assertEqual(at, len(body))
        return outputs

    def test_more_rows_than_a_scheduler_counts(self):
        count = 1_000_001  # Above the limit of items.
        data = struct.pack("<f", 1.5) * count
        outputs = self.infer_bytes("long", "x", "FP32", [count], data)
        self.assertEqual(outputs, {"y": ("FP32", [count], data)})

    def test_texts(self):
        words = ["", "a", "zwei", "trois \u00e9t\u00e9", "\u56db", '"5"\n\u0000!']
        self.assertEqual(
            self.infer("texts", ("x", "BYTES", [3, 2], words)),
            {"y": ("BYTES", [3, 2], words)},
        )
        for texts in (
            [word.encode() for word in words],
            [b"\xff\0\xfe" * 1000] * 100,  # In memory that processes share.
            [],
        ):
            data = texts_bytes(texts)
            shape = [len(texts), 1]
            self.assertEqual(
                self.infer_bytes("texts", "x", "BYTES", shape, data), {"y": ("BYTES", shape, data)}
            )
        with self.assertRaises(urllib.error.HTTPError) as refused:
            self.infer_bytes("texts", "x", "BYTES", [2, 1], texts_bytes([b"only one"]))
        self.assertEqual(refused.exception.code, 400)
        refused.exception.close()

    def test_bf16(self):
        values = [1, -2.5, 3.141, 1e30]
        answer = self.infer("bf16", ("x", "BF16", [2, 2], values))["y"]
        self.assertEqual(answer[:2], ("BF16", [2, 2]))
        for got, wanted in zip(answer[2], values, strict=True):
            self.assertLessEqual(abs(got - wanted), abs(wanted) / 256)
        data = struct.pack("<4H", 0x3F80, 0xC020, 0x7F80, 1)
        self.assertEqual(
            self.infer_bytes("bf16", "x", "BF16", [2, 2], data), {"y": ("BF16", [2, 2], data)}
        )
        config = self.ask("/v2/models/bf16/config")
        self.assertEqual((config["max_batch_size"], config["input"][0]["dims"]), (8, [2]))

    def test_maps(self):
        self.assertEqual(
            self.infer("labels", ("x", "FP32", [2, 3], [1, 2, 3, 4, 5, 6])),
            {
                "z": ("FP32", [2, 3], [1, 2, 3, 4, 5, 6]),
                "z_keys": ("BYTES", [2, 3], ["cat", "dog", "eel"] * 2),
            },
        )
        outputs = self.ask("/v2/models/labels")["outputs"]
        self.assertEqual([one["name"] for one in outputs], ["z", "z_keys"])
        self.assertEqual([one["shape"] for one in outputs], [[-1, -1]] * 2)
        self.assertGreater(self.ask("/v2/models/labels/config")["max_batch_size"], 1)

    def test_any_rank(self):
        metadata = self.ask("/v2/models/any")
        self.assertEqual(metadata["inputs"][0]["shape"], [-1])
        self.assertEqual(metadata["outputs"][0]["shape"], [-1])
        for shape in ([], [2], [2, 3], [1, 2, 1, 2]):
            values = list(range(math.prod(shape)))
            self.assertEqual(
                self.infer("any", ("x", "FP32", shape, values)), {"y": ("FP32", shape, values)}
            )
        self.assertEqual(self.ask("/v2/models/any/config")["max_batch_size"], 0)

    def test_many_inputs(self):
        given = [(f"x{i}", "FP32", [1, 2], [i, 1]) for i in range(100)]
        self.assertEqual(self.infer("many", *given), {"z": ("FP32", [1, 2], [4950, 100])})

    def test_what_cannot_be_passed_is_said(self):
        cause = "output 'y' is a sequence, which cannot be passed: add a ConcatFromSequence to "
        cause += "the model"
        with self.assertRaises(urllib.error.HTTPError) as refused:
            self.ask("/v2/models/sequence/ready")
        self.assertIn(cause, refused.exception.read().decode())
        refused.exception.close()
        done = subprocess.run(
            [WEFT, "check", str(self.folder)],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        self.assertIn(f"sequence/1/model.onnx: {cause}\n", done.stderr)
        self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    unittest.main()
