#!/usr/bin/env python3
"""Simulate what mix.py measured, and print both.

usage: mix_predicted.py WEFT FOLDER

FOLDER has mix.profile.json and mix.json, as mix.py leaves them. The simulator gets the profile that
was measured, with the hand-offs that were learnt while `compass` served, or the first policy if
that did not, the same arrivals, and the same policies. What sockets and the function between models
take is not in the profile: it is measured as the difference between requests one at a time and what
the simulator says of these, and added to each prediction.

Which workers have a model when the requests come that are counted is a matter of chance: of how
requests met while everything was loaded. So each run is simulated after many different beginnings,
as many at a time as there are processors, and those count that end with as many copies of each
model as the card had, or nearly so; the more work a model has, the more they have to agree. So are
requests one at a time, with the copies of the first rate.
"""

import collections
import concurrent.futures
import json
import math
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "tools")]

import usage  # noqa: E402
from mix_models import COMPOSED, WORKERS, WORKFLOWS, learner, run_ms  # noqa: E402

MEMORY = 14 * WORKERS  # GB.
WARMUP_S = 1  # Of gpu_http.
BEGINNINGS, TAKEN = 64, 8
WARM_RATES, WARM_S = (5, 20, 100, 300), 10


class Draw:
    """The numbers that gpu_http draws."""

    def __init__(self, seed):
        self.state = 88172645463325252 ^ seed * 0x9E3779B97F4A7C15 & (1 << 64) - 1

    def __call__(self):
        x = self.state
        x ^= x << 13 & (1 << 64) - 1
        x ^= x >> 7
        x ^= x << 17 & (1 << 64) - 1
        self.state = x
        return (x >> 11) / 9007199254740992


def arrivals(rate, seconds, seed):
    """The times and workflows of a run of gpu_http."""
    draw, at, rows = Draw(seed), 0, []
    names = list(WORKFLOWS)
    while at < seconds:
        rows.append((at, names[min(int(draw() * len(names)), len(names) - 1)]))
        at += -math.log(1 - draw()) / rate
    return rows


def interference(profile):
    found = [d["interference"] for m in profile["models"].values() for d in m["devices"].values()]
    return sum(found) / len(found)


def work_of(profile):
    """How long each model runs, in ms, for one request of each workflow."""
    found = collections.Counter()
    for flow in WORKFLOWS.values():
        for model in [flow["root"][1], *flow["next"].values(), *flow["beside"].values()]:
            found[model] += run_ms(profile, model, flow["rows"])
    return found


def warmed(counted, rate_before, seed):
    """@counted after others that load the models. Also the part of all that is not counted."""
    draw, at, before = random.Random(seed), 0, []
    while at < WARM_S:
        before.append((at, draw.choice(list(WORKFLOWS))))
        at += draw.expovariate(rate_before)
    late = sum(at >= WARMUP_S for at, _ in counted)
    rows = before + [(WARM_S + 1 + at, name) for at, name in counted]
    return rows, 1 - late / len(rows)


def scenario(profile, policy, arrived, uncounted):
    kind = next(iter(next(iter(profile["models"].values()))["devices"]))
    lines = ["scenario: mix", "cluster:", "  machines:", f"    partitions: {WORKERS}",
             f"    device: {{kind: {kind}, memory: {MEMORY}GB, units: 3, h2d: 48GB/s, "
             f"sharing: sm, interference: {100 * interference(profile):.1f}%}}",
             "    cpu: 16", "profile: mix.profile.json",
             f"policy: '{COMPOSED if policy == 'composed' else policy}'",
             "rows: {load: 10ms, cache: 100ms}", "arrivals: {kind: trace, trace: mix.csv}",
             f"jobs: {len(arrived)}", f"warmup: {100 * uncounted:.4f}%",
             "seeds: [1]", "workflows:"]  # fmt: skip
    for name, flow in WORKFLOWS.items():
        task, model = flow["root"]
        lines += [f"  - workflow: {name}", "    slo: 50ms", "    input: 1KB", "    tasks:",
                  f"      {task}: {{model: {model}}}"]  # fmt: skip
        for other, model in flow["next"].items():
            lines += [f"      {other}: {{model: {model}, after: [{task}]}}"]
        for other, model in flow["beside"].items():
            lines += [f"      {other}: {{model: {model}}}"]
    return "\n".join(lines) + "\n"


