"""Runs of `weft compare`, kept: a study that was interrupted goes on where it was.

Settings, in the environment: WEFT (build/weft); KEPT, the folder where runs are kept (build/kept);
PARALLEL, runs at once (one for each processor).

What is kept belongs to a scenario, the files that it names, the options and the program: if one
of them has changed, it runs again.
"""

import functools
import hashlib
import json
import os
import pathlib
import subprocess
import sys

import yaml

WEFT = os.environ.get("WEFT", "build/weft")
KEPT = pathlib.Path(os.environ.get("KEPT", "build/kept"))
PARALLEL = os.environ.get("PARALLEL")


@functools.cache
def program():
    return hashlib.sha256(pathlib.Path(WEFT).read_bytes()).digest()


def names(value):
    """All texts in a document."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [name for each in value for name in names(each)]
    return [value] if isinstance(value, str) else []


def contents(path):
    """Of the scenario and of the files that it names."""
    text = path.read_bytes()
    files = [path.parent / name for name in names(yaml.safe_load(text)) if len(name) < 256]
    return [text] + [file.read_bytes() for file in files if file.is_file()]


def key(path, policy, options):
    total = hashlib.sha256(program())
    for part in [*contents(path), policy.encode(), *(option.encode() for option in options)]:
        total.update(hashlib.sha256(part).digest())
    return total.hexdigest()[:32]


def remember(name, make):
    """What @make has made under @name, now or before."""
    file = KEPT / f"{name}.json"
    if not file.exists():
        text = json.dumps(make())
        KEPT.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(f".{os.getpid()}")
        part.write_text(text, encoding="utf-8")
        part.rename(file)
    return json.loads(file.read_text(encoding="utf-8"))


def run(path, policy, options):
    command = [WEFT, "compare", str(path), "--policies", policy, "--json", *options]
    command += ["--parallel", PARALLEL] if PARALLEL else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode < 0:
        sys.exit(f"{policy} on {path}: ended by signal {-done.returncode}")
    if not done.stdout:
        print(f"{policy} on {path}: {done.stderr.strip()}", file=sys.stderr)
    runs = json.loads(done.stdout)["runs"] if done.stdout else []
    if any(run["interrupted"] for run in runs):
        sys.exit(f"{policy} on {path}: interrupted")
    return runs


def compare(path, policy, *options):
    """The runs of @policy on the scenario at @path; none if it cannot run there."""
    path = pathlib.Path(path)
    return remember(key(path, policy, options), lambda: run(path, policy, options))
