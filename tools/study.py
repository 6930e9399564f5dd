#!/usr/bin/env python3
"""Make the tables of docs/studies that come from simulations.

usage: study.py [--write] [--folder FOLDER] STUDY [TABLE...]
       study.py --list

STUDY is compass, esg, gpu or nona; without TABLE, all of its tables are made. tools/study_tables.py
says what goes into each. Prints Markdown; the runs are those of `weft compare`, paired by seed.

  --write           put each table into FOLDER/STUDY.md, between its markers
  --folder FOLDER   docs/studies unless given
  --list            print the names of all tables

Settings, in the environment: WEFT (build/weft); SEEDS and JOBS, instead of those of each table.
"""

import argparse
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import typing

import page
from study_tables import SCENARIOS, TABLES

WEFT = os.environ.get("WEFT", "build/weft")

# Student's t, two-sided 95 %, by degrees of freedom; the last is for more.
STUDENT = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131,
)  # fmt: skip


class Failure(Exception):
    """What a person has to know, in one line."""


class Outcome(typing.NamedTuple):
    """What one policy did, and the first policy that ran beside it."""

    runs: list
    first: list
    saturation: dict


# Figures: mean and half of the 95 % confidence interval.


def interval(values):
    mean = sum(values) / len(values)
    if len(values) < 2:
        return mean, 0.0
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))
    student = STUDENT[min(len(values) - 2, len(STUDENT) - 1)]
    return mean, student * deviation / math.sqrt(len(values))


def mean_of(runs, *keys):
    values = []
    for run in runs:
        for key in keys:
            run = run[key]
        values.append(run)
    return interval(values)


def star(outcome):
    return "" if all(run["stable"] for run in outcome.runs) else "*"


def paired_percent(outcome):
    own = [run["latency_ms"]["mean"] for run in outcome.runs]
    first = [run["latency_ms"]["mean"] for run in outcome.first]
    return interval([100 * (a - b) / b for a, b in zip(own, first)])


# Cells: the text for one outcome.


def latency(outcome):
    return f"{mean_of(outcome.runs, 'latency_ms', 'mean')[0]:.0f}{star(outcome)}"


def latency_slowdown(outcome):
    return f"{latency(outcome)} · {mean_of(outcome.runs, 'slowdown', 'mean')[0]:.2f}"


def hits(outcome):
    return f"{100 * mean_of(outcome.runs, 'cache_hit_rate')[0]:.1f}"


def latency_hits(outcome):
    return f"{latency(outcome)}, {hits(outcome)} %"


def difference(outcome):
    if outcome.runs is outcome.first:
        return "–"
    return "{:+.1f} ± {:.1f} %".format(*paired_percent(outcome))


def with_difference(text):
    """A cell that is @text, followed by the difference to the first policy unless it is that."""

    def cell(outcome):
        own = text(outcome)
        return own if outcome.runs is outcome.first else f"{own} ({difference(outcome)})"

    return cell


def milliseconds(outcome):
    return f"{mean_of(outcome.runs, 'latency_ms', 'mean')[0]:.1f}{star(outcome)}"


def milliseconds_hits(outcome):
    return f"{milliseconds(outcome)}, {hits(outcome)} %"


def digits(mean):
    return 0 if mean >= 100 else 1


def latency_interval(outcome):
    """In brackets, without an interval, unless three quarters of the runs were stable."""
    mean, half = mean_of(outcome.runs, "latency_ms", "mean")
    if 4 * sum(run["stable"] for run in outcome.runs) < 3 * len(outcome.runs):
        return f"({mean:.0f})"
    return f"{mean:.{digits(mean)}f} ± {half:.{digits(mean)}f}"


def latency_short(outcome):
    return latency_interval(outcome).split(" ±")[0]


def met(outcome):
    mean, half = mean_of(outcome.runs, "slo_hit_rate")
    return f"{100 * mean:.1f} ± {100 * half:.1f}"


def met_latency(outcome):
    percent = 100 * mean_of(outcome.runs, "slo_hit_rate")[0]
    half, most = (mean_of(outcome.runs, "latency_ms", key)[0] for key in ("p50", "p99"))
    return f"{percent:.1f} % · {half:.1f} · {most:.1f}"


def met_cost(outcome):
    """Deadlines met in per cent; dollars per thousand jobs, or times the first policy's."""
    if outcome.runs is outcome.first:
        return f"{met(outcome)} · {1000 * mean_of(outcome.runs, 'price_per_job')[0]:.4f}"
    times = [a["price_per_job"] / b["price_per_job"] for a, b in zip(outcome.runs, outcome.first)]
    return f"{met(outcome)} · {interval(times)[0]:.2f}×{star(outcome)}"


def saturation(outcome):
    rate = outcome.saturation["rate_low"]
    return "–" if rate is None else f"{rate:.0f}"


