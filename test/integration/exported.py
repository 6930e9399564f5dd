"""Models for a fake GPU, as tools/weft_export.py writes them.

PyTorch itself is replaced by the few functions that the export calls.
"""

import contextlib
import os
import shutil
import struct
import sys
import types

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.path.dirname(os.environ.get("WEFT", "build/weft"))
FAKES = os.path.join(BIN, "fakes")
ENVIRONMENT = {
    "WEFT_CUDA": os.path.join(FAKES, "fake_cuda.so"),
    "WEFT_NVML": os.path.join(FAKES, "fake_nvml.so"),
    "WEFT_TORCH": FAKES,
}
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


def example(rows, extent=EXTENT):
    return {"x": Tensor([i / 4 for i in range(rows * extent)], [rows, extent])}


def copy_package(module, inputs, folder):
    """In place of the compiler."""
    os.makedirs(folder)
    shutil.copy(os.path.join(FAKES, "fake_package.so"), folder)


def write(folder, module, extent=EXTENT):
    """@module for one row and for four, at @folder."""
    weft_export.export(
        module, lambda rows: example(rows, extent), (4, 1), folder, compiles=copy_package
    )
