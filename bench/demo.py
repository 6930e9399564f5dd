#!/usr/bin/env python3
"""The policy of the demo beside others, on its real models and the same requests.

usage: demo.py REPOSITORY [POLICY...]

REPOSITORY is what tools/demo_repository.py makes; `make demo` leaves it in build/demo. The policy
of its weft.yaml is the first arm, or with DEFAULT=1 that of a server that is told none; each POLICY
is one more (one, if none is named: fifo placement and order, least recently used models leave).
`all` stands for every other policy of the registry, each with all roles that it fills.
In a round each of them is played beside the first arm, one after the other, and which of the two
begins changes from pair to pair and from round to round; all have the same seed, so the same
arrivals and samples, and the same profile. What else the machine does meets both. A policy whose
mean is CUT times that of the first arm, or that answers less than nine of ten, is played no more:
what it had until then counts. Prints the median over the rounds, the smallest and largest in
brackets, and the median of the ratios within pairs, arm / first.

Settings, in the environment: WEFT (build/weft), ROUNDS (5), RATE (1.5/s), SECONDS (30), DEFAULT;
CUT (4); OPTIONS of `weft serve`, such as --no-admission; TABLE, to print a table for a page; RUNS,
a file to which rounds are added, so that they can be played a few at a time: the report is then of
all that are in it, and the next seed follows theirs.
"""

import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))

import usage  # noqa: E402

REFERENCE = "place=fifo,order=fifo,cache=lru"
ROUNDS = int(os.environ.get("ROUNDS", "5"))
RATE = os.environ.get("RATE", "1.5/s")
SECONDS = os.environ.get("SECONDS", "30")
RUNS = os.environ.get("RUNS")
DEFAULT = os.environ.get("DEFAULT")
CUT = float(os.environ.get("CUT", "4"))
OPTIONS = os.environ.get("OPTIONS", "").split()
TABLE = os.environ.get("TABLE")
ANSWERED_LEAST = 90.0  # Of requests, in parts of a hundred.

# name, and how it is found in what was served
FIGURES = {
    "mean, ms": lambda served: served["latency_ms"]["mean"],
    "p50, ms": lambda served: served["latency_ms"]["p50"],
    "p95, ms": lambda served: served["latency_ms"]["p95"],
    "p99, ms": lambda served: served["latency_ms"]["p99"],
    "answered, %": lambda served: 100 * served["completed"] / max(served["jobs"], 1),
    "SLO met, %": lambda served: 100 * served["slo_hit_rate"],
    "loads": lambda served: served["loads"],
    "cache hits, %": lambda served: 100 * served["cache_hit_rate"],
    "failed": lambda served: served["failed"],
}
SHOWN = ("mean, ms", "p99, ms", "answered, %", "loads", "cache hits, %")  # In a table.


def play(weft, repository, policy, seed):
    command = [weft, "serve", repository, "--json", "--rate", RATE, "--seconds", SECONDS]
    command += ["--seed", str(seed), *OPTIONS] + (["--policy", policy] if policy else [])
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if not done.stdout:
        sys.exit(f"demo: {done.stderr}")
    served = json.loads(done.stdout)["served"]
    return {label: figure(served) for label, figure in FIGURES.items()}


def registry(weft):
    """All policies that do more than refuse, but for the default."""
    done = subprocess.run([weft, "policies"], capture_output=True, text=True)
    found = re.findall(r"(?m)^([a-z][\w-]*) +((?:\w+, )*\w+)  ", done.stdout)
    return [name for name, roles in found if roles != "admit" and name != "weft"]


class Study:
    """Pairs of runs, by policy: of the first arm and of the policy."""

    def __init__(self, kept):
        self.kept = kept
        self.pairs = json.loads(kept.read_text()) if kept and kept.exists() else {}

    def rounds(self):
        return max(map(len, self.pairs.values()), default=0)

    def add(self, policy, first, other):
        self.pairs.setdefault(policy, []).append((first, other))
        if self.kept:
            self.kept.write_text(json.dumps(self.pairs))

    def is_cut(self, policy):
        """Whether @policy has collapsed in its last round."""
        if not self.pairs.get(policy):
            return False
        first, other = self.pairs[policy][-1]
        return (other["answered, %"] < ANSWERED_LEAST
                or other["mean, ms"] > CUT * first["mean, ms"])  # fmt: skip


