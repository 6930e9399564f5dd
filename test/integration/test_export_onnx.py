#!/usr/bin/env python3
"""ONNX files become PyTorch modules that make the same, or are refused.

PyTorch takes gigabytes and is no part of what tests need. Where build/export has it, as
tools/weft_export.py says, this runs there; otherwise it is skipped.
"""

import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PYTHON = os.path.join(ROOT, "build", "export", "bin", "python")
EXPORT = os.path.join(ROOT, "tools", "weft_export.py")
NO_GPU = 3


def has_torch():
    try:
        import onnx2torch  # noqa: F401
        import onnxruntime  # noqa: F401
    except ImportError:
        return False
    return True


def small_network(path, rows="rows", extent=8):
    """A convolution, an activation, a mean and a product; weights of all kinds."""
    import numpy
    from onnx import TensorProto, helper, numpy_helper, save

    random = numpy.random.default_rng(1)
    weights = random.standard_normal((4, 3, 3, 3)).astype("float32")
    matrix = random.standard_normal((4, 5)).astype("float32")
    nodes = [
        helper.make_node("Constant", [], ["w"], value=numpy_helper.from_array(weights)),
        helper.make_node("Conv", ["x", "w"], ["a"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("GlobalAveragePool", ["b"], ["c"]),
        helper.make_node("Flatten", ["c"], ["d"]),
        helper.make_node("MatMul", ["d", "m"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, 3, extent, extent])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [rows, 5])],
        [numpy_helper.from_array(matrix, "m")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    save(model, path)


class Onnx(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-onnx-")
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "small.onnx")
        self.target = os.path.join(folder.name, "model.cuda")

    def export(self, *arguments):
        return subprocess.run(
            [sys.executable, EXPORT, self.path, self.target, *arguments],
            env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
            capture_output=True,
            text=True,
            check=False,
        )

    def test_a_network_makes_the_same_in_pytorch(self):
        small_network(self.path)
        done = self.export("1", "4")
        self.assertEqual(done.returncode, NO_GPU, done.stderr)
        self.assertIn("as ONNX Runtime, for 1, 4 rows", done.stdout)
        self.assertFalse(os.path.exists(self.target))

    def test_open_extents_must_be_said(self):
        import onnx_module

        small_network(self.path, extent="side")
        for given, why in (
            ({}, "input 'x' has rows of open extents .3, 0, 0.: say x=E1xE2..."),
            ({"x": [4, 8, 8]}, "not .4, 8, 8."),
            ({"x": [3, 8, 8], "z": [3]}, "the model has no input 'z'"),
        ):
            with self.assertRaisesRegex(onnx_module.Refused, why):
                onnx_module.from_onnx(self.path, (1,), given)
        done = self.export("1", "x=3x8x8")
        self.assertEqual(done.returncode, NO_GPU, done.stderr)

    def test_another_result_is_refused(self):
        import onnx_module

        small_network(self.path)
        module, example = onnx_module.from_onnx(self.path, (1,), {})
        next(module.parameters()).data *= 1.01
        with self.assertRaisesRegex(onnx_module.Refused, "output 'y' of 2 rows is off by 0.0"):
            onnx_module.compare(self.path, module, example, 2)

    def test_an_unknown_operator_is_named(self):
        import onnx_module
        from onnx import TensorProto, helper, save

        graph = helper.make_graph(
            [helper.make_node("Det", ["x"], ["y"])],
            "det",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 2, 2])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows"])],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
        model.ir_version = 8
        save(model, self.path)
        with self.assertRaisesRegex(onnx_module.Refused, "operation_type='Det'"):
            onnx_module.from_onnx(self.path, (1,), {})


if __name__ == "__main__":
    sys.path.insert(0, os.path.join(ROOT, "tools"))
    if not has_torch():
        if os.path.exists(PYTHON) and sys.executable != PYTHON:
            os.execv(PYTHON, [PYTHON, __file__, *sys.argv[1:]])
        print("skipped: build/export has no PyTorch; see tools/weft_export.py")
        sys.exit(0)
    unittest.main()
