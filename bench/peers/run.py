#!/usr/bin/env python3
"""Weft beside the servers that users would pick instead, on the same work and the same load.

usage: run.py [options] [GROUP...]

GROUP is one or more of identity, chain, resident, memory, picture, ocr, speech and overload; all if
none is named. Installs the peers at the versions of versions.txt, each in an environment of its own
under build/peers, starts the servers of a group, and measures them in turn, cycle by cycle. Prints
tables, and keeps every figure in build/peers/figures.json. Ctrl-C ends it and prints what there is.

  --cycles N            how often every server gets every load; default 5
  --more N              cycles after that with Weft alone, to be predicted; default 0
  --seconds N           length of a slice of an open loop; default 8
  --requests N          longer where fewer requests than that would come, up to 40 s; default 0
  --closed-seconds N    length of a slice of a closed loop; default 2
  --quick               one cycle of short slices: shows that it works, not how fast anything is
  --only A,B            only these servers, such as weft,triton,mosec
  --without NAME        not this one, as tables name it, such as 'Triton, limited'; may be repeated
  --triton-backends DIR folder with Triton's ONNX back end, DIR/onnxruntime; without it Triton
                        serves models by ONNX Runtime in its Python back end, and tables say so
  --add                 add cycles to those of figures.json
  --capacity G=RATE     requests per second that loads of group G are parts of, instead of measuring
  --write               write docs/studies/peers.md
  --tables FILE         only print the tables of an earlier run's figures
  --folder DIR          build/peers unless given

Settings, in the environment: WEFT (build/release/bin/weft).
"""

import argparse
import collections
import datetime
import json
import os
import pathlib
import platform
import signal
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "tools")]

import figures  # noqa: E402
import groups  # noqa: E402
import install  # noqa: E402
import measure  # noqa: E402
import page  # noqa: E402
import predict  # noqa: E402
import tables  # noqa: E402
from servers import Place  # noqa: E402

PAGE = ROOT / "docs/studies/peers.md"