CELLS = {
    "latency": latency,
    "latency · slow-down": latency_slowdown,
    "hits": hits,
    "latency, hits": latency_hits,
    "latency, hits (difference)": with_difference(latency_hits),
    "difference": difference,
    "latency (difference)": with_difference(latency),
    "ms, hits (difference)": with_difference(milliseconds_hits),
    "ms (difference)": with_difference(milliseconds),
    "latency ± interval": latency_interval,
    "latency or (unstable)": latency_short,
    "met": met,
    "in time · p50 · p99": met_latency,
    "met · cost": met_cost,
    "saturation": saturation,
}


# Runs.


def weft(*arguments):
    done = subprocess.run([WEFT, *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(done.stderr.strip().split("\n")[-1])
    return done.stdout


def counts(table, times):
    """How many seeds and jobs a row of @table takes that asks for @times as many jobs."""
    seeds = os.environ.get("SEEDS", table.seeds)
    jobs = os.environ.get("JOBS", table.jobs)
    return ["--seeds", str(seeds), "--jobs", str(round(int(jobs) * times))]


def compare(table, row):
    """The outcome of every column; those with the same options run, and are paired, together."""
    groups = {}
    for column in table.columns:
        groups.setdefault(column.options, []).append(column)
    outcomes = {}
    for options, columns in groups.items():
        found = json.loads(weft(
            "compare", f"{SCENARIOS}/{table.study}/{row.scenario}.yaml", "--json",
            "--policies", ";".join(column.policy for column in columns),
            *counts(table, row.times), *row.options.split(), *options.split(),
        ))  # fmt: skip
        first = None
        for number, column in enumerate(columns):
            runs = [run for run in found["runs"] if run["policy"] == column.policy]
            first = first or runs
            limit = found["saturation"][number] if "saturation" in found else None
            outcomes[column.label] = Outcome(runs, first, limit)
    return [outcomes[column.label] for column in table.columns]


def predict(table, row):
    """What the solver expects of a rate, and what a run that draws from its mixture shows."""
    path = pathlib.Path(SCENARIOS, table.study, f"{row.scenario}.yaml").resolve()
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "operators").symlink_to(path.parent / "operators")
        case, mixture = pathlib.Path(folder, "case.yaml"), pathlib.Path(folder, "mixture.json")
        solved = json.loads(weft("solve", str(path), "--json", *row.options.split(), "-o", mixture))
        text = re.sub(r"(?m)^policy:.*\n", "", path.read_text(encoding="utf-8"))
        case.write_text(text + "policy: nona:drift=0\nmixture: mixture.json\n", encoding="utf-8")
        found = json.loads(weft(
            "compare", str(case), "--json", "--policies", "nona:drift=0",
            *counts(table, row.times), *row.options.replace("--rate ", "--rates ").split(),
        ))  # fmt: skip
    expected, seen = solved["mean_ms"], mean_of(found["runs"], "latency_ms", "mean")[0]
    return [
        f"{expected:.{digits(expected)}f}", f"{seen:.{digits(seen)}f}",
        f"{100 * (expected - seen) / seen:+.1f} %",
    ]  # fmt: skip


def cells(table, row):
    if table.cell == "prediction":
        return predict(table, row)
    return [CELLS[table.cell](outcome) for outcome in compare(table, row)]


# Tables and pages.


def head(table):
    labels = [row.label for row in table.rows] if table.turned else table.heads
    return page.head([table.corner, *labels])


def make(table):
    """The table in Markdown; rows and columns change places if it is turned."""
    rows = []
    for row in table.rows:
        print(f"{table.study} {table.name}: {row.label}", file=sys.stderr, flush=True)
        rows.append(cells(table, row))
    labels = [row.label for row in table.rows]
    if table.turned:
        rows, labels = list(zip(*rows)), table.heads
    return head(table) + "".join(page.line([label, *row]) for label, row in zip(labels, rows))


def choose(study, names):
    tables = [table for table in TABLES if table.study == study]
    known = [table.name for table in tables]
    if not tables:
        raise Failure(f"no study '{study}'; --list prints them")
    for name in names:
        if name not in known:
            raise Failure(f"{study} has no table '{name}'; it has: {', '.join(known)}")
    return [table for table in tables if not names or table.name in names]


def parse(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, usage=argparse.SUPPRESS, add_help=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--help", "-h", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--folder", default="docs/studies", type=pathlib.Path)
    parser.add_argument("study", nargs="?")
    parser.add_argument("table", nargs="*")
    return parser.parse_args(arguments)


def main(arguments):
    options = parse(arguments)
    if options.help or (options.study is None and not options.list):
        print(__doc__.strip())
        return 0 if options.help else 2
    if options.list:
        for table in TABLES:
            print(table.study, table.name)
        return 0
    for table in choose(options.study, options.table):
        text = make(table)
        print(f"{table.name}\n\n{text}", flush=True)
        if options.write:
            path = options.folder / f"{table.study}.md"
            path.write_text(page.put(path.read_text("utf-8"), table.name, text), "utf-8")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (Failure, page.Missing) as failure:
        print(f"study.py: {failure}", file=sys.stderr)
        sys.exit(2)
