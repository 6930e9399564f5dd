#!/usr/bin/env python3
"""Serve Compass's four workflows on one GPU that is cut into five workers, and measure.

usage: mix.py BIN REPOSITORY FOLDER

REPOSITORY has the models that prepare.py made. FOLDER gets another one: eight models with the sizes
of Compass's, each of which is one of these nets with as many zeros behind its weights, and the
workflows. The profile and what was measured go to $OUT, for mix_predicted.py; $POLICIES names the
policies that are wanted, $RATES the parts of the capacity, $GB how many bytes a gigabyte has, $SEED
other arrivals. With $TRACE the trace of each policy goes to $OUT as well.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "tools")]

import serve  # noqa: E402
import usage  # noqa: E402
from mix_models import (  # noqa: E402
    COMPOSED, MODELS, POLICIES, RATES, WORKERS, WORKFLOWS, capacity, learner, run_ms,
)  # fmt: skip
from serve import folder_of, load, say  # noqa: E402

MEMORY = 14 * WORKERS  # GB.
SECONDS = 15
PAGE = 4096
SEED = int(os.environ.get("SEED", "0"))  # Of gpu_http.
GB = float(os.environ.get("GB", "1e9"))  # Less on a device that has not so many.


def make_model(origin, folder, size, rows):
    """The model at @origin with @size bytes of weights, and packages for 1, 8 and @rows rows."""
    subprocess.run(["cp", "-al", origin, folder], check=True)
    for name in ("manifest", "sha256", "weights.bin"):
        os.remove(f"{folder}/{name}")
    shutil.copy(f"{origin}/weights.bin", f"{folder}/weights.bin")
    size = -(-size // PAGE) * PAGE
    os.truncate(f"{folder}/weights.bin", size)
    with open(f"{origin}/manifest", encoding="utf-8") as file:
        lines = file.read().splitlines()
    with open(f"{folder}/manifest", "w", encoding="utf-8") as file:
        for line in lines:
            words = line.split()
            if words[0] == "weights":
                line = f"weights {words[1]} {size}"
            if words[0] != "package" or int(words[1]) in (1, 8, rows):
                file.write(line + "\n")
    with open(f"{origin}/sha256", encoding="utf-8") as file:
        lines = file.read().splitlines()
    with open(f"{folder}/sha256", "w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines if "/" in line)  # Those of packages.


def expected(repository, net, rows):
    """What PyTorch makes of the words that come from between.c; of its own inputs for no text."""
    end = "words" if net == "bert" else "y"
    with open(f"{folder_of(repository, net)}/check/{rows}.{end}", "rb") as file:
        return file.read()


def make_check(repository, folder, workflow):
    """A folder by which gpu_http asks for @workflow."""
    root = MODELS[workflow["root"][1]][0]
    rows = workflow["rows"]
    subprocess.run(["cp", "-al", folder_of(repository, root), folder], check=True)
    os.remove(f"{folder}/check/{rows}.y")
    answers = [MODELS[model][0] for model in workflow["next"].values()] or [root] * 2
    with open(f"{folder}/check/{rows}.y", "wb") as file:
        for net in answers:
            file.write(expected(repository, net, rows))


def workflow_text(name, workflow):
    task, model = workflow["root"]
    is_text = MODELS[model][0] == "bert"
    given, kind = ("ids", "{dtype: INT64, shape: [-1, 128]}") if is_text else (
        "x", "{dtype: FP16, shape: [-1, 224, 224, 3]}")  # fmt: skip
    lines = [f"workflow: {name}", "slo: 50ms", f"inputs: {{{given}: {kind}}}", "tasks:",
             f"  {task}: {{model: {model}, in: {{{given}: inputs.{given}}}}}"]  # fmt: skip
    if workflow["next"]:
        lines += [f"  said: {{function: between.words, in: {{y: {task}.output}}}}"]
    for other, model in workflow["next"].items():
        lines += [f"  {other}: {{model: {model}, in: {{ids: said.ids}}}}"]
    ends = list(workflow["next"])
    for other, model in workflow["beside"].items():
        lines += [f"  {other}: {{model: {model}, in: {{{given}: inputs.{given}}}}}"]
        ends = [task, other]
    lines += ["outputs:"] + [f"  {end}: {end}.output" for end in ends]
    return "\n".join(lines) + "\n"


def make_repository(repository, folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(f"{folder}/functions")
    shutil.copy(f"{serve.BIN}/between.so", f"{folder}/functions/between.so")
    for name, (net, size, rows) in MODELS.items():
        os.makedirs(f"{folder}/{name}/1")
        make_model(folder_of(repository, net), folder_of(folder, name), int(size * GB), rows)
    for name, workflow in WORKFLOWS.items():
        make_check(repository, f"{folder}-{name}", workflow)
        with open(f"{folder}/{name}.workflow.yaml", "w", encoding="utf-8") as file:
            file.write(workflow_text(name, workflow))
    with open(f"{folder}/weft.yaml", "w", encoding="utf-8") as file:
        file.write(f"weft: mix\nworkers: 3\nmemory: 1GB\ngpus:\n  count: 1\n  workers: {WORKERS}\n"
                   f"  memory: {int(MEMORY * GB)}\n  shares: processors\n")  # fmt: skip


def keep(name, text):
    with open(f"{os.environ.get('OUT', '.')}/{name}", "w", encoding="utf-8") as file:
        file.write(text)


def copies(profile):
    """On how many workers each model is."""
    pattern = r'^weft_model_resident_bytes\{.*model="([^"]+)".*\} (\S+)'
    found = {m[1]: float(m[2]) for m in re.finditer(pattern, serve.metrics(), re.MULTILINE)}
    return {name: round(found[name] / profile["models"][name]["resident"])
            for name in MODELS if name in found}  # fmt: skip


def busy():
    """How long each worker has run something so far, in seconds."""
    pattern = r'^weft_worker_busy_seconds_total\{(.*)\} (\S+)'
    return {m[1]: float(m[2]) for m in re.finditer(pattern, serve.metrics(), re.MULTILINE)}


def measure(folder, policy, rates, kinds, results, profile):
    trace = f"{folder}-{policy}.jsonl" if "TRACE" in os.environ else None
    with serve.Server(folder, "--policy", COMPOSED if policy == "composed" else policy,
                      *(["--trace", trace] if trace else [])):  # fmt: skip
        load(5, rates[0], 64, 50000, kinds)  # Weights come, code is loaded, graphs are recorded.
        load(5, rates[-1], 64, 50000, kinds)
        for name, kind in zip(WORKFLOWS, kinds):
            lines = load(1.2, 0, 1, 50000, [kind])
            results.append({"policy": policy, "workflow": name, "line": lines[-2]})
            say("mix", policy, "alone", name, re.sub(" +", " ", lines[-2]), lines[-1])
        for rate in rates:
            before, began = serve.counts(serve.metrics()), busy()
            lines = load(SECONDS, rate, 256, 50000, kinds)
            needed, hits, loads = [b - a for a, b in zip(before, serve.counts(serve.metrics()))]
            for line in lines[1:]:
                say("mix", policy, f"{rate}/s", re.sub(" +", " ", line))
            say("mix", policy, f"{rate}/s", f"hits {100 * hits / max(needed, 1):.1f} %, "
                f"loads {loads:.0f}")  # fmt: skip
            took = {name: round(seconds - began.get(name, 0), 3)
                    for name, seconds in busy().items()}  # fmt: skip
            there = copies(profile)
            say("mix", policy, f"{rate}/s", f"copies {there}")
            results.append({"policy": policy, "rate": rate, "lines": lines, "needed": needed,
                            "hits": hits, "loads": loads, "copies": there,
                            "busy": took})  # fmt: skip
            keep("mix.json", json.dumps({"seconds": SECONDS, "seed": SEED, "results": results}))
    if trace:
        subprocess.run(["gzip", "-9", trace], check=True)
        shutil.copy(f"{trace}.gz", f"{os.environ.get('OUT', '.')}/mix-{policy}.jsonl.gz")


def main():
    serve.BIN, repository, folder = usage.words(__doc__, 3)
    start = time.time()
    make_repository(os.path.abspath(repository), folder)
    say(f"made in {time.time() - start:.1f} s")
    done = subprocess.run([f"{serve.BIN}/weft", "profile", folder], capture_output=True, text=True,
                          check=False, timeout=200)  # fmt: skip
    say(done.stdout, done.stderr[-2000:], f"after {time.time() - start:.1f} s")
    [path] = [f"{folder}/profiles/{name}" for name in os.listdir(f"{folder}/profiles")
              if "_cuda-" in name]  # fmt: skip
    with open(path, encoding="utf-8") as file:
        profile = json.load(file)
    keep("mix.profile.json", json.dumps(profile))
    parts = [float(part) for part in os.environ.get("RATES", RATES).split(",")]
    rates = [round(part * capacity(profile)) for part in parts]
    say(f"capacity {capacity(profile):.0f}/s, rates {rates};", {
        name: round(run_ms(profile, name), 3) for name in MODELS})  # fmt: skip
    kinds = [f"{name}:{folder}-{name}:{flow['rows']}:1" for name, flow in WORKFLOWS.items()]
    results = []
    policies = os.environ.get("POLICIES", POLICIES).split(" ")
    for policy in policies:
        with serve.Case(policy):
            measure(folder, policy, rates, kinds, results, profile)
        if policy == learner(policies):
            with open(path, encoding="utf-8") as file:
                keep("mix.profile.json", file.read())  # With the hand-offs that were learnt.
    return 1 if serve.failed else 0


if __name__ == "__main__":
    sys.exit(main())