def parse(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, usage=argparse.SUPPRESS, add_help=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--help", "-h", action="store_true")
    parser.add_argument("--cycles", type=int, default=5)
    parser.add_argument("--more", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--requests", type=int, default=0)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--closed-seconds", type=int, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("--triton-backends", type=pathlib.Path)
    parser.add_argument("--add", action="store_true")
    parser.add_argument("--capacity", action="append", default=[])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--tables", type=pathlib.Path)
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/peers")
    parser.add_argument("group", nargs="*")
    options = parser.parse_args(arguments)
    options.capacity = {
        name: float(rate) for name, _, rate in (one.partition("=") for one in options.capacity)
    }
    options.cycles = 1 if options.quick else options.cycles
    options.lengths = predict.QUICK if options.quick else predict.FULL
    options.closed_seconds = 1 if options.quick else options.closed_seconds
    options.open_seconds = 2 if options.quick else options.seconds
    options.saturate_seconds = 1 if options.quick else 3
    options.warm_seconds = 1 if options.quick else 3
    return options


def choose(options):
    """The groups that are wanted, with the servers that are."""
    known = [group.name for group in groups.GROUPS]
    for name in options.group:
        if name not in known:
            raise SystemExit(f"run.py: no group '{name}'; there are: {', '.join(known)}")
    only = options.only.split(",") if options.only else [*install.VERSIONS, "weft"]
    chosen = [group for group in groups.GROUPS if not options.group or group.name in options.group]
    return [group._replace(arms=[arm for arm in group.arms
                                 if arm.peer in only and arm.label not in options.without])
            for group in chosen]  # fmt: skip


def git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip()


def machine():
    cpuinfo = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = next((line.partition(":")[2].strip() for line in cpuinfo.splitlines()
                  if line.startswith("model name")), platform.machine())  # fmt: skip
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return f"{os.cpu_count()} cores of {model}, {memory:.0f} GiB"


def command_line(options):
    words = ["python3 bench/peers/run.py", *options.group]
    words += ["--quick"] if options.quick else [f"--cycles {options.cycles}"]
    words += [f"--more {options.more}"] if options.more else []
    words += [f"--requests {options.requests}"] if options.requests else []
    words += [f"--only {options.only}"] if options.only else []
    words += [f"--without '{name}'" for name in options.without]
    words += ["--triton-backends DIR"] if options.triton_backends else []
    return " ".join(words)


def facts_of(options):
    onnx = "with its ONNX back end" if options.triton_backends else (
        "without its ONNX back end: ONNX Runtime in its Python back end")  # fmt: skip
    return {
        "command": command_line(options), "machine": machine(),
        "date": datetime.date.today().strftime("%-d %B %Y"),
        "commit": git("rev-parse", "--short", "HEAD"), "triton": onnx,
        "runtime": install.VERSIONS["triton"][1].partition("==")[2],
    }  # fmt: skip


def notes():
    """What people wrote into the page, which is kept when it is written again."""
    return page.get(PAGE.read_text(encoding="utf-8"), "notes") if PAGE.exists() else ""


class Study:
    """What was measured, kept after every slice."""

    def __init__(self, path, facts):
        self.path = path
        self.found = {"facts": facts, "rows": [], "missing": {}, "capacity": {}}

    def load(self):
        self.found = json.loads(self.path.read_text(encoding="utf-8"))

    def add_to(self, commit):
        """Go on with what was measured before, perhaps by another commit."""
        self.load()
        known = self.found["facts"]["commit"]
        if commit not in known:
            self.found["facts"]["commit"] = f"{known}, {commit}"

    def cycles(self, group):
        """The numbers of its cycles so far."""
        return {row["cycle"] for row in self.found["rows"] if row["group"] == group.name}

    def save(self):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(self.found), encoding="utf-8")

    def text(self, chosen):
        rows, missing = self.found["rows"], self.found["missing"]
        shown = [group for group in chosen if group.name in missing or self.cycles(group)]
        names = [group.name for group in shown]
        found = {(row["group"], row["arm"], row["cycle"]) for row in tables.compared(rows)}
        counts = collections.Counter(one[:2] for one in found if one[0] in names)
        facts = {
            **self.found["facts"],
            "others": figures.spread(figures.of(rows, "others_cores")),
            "cycles": figures.ends(counts.values()),
        }
        return tables.page_text(facts, shown, rows, missing, notes())


def run_group(place, group, options, study):
    run = measure.Run(place, group, options)
    run.sustained = study.found["capacity"].setdefault(group.name, [])
    try:
        run.start(group.arms)
        study.found["missing"][group.name] = run.missing
        if not run.servers:
            return
        first = max(study.cycles(group), default=-1) + 1
        alone = first + options.cycles
        for number in range(first, alone + options.more):
            for row in run.cycle(number, is_alone=number >= alone):
                study.found["rows"].append(row)
                study.save()
            study.save()  # With predictions.
    except install.Missing as error:
        measure.say(f"{group.name}: {error}")
        study.found["missing"].setdefault(group.name, {})["all"] = str(error)
    finally:
        run.stop()


def place_of(options):
    build = ROOT / "build/release"
    weft = pathlib.Path(os.environ.get("WEFT", build / "bin/weft")).resolve()
    if not weft.exists():
        raise SystemExit("run.py: Weft is not built; run 'make build'")
    folder, backends = options.folder.resolve(), options.triton_backends
    return Place(weft, weft.parents[1], folder, backends.resolve() if backends else None)


def measure_all(options, chosen):
    place = place_of(options)
    facts = facts_of(options)
    study = Study(place.folder / "figures.json", facts)
    if options.add and study.path.exists():
        study.add_to(facts["commit"])
    try:
        measure.prepare(place, chosen)
        for group in chosen:
            run_group(place, group, options, study)
    except KeyboardInterrupt:
        measure.say("ended; this is what was measured")
    study.save()
    return study


def interrupt(*_):
    """End what is measured; the second signal changes nothing."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def main(arguments):
    options = parse(arguments)
    if options.help:
        print(__doc__.strip())
        return 0
    for number in (signal.SIGINT, signal.SIGTERM):  # Even where a shell ignores the first.
        signal.signal(number, interrupt)
    chosen = choose(options)
    if options.tables:
        study = Study(options.tables, {})
        study.load()
    else:
        study = measure_all(options, chosen)
    text = study.text(chosen)
    print(text)
    if options.write:
        PAGE.write_text(text, encoding="utf-8")
    return 0 if study.found["rows"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
