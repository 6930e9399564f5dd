"""Functions of include/weft/function.h, called from Python: peers do the work of Weft's own."""

import ctypes
import pathlib
import struct

import numpy

BYTES = 12  # Texts, in the order of WEFT_DTYPE_MAP.
TYPES = (
    "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16",
    "float32", "float64",
)  # fmt: skip
NUMBERS = {numpy.dtype(name): number for number, name in enumerate(TYPES)}


class Tensor(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char * 64), ("dtype", ctypes.c_int), ("rank", ctypes.c_uint32),
        ("shape", ctypes.c_int64 * 8), ("bytes", ctypes.c_uint64), ("data", ctypes.c_void_p),
    ]  # fmt: skip


OUTPUT = ctypes.CFUNCTYPE(
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint32,
    ctypes.POINTER(ctypes.c_int64), ctypes.c_uint64,
)  # fmt: skip
GIVE_ITEMS = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32)
RUN = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(Tensor), ctypes.c_uint32,
    ctypes.POINTER(ctypes.POINTER(Tensor)), ctypes.POINTER(ctypes.c_uint32),
)  # fmt: skip
FAIL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)
IS_CANCELLED = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
FOLDER = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


class Call(ctypes.Structure):
    _fields_ = [
        ("inside", ctypes.c_void_p), ("items", ctypes.c_uint32), ("count", ctypes.c_uint32),
        ("inputs", ctypes.POINTER(Tensor)), ("output", OUTPUT), ("give_items", GIVE_ITEMS),
        ("run", RUN), ("fail", FAIL), ("is_cancelled", IS_CANCELLED), ("folder", FOLDER),
    ]  # fmt: skip


FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Call))


class Entry(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("run", FUNCTION)]


class Table(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_uint32), ("count", ctypes.c_uint32),
        ("entries", ctypes.POINTER(Entry)),
    ]  # fmt: skip


def to_tensors(arrays):
    """@arrays by name as tensors; the arrays must outlive them."""
    tensors = (Tensor * len(arrays))()
    for tensor, (name, array) in zip(tensors, arrays.items()):
        tensor.name, tensor.dtype, tensor.rank = name.encode(), NUMBERS[array.dtype], array.ndim
        tensor.shape[: array.ndim] = array.shape
        tensor.bytes, tensor.data = array.nbytes, array.ctypes.data
    return tensors


def to_array(tensor):
    data = ctypes.string_at(tensor.data, tensor.bytes)
    return numpy.frombuffer(data, TYPES[tensor.dtype]).reshape(tensor.shape[: tensor.rank])


def to_texts(raw):
    texts, at = [], 0
    while at < len(raw):
        (size,) = struct.unpack_from("<I", raw, at)
        texts.append(raw[at + 4 : at + 4 + size])
        at += 4 + size
    return texts


class Run:
    """One call of a function: what it asks for, and what it makes."""

    def __init__(self, folder, models):
        self.folder = ctypes.create_string_buffer(folder.encode())
        self.models = models
        self.outputs, self.texts, self.message, self.kept = {}, {}, "", []
        self.callbacks = (
            OUTPUT(self.output), GIVE_ITEMS(lambda *_: None), RUN(self.run), FAIL(self.fail),
            IS_CANCELLED(lambda _: 0), FOLDER(lambda _: ctypes.addressof(self.folder)),
        )  # fmt: skip

    def output(self, _, name, dtype, rank, shape, size):
        extents = tuple(shape[:rank])
        if dtype == BYTES:
            array = numpy.empty(size, "uint8")
            self.texts[name.decode()] = extents
        else:
            array = numpy.empty(extents, TYPES[dtype])
        self.outputs[name.decode()] = array
        return array.ctypes.data

    def run(self, _, model, inputs, count, outputs, output_count):
        arrays = {inputs[i].name.decode(): to_array(inputs[i]) for i in range(count)}
        made = {name: numpy.ascontiguousarray(array)
                for name, array in self.models(model.decode(), arrays).items()}  # fmt: skip
        tensors = to_tensors(made)
        self.kept.append((made, tensors))
        outputs[0] = ctypes.cast(tensors, ctypes.POINTER(Tensor))
        output_count[0] = len(made)
        return 0

    def fail(self, _, message):
        self.message = message.decode()

    def results(self):
        """Arrays by name; texts are arrays of bytes objects."""
        for name, extents in self.texts.items():
            texts = to_texts(self.outputs[name].tobytes())
            self.outputs[name] = numpy.array(texts, object).reshape(extents)
        return self.outputs


class Functions:
    """The functions of a shared object."""

    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))
        self.folder = str(pathlib.Path(path).parent)
        table = Table.in_dll(self.library, "weft_functions")
        entries = [table.entries[i] for i in range(table.count)]
        self.entries = {entry.name.decode(): entry.run for entry in entries}

    def call(self, name, inputs, models=None):
        """Outputs of function @name; @models runs a model by name on arrays by name."""
        arrays = {port: numpy.ascontiguousarray(array) for port, array in inputs.items()}
        run = Run(self.folder, models)
        items = max((array.shape[0] for array in arrays.values() if array.ndim), default=1)
        call = Call(None, items, len(arrays), to_tensors(arrays), *run.callbacks)
        status = self.entries[name](ctypes.byref(call))
        if status != 0:
            raise ValueError(run.message or f"status {status}")
        return run.results()
