#!/usr/bin/env python3
"""Functions that misbehave, in a server: what the client sees, and that others are served on.

Covers: src/function/fork_output.c
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request

WEFT = os.environ.get("WEFT", "build/weft")
BAD = pathlib.Path(WEFT).resolve().parent / "functions" / "functions_bad.so"
FUNCTIONS = ["try", "print", "lie_texts", "stop_itself", "who"]
TIMEOUT_S = 60


def workflow(name):
    outputs = {"try": "text", "lie_texts": "text"}.get(name, "number")
    return (
        f"workflow: {name}\ninputs: {{x: {{dtype: FP32, shape: [1]}}}}\n"
        f"tasks: {{a: {{function: bad.{name}, in: {{x: inputs.x}}}}}}\n"
        f"outputs: {{y: a.{outputs}}}\n"
    )


class Functions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        (cls.folder / "functions").mkdir()
        shutil.copy(BAD, cls.folder / "functions" / "bad.so")
        for name in FUNCTIONS:
            (cls.folder / name).mkdir()
            (cls.folder / name / "workflow.yaml").write_text(workflow(name))
        (cls.folder / "weft.yaml").write_text(
            "weft: here\nworkers: 2\nfunctions: {time: 300ms, memory: 500MB}\n"
        )
        cls.out = open(cls.folder / "out", "w+")
        cls.err = open(cls.folder / "err", "w+")
        cls.process = subprocess.Popen(
            [WEFT, "serve", cls.folder, "--http", "127.0.0.1:0", "--metrics", "none", "--plain"],
            stdout=cls.out, stderr=cls.err,
            env=dict(os.environ, WEFT_CACHE="", WEFT_TEST_SECRET="squeamish"),
        )  # fmt: skip
        end = time.monotonic() + TIMEOUT_S
        found = None
        while found is None and time.monotonic() < end and cls.process.poll() is None:
            found = re.search(r"http://\S+", cls.read("out") + cls.read("err"))
            time.sleep(0.05)
        if found is None:
            raise AssertionError(cls.read("err"))
        cls.address = found.group()

    @classmethod
    def tearDownClass(cls):
        cls.process.send_signal(signal.SIGTERM)
        try:
            cls.process.wait(timeout=TIMEOUT_S)
        finally:
            cls.process.kill()
            cls.out.close()
            cls.err.close()
            shutil.rmtree(cls.folder)

    @classmethod
    def read(cls, name):
        return (cls.folder / name).read_text(errors="replace")

    def infer(self, name):
        """The status, and the first value or the error."""
        body = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1], "data": [1]}]}
        request = urllib.request.Request(
            f"{self.address}/v2/models/{name}/infer", json.dumps(body).encode(), method="POST"
        )
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                return answer.status, json.load(answer)["outputs"][0]["data"][0]
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)["error"]

    def test_nothing_is_within_reach(self):
        self.assertEqual(self.infer("try"), (200, ""))

    def test_what_is_printed_is_marked_and_not_on_standard_output(self):
        self.assertEqual(self.infer("print"), (200, 1))
        end = time.monotonic() + TIMEOUT_S
        while "to stderr" not in self.read("err") and time.monotonic() < end:
            time.sleep(0.05)
        printed = 'event="function printed" file=bad.so text="{}"\n'
        self.assertIn(printed.format("to stdout ?[2J"), self.read("err"))
        self.assertIn(printed.format("to stderr"), self.read("err"))
        self.assertNotIn("to std", self.read("out"))
        self.assertNotIn("flood", self.read("out"))

    def test_a_call_that_takes_too_long_fails(self):
        status, error = self.infer("stop_itself")
        self.assertEqual(status, 500)
        self.assertIn("function 'stop_itself' took longer than 300 ms", error)
        self.assertEqual(self.infer("who")[0], 200)

    def test_lies_are_the_fault_of_the_server_side(self):
        status, error = self.infer("lie_texts")
        self.assertEqual(status, 500)
        self.assertIn("function 'lie_texts' answered nonsense", error)

    def is_alive(self, process):
        try:
            about = pathlib.Path(f"/proc/{process}/status").read_text()
        except OSError:
            return False
        return re.search(r"State:\s+Z", about) is None

    def test_processes_that_are_killed_are_replaced(self):
        for _ in range(5):
            status, process = self.infer("who")
            self.assertEqual(status, 200)
            os.kill(process, signal.SIGKILL)
        for _ in range(3):
            process = self.infer("who")[1]
            about = pathlib.Path(f"/proc/{process}/status").read_text()
            forker = int(re.search(r"PPid:\s+(\d+)", about).group(1))
            self.assertNotEqual(forker, self.process.pid)
            os.kill(forker, signal.SIGKILL)
            end = time.monotonic() + TIMEOUT_S
            while self.is_alive(process) and time.monotonic() < end:
                time.sleep(0.01)
            self.assertFalse(self.is_alive(process))
            for _ in range(5):
                self.assertEqual(self.infer("who")[0], 200)


if __name__ == "__main__":
    unittest.main()
