#!/usr/bin/env python3
"""Print how policies fare when something is not as it was planned, on two workloads.

usage: study_weft_robust.py [WORKLOAD...]

Workloads are those of seed 3 of scenarios/combined/generate.py: by default `memory`, whose models
share devices of one kind, and `whole`, on whole devices of two kinds, at 0.6 of the rates that
they name. Prints Markdown: the deadlines met in per cent, of all policies on the same seeds.

Settings, in the environment: those of tools/kept.py; SEEDS (301..308); JOBS (2000).
"""

import os
import pathlib
import tempfile

import combined
import kept
import usage
import yaml

SEEDS = os.environ.get("SEEDS", "301..308")
JOBS = int(os.environ.get("JOBS", "2000"))
SHARE = 0.6
WORKLOADS = ("memory", "whole")
POLICIES = (
    "weft esg first-fit orion infless fast-gshare compass nona heft jit least-work po2 fair"
).split()


def nothing(scenario, seconds):
    """As it was planned."""


def wrong(scenario, seconds):
    """Every config of every model takes up to a half less or more than was measured."""
    scenario["profile_error"] = "50%"


def drift(scenario, seconds):
    """The rate rises and falls by four fifths, three times."""
    rate = scenario["arrivals"]["rate"]
    period = {"period": f"{seconds / 3:.3f}s", "swing": "80%"}
    scenario["arrivals"] = {"kind": "diurnal", "rate": rate, "diurnal": period}


def clumps(scenario, seconds):
    """Gaps have a coefficient of variation of 4."""
    rate = scenario["arrivals"]["rate"]
    scenario["arrivals"] = {"kind": "gamma", "rate": rate, "cv": 4}


def stragglers(scenario, seconds):
    """Two of sixteen workers take four times as long, and no row says so."""
    scenario["faults"] = [
        {"at": f"{seconds * 0.15:.3f}s", "slow": worker, "factor": 4, "for": f"{seconds:.3f}s"}
        for worker in (2, 7)
    ]


def parted(scenario, seconds):
    """One half does not hear the other for a tenth of the time, twice."""
    scenario["faults"] = [
        {"at": f"{seconds * at:.3f}s", "partition": 8, "for": f"{seconds / 10:.3f}s"}
        for at in (0.3, 0.6)
    ]


def lost(scenario, seconds):
    """Two of sixteen workers crash and do not come back."""
    scenario["faults"] = [
        {"at": f"{seconds * at:.3f}s", "crash": worker} for at, worker in ((0.3, 3), (0.6, 9))
    ]


TROUBLES = {
    "none": nothing,
    "profiles wrong by up to 50 %": wrong,
    "drifting rate": drift,
    "bursts, CV 4": clumps,
    "two stragglers": stragglers,
    "partitions": parted,
    "two of 16 lost": lost,
}


def met(path):
    """By policy: the mean share of deadlines met, as text."""
    found = [[run["slo_hit_rate"] for run in kept.compare(path, policy)] for policy in POLICIES]
    return [f"{100 * sum(all) / len(all):.1f}" if all else "-" for all in found]


def main():
    names = usage.words(__doc__, 0, usage.ANY) or WORKLOADS
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        combined.make_named(folder, 3, names, __doc__)
        print("| | " + " | ".join(f"`{policy}`" for policy in POLICIES) + " |")
        print("|---" * (len(POLICIES) + 1) + "|")
        for workload in names:
            for trouble, change in TROUBLES.items():
                scenario, rate = combined.at_share(folder / f"{workload}.yaml", SHARE)
                scenario.update({"jobs": JOBS, "seeds": SEEDS})
                change(scenario, JOBS / rate)
                path = folder / "changed.yaml"
                path.write_text(yaml.safe_dump(scenario), encoding="utf-8")
                print(f"| {workload}, {trouble} | " + " | ".join(met(path)) + " |", flush=True)


if __name__ == "__main__":
    main()
