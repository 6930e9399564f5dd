#!/usr/bin/env python3
"""What variants of the solver are worth, in simulated time (docs/studies/solver.md).

usage: study_solver.py [--jobs N] [--seeds N] [--sets FIRST:LAST] [--only TEXT] NAME=COMMAND...

A COMMAND runs a `weft`: a path, with variables in front if need be ("env X=1 path/weft"). Each
solves every case, and the mixture that it finds is simulated under policy nona. The first is the
reference: others are printed as differences to it in percent, of the predicted and of the
simulated mean time, paired by seed. Cases are scenarios/nona at several loads, and random sets
of workflows, drawn from the seeds that --sets names. A mixture that is the reference's to the last
bit is not simulated again, and with --jobs 0 none is.
"""

import hashlib
import json
import math
import pathlib
import random
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

import usage

SCENARIOS = pathlib.Path(__file__).resolve().parent.parent / "scenarios"

# Rates of each, from a third of what it can serve to nine tenths.
RATES = {
    "nona/sizes": (5833, 7500),
    "nona/one-link": (600, 1818, 3272),
    "nona/nona": (750, 1500, 2250),
    "nona/network-bound": (500, 1500),
    "nona/parallel": (500, 1000, 1700),
    "nona/racks": (50, 200, 290, 350),
    "nona/comb": (40, 80, 120),
    "nona/diamond": (20, 60),
}

SETS = "1:12"
LOADS = (0.4, 0.7, 0.85)
WORKFLOWS = 3


def random_workflow(draw, name, models):
    """A connected graph of one to six tasks; every task is a model of its own."""
    tasks = {}
    for number in range(draw.randint(1, 6)):
        model = f"{name}m{number}"
        models[model] = draw.uniform(1, 20)
        inputs = sorted({draw.randrange(number) for _ in range(2)}) if number else []
        sizes = {f"t{i}": f"{draw.randint(1, 3000)}KB" for i in inputs}
        tasks[f"t{number}"] = {"function": model, "after": list(sizes), "bytes": sizes}
    return {"workflow": name, "tasks": tasks}


def random_set(seed, folder):
    """One random scenario, and the rates at which its servers are busy to LOADS."""
    draw = random.Random(seed)
    models = {}
    workflows = [random_workflow(draw, f"w{i}", models) for i in range(WORKFLOWS)]
    machines = 8 if seed % 2 else 20
    fast = machines // 4 if seed % 3 == 0 else 0
    kinds = [("server", machines - fast, 1.0), ("fast", fast, 0.5)]
    devices = {
        model: {"devices": {kind: {"ms": ms * factor} for kind, count, factor in kinds if count}}
        for model, ms in models.items()
    }
    scenario = {
        "scenario": f"set-{seed}",
        "cluster": {
            "machines": [
                {"count": count, "device": {"kind": kind, "memory": "1GB", "h2d": "10GB/s"}}
                for kind, count, factor in kinds
                if count
            ],
            "network": {
                "kind": "star",
                "link": "10Gb/s" if seed % 4 < 2 else "2Gb/s",
                "latency": "50us",
                "sharing": "fair" if seed % 5 == 0 else "fifo",
            },
        },
        "workflows": workflows,
        "profile": {"weft_profile": 1, "figures": "assumed", "models": devices},
        "arrivals": {"kind": "poisson", "rate": "1/s"},
        "policy": "nona",
        "jobs": 1000,
    }
    path = folder / f"set-{seed}.yaml"
    path.write_text(json.dumps(scenario), encoding="utf-8")
    work_s = sum(models.values()) / WORKFLOWS / 1e3
    speed = sum(count / factor for kind, count, factor in kinds)
    return path, [round(load * speed / work_s, 3) for load in LOADS]


def all_cases(folder, sets):
    for name, rates in RATES.items():
        for rate in rates:
            yield f"{name.split('/')[1]} {rate}/s", SCENARIOS / f"{name}.yaml", rate
    first, last = map(int, sets.split(":"))
    for seed in range(first, last + 1):
        path, rates = random_set(seed, folder)
        for load, rate in zip(LOADS, rates):
            yield f"set-{seed} {load}", path, rate


def run(command, *arguments):
    """The standard output of a command; None if it says that it cannot be done."""
    done = subprocess.run([*command, *map(str, arguments)], capture_output=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}: {done.stderr.decode()}")
    return done.stdout if done.returncode == 0 else None


def solve(command, path, rate, folder):
    mixture = folder / "mixture.json"
    began = time.process_time(), time.monotonic()
    text = run(command, "solve", path, "--rate", rate, "-o", mixture, "--json")
    if text is None:
        return None
    report = json.loads(text)
    return {
        "predicted": report["mean_ms"],
        "seconds": time.monotonic() - began[1],
        "hash": hashlib.sha256(mixture.read_bytes()).hexdigest(),
    }


def simulate(command, path, rate, options):
    """Mean times by seed; the policy solves for the rate itself, and gets the same mixture."""
    means = []
    for seed in range(1, options.seeds + 1 if options.jobs else 1):
        text = run(
            command, "sim", path, "--rate", rate, "--jobs", options.jobs, "--seed", seed, "--json"
        )
        means.append(json.loads(text)["latency_ms"]["mean"] if text else math.nan)
    return means or [math.nan]


def percent(value, reference):
    return 100 * (value / reference - 1)


def study(options):
    commands = dict(word.split("=", 1) for word in options.variants)
    found = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        for case, path, rate in all_cases(folder, options.sets):
            if options.only and options.only not in case:
                continue
            reference = None
            line = f"{case:22}"
            for name, text in commands.items():
                command = shlex.split(text)
                result = solve(command, path, rate, folder)
                if result is None:
                    line += f"  {name}: refused"
                    found[name].append(None)
                    continue
                same = reference is not None and result["hash"] == reference["hash"]
                result["means"] = (
                    reference["means"] if same else simulate(command, path, rate, options)
                )
                if reference is None:
                    reference = result
                    error = percent(result["predicted"], statistics.mean(result["means"]))
                    line += f" {statistics.mean(result['means']):9.3f} ms, model {error:+5.1f} %"
                predicted = percent(result["predicted"], reference["predicted"])
                pairs = [percent(a, b) for a, b in zip(result["means"], reference["means"])]
                found[name].append((predicted, statistics.mean(pairs), result["seconds"]))
                if not same and result is not reference:
                    line += f"  {name}: {predicted:+.2f} {statistics.mean(pairs):+.2f}"
            print(line, flush=True)
    summary(found)


def summary(found):
    print(f"{'':16} {'predicted':>22} {'simulated':>22} {'seconds':>8} refused")
    print(f"{'':16} {'mean':>7} {'worst':>7} {'best':>6} {'mean':>7} {'worst':>7} {'best':>6}")
    for name, results in found.items():
        good = [result for result in results if result is not None]
        cells = "".join(
            f" {statistics.mean(column):+7.2f} {max(column):+7.2f} {min(column):+6.2f}"
            for column in list(zip(*good))[:2]
        )
        seconds = sum(result[2] for result in good)
        print(f"{name:16}{cells} {seconds:8.1f} {len(results) - len(good)}")


def main():
    parser = usage.parser(__doc__)
    parser.add_argument("--jobs", type=int, default=20000)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--sets", default=SETS, help="seeds of random sets, by default 1:12")
    parser.add_argument("--only", help="cases whose name has this in it")
    parser.add_argument("variants", nargs="+")
    study(parser.parse_args())


if __name__ == "__main__":
    main()
