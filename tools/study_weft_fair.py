#!/usr/bin/env python3
"""Print how the workflow fares that fares worst, by workload and policy.

usage: study_weft_fair.py [WORKLOAD...]

Workloads are those of seed 3 of scenarios/combined/generate.py, at 0.4 of the rate that they name.
Prints Markdown: the deadlines met by all jobs and by those of the worst workflow, in per cent.

Settings, in the environment: WEFT (build/weft); SEEDS, how many from 201 on, and JOBS (4 and 1000).
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

WEFT = os.environ.get("WEFT", "build/weft")
SEEDS = int(os.environ.get("SEEDS", "4"))
JOBS = os.environ.get("JOBS", "1000")
POLICIES = ("esg", "place=compass,order=esg,dispatch=esg,cache=compass", "weft")


def met(path, policy):
    """Shares of deadlines met, over all seeds: by all, and by the worst workflow."""
    rate = float(re.search(r"rate: ([0-9.]+)/s", path.read_text(encoding="utf-8")).group(1))
    everyone, flows = 0.0, {}
    for seed in range(201, 201 + SEEDS):
        command = [WEFT, "sim", str(path), "--policy", policy, "--seed", str(seed), "--json"]
        command += ["--jobs", JOBS, "--rate", f"{rate * 0.4:.3f}"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        report = json.loads(done.stdout)
        everyone += report["slo_hit_rate"] / SEEDS
        for flow in report["by_workflow"]:
            share = flow["slo_hit_rate"] / SEEDS
            flows[flow["workflow"]] = flows.get(flow["workflow"], 0.0) + share
    return everyone, min(flows.values())


def main():
    generator = pathlib.Path(__file__).parent.parent / "scenarios/combined/generate.py"
    print("| | " + " | ".join(f"`{policy}`" for policy in POLICIES) + " |")
    print("|---" * (len(POLICIES) + 1) + "|")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-B", generator, folder, "3"], check=True)
        for path in sorted(pathlib.Path(folder).glob("*.yaml")):
            if len(sys.argv) > 1 and path.stem not in sys.argv[1:]:
                continue
            shares = [met(path, policy) for policy in POLICIES]
            cells = [f"{100 * every:.1f}, {100 * worst:.1f}" for every, worst in shares]
            print(f"| {path.stem} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
