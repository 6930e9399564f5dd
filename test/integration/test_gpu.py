#!/usr/bin/env python3
"""The GPU engine's programs on a fake device, with models that tools/weft_export.py wrote.

Covers: src/cli/export.c
"""

import filecmp
import os
import shutil
import subprocess
import tempfile
import unittest

import exported
from exported import Module, Tensor, example


class Gpu(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="weft-gpu-")
        self.addCleanup(shutil.rmtree, self.folder)

    def make(self, name, module):
        folder = os.path.join(self.folder, name)
        exported.write(folder, module)
        os.makedirs(f"{folder}/check")
        for rows in (1, 4):
            x = example(rows)["x"]
            for end, tensor in (("x", x), ("y", module(x))):
                with open(f"{folder}/check/{rows}.{end}", "wb") as file:
                    file.write(tensor.tobytes())
        return folder

    def run_program(self, name, *folders):
        done = subprocess.run(
            [os.path.join(exported.BIN, "gpu", name), *folders],
            env={**os.environ, **exported.ENVIRONMENT},
            capture_output=True,
            text=True,
            timeout=280,  # The machine may be busy.
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_the_programs_find_all_outputs_right(self):
        folders = [self.make("a", Module(2, 1)), self.make("b", Module(-1, 0.5, 1 << 20))]
        self.assertIn("all outputs right", self.run_program("gpu_check", *folders))
        self.assertIn("all faults contained", self.run_program("gpu_engine", *folders))

    def test_graphs_are_compared(self):
        printed = self.run_program("gpu_graphs", self.make("a", Module(2, 1)))
        self.assertIn("graphs measured", printed)

    def test_loads_of_any_size_are_measured(self):
        printed = self.run_program("gpu_loads", self.folder, "1", "33")
        expected = "(?s)load +1 MB, new memory .*load +35 MB, again .*loads measured"
        self.assertRegex(printed, expected)
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_manifest_says_what_is_where(self):
        folder = self.make("a", Module(2, 1))
        with open(f"{folder}/manifest", encoding="utf-8") as file:
            self.assertEqual(
                file.read(),
                "weft-cuda 1\n"
                "weights weights.bin 4096\n"
                "constant layer.scale 0 4 FP32 1 1 1\n"
                "constant layer.shift 256 4 FP32 0\n"
                "input x FP32 1 8\n"
                "output output FP32 1 8\n"
                "package 1 b1\n"
                "package 4 b4\n",
            )
        sums = subprocess.run(
            ["sha256sum", "--check", "--quiet", "sha256"], cwd=folder, check=False
        )
        self.assertEqual(sums.returncode, 0)

    def weft_export(self, *arguments):
        return subprocess.run(
            [os.environ.get("WEFT", "build/weft"), "export", *arguments],
            capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip

    def test_the_tool_comes_with_the_program(self):
        python = os.path.join(self.folder, "python")
        with open(python, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\ncmp "$1" "$TOOL" && shift && echo "$@"\nexit 3\n')
        os.chmod(python, 0o700)
        os.environ["TOOL"] = os.path.join(exported.ROOT, "tools/weft_export.py")
        done = self.weft_export("a.onnx", "b", "--python", python, "1", "8", "x=3x4")
        self.assertEqual((done.returncode, done.stdout), (3, "a.onnx b 1 8 x=3x4\n"), done.stderr)
        done = self.weft_export("a.onnx", "b", "--python", "/nowhere/python")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nowhere/python: No such file or directory", done.stderr)
        self.assertEqual(self.weft_export("a.onnx").returncode, 2)

    def test_what_the_tool_imports_comes_with_it(self):
        python = os.path.join(self.folder, "python")
        with open(python, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\ndirname "$1"\n')
        os.chmod(python, 0o700)
        beside = self.weft_export("a.onnx", "b", "--python", python).stdout.strip()
        for name in ("onnx_module.py", "usage.py"):
            self.assertTrue(
                filecmp.cmp(
                    os.path.join(beside, name), os.path.join(exported.ROOT, "tools", name), False
                )
            )
        done = self.weft_export("model.pt", "b")
        self.assertIn("'model.pt' is neither MODULE:FUNCTION nor FILE.onnx", done.stderr)

    def test_an_input_in_another_order_has_a_view(self):
        x = Tensor([], [2, 3, 4, 5], [60, 1, 15, 3])
        self.assertEqual(
            exported.weft_export.port_line("input", "x", x),
            "input x FP32 3 4 5 3 view 3 3 4 5 1 15 3",
        )
        with self.assertRaises(ValueError):
            exported.weft_export.port_line("input", "x", Tensor([], [2, 3, 4], [24, 8, 2]))


if __name__ == "__main__":
    unittest.main()
