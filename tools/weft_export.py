#!/usr/bin/env python3
"""Make a model for GPUs of a PyTorch module or an ONNX file: a folder that engine `cuda` runs.

usage: weft_export.py MODULE:FUNCTION FOLDER [ROWS...]
       weft_export.py FILE.onnx FOLDER [ROWS...] [INPUT=E1xE2...]

FUNCTION returns (module, example): a torch.nn.Module on the GPU, ready to run, and a function from
a number of rows to the dict of input tensors of a run, by the names that clients will use; their
first extent is the rows. ROWS are the batch sizes to compile, 1 4 8 16 if none are given.

An ONNX file is read by onnx2torch, and what it makes is compared with ONNX Runtime for each batch
size. INPUT=E1xE2... are the extents of a row, where the file leaves them open. What it needs is in
tools/export_requirements.txt; on a machine without a GPU it is only read and compared:

    python3 -m venv build/export && build/export/bin/pip install -r tools/export_requirements.txt
    build/export/bin/python tools/weft_export.py FILE.onnx FOLDER

FOLDER then has the weights in one file, a package of AOTInductor for each batch size, `manifest`,
which says what is where, and `sha256`. Packages run with the version of PyTorch and on the kind of
GPU that made them.
"""

import hashlib
import importlib
import os
import shutil
import sys
import zipfile

import usage

ALIGNMENT = 256  # Of a constant in the file of weights.
PAGE = 4096  # The file ends with a whole page, so that it can be registered with the driver.
ROWS = (1, 4, 8, 16)

# As the manifest writes types: src/cuda/manifest.h.
TYPES = {
    "torch.uint8": "UINT8",
    "torch.int8": "INT8",
    "torch.int16": "INT16",
    "torch.int32": "INT32",
    "torch.int64": "INT64",
    "torch.float16": "FP16",
    "torch.float32": "FP32",
    "torch.float64": "FP64",
    "torch.bool": "BOOL",
    "torch.bfloat16": "BF16",
}


def type_of(tensor):
    """The manifest's word for the type of @tensor."""
    if str(tensor.dtype) not in TYPES:
        raise ValueError(f"tensors of type {tensor.dtype} cannot be exported")
    return TYPES[str(tensor.dtype)]


def extents(shape):
    """A rank and so many numbers."""
    return " ".join(str(n) for n in (len(shape), *shape))


def constants_of(module):
    """The parameters and buffers of @module by name: what a package asks for."""
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


def memory_of(tensor):
    """The elements of @tensor as they lie in memory, as bytes."""
    import torch

    tensor = tensor.detach()
    count = 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride()))
    count = 0 if 0 in tensor.shape else count
    flat = torch.as_strided(tensor, (count,), (1,)).contiguous()
    return flat.view(torch.uint8).cpu().numpy().tobytes() if count > 0 else b""


def write_weights(module, folder):
    """Write weights.bin. Returns the lines of the manifest for it."""
    lines = []
    at = 0
    with open(os.path.join(folder, "weights.bin"), "wb") as file:
        for name, tensor in constants_of(module).items():
            data = memory_of(tensor)
            if " " in name:
                raise ValueError(f"a constant is named '{name}'")
            lines.append(
                f"constant {name} {at} {len(data)} {type_of(tensor)} "
                f"{extents(tensor.shape)} {' '.join(map(str, tensor.stride()))}".rstrip()
            )
            file.write(data + bytes(-len(data) % ALIGNMENT))
            at += len(data) + -len(data) % ALIGNMENT
        file.write(bytes(-at % PAGE))
        at += -at % PAGE
    return [f"weights weights.bin {at}", *lines]


def port_line(kind, name, tensor):
    """An input or output. One that lies in another order than its extents say has a view."""
    row = tensor[0]
    line = f"{kind} {name} {type_of(tensor)} "
    if tensor.is_contiguous():
        return line + extents(row.shape)
    order = sorted(range(row.dim()), key=lambda i: (-row.stride()[i], i))
    if not row.permute(order).is_contiguous():
        raise ValueError(f"{kind} '{name}' has gaps; make it contiguous")
    seen = extents([row.shape[i] for i in order])
    strides = " ".join(map(str, row.stride()))
    return f"{line}{seen} view {extents(row.shape)} {strides}"


