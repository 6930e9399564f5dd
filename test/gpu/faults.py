#!/usr/bin/env python3
"""Break what serves models on the GPU of this machine, or change it, under load.

usage: faults.py PART BIN REPOSITORY

PART is faults, or revise (new versions of models come). As serve.py otherwise.
"""

import glob
import hashlib
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "tools")]

import serve  # noqa: E402
import usage  # noqa: E402
from serve import (  # noqa: E402
    SCALE, Case, Server, folder_of, kind, load, models_of, say, settings,
)  # fmt: skip


def break_device():
    """A word that no embedding has."""
    ids = {"name": "ids", "datatype": "INT64", "shape": [1, 128], "data": [10**7] * 128}
    request = urllib.request.Request(
        f"http://{Server.address}/v2/models/bert/infer",
        data=json.dumps({"inputs": [ids]}).encode(), method="POST",
    )  # fmt: skip
    try:
        urllib.request.urlopen(request, timeout=20).read()
        say("the device did not break")
    except urllib.error.HTTPError as error:
        say("broken:", error.code, error.read()[:200])


def make_hang(repository, folder):
    """A model whose kernel does not end over a row with 777; with the fakes it is theirs."""
    objects = glob.glob(f"{folder_of(repository, models_of(repository)[0])}/*/*.so")
    package = os.path.realpath(objects[0] if "WEFT_CUDA" in os.environ else f"{serve.BIN}/hang.so")
    os.makedirs(f"{folder}/one")
    shutil.copy(package, f"{folder}/one/package.so")
    with open(f"{folder}/weights.bin", "wb") as file:
        file.write(struct.pack("<f", 2) + bytes(4092))
    with open(f"{folder}/manifest", "w", encoding="utf-8") as file:
        file.write("weft-cuda 1\nweights weights.bin 4096\n"
                   "constant layer.scale 0 4 FP32 1 1 1\n"
                   "constant layer.shift 256 4 FP32 0\ninput x FP32 1 4\noutput y FP32 1 4\n"
                   "package 1 one\n")  # fmt: skip
    with open(f"{folder}/one/package.so", "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    with open(f"{folder}/sha256", "w", encoding="utf-8") as file:
        file.write(f"{digest}  one/package.so\n")


def ask_hang(first):
    """A row for the model that hangs. Returns what it answered."""
    row = {"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [first, 2, 3, 4]}
    request = urllib.request.Request(
        f"http://{Server.address}/v2/models/hang/infer",
        data=json.dumps({"inputs": [row]}).encode(), method="POST",
    )  # fmt: skip
    try:
        return json.load(urllib.request.urlopen(request, timeout=20))["outputs"][0]["data"]
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.read()[:200]}"


def copy_models(origin, repository):
    shutil.rmtree(repository, ignore_errors=True)
    for name in models_of(origin):
        os.makedirs(f"{repository}/{name}/1")
        subprocess.run(["cp", "-al", folder_of(origin, name), f"{repository}/{name}/1/"],
                       check=True)  # fmt: skip


def faults(origin):
    repository = f"{origin}-faults"
    copy_models(origin, repository)
    kinds = [kind(repository, name, 1) for name in models_of(repository)]
    make_hang(origin, folder_of(repository, "hang"))
    settings(repository, seconds=20)
    with Server(repository) as server:
        say("hang, asked for what ends:", ask_hang(1))
        for one in kinds:
            load(0.2, 0, 1, 0, [one])
        say("processes", server.children("weft"))
        for label, name, number in (
            ("nothing", None, None),
            ("device broken", "word", None),
            ("engine killed", "weft-gpu", signal.SIGKILL),
            ("keeper killed", "weft-keeper", signal.SIGKILL),
            ("both killed", "weft-keeper weft-gpu", signal.SIGKILL),
            ("engine stopped", "weft-gpu", signal.SIGSTOP),
            ("kernel hangs", "hang", None),
        ):
            def strike(name=name, number=number):
                time.sleep(2 * SCALE)
                if name == "word":
                    break_device()
                if name == "hang":
                    say("hang:", ask_hang(777))
                for one in name.split() if number else []:
                    for pid, _ in server.children(one)[-1:]:
                        os.kill(pid, number)

            with Case(label):
                striker = threading.Thread(target=strike)
                striker.start()
                for line in load(7, 200, 64, 1e6, kinds, may_fail=True)[-2:]:
                    say(f"fault {label:14}", line)
                striker.join()


def revise(origin):
    """New versions of a model come while all models are asked for: the same weights, once more."""
    repository = f"{origin}-revise"
    copy_models(origin, repository)
    kinds = [kind(repository, name, 1) for name in models_of(repository)]
    settings(repository)
    with Server(repository):
        for one in kinds:
            load(0.2, 0, 1, 0, [one])
        for version, name in enumerate([None, *models_of(repository)], 1):

            def add(version=version, name=name):
                time.sleep(2 * SCALE)
                if name is None:
                    return
                subprocess.run(["cp", "-r", folder_of(repository, name),
                                f"{repository}/.{version}"], check=True)  # fmt: skip
                os.makedirs(f"{repository}/{name}/{version}")
                os.rename(f"{repository}/.{version}", f"{repository}/{name}/{version}/model.cuda")
                request = urllib.request.Request(
                    f"http://{Server.address}/v2/repository/models/{name}/load", method="POST"
                )
                start = time.time()
                status = urllib.request.urlopen(request, timeout=20).status
                say(f"revised {name} to version {version}: {status} "
                    f"after {1000 * (time.time() - start):.0f} ms")  # fmt: skip

            label = name or "nothing"
            with Case(label):
                adder = threading.Thread(target=add)
                adder.start()
                for line in load(5, 400, 64, 50000, kinds)[-2:]:
                    say(f"revise {label:8}", line)
                adder.join()


def main():
    parts = {"faults": faults, "revise": revise}
    part, serve.BIN, repository = usage.words(__doc__, 3, choices=parts)
    parts[part](os.path.abspath(repository))
    say(f"{part} took {time.time() - serve.STARTED:.0f} s",
        "; failed: " + ", ".join(serve.failed) if serve.failed else "")  # fmt: skip
    return 1 if serve.failed else 0


if __name__ == "__main__":
    sys.exit(main())
