#!/usr/bin/env python3
"""Admission where jobs come to sixteen nodes, simulated.

usage: overload_nodes.py

Each node admits jobs by what it sees and has learnt itself (`admit=deadline`). Capacity is what the
same placement answers at a high rate when it takes every job, late or not. Then 1, 2, 3, 6 and 10
times that, 45 s of each and two seeds: goodput over capacity and admitted jobs in time, from the
tenth second on; then jobs in time of the first ten seconds, in which models are loaded and nothing
is learnt yet. The same without learning (`learn=0`) is the reference.

Settings, in the environment: WEFT (build/weft).
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))

import usage  # noqa: E402

WEFT = os.environ.get("WEFT", "build/weft")
SCENARIO = "scenarios/esg/moderate.yaml"
SLOS_MS = {"image-classification": 526, "depth": 1233, "background-elimination": 1452,
           "expanded-classification": 1892}  # fmt: skip
POLICIES = {
    "esg": "order=esg,dispatch=esg,tick=esg",
    "weft": "place=weft,order=weft,cache=weft",
    "compass": "place=compass,cache=compass,order=edf",
}
FACTORS = (1, 2, 3, 6, 10)
SECONDS, FIRST_SECONDS = 45, 10


def simulate(policy, rate, jobs, seed, trace):
    done = subprocess.run(
        [WEFT, "sim", SCENARIO, "--policy", policy, "--rate", f"{rate}/s", "--jobs", str(jobs),
         "--seed", str(seed), "--json", "--trace", str(trace)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        sys.exit(f"overload_nodes: {done.stderr}")
    return json.loads(done.stdout)


def judge(trace):
    """Answered, and of those in time: (first seconds, later)."""
    counts = [[0, 0], [0, 0]]
    with open(trace, encoding="utf-8") as lines:
        for line in lines:
            if '"answered"' not in line:
                continue
            record = json.loads(line)
            latency_ns = record.get("latency_ns", 0)
            of_span = counts[(record["at_ns"] - latency_ns) / 1e9 >= FIRST_SECONDS]
            of_span[0] += 1
            is_good = "reason" not in record and latency_ns / 1e6 <= SLOS_MS[record["workflow"]]
            of_span[1] += is_good
    return counts


def row(policy, capacity, factor, trace):
    rate = round(factor * capacity)
    all_counts = [[0, 0], [0, 0]]
    for seed in (1, 2):
        simulate(policy, rate, rate * SECONDS, seed, trace)
        for i, counts in enumerate(judge(trace)):
            all_counts[i][0] += counts[0]
            all_counts[i][1] += counts[1]
    (first, first_good), (later, good) = all_counts
    goodput = good / (2 * (SECONDS - FIRST_SECONDS)) / capacity
    in_time, first_in_time = 100 * good / max(1, later), 100 * first_good / max(1, first)
    return f"{goodput:.2f} | {in_time:.1f} % | {first_in_time:.0f} %"


def main():
    usage.words(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder, "trace.jsonl")
        print("| policy, load | goodput / capacity | in time | first 10 s | the same, learn=0 |||")
        print("|---|---|---|---|---|---|---|")
        for name, policy in POLICIES.items():
            report = simulate(policy, 220, 4400, 1, trace)
            capacity = report["completed"] / report["duration_s"]
            for factor in FACTORS:
                learnt, plain = (
                    row(f"{policy},admit=deadline:strict=1{more}", capacity, factor, trace)
                    for more in ("", ":learn=0")
                )
                print(f"| {name}, {factor}x of {capacity:.0f}/s | {learnt} | {plain} |", flush=True)


if __name__ == "__main__":
    main()