def copies(trace):
    """How many workers have each model in the end."""
    found = collections.Counter()
    with open(trace, encoding="utf-8") as file:
        for line in file:
            if '"kind":"loaded"' in line or '"kind":"evicted"' in line:
                record = json.loads(line)
                found[record["model"]] += 1 if record["kind"] == "loaded" else -1
    return found


def simulate(weft, profile, policy, arrived, uncounted):
    """The summary of a simulated run, with copies of models."""
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/mix.profile.json", "w", encoding="utf-8") as file:
            json.dump(profile, file)
        with open(f"{folder}/mix.csv", "w", encoding="utf-8") as file:
            file.write("t_ms,workflow,items\n")
            for at, name in arrived:
                file.write(f"{1000 * at:.6f},{name},{WORKFLOWS[name]['rows']}\n")
        with open(f"{folder}/mix.yaml", "w", encoding="utf-8") as file:
            file.write(scenario(profile, policy, arrived, uncounted))
        done = subprocess.run(
            [weft, "sim", f"{folder}/mix.yaml", "--json", "--trace", f"{folder}/mix.jsonl"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise SystemExit(done.stderr)
        return {**json.loads(done.stdout), "copies": copies(f"{folder}/mix.jsonl")}


def alike(weft, profile, policy, counted, there):
    """Runs of @counted after which models have as many copies as in @there, or nearly."""

    def one(seed):
        return simulate(
            weft, profile, policy, *warmed(counted, WARM_RATES[seed % len(WARM_RATES)], seed)
        )

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = list(pool.map(one, range(BEGINNINGS)))
    work = work_of(profile)

    def distance(run):
        """How much work lies elsewhere: half of a model's, if one of its two copies is missing."""
        return sum(work[model] * abs(1 / max(run["copies"][model], 1) - 1 / max(count, 1))
                   for model, count in there.items())  # fmt: skip

    return sorted(runs, key=distance)[:TAKEN]


def median_of(runs, figure):
    return statistics.median(figure(run) for run in runs)


def figures(line):
    """Mean, p99 and what is in time, of a line of gpu_http; ms and %."""
    found = re.search(r"([\d.]+) % in time +mean +(\d+) p50 +(\d+) p99 +(\d+)", line)
    return int(found[2]) / 1e3, int(found[4]) / 1e3, float(found[1]), int(found[3]) / 1e3


def overheads(weft, profile, measured):
    """What is not in the profile, by workflow, in ms: from requests one at a time."""
    found = {}
    policy = learner([result["policy"] for result in measured["results"]])
    results = [result for result in measured["results"] if result["policy"] == policy]
    there = next(result["copies"] for result in results if "copies" in result)
    for result in results:
        if "workflow" in result:
            name = result["workflow"]
            times = [(1 + i / 10, name) for i in range(60)]
            runs = alike(weft, profile, policy, times, there)
            found[name] = figures(result["line"])[3] - median_of(
                runs, lambda run: run["latency_ms"]["p50"]
            )
    return found


def main():
    weft, folder = usage.words(__doc__, 2)
    with open(f"{folder}/mix.profile.json", encoding="utf-8") as file:
        profile = json.load(file)
    with open(f"{folder}/mix.json", encoding="utf-8") as file:
        measured = json.load(file)
    more = overheads(weft, profile, measured)
    print("not in the profile, ms:", {name: round(ms, 2) for name, ms in more.items()})
    added = sum(more.values()) / max(len(more), 1)
    print("| policy | rate | mean | predicted | p99 | predicted | in 50 ms | hits | predicted |")
    print("|---|---|---|---|---|---|---|---|---|")
    for result in measured["results"]:
        if "rate" not in result:
            continue
        mean, p99, in_time, _ = figures(result["lines"][-2])
        counted = arrivals(result["rate"], measured["seconds"], measured.get("seed", 0))
        runs = alike(weft, profile, result["policy"], counted, result["copies"])
        means = [added + median_of(runs, lambda run, name=name: run["latency_ms"][name])
                 for name in ("mean", "p99")]  # fmt: skip
        hits = 100 * result["hits"] / max(result["needed"], 1)
        print(f"| {result['policy']} | {result['rate']}/s | {mean:.1f} | {means[0]:.1f} "
              f"({100 * means[0] / mean - 100:+.0f} %) | {p99:.1f} | {means[1]:.1f} "
              f"({100 * means[1] / p99 - 100:+.0f} %) | {in_time:.1f} % | {hits:.1f} % | "
              f"{100 * median_of(runs, lambda run: run['cache_hit_rate']):.1f} % |",
              flush=True)  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
