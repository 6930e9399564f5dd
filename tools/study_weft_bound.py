#!/usr/bin/env python3
"""Print how many deadlines are met beside a bound for every policy (tools/weft_bound.py).

And of Compass's workload slow-downs, beside a bound on these (tools/weft_slowdown.py).

usage: study_weft_bound.py [TABLE...]

TABLE is esg, azure, combined or slowdown; all of them unless told otherwise. Run times are those
of the profile without their scatter, or a lucky run could pass the bound. Jobs of the warm-up
count neither here nor there. Prints Markdown: of what is offered, the per cent that the bound
allows, and that policies meet; in brackets as a share of the bound.

Settings, in the environment: those of tools/kept.py; SEEDS (201..204); JOBS (2000); TRACES, a
folder with traces of requests for `azure` and `slowdown`; ROUNDS (200) of the bound on slow-downs.
"""

import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import combined as workloads
import kept
import weft_bound
import weft_slowdown
import usage
import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
SEEDS = os.environ.get("SEEDS", "201..204")
JOBS = int(os.environ.get("JOBS", "2000"))
TRACES = os.environ.get("TRACES")
ROUNDS = int(os.environ.get("ROUNDS", "200"))
REFUSING = "admit=deadline:strict,order=weft,dispatch=weft,tick=weft,place=weft,cache=weft"
POLICIES = {
    "weft": "weft",
    "weft, refusing": REFUSING,
    "esg": "esg",
    "esg, refusing": "admit=deadline:strict,order=esg,dispatch=esg,tick=esg",
    "orion": "orion",
}
WARMUP = 0.1


def seconds(text):
    number, unit = re.fullmatch(r"([0-9.]+)(us|ms|s)", text).groups()
    return float(number) * {"us": 1e-6, "ms": 1e-3, "s": 1.0}[unit]


def without_scatter(profile):
    for model in profile["models"].values():
        for curve in model.get("devices", {}).values():
            for point in curve.get("points", [curve]):
                point["sd_ms"] = 0
            curve["distribution"] = "deterministic"
    return profile


def machines_of(scenario):
    """(Machines, units of each device, its kind, processors of a machine), as a list."""
    machines = scenario["cluster"]["machines"]
    machines = machines if isinstance(machines, list) else [machines]
    return [
        (each["count"], each["device"].get("units", 1), each["device"]["kind"], each.get("cpu", 0))
        for each in machines
    ]


def options_of(model, machines):
    options = []
    for _, units, kind, _ in machines:
        shares = {}
        measured = model["devices"][kind]
        for point in measured.get("points", [measured]):
            share = (point.get("gpu", units), point.get("cpu", 0))
            shares.setdefault(share, []).append((point.get("items", 1), point["ms"] / 1000))
        for (gpu, cpu), points in shares.items():
            for items, time in weft_bound.curve(sorted(points)).items():
                options.append((items, time, gpu, cpu, kind))
    return options


def workflows_of(scenario, profile):
    machines = machines_of(scenario)
    result = {}
    for workflow in scenario["workflows"]:
        tasks = {}
        for name, task in workflow["tasks"].items():
            model = profile["models"][task.get("model") or task["function"]]
            tasks[name] = weft_bound.Task(task.get("after", []), options_of(model, machines))
        result[workflow["workflow"]] = (tasks, seconds(workflow["slo"]))
    return result


def arrivals_of(path, seed):
    """(Seconds, workflow) of the jobs that are counted, as the simulator draws them."""
    trace = path.with_suffix(".trace.jsonl")
    command = [kept.WEFT, "sim", str(path), "--policy", "weft", "--seed", str(seed), "--brief"]
    subprocess.run([*command, "--trace", str(trace)], stdout=subprocess.DEVNULL, check=True)
    arrivals = []
    with open(trace, encoding="utf-8") as lines:
        for line in lines:
            if '"kind":"arrived"' in line:
                record = json.loads(line)
                arrivals.append((record["at_ns"] / 1e9, record["workflow"]))
    trace.unlink()
    return arrivals[int(WARMUP * JOBS) :]


def bound_of(path, scenario, profile):
    """The mean share of counted jobs that can be in time, over the seeds."""
    machines = machines_of(scenario)
    units = {}
    for count, of_each, kind, _ in machines:
        units[kind] = units.get(kind, 0) + count * of_each
    processors = sum(count * cpu for count, _, _, cpu in machines)
    first, last = (int(each) for each in SEEDS.split(".."))
    shares = []
    for seed in range(first, last + 1):
        arrivals = arrivals_of(path, seed)
        most = weft_bound.bound(workflows_of(scenario, profile), arrivals, units, processors)
        shares.append(most / len(arrivals))
    return sum(shares) / len(shares)


def met_of(path):
    """By policy: the mean share met."""
    found = [
        [run["slo_hit_rate"] for run in kept.compare(path, policy)] for policy in POLICIES.values()
    ]
    return [sum(all) / len(all) if all else None for all in found]


def print_row(folder, title, source, arrivals):
    """One line: @source is a scenario, @arrivals what is changed in how requests come."""
    scenario = yaml.safe_load(source.read_text(encoding="utf-8"))
    text = (source.parent / scenario["profile"]).read_text(encoding="utf-8")
    profile = without_scatter(json.loads(text))
    scenario["profile"] = profile
    scenario["arrivals"] = {**scenario["arrivals"], **arrivals}
    if "trace" in arrivals:
        scenario["arrivals"] = arrivals
    scenario.update({"jobs": JOBS, "seeds": SEEDS, "warmup": f"{100 * WARMUP:.0f}%", "noise": 0})
    scenario.pop("profile_error", None)
    path = folder / "exact.json"
    path.write_text(json.dumps(scenario), encoding="utf-8")
    name = kept.key(path, "bound", [])
    most = 1.0
    if not kept.LISTED:
        most = kept.remember(name, lambda: bound_of(path, scenario, profile))
    cells = [
        "-" if each is None else f"{100 * each:.1f} ({each / most:.2f})" for each in met_of(path)
    ]
    print(f"| {title} | {100 * most:.1f} | " + " | ".join(cells) + " |", flush=True)


