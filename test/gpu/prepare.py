#!/usr/bin/env python3
"""Make the models that gpu_check and gpu_engine run.

usage: prepare.py PACKAGES FOLDER [NET[:ROWS[,ROWS...]]...]

PACKAGES has a folder NET_ROWS for each package that was compiled earlier, or it is `compile`: then
they are compiled now, for ROWS alone if that is given. FOLDER gets a model for GPUs for each NET
and in its `check` inputs, and what PyTorch itself makes of them: ROWS.x and, in FP32, ROWS.y; for
text also what it makes of the words of between.c: ROWS.words.
"""

import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "tools")]

import usage  # noqa: E402

if __name__ == "__main__":
    WORDS = usage.words(__doc__, 2, usage.ANY)

import torch  # noqa: E402

import models  # noqa: E402
import weft_export  # noqa: E402

ROWS = (1, 4, 8, 16)


def prepare(name, rows, packages, folder, seed):
    """One model."""
    module = models.net(name)
    rows = rows or [n for n in ROWS if os.path.isdir(f"{packages}/{name}_{n}")] or ROWS
    weft_export.export(
        module,
        lambda count: models.sample(name, count, seed + count),
        rows,
        folder,
        packages=None if packages == "compile" else lambda count: f"{packages}/{name}_{count}",
    )
    os.makedirs(f"{folder}/check", exist_ok=True)
    for count in rows:
        inputs = models.sample(name, count, seed + count)
        with torch.no_grad():
            (output,) = weft_export.outputs_of(module(*inputs.values())).values()
        with open(f"{folder}/check/{count}.x", "wb") as file:
            for tensor in inputs.values():
                file.write(weft_export.memory_of(tensor))
        with open(f"{folder}/check/{count}.y", "wb") as file:
            file.write(weft_export.memory_of(output.float()))
        if name == "bert":
            words = torch.arange(count * models.TOKENS).cuda() * 7919 % models.WORDS
            with torch.no_grad():
                output = module(words.view(count, models.TOKENS))
            with open(f"{folder}/check/{count}.words", "wb") as file:
                file.write(weft_export.memory_of(output.float()))


def main():
    packages, folder, *names = WORDS
    seed = int.from_bytes(os.urandom(3), "little")
    print(f"inputs by seed {seed}", flush=True)
    for text in names or list(models.NETS):
        start = time.time()
        name, _, rows = text.partition(":")
        counts = [int(n) for n in rows.split(",")] if rows else None
        prepare(name, counts, packages, f"{folder}/{name}", seed)
        print(f"prepared {name} in {time.time() - start:.1f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
