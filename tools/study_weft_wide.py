#!/usr/bin/env python3
"""Look for scenarios in which a composition is better than weft, among many that are drawn widely.

usage: study_weft_wide.py [FIRST..LAST]

Scenarios are those of tools/wide.py, of numbers 501 to 560 unless told otherwise. The rate that
the best of a few policies carries is found first: up to which at least 0.95 of the SLOs are met
that are met at a light load or, where there are none, its runs are stable. At 0.3, 0.6 and 0.9 of
it weft then runs beside strong compositions. Where one of them meets more than 2 points more or,
without SLOs, has a mean latency that is more than 5 % less, the best one and weft run once more on
other seeds. Prints Markdown: where weft is still behind, worst first, by how many points or,
without SLOs, with how many times the mean latency; and then in how many cases it is ahead, level
and behind.

Settings, in the environment: those of tools/kept.py; SEEDS of the first round (1..2), and
SEEDS_MORE (11..16) of the second.
"""

import json
import math
import os
import pathlib
import re
import sys
import tempfile

import kept
import usage
import wide
from study import interval

SEEDS = os.environ.get("SEEDS", "1..2")
SEEDS_MORE = os.environ.get("SEEDS_MORE", "11..16")
SHARES = (0.3, 0.6, 0.9)
STEPS = 7
FEW = (
    "weft",
    "esg",
    "order=edf,dispatch=esg,cache=compass",
    "place=weft,order=edf,dispatch=esg,cache=compass",
    "place=weft,order=edf,cache=compass",
)
OTHERS = (
    "esg",
    "orion",
    "order=edf,dispatch=esg,cache=compass",
    "order=esg,dispatch=esg,cache=compass",
    "order=edf,dispatch=first-fit,cache=compass",
    "place=nona,order=edf,dispatch=esg,cache=compass",
    "place=weft,order=edf,dispatch=esg,cache=compass",
    "place=weft,order=weft,dispatch=esg",
    "place=weft,order=weft,cache=compass",
    "place=weft,order=edf,dispatch=first-fit,cache=compass",
    "place=compass,order=edf,dispatch=esg,cache=compass",
    "place=compass,order=weft,cache=compass",
    "place=compass,order=edf,dispatch=first-fit,cache=compass",
    "place=least-work,order=edf",
    "place=fair,order=edf",
    "place=jit,order=edf",
)


class Case:
    """A scenario that was drawn; runs are scored by what is met or, without SLOs, by the mean."""

    def __init__(self, number, folder):
        scenario, self.rate, self.drawn = wide.draw(number)
        self.has_slos = any("slo" in workflow for workflow in scenario["workflows"])
        self.number = number
        self.path = folder / f"wide-{number}.json"
        self.path.write_text(json.dumps(scenario), encoding="utf-8")

    def kind(self):
        if not self.has_slos:
            return "without SLOs"
        if self.drawn["units"] > 1:
            return "shares, " + ("priced" if self.drawn["has_prices"] else "free")
        return "whole devices, " + ("batches" if self.drawn["has_batches"] else "single items")

    def runs(self, policy, rate, seeds, *options):
        rates = ("--rates", f"{rate:.4f}", "--set", f"seeds={seeds}")
        return kept.compare(self.path, policy, *rates, *options)

    def scores(self, policy, rate, seeds):
        """The larger the better: points of SLOs or, without, hundredths of the mean's logarithm."""
        runs = self.runs(policy, rate, seeds)
        if self.has_slos:
            return [100 * (run["slo_hit_rate"] or 0.0) for run in runs]
        return [-100 * math.log(run["latency_ms"]["mean"] or 1e9) for run in runs]

    def carried(self, policy, rate):
        runs = self.runs(policy, rate, "1..1", "--jobs", "500")
        good = (run["slo_hit_rate"] or 0.0 if self.has_slos else run["stable"] for run in runs)
        return max(good, default=0)

    def limit(self):
        """The rate that the best of a few carries."""
        low, high = 0.02 * self.rate, 3 * self.rate
        wanted = 0.95 * max(self.carried(policy, low) for policy in FEW)
        for _ in range(STEPS):
            middle = math.sqrt(low * high)
            is_met = any(self.carried(policy, middle) >= wanted for policy in FEW)
            low, high = (middle, high) if is_met else (low, middle)
        return low

    def margin(self):
        return 2 if self.has_slos else 5


def mean(values):
    return sum(values) / len(values) if values else -math.inf


def judge(case, rate):
    """How far weft is ahead of the best of the others, half of the interval, and which that is."""
    ours = mean(case.scores("weft", rate, SEEDS))
    scores = {policy: mean(case.scores(policy, rate, SEEDS)) for policy in OTHERS}
    best = max(scores, key=scores.get)
    if ours - scores[best] >= -case.margin():
        return ours - scores[best], 0.0, best
    pairs = zip(case.scores("weft", rate, SEEDS_MORE), case.scores(best, rate, SEEDS_MORE))
    return *interval([a - b for a, b in pairs]), best


def describe(drawn):
    prices = "prices" if drawn["has_prices"] else "no prices"
    wrong = f", wrong {drawn['wrong']}" if "wrong" in drawn else ""
    return (
        f"{drawn['workers']} workers of {len(drawn['kinds'])} kinds, {drawn['units']} units, "
        f"{prices}, memory {drawn['memory']}, {drawn['gbits']} Gb/s, SLO {drawn['slo']}{wrong}"
    )


def main():
    given = (usage.words(__doc__, 0, 1) or ["501..560"])[0]
    if not re.fullmatch(r"[0-9]+\.\.[0-9]+", given):
        usage.fail(__doc__, f"'{given}' are no numbers")
    first, last = (int(word) for word in given.split(".."))
    counts, behind = {}, []
    with tempfile.TemporaryDirectory() as name:
        for number in range(first, last + 1):
            case = Case(number, pathlib.Path(name))
            limit = case.limit()
            for share in SHARES:
                gap, half, best = judge(case, share * limit)
                where = 0 if gap > case.margin() else 2 if gap < -case.margin() else 1
                counts.setdefault(case.kind(), [0, 0, 0])[where] += 1
                if where == 2:
                    behind.append((gap, half, best, share, case))
            print(f"{number}: {case.kind()}", file=sys.stderr, flush=True)
    print("| drawn | share | difference | best of the others | |\n|---|---|---|---|---|")
    for gap, half, best, share, case in sorted(behind, key=lambda each: each[0]):
        found = f"{gap:+.1f} ± {half:.1f}" if case.has_slos else f"× {math.exp(-gap / 100):.2f}"
        cells = [f"{case.number}, {case.kind()}", f"{share}", found]
        print("| " + " | ".join([*cells, f"`{best}`", describe(case.drawn)]) + " |")
    print("\n| | ahead | level | behind |\n|---|---|---|---|")
    for kind, found in sorted(counts.items()):
        print(f"| {kind} | " + " | ".join(str(each) for each in found) + " |")


if __name__ == "__main__":
    main()
