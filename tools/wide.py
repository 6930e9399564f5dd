"""Scenarios that are drawn more widely than those of scenarios/combined, each from its number.

Clusters of 4 to 48 workers with whole devices or with shares, of one to three kinds, with or
without prices, with memory for a quarter of the models up to all of them and with links of 0.5 to
100 Gb/s; workflows of 1 to 12 tasks of 1 ms to 2 s, most with SLOs of 1.3 to 6 times their critical
path; and arrivals, slow workers and wrong profiles of several kinds.
"""

import math
import random

BATCHES = (1, 2, 4, 8, 16)
CPUS = (1, 2, 4)
SHARES = {1: (1,), 2: (1, 2), 7: (1, 2, 3, 4, 7)}
SPEEDS = {"fast": (1.0,), "middle": (0.5, 0.7), "slow": (0.2, 0.35)}


def between(rng, low, high):
    """Drawn so that every factor between them is as likely."""
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def scattered(rng, middle, spread, low, high):
    return min(high, max(low, middle * rng.lognormvariate(0, spread)))


def run_ms(model, items, cpu, part, speed):
    """On @part of a device: the formula of scenarios/combined/generate.py, for any units."""
    waves = max(part**-0.5, items / (model["parallel"] * part**0.9))
    starved = max(1.0, items / (4 * cpu)) ** 2
    shared = model["fixed"] + (1 - model["fixed"]) * waves
    return model["ms"] / speed * shared * (0.9 + 0.1 / cpu) * starved


def draw_models(rng):
    ms, ms_spread = between(rng, 2, 500), rng.uniform(0.2, 1.2)
    mb, mb_spread = between(rng, 20, 2000), rng.uniform(0.2, 1.0)
    return {
        f"m{number}": {
            "ms": scattered(rng, ms, ms_spread, 1, 2000),
            "fixed": rng.uniform(0.1, 0.5),
            "parallel": rng.choice((1.0, 1.5, 2, 4, 8)),
            "load_mb": round(scattered(rng, mb, mb_spread, 5, 8000)),
        }
        for number in range(rng.randint(2, 16))
    }


def draw_graph(rng):
    """Tasks with their producers."""
    shape = rng.choice(("chain", "chain", "fork", "diamond", "sources", "any"))
    if shape == "chain":
        count = rng.choice((1, 2, 3, 4, 6, 8))
        return {f"t{i}": [f"t{i - 1}"] if i else [] for i in range(count)}
    if shape == "any":
        graph = {"t0": []}
        for i in range(1, rng.randint(3, 12)):
            few = rng.sample(range(i), min(i, rng.choice((1, 1, 2))))
            graph[f"t{i}"] = [f"t{each}" for each in sorted(few)]
        return graph
    branches = [f"b{i}" for i in range(rng.randint(2, 6))]
    if shape == "sources":
        return {name: [] for name in branches} | {"t1": branches}
    graph = {"t0": []} | {name: ["t0"] for name in branches}
    if shape == "diamond" or rng.random() < 0.5:
        graph["t1"] = branches
    return graph | ({"t2": ["t1"]} if shape == "diamond" else {})


def draw_workflow(rng, name, models, kb, spread, has_items):
    tasks = {}
    for task, after in draw_graph(rng).items():
        tasks[task] = {"model": rng.choice(models)}
        if after:
            tasks[task]["after"] = after
            sizes = {each: round(scattered(rng, kb, spread, 1, 30000)) for each in after}
            tasks[task]["bytes"] = {each: f"{size}KB" for each, size in sizes.items()}
        if has_items and rng.random() < 0.4:
            tasks[task]["gives"] = [1, rng.choice((2, 4, 8))]
    first = round(scattered(rng, kb, spread, 1, 30000))
    return {"workflow": name, "input": f"{first}KB", "tasks": tasks}


def critical_ms(workflow, models, gbits):
    """The longest way, each task alone on the whole of the fastest device, with what is sent."""
    ends = {}
    for name, task in workflow["tasks"].items():
        sizes_kb = {each: float(size[:-2]) for each, size in task.get("bytes", {}).items()}
        starts = [ends[each] + sizes_kb[each] * 8e-3 / gbits for each in task.get("after", [])]
        ends[name] = max(starts, default=0) + run_ms(models[task["model"]], 1, 4, 1, 1)
    return max(ends.values())


