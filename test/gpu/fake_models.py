#!/usr/bin/env python3
"""Make models for the fake GPU that look like those of prepare.py, to try run.sh without a card.

usage: fake_models.py FAKES FOLDER

FAKES is BUILD/bin/fakes. FOLDER gets NET/1/model.cuda for each net: names, types, shapes and
batches of the real ones, some MB of weights, and checks of what the fake package makes of them.
Then, with a bundle that tools/gpu_bundle.sh made of the same build:

    export WEFT_CUDA=FAKES/fake_cuda.so WEFT_NVML=FAKES/fake_nvml.so WEFT_TORCH=FAKES
    MODELS=FOLDER SCALE=0.05 GB=1e7 LOADS="20 50" build/gpu_bundle/run.sh first
"""

import os
import random
import shutil
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "tools")]

import usage  # noqa: E402
import weft_export  # noqa: E402

OUT = 64  # Elements of a row that the fake package makes of halves and of words.
TOKENS, WORDS = 128, 30522
PICTURE = "input x FP16 3 224 224 3 view 3 3 224 224 1 672 3"
TEXT = "input ids INT64 1 128"
# Bytes of weights, rows, what goes in, scale and shift.
NETS = {
    "r18": (1 << 20, (1, 4, 8, 16), PICTURE, 2.0, 1.0),
    "r50": (2 << 20, (1, 4, 8, 16), PICTURE, -1.0, 0.5),
    "vit": (4 << 20, (1, 8), PICTURE, 0.5, 0.25),
    "bert": (8 << 20, (1, 4, 8, 16), TEXT, 1 / 4096, 0.5),
}


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def outputs(rows, scale, shift):
    """What the package makes of @rows, as floats."""
    flat = [scale * value + shift for row in rows for value in row[:OUT]]
    return struct.pack(f"<{len(flat)}f", *flat)


def check(folder, count, given, scale, shift):
    if given == TEXT:
        rows = [[random.randrange(WORDS) for _ in range(TOKENS)] for _ in range(count)]
        write(f"{folder}/{count}.x", b"".join(struct.pack(f"<{TOKENS}q", *row) for row in rows))
        words = [i * 7919 % WORDS for i in range(count * TOKENS)]  # As between.c.
        words = [words[i * TOKENS : (i + 1) * TOKENS] for i in range(count)]
        write(f"{folder}/{count}.words", outputs(words, scale, shift))
    else:
        rest = bytes(2 * (224 * 224 * 3 - OUT))
        rows = [[random.randrange(-32, 32) / 4 for _ in range(OUT)] for _ in range(count)]
        write(f"{folder}/{count}.x",
              b"".join(struct.pack(f"<{OUT}e", *row) + rest for row in rows))  # fmt: skip
    write(f"{folder}/{count}.y", outputs(rows, scale, shift))


def make(fakes, folder, net):
    size, counts, given, scale, shift = NETS[net]
    os.makedirs(f"{folder}/check")
    write(f"{folder}/weights.bin",
          struct.pack("<f252xf", scale, shift) + bytes(size - 260))  # fmt: skip
    lines = ["weft-cuda 1", f"weights weights.bin {size}", "constant layer.scale 0 4 FP32 1 1 1",
             "constant layer.shift 256 4 FP32 0", given, f"output output FP16 1 {OUT}"]  # fmt: skip
    for count in counts:
        os.makedirs(f"{folder}/b{count}")
        shutil.copy(f"{fakes}/fake_package.so", f"{folder}/b{count}")
        lines.append(f"package {count} b{count}")
        check(f"{folder}/check", count, given, scale, shift)
    write(f"{folder}/manifest", ("\n".join(lines) + "\n").encode())
    weft_export.write_sums(folder)


def main():
    fakes, folder = usage.words(__doc__, 2)
    for net in NETS:
        make(fakes, f"{folder}/{net}/1/model.cuda", net)
    return 0


if __name__ == "__main__":
    sys.exit(main())