def esg(folder):
    for name in ("strict", "moderate", "relaxed"):
        for rate in ("74.63/s", "100/s", "150/s", "200/s"):
            source = ROOT / f"scenarios/esg/{name}.yaml"
            print_row(folder, f"{name}, {rate}", source, {"rate": rate})


def azure(folder):
    if not TRACES:
        print("study_weft_bound.py: TRACES is not set; no table 'azure'", file=sys.stderr)
        return
    for trace in sorted(pathlib.Path(TRACES).glob("*.csv")):
        shutil.copy(trace, folder)
        for name, rate in itertools.product(("strict", "moderate"), (37.31, 74.63)):
            arrivals = {"kind": "trace", "trace": trace.name, "rate": f"{rate}/s"}
            source = ROOT / f"scenarios/esg/{name}.yaml"
            print_row(folder, f"{trace.stem}, {name}, {rate}/s", source, arrivals)


def combined(folder):
    workloads.make(folder, 3)
    for name in ("memory", "links", "both", "bursts", "wrong", "racks"):
        source = folder / f"{name}.yaml"
        rate = float(re.search(r"rate: ([0-9.]+)/s", source.read_text(encoding="utf-8")).group(1))
        for share in (0.6, 1.0):
            print_row(folder, f"{name}, {share}", source, {"rate": f"{rate * share:.1f}/s"})


def runs_of(folder, scenario):
    """By workflow: tasks with what is before them and their seconds, alone on a device."""
    text = (folder / scenario["profile"]).read_text(encoding="utf-8")
    models = json.loads(text)["models"]
    kind = machines_of(scenario)[0][2]
    result = {}
    for name in scenario["workflows"]:
        workflow = yaml.safe_load((folder / name).read_text(encoding="utf-8"))
        result[workflow["workflow"]] = {
            name: (
                task.get("after", []),
                models[task.get("function") or task["model"]]["devices"][kind]["ms"] / 1000,
            )
            for name, task in workflow["tasks"].items()
        }
    return result


def least_slowdown(path, scenario):
    """The bound and what one queue reaches, as means over the seeds."""
    workers = sum(count for count, *_ in machines_of(scenario))
    first, last = (int(each) for each in SEEDS.split(".."))
    sums, jobs = [0.0, 0.0], 0
    processes = int(kept.PARALLEL) if kept.PARALLEL else None
    with concurrent.futures.ProcessPoolExecutor(processes) as pool:
        for seed in range(first, last + 1):
            groups = weft_slowdown.groups_of(
                runs_of(path.parent, scenario), arrivals_of(path, seed)
            )
            found = pool.map(
                weft_slowdown.bound_group,
                groups,
                itertools.repeat(workers),
                itertools.repeat(weft_slowdown.CELL),
                itertools.repeat(ROUNDS),
            )
            sums = [sum(each) for each in zip(sums, *found)]
            jobs += sum(len(group) for group in groups)
    return [each / jobs for each in sums]


def slowdown(folder):
    """Compass's workload, on arrivals at several rates and on traces."""
    compass = folder / "compass"
    shutil.copytree(ROOT / "scenarios/compass", compass)
    scenario = yaml.safe_load((compass / "held-out.yaml").read_text(encoding="utf-8"))
    cases = []
    for trace in sorted(pathlib.Path(TRACES).glob("*.csv")) if TRACES else []:
        shutil.copy(trace, compass)
        cases.append((trace.stem, {"kind": "trace", "trace": trace.name, "rate": "3/s"}))
    for rate in (1, 2, 3, 4, 4.5):
        cases.append((f"{rate}/s", {**scenario["arrivals"], "rate": f"{rate}/s"}))
    policies = ("weft", "compass")
    print("| | bound | one queue | " + " | ".join(policies) + " |")
    print("|---" * (len(policies) + 3) + "|")
    for title, arrivals in cases:
        scenario.update({"arrivals": arrivals, "jobs": JOBS, "seeds": SEEDS})
        scenario["warmup"] = f"{100 * WARMUP:.0f}%"
        path = compass / f"{title.replace('/', '-')}.json"
        path.write_text(json.dumps(scenario), encoding="utf-8")
        name = kept.key(path, "slowdown", [str(ROUNDS)])
        found = kept.remember(name, lambda: least_slowdown(path, scenario))
        for policy in policies:
            means = [run["slowdown"]["mean"] for run in kept.compare(path, policy)]
            found.append(sum(means) / len(means))
        print(f"| {title} | " + " | ".join(f"{each:.2f}" for each in found) + " |", flush=True)


def main():
    tables = {"esg": esg, "azure": azure, "combined": combined, "slowdown": slowdown}
    names = usage.words(__doc__, 0, usage.ANY) or list(tables)
    unknown = [name for name in names if name not in tables]
    if unknown:
        usage.fail(__doc__, f"there is no table '{unknown[0]}'")
    if names != ["slowdown"]:
        print("| | bound | " + " | ".join(POLICIES) + " |")
        print("|---" * (len(POLICIES) + 2) + "|")
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            tables[name](pathlib.Path(folder))


if __name__ == "__main__":
    main()