def outputs_of(result):
    """The outputs of a module as a dict."""
    if isinstance(result, dict):
        return {k: v for k, v in result.items() if v is not None}
    if isinstance(result, (tuple, list)):
        return {f"output{i}": v for i, v in enumerate(result)}
    return {"output": result}


def compile_package(module, inputs, folder):
    """Compile @module for @inputs into @folder."""
    import torch

    config = {"aot_inductor.package_constants_in_so": False}
    whole = folder + ".pt2"
    with torch.no_grad():
        program = torch.export.export(module, tuple(inputs.values()))
        torch._inductor.aoti_compile_and_package(
            program, package_path=whole, inductor_configs=config
        )
    unpack(whole, folder)
    os.remove(whole)


def unpack(package, folder):
    """Take what runs out of @package: a shared object, and the kernels that it loads."""
    os.makedirs(folder, exist_ok=True)
    with zipfile.ZipFile(package) as files:
        for name in files.namelist():
            if "/aotinductor/" in name and name.endswith((".so", ".cubin", ".json")):
                with files.open(name) as src:
                    with open(os.path.join(folder, os.path.basename(name)), "wb") as out:
                        shutil.copyfileobj(src, out)


def write_sums(folder):
    """Write `sha256`, as sha256sum would."""
    lines = []
    for place, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            path = os.path.join(place, name)
            if os.path.relpath(path, folder) == "sha256":
                continue
            digest = hashlib.sha256()
            with open(path, "rb") as file:
                while piece := file.read(1 << 20):
                    digest.update(piece)
            lines.append(f"{digest.hexdigest()}  {os.path.relpath(path, folder)}")
    with open(os.path.join(folder, "sha256"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def export(module, example, rows, folder, packages=None, compiles=compile_package):
    """Write @folder. @packages: a function from rows to a folder that was compiled earlier."""
    import torch

    os.makedirs(folder, exist_ok=True)
    lines = ["weft-cuda 1", *write_weights(module, folder)]
    inputs = example(max(rows))
    with torch.no_grad():
        outputs = outputs_of(module(*inputs.values()))
    lines += [port_line("input", name, tensor) for name, tensor in inputs.items()]
    for name, tensor in outputs.items():
        if not tensor.is_contiguous():
            raise ValueError(f"output '{name}' is not contiguous")
        lines.append(port_line("output", name, tensor))
    for count in sorted(rows):
        target = os.path.join(folder, f"b{count}")
        if packages is None:
            compiles(module, example(count), target)
        elif os.path.abspath(packages(count)) != os.path.abspath(target):
            shutil.copytree(packages(count), target, dirs_exist_ok=True)
        lines.append(f"package {count} b{count}")
    with open(os.path.join(folder, "manifest"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    write_sums(folder)


def export_onnx(path, folder, rows, given):
    """Write @folder of the ONNX file @path; without a GPU, only say whether that can be done."""
    import onnx_module
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        module, example = onnx_module.from_onnx(path, rows, given, device)
    except onnx_module.Refused as error:
        print(f"weft_export.py: {error}", file=sys.stderr)
        return 1
    print(f"{path}: as ONNX Runtime, for {', '.join(map(str, rows))} rows")
    if device == "cpu":
        print("weft_export.py: there is no GPU to compile for here", file=sys.stderr)
        return 3
    export(module, example, rows, folder)
    return 0


def main():
    source, folder, *rest = usage.words(__doc__, 2, usage.ANY)
    is_onnx = source.endswith(".onnx")
    if not is_onnx and ":" not in source:
        usage.fail(__doc__, f"'{source}' is neither MODULE:FUNCTION nor FILE.onnx")
    rows = [int(text) for text in rest if "=" not in text] or ROWS
    if is_onnx:
        given = dict(text.rsplit("=", 1) for text in rest if "=" in text)
        given = {name: [int(n) for n in text.split("x")] for name, text in given.items()}
        return export_onnx(source, folder, rows, given)
    where, function = source.split(":", 1)
    sys.path.insert(0, os.getcwd())
    module, example = getattr(importlib.import_module(where), function)()
    export(module, example, rows, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
