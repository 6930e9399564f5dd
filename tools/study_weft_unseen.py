#!/usr/bin/env python3
"""Look for compositions that are better than weft, on workloads on which nothing was chosen.

usage: study_weft_unseen.py [narrow] [GENERATOR_SEED...]

Workloads are those of scenarios/combined/generate.py, of seeds 11 and 12 unless told otherwise, at
0.2, 0.6 and 1 times the rates that they name; `narrow` takes those with narrow links instead. All
compositions of a placement, a dispatch, an order and a cache policy, and all policies alone, run
once; the best of them then run beside `weft` on other seeds. Prints Markdown: the deadlines met in
per cent by `weft` and by the best of the others, with the difference and half of its 95 % interval,
paired by seed, and then mean latencies in ms, which tell where all are in time.

Settings, in the environment: those of tools/kept.py; FIRST, the seed of the first round (401), and
JOBS of it (300); SEEDS (501..508) and JOBS_MORE (1000) of the second; SHORT, a file in which
the best of the first round are kept, and from which they are taken if it has them.
"""

import itertools
import json
import math
import os
import pathlib
import re
import tempfile

import combined
import kept
import usage
from study import interval

FIRST = os.environ.get("FIRST", "401")
JOBS = os.environ.get("JOBS", "300")
SEEDS = os.environ.get("SEEDS", "501..508")
JOBS_MORE = os.environ.get("JOBS_MORE", "1000")
SHORT = os.environ.get("SHORT")
SHARES = (0.2, 0.6, 1.0)
BEST = 5
PLACES = (
    "compass nona heft jit least-work po2 hash fifo fair expert opportunistic weft".split() + [""]
)
DISPATCHES = ("esg", "first-fit", "infless", "fast-gshare", "orion", "aquatope", "")
ORDERS = ("edf", "esg", "weft", "")
CACHES = ("compass", "")
SLOW = ("nona", "orion", "aquatope")  # They plan for up to a second: one order and cache each.


def compositions():
    """Those that place, by themselves or by binding; a policy that sizes pods does both."""
    found = []
    for place, dispatch, order, cache in itertools.product(PLACES, DISPATCHES, ORDERS, CACHES):
        binds = dispatch in ("infless", "fast-gshare", "orion", "aquatope")
        if (place and binds) or not (place or dispatch):
            continue
        if (place in SLOW or dispatch in SLOW) and (order, cache) != ("edf", "compass"):
            continue
        roles = (("place", place), ("order", order), ("dispatch", dispatch), ("cache", cache))
        found.append(",".join(f"{role}={name}" for role, name in roles if name))
    alone = "esg first-fit infless fast-gshare orion aquatope compass".split()
    return found + alone + [each for each in PLACES if each not in ("", "weft", "compass")]


def runs(path, rate, policies, seeds, jobs):
    """By policy: (SLOs met, mean latency) of each seed; what died has none."""
    options = ["--rates", f"{rate:.2f}", "--set", f"seeds={seeds}", "--jobs", jobs]
    return {
        policy: {
            run["seed"]: (run["slo_hit_rate"] or 0.0, run["latency_ms"]["mean"] or math.inf)
            for run in kept.compare(path, policy, *options)
        }
        for policy in policies
    }


def shortlist(path, rate, known, key):
    if key not in known:
        found = runs(path, rate, compositions(), f"{FIRST}..{FIRST}", JOBS)
        scores = {
            policy: (met, -latency)
            for policy, seeds in found.items()
            for met, latency in seeds.values()
        }
        known[key] = sorted(scores, key=scores.get, reverse=True)[:BEST]
        if SHORT:
            pathlib.Path(SHORT).write_text(json.dumps(known, indent=1), encoding="utf-8")
    return known[key]


def difference(ours, theirs):
    """Mean and half of the 95 % interval, in points, over the seeds that both have."""
    gaps = [100 * (ours[seed][0] - theirs[seed][0]) for seed in ours if seed in theirs]
    return interval(gaps) if gaps else (math.nan, math.nan)


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else math.nan


def print_row(title, path, rate, others):
    found = runs(path, rate, [*others, "weft"], SEEDS, JOBS_MORE)
    ours = found.pop("weft")
    best = max(
        found,
        key=lambda policy: (
            round(mean(met for met, _ in found[policy].values()), 4),
            -mean(latency for _, latency in found[policy].values()),
        ),
    )
    theirs = found[best]
    gap, half = difference(ours, theirs)
    cells = [
        f"{100 * mean(met for met, _ in ours.values()):.1f}",
        f"{100 * mean(met for met, _ in theirs.values()):.1f}, `{best}`",
        f"{gap:+.1f} ± {half:.1f}",
        f"{mean(ms for _, ms in ours.values()):.0f}, {mean(ms for _, ms in theirs.values()):.0f}",
    ]
    print(f"| {title} | " + " | ".join(cells) + " |", flush=True)


def main():
    given = usage.words(__doc__, 0, usage.ANY)
    which = [word for word in given[:1] if word == "narrow"]
    numbers = given[len(which) :] or ["11", "12"]
    for number in numbers:
        if not number.isdigit():
            usage.fail(__doc__, f"'{number}' is not a seed")
    known = {}
    if SHORT and pathlib.Path(SHORT).exists():
        known = json.loads(pathlib.Path(SHORT).read_text(encoding="utf-8"))
    print("| | `weft` | the best of the others | difference | latency |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        for number in numbers:
            folder = pathlib.Path(name) / number
            combined.make(folder, number, *which)
            for path in sorted(folder.glob("*.yaml")):
                text = path.read_text(encoding="utf-8")
                named = float(re.search(r"rate: ([0-9.]+)/s", text).group(1))
                for share in SHARES:
                    title = f"{number}, {path.stem}, {share}"
                    others = shortlist(path, named * share, known, title)
                    print_row(title, path, named * share, others)


if __name__ == "__main__":
    main()
