#!/usr/bin/env python3
"""The demo's admission on a machine whose speed changes, simulated.

usage: overload_busy.py

scenarios/overload/shared.yaml has three workflows like those of the demo on two workers, which can
carry some 2/s. It is run at 0.6, 2 and 4 times that, on four machines: one that is quiet; one whose
run times differ from the profile by up to 80 %; and two on which all workers are slow at times, for
four seconds on average: by factors that are exponential with the means 3.5 and 6, with pauses of
seven and five seconds on average. Prints jobs in time, of those admitted and of all, over six seeds
of 150 jobs from a cold start: for the demo's admission, for the reference, `deadline:strict=1`,
which has no margin, and their ratio of jobs in time of those admitted.

Settings, in the environment: WEFT (build/weft).
"""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))

import usage  # noqa: E402

WEFT = os.environ.get("WEFT", "build/weft")
SCENARIO = pathlib.Path("scenarios/overload/shared.yaml")
POLICY = "place=compass,cache=compass,order=edf,dispatch=first-fit,admit="
ADMISSIONS = {"demo": "deadline:strict=1:margin=0.5", "reference": "deadline:strict=1"}
RATES = (1.2, 4, 8)
JOBS, SEEDS, SECONDS = 150, 6, 150


def spells(pause_s, factor):
    """Times in which both workers are slow."""
    draw = random.Random(4)
    lines, at_s = ["faults:\n"], 0
    while at_s < SECONDS:
        at_s += draw.expovariate(1 / pause_s)
        length_s, by = draw.expovariate(1 / 4), 1 + draw.expovariate(1 / factor)
        lines += [
            f"  - {{at: {at_s:.2f}s, slow: {worker}, factor: {by:.2f}, for: {length_s:.2f}s}}\n"
            for worker in (0, 1)
        ]
        at_s += length_s
    return "".join(lines)


MACHINES = {
    "quiet": "",
    "wrong profile": "profile_error: 80%\n",
    "busy at times": spells(7, 2.5),
    "busy often": spells(5, 5),
}


def simulate(path, rate, admission):
    """(in time, admitted) over all seeds."""
    met = admitted = 0
    for seed in range(1, SEEDS + 1):
        done = subprocess.run(
            [WEFT, "sim", path, "--set", "warmup=0", "--rate", f"{rate}/s", "--jobs", str(JOBS),
             "--seed", str(seed), "--policy", POLICY + admission, "--json"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            sys.exit(f"overload_busy: {done.stderr}")
        report = json.loads(done.stdout)
        met += round(report["slo_hit_rate"] * JOBS)
        admitted += JOBS - report["refused"]
    return met, admitted


def main():
    usage.words(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        for machine, lines in MACHINES.items():
            path = pathlib.Path(folder) / "scenario.yaml"
            path.write_text(SCENARIO.read_text(encoding="utf-8") + lines, encoding="utf-8")
            for rate in RATES:
                shares, texts = [], []
                for name, admission in ADMISSIONS.items():
                    met, admitted = simulate(path, rate, admission)
                    shares.append(met / max(admitted, 1))
                    of_all = 100 * met / (JOBS * SEEDS)
                    texts.append(f"{name} {100 * shares[-1]:5.1f} % of admitted {of_all:5.1f} %")
                ratio = shares[0] / max(shares[1], 1e-3)
                print(f"{machine:14} {rate:4}/s  {'  '.join(texts)}  ratio {ratio:.2f}")


if __name__ == "__main__":
    main()
