"""A PyTorch module of an ONNX file, for tools/weft_export.py.

The file is read by onnx2torch, which knows most operators of networks. The first extent of every
input and output are the rows. What the module makes is compared with ONNX Runtime, for each batch
size that is to be compiled: an operator that was understood differently is not exported.
"""

TOLERANCE = 1e-3  # Of the norm of an output, in single precision.
TYPES = {1: "float32", 6: "int32", 7: "int64", 9: "bool", 10: "float16", 11: "float64"}


class Refused(ValueError):
    """The file cannot be made a model for GPUs, for the reason that it says."""


def extents_of(value, given):
    """The extents of a row of the input @value; @given has those that the file leaves open."""
    extents = [d.dim_value for d in value.type.tensor_type.shape.dim][1:]
    wanted = given.get(value.name, extents)
    if len(wanted) != len(extents) or any(a not in (0, b) for a, b in zip(extents, wanted)):
        raise Refused(f"input '{value.name}' has rows of {extents}, not {list(wanted)}")
    if 0 in wanted:
        raise Refused(
            f"input '{value.name}' has rows of open extents {extents}: say {value.name}=E1xE2..."
        )
    return list(wanted)


def inputs_of(graph, given):
    """The inputs of @graph that clients give: {name: (type, extents of a row)}."""
    weights = {tensor.name for tensor in graph.initializer}
    inputs = {}
    for value in graph.input:
        if value.name in weights:
            continue
        kind = value.type.tensor_type.elem_type
        if kind not in TYPES:
            raise Refused(f"input '{value.name}' has a type that cannot be exported")
        if not value.type.tensor_type.shape.dim:
            raise Refused(f"input '{value.name}' has no rows")
        inputs[value.name] = (TYPES[kind], extents_of(value, given))
    unknown = sorted(set(given) - set(inputs))
    if unknown:
        raise Refused(f"the model has no input '{unknown[0]}'")
    return inputs


def example_of(inputs, device):
    """A function from rows to tensors for @inputs: the same each time, and small whole numbers."""
    import torch

    def example(rows):
        generator = torch.Generator().manual_seed(rows)
        made = {}
        for name, (kind, extents) in inputs.items():
            shape = (rows, *extents)
            if kind.startswith("float"):
                tensor = torch.rand(shape, generator=generator)
            else:
                tensor = torch.randint(0, 2, shape, generator=generator)
            made[name] = tensor.to(getattr(torch, kind)).to(device)
        return made

    return example


def named(module, names):
    """@module with its outputs in a dict, by the @names of the file."""
    import torch

    class Named(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = module

        def forward(self, *inputs):
            outputs = self.model(*inputs)
            outputs = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
            return dict(zip(names, outputs))

    return Named().eval()


def with_initializers(model):
    """@model with its constants as initializers, where onnx2torch looks for weights."""
    import onnx

    kept = []
    for node in model.graph.node:
        values = [a.t for a in node.attribute if node.op_type == "Constant" and a.name == "value"]
        if not values:
            kept.append(node)
            continue
        tensor = onnx.TensorProto()
        tensor.CopyFrom(values[0])
        tensor.name = node.output[0]
        model.graph.initializer.append(tensor)
    del model.graph.node[:]
    model.graph.node.extend(kept)
    return model


def compare(path, module, example, rows):
    """Refuse @module if it makes of @rows rows something else than ONNX Runtime."""
    import numpy
    import onnxruntime
    import torch

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    inputs = example(rows)
    wanted = session.run(None, {name: t.cpu().numpy() for name, t in inputs.items()})
    try:
        with torch.no_grad():
            found = module(*inputs.values())
    except Exception as error:  # Whatever PyTorch says of a graph that does not fit its inputs.
        raise Refused(f"{rows} rows do not run in PyTorch: {error}") from error
    for (name, got), want in zip(found.items(), wanted):
        got = got.cpu().numpy()
        if got.shape != want.shape or want.shape[0] != rows:
            raise Refused(f"output '{name}' of {rows} rows is {got.shape}, not {want.shape}")
        want = want.astype("float64")
        error = numpy.linalg.norm((got - want).ravel())
        norm = numpy.linalg.norm(want.ravel())
        if not error <= TOLERANCE * max(norm, 1e-6):
            off = f"off by {error / norm:.3g} of its norm"
            raise Refused(f"output '{name}' of {rows} rows is {off}")


def from_onnx(path, rows, given, device="cpu"):
    """The module of the file @path, compared for each of @rows, and its example: see export()."""
    import onnx
    import onnx2torch

    model = onnx.load(path)
    inputs = inputs_of(model.graph, given)
    try:
        converted = onnx2torch.convert(with_initializers(model))
    except (KeyError, NotImplementedError, RuntimeError) as error:  # It names the operator.
        raise Refused(f"onnx2torch cannot read {path}: {error}") from error
    module = named(converted, [value.name for value in model.graph.output]).to(device)
    example = example_of(inputs, device)
    for count in rows:
        compare(path, module, example, count)
    return module, example
