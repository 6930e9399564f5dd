#!/usr/bin/env python3
"""Rows of a table from the runs of `weft compare --json`.

usage: study_esg.py --head
       study_esg.py SETTING < RUNS

One row a policy: deadlines met, what a thousand jobs cost, and both beside the first policy's, from
pairs of runs with the same seed. After ± stands half of the 95 % confidence interval of the mean.
"""

import json
import math
import sys

# Student's t, two-sided 95 %, by degrees of freedom; the last is for more.
STUDENT = (
    12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13,
)  # fmt: skip

COLUMNS = "{:<16} {:<50} {:>15} {:>17} {:>16} {:>14} {:>9}"


def mean_and_half(values):
    mean = sum(values) / len(values)
    if len(values) < 2:
        return mean, 0.0
    deviation = math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1))
    student = STUDENT[min(len(values) - 2, len(STUDENT) - 1)]
    return mean, student * deviation / math.sqrt(len(values))


def figure(values, scale, digits):
    mean, half = mean_and_half([value * scale for value in values])
    return f"{mean:.{digits}f} ± {half:.{digits}f}"


def rows(setting, runs):
    policies = list(dict.fromkeys(run["policy"] for run in runs))
    by_policy = {name: [run for run in runs if run["policy"] == name] for name in policies}
    first = by_policy[policies[0]]
    for name in policies:
        own = by_policy[name]
        met = [run["slo_hit_rate"] for run in own]
        cost = [1000 * run["price_per_job"] for run in own]
        less = [run["slo_hit_rate"] - base["slo_hit_rate"] for run, base in zip(own, first)]
        times = [run["price_per_job"] / base["price_per_job"] for run, base in zip(own, first)]
        stable = sum(run["stable"] for run in own)
        yield COLUMNS.format(
            setting, name, figure(met, 100, 1), figure(cost, 1, 4), figure(less, 100, 1),
            figure(times, 1, 2), f"{stable}/{len(own)}",
        )  # fmt: skip


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip())
        return 0 if sys.argv[-1] in ("-h", "--help") else 2
    if sys.argv[1] == "--head":
        names = ("setting", "policy", "met %", "per 1000", "points", "times cost", "stable")
        print(COLUMNS.format(*names))
        return 0
    for row in rows(sys.argv[1], json.load(sys.stdin)["runs"]):
        print(row)
    return 0


if __name__ == "__main__":
    sys.exit(main())
