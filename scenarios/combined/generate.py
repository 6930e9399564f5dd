#!/usr/bin/env python3
"""Write workloads with several problems at once: memory, links, deadlines, and what goes wrong.

usage: generate.py FOLDER [SEED [narrow]]

Workflows, models, sizes and deadlines are drawn from the seed; 1 unless told otherwise. A workload
has two or three problems, and some have bursts, wrong profiles, two kinds of devices or a slow
worker on top. Times are by the formula of the workloads of esg, with other parameters. Rates
are chosen with `weft compare --rates`; the one that is written is about half of what the
devices could do if nothing but them were short. `narrow` writes others, whose inputs travel for
about as long as tasks run.
"""

import json
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

import usage  # noqa: E402

BATCHES = (1, 2, 4, 8, 16)
CPUS = (1, 2, 4)
GPUS = (1, 2, 3, 4, 7)

# problems: memory (room for few models), links (narrow), racks (narrow core); batches: measured
# with shares and batches, otherwise whole devices and single items; factor: of deadlines, in
# times on the smallest config.
WORKLOADS = {
    "memory": {"memory": 0.35, "batches": True, "factor": 1.2},
    "links": {"link": "1Gb/s", "batches": True, "factor": 1.2},
    "both": {"memory": 0.5, "link": "2Gb/s", "batches": True, "factor": 1.4},
    "bursts": {"memory": 0.5, "batches": True, "factor": 1.4, "cv": 4},
    "wrong": {"memory": 0.7, "batches": True, "factor": 1.3, "error": "40%", "mixed": True},
    "whole": {"memory": 0.35, "link": "2Gb/s", "batches": False, "factor": 5, "mixed": True},
    "whole-bursts": {"memory": 0.5, "batches": False, "factor": 6, "cv": 4, "slow": True},
    "racks": {"racks": True, "memory": 0.6, "batches": True, "factor": 1.4, "slow": True},
}

NARROW = {
    "narrow": {"link": "0.5Gb/s", "batches": True, "factor": 1.6},
    "narrow-memory": {"link": "0.5Gb/s", "memory": 0.4, "batches": True, "factor": 1.8},
    "rack-bursts": {"racks": True, "memory": 0.4, "batches": True, "factor": 1.6, "cv": 4},
}


def run_ms(model, batch, cpu, gpu, speed):
    fixed, parallel = model["fixed"], model["parallel"]
    shared = fixed + (1 - fixed) * max(gpu**-0.5, batch / (parallel * gpu**0.9))
    starved = max(1.0, batch / (4 * cpu)) ** 2
    return model["ms"] / speed * shared * (0.9 + 0.1 / cpu) * starved


def draw_models(rng):
    models = {}
    for number in range(rng.randint(8, 14)):
        models[f"m{number}"] = {
            "ms": round(rng.lognormvariate(5, 0.8)),
            "fixed": rng.uniform(0.15, 0.4),
            "parallel": rng.choice((1.5, 2, 3, 4)),
            "load_mb": round(rng.lognormvariate(6.5, 0.8)),
        }
    return models


def draw_workflow(rng, name, models):
    """A chain, a fork with a join, or a chain with a fork in it: tasks with their producers."""
    shape = rng.choice(("chain", "chain", "fork", "diamond"))
    count = rng.randint(2, 5) if shape == "chain" else rng.randint(2, 3)
    tasks = []
    if shape == "chain":
        tasks = [(f"t{i}", [f"t{i - 1}"] if i else []) for i in range(count)]
    else:
        first = [("t0", [])]
        branches = [(f"b{i}", ["t0"]) for i in range(count)]
        join = [("t1", [f"b{i}" for i in range(count)])]
        after = [("t2", ["t1"])] if shape == "diamond" else []
        tasks = first + branches + join + after
    names = sorted(models)
    return {
        "name": name,
        "tasks": [(task, rng.choice(names), after) for task, after in tasks],
        "kb": {task: round(rng.lognormvariate(6.7, 0.9)) for task, _ in tasks},
    }


def critical_ms(workflow, models, batches):
    ends = {}
    for task, model, after in workflow["tasks"]:
        alone = run_ms(models[model], 1, 1 if batches else 4, 1 if batches else 7, 1)
        ends[task] = max([ends[name] for name in after], default=0) + alone
    return max(ends.values())


def write_profile(path, models, kinds, batches):
    text = {}
    for name, model in models.items():
        devices = {}
        for kind, speed in kinds.items():
            points = []
            for gpu in GPUS if batches else (7,):
                for cpu in CPUS if batches else (4,):
                    for batch in BATCHES if batches else (1,):
                        ms = run_ms(model, batch, cpu, gpu, speed)
                        point = {"items": batch, "ms": round(ms, 2), "sd_ms": round(ms * 0.05, 2)}
                        points.append({**point, "cpu": cpu, "gpu": gpu} if batches else point)
            devices[kind] = {"points": points}
        text[name] = {"load": f"{model['load_mb']}MB", "workspace_per_item": "10MB",
                      "load_fixed_ms": 50, "devices": devices}  # fmt: skip
    document = {"weft_profile": 1, "figures": "assumed",
                "source": "Drawn by generate.py.", "models": text}  # fmt: skip
    path.write_text(json.dumps(document) + "\n", encoding="utf-8")