def spread(values, digits=1):
    low, high = (f"{end:.{digits}f}" for end in (min(values), max(values)))
    return f"{statistics.median(values):.{digits}f} ({low} to {high})"


def ratios(pairs, label):
    return [other[label] / first[label] for first, other in pairs if first[label] > 0]


def report(study):
    print(f"{RATE}, {SECONDS} s, {study.rounds()} rounds")
    print("median (smallest to largest); ratio to the first arm within pairs")
    first = [one for pairs in study.pairs.values() for one, _ in pairs]
    print("the first arm: " + ("the default" if DEFAULT else "as weft.yaml says"))
    for label in FIGURES:
        print(f"  {label:14} {spread([run[label] for run in first])}")
    for policy, pairs in study.pairs.items():
        print(f"{policy}: {len(pairs)} pairs" + (", cut off" if study.is_cut(policy) else ""))
        for label in FIGURES:
            line = f"  {label:14} {spread([other[label] for _, other in pairs])}"
            found = ratios(pairs, label)
            print(line + (f"   x {statistics.median(found):.2f}" if found else ""))


def table(study):
    """For a page: what each policy had in relation to the first arm beside it."""
    print("| policy | pairs | mean / first | p99 / first | " + " | ".join(SHOWN) + " |")
    print("|---" * (4 + len(SHOWN)) + "|")
    first = [one for pairs in study.pairs.values() for one, _ in pairs]
    medians = [f"{statistics.median(run[label] for run in first):.0f}" for label in SHOWN]
    name = "the default" if DEFAULT else "as weft.yaml says"
    print(f"| {name} | {len(first)} | 1 | 1 | {' | '.join(medians)} |")
    for policy, pairs in study.pairs.items():
        medians = [f"{statistics.median(run[label] for _, run in pairs):.0f}" for label in SHOWN]
        times = [spread(ratios(pairs, label), 2) for label in SHOWN[:2]]
        cut = ", cut off" if study.is_cut(policy) else ""
        print(f"| `{policy}` | {len(pairs)}{cut} | {' | '.join([*times, *medians])} |")


def play_round(study, arms, weft, repository, profiles):
    seed = study.rounds() + 1
    for number, policy in enumerate(arms):
        if study.is_cut(policy):
            continue
        pair = {}
        for arm in (None, policy) if (seed + number) % 2 else (policy, None):
            shutil.rmtree(repository / "profiles")
            shutil.copytree(profiles, repository / "profiles")
            pair[arm] = play(weft, repository, arm, seed)
        study.add(policy, pair[None], pair[policy])
        means = [f"{pair[arm]['mean, ms']:.0f}" for arm in (None, policy)]
        print(f"round {seed}: {policy}: {means[1]}, first {means[0]} ms", file=sys.stderr)


def main():
    source, *named = usage.words(__doc__, 1, usage.ANY)
    weft = os.environ.get("WEFT", "build/weft")
    named = named or [REFERENCE]
    arms = [arm for name in named for arm in (registry(weft) if name == "all" else [name])]
    study = Study(pathlib.Path(RUNS) if RUNS else None)
    with tempfile.TemporaryDirectory() as work:
        repository = pathlib.Path(work) / "demo"
        shutil.copytree(source, repository)
        if DEFAULT:
            settings = repository / "weft.yaml"
            lines = settings.read_text(encoding="utf-8").splitlines(keepends=True)
            kept_lines = [line for line in lines if not line.startswith("policy:")]
            settings.write_text("".join(kept_lines), encoding="utf-8")
        play(weft, repository, None, seed=1)  # Measures what has no profile, and warms files up.
        profiles = pathlib.Path(work) / "profiles"
        shutil.copytree(repository / "profiles", profiles)
        for _ in range(ROUNDS):
            play_round(study, arms, weft, repository, profiles)
    (table if TABLE else report)(study)


if __name__ == "__main__":
    main()
