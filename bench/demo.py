#!/usr/bin/env python3
"""The policy of the demo beside others, on its real models and the same requests.

usage: demo.py REPOSITORY [POLICY...]

REPOSITORY is what tools/demo_repository.py makes; `make demo` leaves it in build/demo. The policy
of its weft.yaml is the first arm, or with DEFAULT=1 that of a server that is told none; each POLICY
is one more (one, if none is named: fifo placement and order, least recently used models leave).
Every round plays all arms one after the other with the same seed, so with the same arrivals and
samples, and from the same profile; what else the machine does meets all of them. Prints the median
over the rounds, the smallest and largest in brackets, and last the median of the ratios within
rounds, arm / first.

Settings, in the environment: WEFT (build/weft), ROUNDS (5), RATE (1.5/s), SECONDS (30), DEFAULT;
RUNS, a file to which rounds are added, so that they can be played a few at a time: the report is
then of all that are in it, and the next seed follows theirs.
"""

import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

REFERENCE = "place=fifo,order=fifo,cache=lru"
ROUNDS = int(os.environ.get("ROUNDS", "5"))
RATE = os.environ.get("RATE", "1.5/s")
SECONDS = os.environ.get("SECONDS", "30")
RUNS = os.environ.get("RUNS")
DEFAULT = os.environ.get("DEFAULT")

# name, and how it is found in what was served
FIGURES = [
    ("mean, ms", lambda served: served["latency_ms"]["mean"]),
    ("p50, ms", lambda served: served["latency_ms"]["p50"]),
    ("p95, ms", lambda served: served["latency_ms"]["p95"]),
    ("p99, ms", lambda served: served["latency_ms"]["p99"]),
    ("SLO met, %", lambda served: 100 * served["slo_hit_rate"]),
    ("loads", lambda served: served["loads"]),
    ("cache hits, %", lambda served: 100 * served["cache_hit_rate"]),
    ("failed", lambda served: served["failed"]),
]


def play(weft, repository, policy, seed):
    command = [weft, "serve", repository, "--json", "--rate", RATE, "--seconds", SECONDS]
    command += ["--seed", str(seed)] + (["--policy", policy] if policy else [])
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if not done.stdout:
        sys.exit(f"demo: {done.stderr}")
    served = json.loads(done.stdout)["served"]
    return [figure(served) for _, figure in FIGURES]


def report(arms, runs):
    first = "the default" if DEFAULT else "as weft.yaml says"
    names = [policy or first for policy in arms]
    print(f"{RATE}, {SECONDS} s, {len(runs)} rounds")
    print("median (smallest to largest); ratio to the first")
    for arm, name in enumerate(names):
        print(name)
        for i, (label, _) in enumerate(FIGURES):
            values = [run[arm][i] for run in runs]
            ratios = [run[arm][i] / run[0][i] for run in runs if run[0][i] > 0]
            line = f"  {label:14} {statistics.median(values):9.1f} "
            line += f"({min(values):.1f} to {max(values):.1f})"
            if arm > 0 and ratios:
                line += f"   x {statistics.median(ratios):.2f}"
            print(line)


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1:2] in (["-h"], ["--help"]) else 2)
    weft = os.environ.get("WEFT", "build/weft")
    arms = [None] + (sys.argv[2:] or [REFERENCE])
    kept = pathlib.Path(RUNS) if RUNS else None
    with tempfile.TemporaryDirectory() as work:
        repository = pathlib.Path(work) / "demo"
        shutil.copytree(sys.argv[1], repository)
        if DEFAULT:
            settings = repository / "weft.yaml"
            lines = settings.read_text(encoding="utf-8").splitlines(keepends=True)
            kept_lines = [line for line in lines if not line.startswith("policy:")]
            settings.write_text("".join(kept_lines), encoding="utf-8")
        play(weft, repository, None, seed=1)  # Measures what has no profile, and warms files up.
        profiles = pathlib.Path(work) / "profiles"
        shutil.copytree(repository / "profiles", profiles)
        runs = json.loads(kept.read_text()) if kept and kept.exists() else []
        for seed in range(len(runs) + 1, len(runs) + ROUNDS + 1):
            run = []
            for policy in arms:
                shutil.rmtree(repository / "profiles")
                shutil.copytree(profiles, repository / "profiles")
                run.append(play(weft, repository, policy, seed))
            runs.append(run)
            if kept:
                kept.write_text(json.dumps(runs))
            print(f"round {seed}", file=sys.stderr)
    report(arms, runs)


if __name__ == "__main__":
    main()
