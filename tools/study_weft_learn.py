#!/usr/bin/env python3
"""Print how policies fare whose profile is wrong by a factor of two, for good.

usage: study_weft_learn.py [WORKLOAD...]

Workloads are those of seed 3 of scenarios/combined/generate.py, at 0.4 of the rates that they name,
by default those in which nothing else is wrong. Batches take what the workload says; what
policies believe is twice or half of that: of every model at random, of every config of every
model by anything between a half and two, or of everything. Prints Markdown: the deadlines met in
per cent, for each policy in the first and in the last quarter of the run, and the mean latency in
ms in the last.

Settings, in the environment: those of tools/kept.py; SEEDS (301..308); JOBS (2000); SHARE (0.4).
"""

import json
import os
import pathlib
import random
import tempfile

import combined
import kept
import usage

SEEDS = os.environ.get("SEEDS", "301..308")
JOBS = int(os.environ.get("JOBS", "2000"))
SHARE = float(os.environ.get("SHARE", "0.4"))
WORKLOADS = ("memory", "links", "both", "bursts", "whole")
POLICIES = (
    "weft",
    "weft:learn=0",
    "esg",
    "orion",
    "order=edf,dispatch=esg,cache=compass",
    "place=compass,order=edf,dispatch=esg,cache=compass",
    "compass",
)
FACTOR = 2.0
LATER = (0.0, 0.25, 0.75)  # Run with these shares of the jobs left out.


def right(rng):
    """What was measured is so."""
    return lambda model: lambda: 1.0


def of_models(rng):
    """Each model takes twice or half as long as believed, in all its configs."""

    def draw(model):
        factor = rng.choice((FACTOR, 1 / FACTOR))
        return lambda: factor

    return draw


def of_configs(rng):
    """Each config is off by a factor of its own, from a half to two."""
    return lambda model: lambda: FACTOR ** rng.uniform(-1, 1)


def too_long(rng):
    """All takes half as long as believed."""
    return lambda model: lambda: FACTOR


def too_short(rng):
    """All takes twice as long as believed."""
    return lambda model: lambda: 1 / FACTOR


BELIEFS = {
    "right": right,
    "models, × 2 or ÷ 2": of_models,
    "configs, ÷ 2 to × 2": of_configs,
    "all × 2": too_long,
    "all ÷ 2": too_short,
}


def believed(profile, belief):
    """A copy of @profile in which every run time is multiplied by what @belief draws."""
    wrong = json.loads(json.dumps(profile))
    for name in sorted(wrong["models"]):
        draw = belief(name)
        for kind in sorted(wrong["models"][name]["devices"]):
            for point in wrong["models"][name]["devices"][kind]["points"]:
                factor = draw()
                point["ms"] = round(point["ms"] * factor, 4)
                point["sd_ms"] = round(point.get("sd_ms", 0) * factor, 4)
    return wrong


def met_after(path, warmup):
    """
    By policy, as means over the seeds: how many of the jobs after the first @warmup of them met
    their deadlines, and their mean latency in ms. None where no run ended.
    """
    options = ["--warmup", f"{warmup}", "--jobs", str(JOBS)]
    found = {}
    for policy in POLICIES:
        rows = [
            (run["slo_hit_rate"] * (JOBS - run["warmup_jobs"]), run["latency_ms"]["mean"] or 0.0)
            for run in kept.compare(path, policy, *options)
        ]
        found[policy] = [sum(each) / len(each) for each in zip(*rows)] or None
    return found


def quarters(path):
    """By policy: the per cent met by the first and by the last quarter of the jobs."""
    whole, later, last = (met_after(path, warmup) for warmup in LATER)
    cells = []
    for policy in POLICIES:
        if None in (whole[policy], later[policy], last[policy]):
            cells.append("-")
            continue
        first = 400 * (whole[policy][0] - later[policy][0]) / JOBS
        met, latency_ms = last[policy]
        cells.append(f"{first:.1f}, {400 * met / JOBS:.1f} · {latency_ms:.0f}")
    return cells


def main():
    names = usage.words(__doc__, 0, usage.ANY) or WORKLOADS
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        combined.make_named(folder, 3, names, __doc__)
        print("| | " + " | ".join(f"`{policy}`" for policy in POLICIES) + " |")
        print("|---" * (len(POLICIES) + 1) + "|")
        for workload in names:
            scenario, _ = combined.at_share(folder / f"{workload}.yaml", SHARE)
            truth = json.loads((folder / scenario["profile"]).read_text(encoding="utf-8"))
            scenario.update({"seeds": SEEDS, "truth": truth})
            for text, belief in BELIEFS.items():
                rng = random.Random(f"{workload} {text}")
                scenario["profile"] = believed(truth, belief(rng))
                path = folder / "changed.json"
                path.write_text(json.dumps(scenario), encoding="utf-8")
                print(f"| {workload}, {text} | " + " | ".join(quarters(path)) + " |", flush=True)


if __name__ == "__main__":
    main()
