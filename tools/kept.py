"""Runs of `weft compare`, kept: a study that was interrupted goes on where it was.

Settings, in the environment: WEFT (build/weft); KEPT, the folder where runs are kept (build/kept);
PARALLEL, runs at once (one for each processor); LISTED, a folder: what is not kept is not run but
put there, with all that it needs, for tools/kept_run.sh on a machine with many processors. Figures
that are printed meanwhile mean nothing.

What is kept belongs to a scenario, the files that it names, the options and the program: if one
of them has changed, it runs again.
"""

import functools
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

import yaml

WEFT = os.environ.get("WEFT", "build/weft")
KEPT = pathlib.Path(os.environ.get("KEPT", "build/kept"))
PARALLEL = os.environ.get("PARALLEL")
LISTED = os.environ.get("LISTED")
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# A run of which nothing is known yet.
UNKNOWN = {
    "seed": 0,
    "stable": True,
    "warmup_jobs": 0,
    "slo_hit_rate": 1.0,
    "price_per_job": 1.0,
    "latency_ms": {"mean": 1.0, "p99": 1.0},
    "slowdown": {"mean": 1.0},
    "fairness": {"workflows": [{"workflow": "", "slo_hit_rate": 1.0}] * 2},
}


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


@functools.lru_cache(maxsize=8)
def texts_of(document):
    """All short texts in a document, each once; a policy after another asks for them."""
    found = names(yaml.load(document, Loader=LOADER))
    return list(dict.fromkeys(name for name in found if len(name) < 256))


def named(path):
    """The files that a scenario names."""
    files = [path.parent / name for name in texts_of(path.read_bytes())]
    return [file for file in files if file.is_file()]


def key(path, policy, options):
    total = hashlib.sha256(program())
    contents = [file.read_bytes() for file in [path, *named(path)]]
    for part in [*contents, policy.encode(), *(option.encode() for option in options)]:
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
    """What the program prints; without runs if the policy cannot run there."""
    command = [WEFT, "compare", str(path), "--policies", policy, "--json", *options]
    command += ["--parallel", PARALLEL] if PARALLEL else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode < 0:
        sys.exit(f"{policy} on {path}: ended by signal {-done.returncode}")
    if not done.stdout:
        print(f"{policy} on {path}: {done.stderr.strip()}", file=sys.stderr)
    found = json.loads(done.stdout) if done.stdout else {"runs": []}
    if any(run["interrupted"] for run in found["runs"]):
        sys.exit(f"{policy} on {path}: interrupted")
    return found


def put_on_list(name, path, policy, options):
    """A line for the run, with its name first, and copies of the files that it needs."""
    files = [path, *named(path)]
    total = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]
    folder = pathlib.Path(LISTED, "files", total)
    for file in files:
        copy = folder / file.relative_to(path.parent)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
    line = "\t".join([name, f"files/{total}/{path.name}", policy, *options])
    with open(pathlib.Path(LISTED, "list"), "a", encoding="utf-8") as output:
        output.write(line + "\n")


def compare(path, policy, *options):
    """The runs of @policy on the scenario at @path; none if it cannot run there."""
    path = pathlib.Path(path)
    name = key(path, policy, options)
    if LISTED and not (KEPT / f"{name}.json").exists():
        put_on_list(name, path, policy, options)
        return [UNKNOWN]
    return remember(name, lambda: run(path, policy, options))["runs"]
