#!/usr/bin/env python3
"""The GPU engine's programs on a fake device, with models that tools/weft_export.py wrote.

PyTorch itself is replaced by the few functions that the export calls.
"""

import contextlib
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import types
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.path.dirname(os.environ["WEFT"])
FAKES = os.path.join(BIN, "fakes")
EXTENT = 8

sys.path.insert(0, os.path.join(ROOT, "tools"))


class Tensor:
    """Floats in a row, seen as an array."""

    dtype = "torch.float32"

    def __init__(self, values, shape, strides=None):
        self.values = list(values)
        self.shape = tuple(shape)
        usual = []
        for extent in reversed(self.shape):
            usual.insert(0, usual[0] * self.shape[len(self.shape) - len(usual)] if usual else 1)
        self.strides = tuple(strides or usual)
        self.usual = tuple(usual)

    def detach(self):
        return self

    contiguous = cpu = numpy = detach

    def view(self, _):
        return self

    def stride(self):
        return self.strides

    def dim(self):
        return len(self.shape)

    def is_contiguous(self):
        return self.strides == self.usual

    def permute(self, order):
        pick = [(self.shape[i], self.strides[i]) for i in order]
        return Tensor(self.values, [n for n, _ in pick], [s for _, s in pick])

    def __getitem__(self, index):
        return Tensor(self.values, self.shape[1:], self.strides[1:])

    def tobytes(self):
        return struct.pack(f"<{len(self.values)}f", *self.values)


sys.modules["torch"] = types.SimpleNamespace(
    no_grad=contextlib.nullcontext,
    uint8=None,
    as_strided=lambda tensor, shape, _: Tensor(tensor.values[: shape[0]], shape),
)

import weft_export  # noqa: E402


class Module:
    """y = x * scale + shift, as the fake package has it."""

    def __init__(self, scale, shift, padding=0):
        self.parts = {"layer.scale": Tensor([scale], [1]), "layer.shift": Tensor([shift], [])}
        self.padding = {"unused": Tensor([0] * padding, [padding])} if padding else {}

    def named_parameters(self):
        return self.parts.items()

    def named_buffers(self):
        return self.padding.items()

    def __call__(self, x):
        scale, shift = (part.values[0] for part in self.parts.values())
        return Tensor([v * scale + shift for v in x.values], x.shape)


def example(rows):
    return {"x": Tensor([i / 4 for i in range(rows * EXTENT)], [rows, EXTENT])}


def copy_package(module, inputs, folder):
    """In place of the compiler."""
    os.makedirs(folder)
    shutil.copy(os.path.join(FAKES, "fake_package.so"), folder)


class Gpu(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="weft-gpu-")
        self.addCleanup(shutil.rmtree, self.folder)

    def make(self, name, module):
        folder = os.path.join(self.folder, name)
        weft_export.export(module, example, (4, 1), folder, compiles=copy_package)
        os.makedirs(f"{folder}/check")
        for rows in (1, 4):
            x = example(rows)["x"]
            for end, tensor in (("x", x), ("y", module(x))):
                with open(f"{folder}/check/{rows}.{end}", "wb") as file:
                    file.write(tensor.tobytes())
        return folder

    def run_program(self, name, *folders):
        environment = {
            **os.environ,
            "WEFT_CUDA": os.path.join(FAKES, "fake_cuda.so"),
            "WEFT_TORCH": FAKES,
        }
        done = subprocess.run(
            [os.path.join(BIN, "gpu", name), *folders],
            env=environment,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_the_programs_find_all_outputs_right(self):
        folders = [self.make("a", Module(2, 1)), self.make("b", Module(-1, 0.5, 1 << 20))]
        self.assertIn("all outputs right", self.run_program("gpu_check", *folders))
        self.assertIn("all faults contained", self.run_program("gpu_engine", *folders))

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

    def test_an_input_in_another_order_has_a_view(self):
        x = Tensor([], [2, 3, 4, 5], [60, 1, 15, 3])
        self.assertEqual(
            weft_export.port_line("input", "x", x),
            "input x FP32 3 4 5 3 view 3 3 4 5 1 15 3",
        )
        with self.assertRaises(ValueError):
            weft_export.port_line("input", "x", Tensor([], [2, 3, 4], [24, 8, 2]))


if __name__ == "__main__":
    unittest.main()