def capacity(workload, models, kinds, machines, batches):
    """Jobs a second that the devices could do, each as cheaply as it can be done, roughly."""
    jobs_s = 0.0
    for workflow in workload:
        for _, name, _ in workflow["tasks"]:
            jobs_s += min(
                run_ms(models[name], batch, 4, gpu, 1) * gpu / 7 / batch
                for batch in (BATCHES[:3] if batches else (1,))
                for gpu in (GPUS if batches else (7,))
            )
    per_job_s = jobs_s / len(workload) / 1000
    return sum(machines[kind] * speed for kind, speed in kinds.items()) / per_job_s


def write_workload(folder, name, wants, rng):
    models = draw_models(rng)
    workflows = [draw_workflow(rng, f"w{i}", models) for i in range(rng.randint(3, 5))]
    batches = wants["batches"]
    kinds = {"fast": 1.0, "slow": 0.5} if wants.get("mixed") else {"fast": 1.0}
    machines = {"fast": 8, "slow": 8} if wants.get("mixed") else {"fast": 16}
    write_profile(folder / f"{name}.profile.json", models, kinds, batches)
    all_mb = sum(model["load_mb"] for model in models.values())
    biggest = max(model["load_mb"] for model in models.values())
    memory = max(round(wants.get("memory", 1.5) * all_mb), biggest + 400)
    rate = capacity(workflows, models, kinds, machines, batches) / 2
    lines = [f"# Made by generate.py: {wants}.", f"scenario: combined-{name}", "cluster:"]
    lines.append("  machines:")
    for kind, count in machines.items():
        units = ", units: 7" if batches else ""
        device = f"{{kind: {kind}, memory: {memory}MB, h2d: 8GB/s{units}}}"
        lines.append(f"    - {{count: {count}, device: {device}, cpu: 16}}")
    link = wants.get("link", "25Gb/s")
    if wants.get("racks"):
        lines.append("  network: {kind: two-tier, per_rack: 4, link: 10Gb/s, core: 2Gb/s, "
                     "latency: 50us, sharing: fifo}")  # fmt: skip
    else:
        lines.append(f"  network: {{kind: star, link: {link}, latency: 50us, sharing: fifo}}")
    lines.append("  prices: {cpu: 0.034, gpu: 0.67}")
    lines.append(f"profile: {name}.profile.json")
    cv = wants.get("cv", 1)
    lines.append(f"arrivals: {{kind: gamma, cv: {cv}, rate: {rate:.1f}/s}}")
    lines += ["rows: {load: 10ms, cache: 100ms}", "policy: weft", "jobs: 2000", "warmup: 10%"]
    lines.append("seeds: 8")
    if "error" in wants:
        lines.append(f"profile_error: {wants['error']}")
    if wants.get("slow"):
        lines.append("faults: [{at: 1s, slow: 1, factor: 4, for: 100000s}]")
    lines.append("workflows:")
    for workflow in workflows:
        slo = wants["factor"] * critical_ms(workflow, models, batches)
        lines.append(f"  - workflow: {workflow['name']}")
        lines.append(f"    slo: {slo:.0f}ms")
        lines.append(f"    input: {workflow['kb'][workflow['tasks'][0][0]]}KB")
        lines.append("    tasks:")
        for task, model, after in workflow["tasks"]:
            size = f", after: [{', '.join(after)}]" if after else ""
            if after:
                kb = {name: workflow["kb"][name] for name in after}
                sizes = ", ".join(f"{key}: {value}KB" for key, value in kb.items())
                size += f", bytes: {{{sizes}}}"
            lines.append(f"      {task}: {{model: {model}{size}}}")
    (folder / f"{name}.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main():
    given = usage.words(__doc__, 1, 3)
    if not "".join(given[1:2]).isdecimal() and given[1:]:
        usage.fail(__doc__, f"'{given[1]}' is not a seed")
    if given[2:] not in ([], ["narrow"]):
        usage.fail(__doc__, f"there is no '{given[2]}'")
    folder = pathlib.Path(given[0])
    seed = int(given[1]) if given[1:] else 1
    folder.mkdir(exist_ok=True)
    workloads = NARROW if given[2:] else WORKLOADS
    for name, wants in workloads.items():
        write_workload(folder, name, wants, random.Random(f"{seed} {name}"))


if __name__ == "__main__":
    main()
