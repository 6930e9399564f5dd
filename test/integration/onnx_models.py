"""ONNX models for tests, written byte by byte, and a repository of two of them."""

import os
import pathlib
import random
import struct

FLOAT, STRING, BFLOAT16 = 1, 8, 16
LIBRARY = pathlib.Path(
    os.environ.get("WEFT_ONNXRUNTIME", "build/deps/onnxruntime/libonnxruntime.so")
)
WORKFLOW = """workflow: sum
inputs: {a: {dtype: FP32, shape: [-1, 4]}}
tasks:
  positive: {model: relu, in: {x: inputs.a}}
  sum: {model: add, in: {x: positive.y, y: inputs.a}}
outputs: {sum: sum.z, positive: positive.y}
"""


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def piece(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


def value_info(name, shape, kind=FLOAT):
    """A tensor; an extent that is text is open, under that name. No shape: any rank."""
    extents = b"".join(
        piece(1, piece(2, extent) if isinstance(extent, str) else number(1, extent))
        for extent in shape or ()
    )
    extents = b"" if shape is None else piece(2, extents)
    return piece(1, name) + piece(2, piece(1, number(1, kind) + extents))


def node(operator, inputs, output):
    return b"".join(piece(1, name) for name in inputs) + piece(2, output) + piece(4, operator)


def weight(name, shape, values):
    head = b"".join(number(1, extent) for extent in shape) + number(2, FLOAT)
    return head + piece(8, name) + piece(9, struct.pack(f"<{len(values)}f", *values))


def model(nodes, inputs, outputs, weights=()):
    graph = b"".join(piece(1, one) for one in nodes) + piece(2, "graph")
    graph += b"".join(piece(5, one) for one in weights)
    graph += b"".join(piece(11, one) for one in inputs)
    graph += b"".join(piece(12, one) for one in outputs)
    opsets = piece(8, piece(1, "") + number(2, 13))
    opsets += piece(8, piece(1, "ai.onnx.ml") + number(2, 1))
    return number(1, 8) + piece(7, graph) + opsets


def same(shape, kind):
    """y is x."""
    return model(
        [node("Identity", ["x"], "y")],
        [value_info("x", shape, kind)],
        [value_info("y", shape, kind)],
    )


def zipmap(labels):
    """z: a map for each row of x, from the labels to its columns, as classifiers are exported."""
    strings = b"".join(piece(9, label) for label in labels)
    attribute = piece(1, "classlabels_strings") + strings + number(20, 8)
    zipped = node("ZipMap", ["x"], "z") + piece(5, attribute) + piece(7, "ai.onnx.ml")
    map_type = number(1, STRING) + piece(2, piece(1, number(1, FLOAT)))
    maps = piece(1, "z") + piece(2, piece(4, piece(1, piece(5, map_type))))
    return model([zipped], [value_info("x", ["N", len(labels)])], [maps])


def sequence():
    """y: a sequence of x alone."""
    floats = piece(1, number(1, FLOAT))
    return model(
        [node("SequenceConstruct", ["x"], "y")],
        [value_info("x", ["N"])],
        [piece(1, "y") + piece(2, piece(4, piece(1, floats)))],
    )


def sums(count):
    """z: the sum of @count inputs."""
    names = [f"x{i}" for i in range(count)]
    return model(
        [node("Sum", names, "z")],
        [value_info(name, ["N", 2]) for name in names],
        [value_info("z", ["N", 2])],
    )


def relu(columns=4, rows="N"):
    shape = [rows, columns]
    return model(
        [node("Relu", ["x"], "y")], [value_info("x", shape)], [value_info("y", shape)]
    )


def add(columns=4):
    shape = ["N", columns]
    return model(
        [node("Add", ["x", "y"], "z")],
        [value_info("x", shape), value_info("y", shape)],
        [value_info("z", shape)],
    )


def layers(width, count, seed=1, rows="N", output="y"):
    """@count layers of relu(x * w): 4 * count * width * width bytes of weights."""
    draw = random.Random(seed)
    nodes, weights = [], []
    for i in range(count):
        values = [draw.uniform(-1, 1) / width**0.5 for _ in range(width * width)]
        weights.append(weight(f"w{i}", [width, width], values))
        nodes.append(node("MatMul", ["x" if i == 0 else f"r{i - 1}", f"w{i}"], f"m{i}"))
        nodes.append(node("Relu", [f"m{i}"], output if i == count - 1 else f"r{i}"))
    shape = [rows, width]
    return model(nodes, [value_info("x", shape)], [value_info(output, shape)], weights)


def write_repository(folder):
    """relu, add, and a workflow of both, at @folder."""
    files = {
        "relu/3/model.onnx": relu(),
        "add/1/model.onnx": add(),
        "sum.workflow.yaml": WORKFLOW.encode(),
        "weft.yaml": b"weft: here\nworkers: 2\nmemory: 1GB\ndevice: box\n",
    }
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
