#!/usr/bin/env python3
"""Print how the workflow fares that fares worst, and what priorities are worth, by policy.

usage: study_weft_fair.py [WORKLOAD...]

Workloads are those of seed 3 of scenarios/combined/generate.py. Prints Markdown, in per cent: at
0.4 of the rate that they name, the deadlines met by all jobs and by those of the worst workflow,
as `weft compare` has them in SLO % and WORST %; and at the whole rate and at half as much again,
where not all can be met, the deadlines met by the first workflow and by the others, without a
priority and with one of the first, and by how much the priority changes them, paired.

Settings, in the environment: those of tools/kept.py; SEEDS (201..204) and JOBS (1000).
"""

import itertools
import json
import os
import pathlib
import tempfile

import combined
import kept
import usage
import yaml
from study import interval

SEEDS = os.environ.get("SEEDS", "201..204")
JOBS = os.environ.get("JOBS", "1000")
POLICIES = ("esg", "place=compass,order=esg,dispatch=esg,cache=compass", "weft")
LIGHT, FULL = 0.4, (1.0, 1.5)


def runs(path, share):
    """By policy: what the runs say, at @share of the rate that the scenario names."""
    scenario = yaml.safe_load(path.read_text(encoding="utf-8"))
    rate = share * float(scenario["arrivals"]["rate"].removesuffix("/s"))
    options = ["--rates", f"{rate:.3f}", "--set", f"seeds={SEEDS}", "--jobs", JOBS]
    return {policy: kept.compare(path, policy, *options) for policy in POLICIES}


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def of_worst(each):
    """Shares met, in per cent: by all, and by the workflow that is worst over all seeds."""
    names = [row["workflow"] for row in each[0]["fairness"]["workflows"]]
    flows = [
        mean(run["fairness"]["workflows"][i]["slo_hit_rate"] for run in each)
        for i in range(len(names))
    ]
    return f"{100 * mean(run['slo_hit_rate'] for run in each):.1f}, {100 * min(flows):.1f}"


def of_first(each):
    """Shares met, in per cent: by the first workflow, and by the others."""
    rows = [run["fairness"]["workflows"] for run in each]
    first = mean(row[0]["slo_hit_rate"] for row in rows)
    others = mean(mean(flow["slo_hit_rate"] for flow in row[1:]) for row in rows)
    return f"{100 * first:.1f}, {100 * others:.1f}"


def gains(each, urgent):
    """What the first workflow gains by its priority, and the others, in points."""
    found = []
    for part in (slice(0, 1), slice(1, None)):
        shares = [[mean_met(run, part) for run in runs] for runs in (each, urgent)]
        gain, half = interval([100 * (b - a) for a, b in zip(*shares)])
        found.append(f"{gain:+.1f} ± {half:.1f}")
    return ", ".join(found)


def mean_met(run, part):
    return mean(flow["slo_hit_rate"] for flow in run["fairness"]["workflows"][part])


def with_priority(path):
    """A copy of the scenario in which the first workflow is urgent."""
    scenario = yaml.safe_load(path.read_text(encoding="utf-8"))
    scenario["workflows"][0]["priority"] = 1
    urgent = path.with_name("urgent.json")
    urgent.write_text(json.dumps(scenario), encoding="utf-8")
    return urgent


def print_head():
    print("| | " + " | ".join(f"`{policy}`" for policy in POLICIES) + " |")
    print("|---" * (len(POLICIES) + 1) + "|")


def print_row(title, cells):
    print(f"| {title} | " + " | ".join(cells) + " |", flush=True)


def main():
    names = usage.words(__doc__, 0, usage.ANY)
    with tempfile.TemporaryDirectory() as folder:
        combined.make_named(folder, 3, names, __doc__)
        paths = sorted(pathlib.Path(folder).glob("*.yaml"))
        paths = [path for path in paths if not names or path.stem in names]
        print_head()
        for path in paths:
            print_row(path.stem, [of_worst(each) for each in runs(path, LIGHT).values()])
        print()
        print_head()
        for path, share in itertools.product(paths, FULL):
            plain = runs(path, share).values()
            urgent = runs(with_priority(path), share).values()
            print_row(f"{path.stem}, {share:g}", [of_first(each) for each in plain])
            print_row("first urgent", [of_first(each) for each in urgent])
            print_row("gain", [gains(*each) for each in zip(plain, urgent)])


if __name__ == "__main__":
    main()