def profile_of(models, drawn, factor=lambda name, point: 1):
    """What is measured; @factor says what a run takes longer than by the formula."""
    units, found = drawn["units"], {}
    for name, model in models.items():
        devices = {}
        for kind, speed in drawn["kinds"].items():
            points = []
            for gpu in SHARES[units]:
                for cpu in CPUS if units > 1 else (4,):
                    for items in BATCHES if drawn["has_batches"] else (1,):
                        ms = run_ms(model, items, cpu, gpu / units, speed)
                        ms *= factor(name, (items, cpu, gpu))
                        point = {"items": items, "ms": round(ms, 3), "sd_ms": round(ms * 0.05, 4)}
                        points.append(point | ({"cpu": cpu, "gpu": gpu} if units > 1 else {}))
            devices[kind] = {"points": points}
        found[name] = {"load": f"{model['load_mb']}MB", "workspace_per_item": drawn["workspace"],
                       "load_fixed_ms": drawn["load_fixed_ms"], "devices": devices}  # fmt: skip
    return {"weft_profile": 1, "figures": "assumed", "models": found}


def truth_of(rng, models, drawn):
    """The profile is wrong by up to two: of each model, of each config, or of all alike."""
    drawn["wrong"] = rng.choice(("models", "configs", "all"))
    known = {}

    def factor(name, point):
        key = {"models": name, "configs": (name, point), "all": None}[drawn["wrong"]]
        if key not in known:
            by_model = drawn["wrong"] == "models"
            known[key] = rng.choice((0.5, 1, 2)) if by_model else between(rng, 0.5, 2)
        return known[key]

    return profile_of(models, drawn, factor)


def capacity(workflows, models, drawn, counts):
    """Jobs a second that devices could do, roughly, if nothing but them were short."""
    batches = BATCHES[:3] if drawn["has_batches"] else (1,)
    parts = [gpu / drawn["units"] for gpu in SHARES[drawn["units"]]]
    job_ms = sum(
        min(run_ms(models[task["model"]], n, 4, of, 1) * of / n for n in batches for of in parts)
        for workflow in workflows
        for task in workflow["tasks"].values()
    )
    speeds = sum(count * drawn["kinds"][kind] for kind, count in counts.items())
    return 1000 * speeds * len(workflows) / job_ms


def draw_cluster(rng, models, drawn):
    """A cluster, and how many devices of each kind it has."""
    all_mb = sum(model["load_mb"] for model in models.values())
    biggest_mb = max(model["load_mb"] for model in models.values())
    memory_mb = max(round(drawn["memory"] * all_mb), biggest_mb) + 1000
    device = {"memory": f"{memory_mb}MB", "h2d": rng.choice(("4GB/s", "8GB/s", "20GB/s"))}
    device |= {"units": drawn["units"]} if drawn["units"] > 1 else {}
    each = rng.choice((1, 1, 1, 2, 4))
    machines, counts = [], {}
    for position, kind in enumerate(drawn["kinds"]):
        left = round(drawn["workers"] / each) - sum(counts.values()) // each
        count = max(1, round(left / (len(drawn["kinds"]) - position)))
        counts[kind] = count * each
        machines.append({"count": count, "devices": each, "cpu": 16 * each,
                         "device": {"kind": kind, **device}})  # fmt: skip
    drawn["workers"] = sum(counts.values())
    network = {"kind": "star", "link": f"{drawn['gbits']}Gb/s",
               "sharing": rng.choice(("fifo", "fair")),
               "latency": rng.choice(("5us", "50us", "500us"))}  # fmt: skip
    total = drawn["workers"] // each
    racks = [size for size in (2, 3, 4, 6, 8) if size < total and total % size == 0]
    if rng.random() < 0.3 and racks:
        core = drawn["gbits"] * rng.choice((0.3, 0.5, 1, 2))
        network |= {"kind": "two-tier", "per_rack": rng.choice(racks), "core": f"{core:.3f}Gb/s"}
    drawn["network"] = network["kind"]
    cluster = {"machines": machines, "network": network}
    prices = {"cpu": 0.034, "gpu": rng.choice((0.2, 0.67, 2))}
    return cluster | ({"prices": prices} if drawn["has_prices"] else {}), counts


