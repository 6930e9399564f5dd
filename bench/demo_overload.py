#!/usr/bin/env python3
"""The demo at more than its machine can carry, beside other load: what is refused, what is late.

usage: demo_overload.py REPOSITORY

REPOSITORY is what tools/demo_repository.py makes; `make demo` leaves it in build/demo. Every round
plays all shares of the measured capacity, each with the demo's admission and without any
(`--no-admission`, the reference), one after the other, while OTHERS processes spin at the same
priority. Prints for each what was in time of what was admitted and of all, the median over the
rounds with the smallest and largest in brackets, and last the ratio of answers in time, admission /
reference, within rounds.

Settings, in the environment: WEFT (build/weft), ROUNDS (3), SHARES (60% 200% 400%), SECONDS (40),
OTHERS (2).
"""

import os
import pathlib
import re
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))

import usage  # noqa: E402

WEFT = os.environ.get("WEFT", "build/weft")
ROUNDS = int(os.environ.get("ROUNDS", "3"))
SHARES = os.environ.get("SHARES", "60% 200% 400%").split()
SECONDS = os.environ.get("SECONDS", "40")
OTHERS = int(os.environ.get("OTHERS", "2"))
ARMS = {"admission": [], "reference": ["--no-admission"]}
MET = (
    r"SLO met: (?:\S+ % of what was admitted \((\d+) of (\d+)\), )?"
    r"\S+ % of all \((\d+) of (\d+)\)"
)


def play(repository, share, options, seed):
    """(in time, admitted, asked)"""
    done = subprocess.run(
        [WEFT, "serve", repository, "--plain", "--http", "127.0.0.1:0", "--metrics", "none"]
        + ["--rate", share, "--seconds", SECONDS, "--drain", "120", "--seed", str(seed), *options],
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    found = re.search(MET, done.stdout)
    if found is None:
        sys.exit(f"demo_overload: {done.stdout[-500:]}{done.stderr[-500:]}")
    return int(found[3]), int(found[2] or 0), int(found[4])


def spread(values):
    return f"{statistics.median(values):5.1f} ({min(values):.1f} to {max(values):.1f})"


def report(share, runs):
    for arm in ARMS:
        of_admitted = [100 * met / max(admitted, 1) for met, admitted, _ in runs[arm]]
        of_all = [100 * met / asked for met, _, asked in runs[arm]]
        print(
            f"{share:5} {arm:9}  in time of admitted, %: {spread(of_admitted)}"
            f"  of all, %: {spread(of_all)}"
        )
    pairs = zip(runs["admission"], runs["reference"])
    ratios = [one[0] / one[2] / max(other[0] / other[2], 1e-3) for one, other in pairs]
    print(f"{share:5} answers in time of all, admission / reference: {spread(ratios)}")


def main():
    (repository,) = usage.words(__doc__, 1)
    spin = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(spin) for _ in range(OTHERS)]
    runs = {share: {arm: [] for arm in ARMS} for share in SHARES}
    try:
        for seed in range(1, ROUNDS + 1):
            for share in SHARES:
                for arm, options in ARMS.items():
                    runs[share][arm].append(play(repository, share, options, seed))
                    print(f"round {seed} {share} {arm} {runs[share][arm][-1]}", file=sys.stderr)
    finally:
        for other in others:
            other.kill()
    for share in SHARES:
        report(share, runs[share])


if __name__ == "__main__":
    main()
