#!/usr/bin/env python3
"""Try all compositions of the registry on workloads that have several problems at once.

usage: study_weft.py [--seed SEED] [--full] [WORKLOAD...]

Workloads are drawn by scenarios/combined/generate.py; those of seed 1, which lie in
scenarios/combined, were used for choosing the rule of weft. Every composition of a placement, a
dispatch, an order and a cache policy runs once, briefly, at two rates; the best ones, all
policies alone and weft then run in full, at six shares of the rate that the scenario names. Prints
Markdown: per workload the deadlines met in per cent, and the rate up to which 95 % are.

  --seed SEED   of the workloads; 2 unless given
  --full        keep the best 24 compositions instead of 8

Settings, in the environment: WEFT (build/weft); SEEDS and JOBS of the full runs (4 and 1000).
"""

import argparse
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

WEFT = os.environ.get("WEFT", "build/weft")
SEEDS = int(os.environ.get("SEEDS", "4"))
JOBS = int(os.environ.get("JOBS", "1000"))
SHARES = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
SCREEN_SHARES = (0.2, 0.6)
ALONE = (
    "compass", "esg", "nona", "heft", "jit", "least-work", "po2", "hash", "fifo", "fair", "expert",
    "opportunistic", "first-fit", "infless", "fast-gshare", "orion", "aquatope",
)  # fmt: skip
PLACES = (
    "compass", "nona", "heft", "jit", "least-work", "po2", "hash", "fifo", "fair", "expert",
    "opportunistic", "weft",
)  # fmt: skip
DISPATCHES = ("", "esg", "first-fit")
BINDERS = ("esg", "first-fit", "infless", "fast-gshare", "orion", "aquatope")
ORDERS = ("", "edf", "esg", "weft")
CACHES = ("", "compass")


def compose(place, dispatch, order, cache):
    roles = (("place", place), ("order", order), ("dispatch", dispatch), ("cache", cache))
    return ",".join(f"{role}={policy}" for role, policy in roles if policy)


def compositions():
    placed = [compose(*parts) for parts in itertools.product(PLACES, DISPATCHES, ORDERS, CACHES)]
    bound = [compose("", *parts) for parts in itertools.product(BINDERS, ORDERS, CACHES)]
    return placed + bound


def named_rate(path):
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("arrivals:"):
            return float(line.split("rate:")[1].split("/s")[0])
    raise ValueError(path)


def run(path, policies, shares, seeds, jobs):
    """Deadlines met by policy, as shares, one for each rate; what cannot run is left out."""
    rate = named_rate(path)
    rates = [round(rate * share, 3) for share in shares]
    command = [WEFT, "compare", str(path), "--policies", ";".join(policies), "--json"]
    command += ["--seeds", str(seeds), "--jobs", str(jobs), "--rates", ",".join(map(str, rates))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 and len(policies) == 1:
        return {}
    if done.returncode != 0:
        half = len(policies) // 2
        first = run(path, policies[:half], shares, seeds, jobs)
        return first | run(path, policies[half:], shares, seeds, jobs)
    sums = {policy: [0.0] * len(rates) for policy in policies}
    for one in json.loads(done.stdout)["runs"]:
        at = min(range(len(rates)), key=lambda i: abs(rates[i] - one["rate"]))
        sums[one["policy"]][at] += one["slo_hit_rate"] / seeds
    return sums


def carried(rates, met):
    """The rate up to which 95 % of deadlines are met, between the rates that were run."""
    best = 0.0
    for i, share in enumerate(met):
        if share < 0.95:
            if i > 0:
                best += (rates[i] - rates[i - 1]) * (met[i - 1] - 0.95) / (met[i - 1] - share)
            return best
        best = rates[i]
    return best


def row(name, rates, met):
    cells = " | ".join(f"{100 * share:.1f}" for share in met)
    return f"| {name} | {cells} | {carried(rates, met):.0f}/s |"


def study(path, keep):
    rate = named_rate(path)
    rates = [rate * share for share in SHARES]
    screened = run(path, compositions(), SCREEN_SHARES, 1, 400)
    best = sorted(screened, key=lambda policy: -sum(screened[policy]))[:keep]
    full = run(path, ["weft", *ALONE, *best], SHARES, SEEDS, JOBS)
    alone = max(ALONE, key=lambda policy: (carried(rates, full[policy]), sum(full[policy])))
    ceiling = [max(full[policy][i] for policy in full if policy != "weft") for i in range(6)]
    strongest = max(best, key=lambda policy: sum(full[policy]))
    print(f"\n{path.stem}: {len(screened)} compositions tried\n")
    print("| | " + " | ".join(f"{each:.0f}/s" for each in rates) + " | 95 % |")
    print("|---" * (len(rates) + 2) + "|")
    print(row("`weft`", rates, full["weft"]))
    print(row(f"`{alone}`, the best policy alone", rates, full[alone]))
    print(row(f"`{strongest}`", rates, full[strongest]))
    print(row("the best of all at each rate", rates, ceiling), flush=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("workloads", nargs="*")
    asked = parser.parse_args()
    generator = pathlib.Path(__file__).parent.parent / "scenarios/combined/generate.py"
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-B", generator, folder, str(asked.seed)], check=True)
        for path in sorted(pathlib.Path(folder).glob("*.yaml")):
            if not asked.workloads or path.stem in asked.workloads:
                study(path, 24 if asked.full else 8)


if __name__ == "__main__":
    main()