def draw_arrivals(rng, rate, jobs, workflows):
    kind = rng.choice(("poisson", "poisson", "gamma", "gamma", "burst", "diurnal"))
    arrivals = {"kind": kind, "rate": f"{rate:.4f}/s"}
    lasts_s = max(4.0, jobs / rate)
    if kind == "gamma":
        arrivals["cv"] = rng.choice((2, 3, 4))
    elif kind == "burst":
        arrivals["burst"] = {"rate": f"{3 * rate:.4f}/s", "every": f"{lasts_s / 5:.3f}s",
                             "length": f"{lasts_s / 25:.4f}s"}  # fmt: skip
    elif kind == "diurnal":
        arrivals["diurnal"] = {"period": f"{max(1.0, lasts_s / 3):.3f}s", "swing": "70%"}
    if rng.random() < 0.3 and len(workflows) > 1:
        arrivals["mix"] = {each["workflow"]: rng.choice((1, 2, 5)) for each in workflows}
    return arrivals


def draw_rest(rng, drawn, models, scenario):
    """What goes wrong: the profile, and a slow worker."""
    if rng.random() < 0.15:
        scenario["truth"] = truth_of(rng, models, drawn)
    elif rng.random() < 0.15:
        scenario["profile_error"] = "40%"
    if rng.random() < 0.15:
        scenario["faults"] = [{"at": "10ms", "slow": rng.randrange(drawn["workers"]),
                               "factor": rng.choice((2, 4)), "for": "100000s"}]  # fmt: skip


def draw(number):
    """The scenario of this number, the rate its devices could do, and what was drawn for it."""
    rng = random.Random(f"wide {number}")
    units = rng.choice((1, 1, 2, 7, 7, 7))
    kinds = list(SPEEDS)[: rng.choice((1, 1, 2, 3))]
    drawn = {
        "units": units,
        "has_batches": units > 1 or rng.random() < 0.4,
        "has_prices": rng.random() < 0.65,
        "kinds": {kind: rng.choice(SPEEDS[kind]) for kind in kinds},
        "workers": round(between(rng, 4, 48)),
        "memory": rng.choice((0.25, 0.4, 0.6, 0.8, 1.2, 1.5)),
        "gbits": round(between(rng, 0.5, 100), 2),
        "slo": round(between(rng, 1.3, 6), 2),
        "best_effort": rng.choice((0, 0, 0, 0, 0, 0, 0, 0.3, 0.3, 1)),
        "workspace": rng.choice(("2MB", "10MB", "30MB")),
        "load_fixed_ms": rng.choice((0, 10, 50)),
    }
    models = draw_models(rng)
    kb, spread, has_items = between(rng, 1, 8000), rng.uniform(0.2, 1.2), rng.random() < 0.2
    workflows = [
        draw_workflow(rng, f"w{i}", sorted(models), kb, spread, has_items)
        for i in range(rng.randint(1, 6))
    ]
    used = {task["model"] for each in workflows for task in each["tasks"].values()}
    models = {name: model for name, model in models.items() if name in used}
    cluster, counts = draw_cluster(rng, models, drawn)
    for each in workflows:
        if rng.random() >= drawn["best_effort"]:
            each["slo"] = f"{2 + drawn['slo'] * critical_ms(each, models, drawn['gbits']):.2f}ms"
    rate, jobs = capacity(workflows, models, drawn, counts), rng.choice((600, 800, 1000))
    scenario = {"scenario": f"wide-{number}", "cluster": cluster, "workflows": workflows,
                "profile": profile_of(models, drawn), "jobs": jobs,
                "arrivals": draw_arrivals(rng, rate / 2, jobs, workflows)}  # fmt: skip
    draw_rest(rng, drawn, models, scenario)
    return scenario, rate, drawn
