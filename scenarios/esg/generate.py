#!/usr/bin/env python3
"""Write the scenarios of ESG: four applications of six functions, by a formula.

usage: generate.py FOLDER

What is known of the published evaluation is the names of its applications and functions. Their
composition, the time of each function alone on the smallest config and the size of its input
are assumed, and so is how that time changes with the config (b items, c units of CPU, g of 7
units of the device):

    t(b, c, g) = base * (f + (1 - f) * max(1 / g^0.5, b / (s * g^0.9)))
                      * (0.9 + 0.1 / c) * max(1, b / 4c)^2

f is the part that nothing shortens. A single item is faster on more units, but far from in
proportion. A unit runs s items as fast as one; beyond that a batch takes time in proportion to its
size, and almost in inverse proportion to its units. A unit of CPU feeds four items, and beyond
that a batch is starved. Single runs deviate by 5 % of the mean.
"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

import usage  # noqa: E402

# base ms on (1, 1, 1), f, s, input bytes, weights in MB.
FUNCTIONS = {
    "super-resolution": (86, 0.25, 2.0, "2.7MB", 60),
    "segmentation": (293, 0.25, 2.0, "2.5MB", 170),
    "deblur": (319, 0.25, 2.0, "1.1MB", 90),
    "classification": (147, 0.40, 4.0, "147KB", 100),
    "background-removal": (1047, 0.20, 1.5, "2.5MB", 180),
    "depth-recognition": (828, 0.20, 2.0, "648KB", 420),
}

APPLICATIONS = {
    "image-classification": ["super-resolution", "segmentation", "classification"],
    "depth": ["deblur", "super-resolution", "depth-recognition"],
    "background-elimination": ["super-resolution", "deblur", "background-removal"],
    "expanded-classification": [
        "deblur", "super-resolution", "background-removal", "segmentation", "classification",
    ],
}  # fmt: skip

BATCHES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
CPUS = (1, 2, 4, 8)
GPUS = (1, 2, 3, 4, 5, 6, 7)

# What a deadline is of the time that all functions take on the smallest config.
FACTORS = {"strict": 0.8, "moderate": 1.0, "relaxed": 1.2}
# Jobs a second: intervals of 53.6, 26.8 and 13.4 ms on average.
RATES = {"light": 18.66, "normal": 37.31, "heavy": 74.63}
PAIRED = {"strict": "light", "moderate": "normal", "relaxed": "heavy"}

HEAD = """\
# Made by generate.py. {level} deadlines: {factor} of the time on the smallest configs. With
# --rate, {rates}.
scenario: esg-{level}
cluster:
  machines:
    count: 16
    device: {{kind: a100, memory: 40GB, h2d: 20GB/s, units: 7}}
    cpu: 16
  network: {{kind: star, link: 10Gb/s, latency: 50us, sharing: fifo}}
  prices: {{cpu: 0.034, gpu: 0.67}}
profile: esg.profile.json
arrivals: {{kind: gamma, cv: 0.15, rate: {rate}/s}}
rows: {{load: 10ms, cache: 100ms}}
policy: esg
jobs: 4000
warmup: 10%
seeds: 16
workflows:
"""


def run_ms(name, batch, cpu, gpu):
    base, fixed, parallel, _, _ = FUNCTIONS[name]
    shared = fixed + (1 - fixed) * max(gpu**-0.5, batch / (parallel * gpu**0.9))
    starved = max(1.0, batch / (4 * cpu)) ** 2
    return base * shared * (0.9 + 0.1 / cpu) * starved


def write_profile(path):
    models = []
    for name, (_, _, _, _, megabytes) in FUNCTIONS.items():
        points = []
        for gpu in GPUS:
            for cpu in CPUS:
                for batch in BATCHES:
                    ms = run_ms(name, batch, cpu, gpu)
                    point = {"items": batch, "cpu": cpu, "gpu": gpu}
                    point["ms"] = round(ms, 2)
                    point["sd_ms"] = round(ms * 0.05, 2)
                    points.append("     " + json.dumps(point))
        head = f'  "{name}": {{"load": "{megabytes}MB", "workspace_per_item": "50MB",\n'
        head += '    "load_fixed_ms": 500, "devices": {"a100": {"points": [\n'
        models.append(head + ",\n".join(points) + "]}}}")
    text = '{"weft_profile": 1, "figures": "assumed",\n'
    text += ' "source": "Drawn from the formula in generate.py.",\n "models": {\n'
    path.write_text(text + ",\n".join(models) + "}}\n", encoding="utf-8")


def write_scenario(path, level):
    factor = FACTORS[level]
    rates = ", ".join(f"{rate} is {name}" for name, rate in RATES.items())
    rate = RATES[PAIRED[level]]
    text = HEAD.format(level=level, factor=factor, rates=rates, rate=rate)
    for name, functions in APPLICATIONS.items():
        slo_ms = factor * sum(FUNCTIONS[function][0] for function in functions)
        text += f"  - workflow: {name}\n    slo: {slo_ms:.1f}ms\n"
        text += f"    input: {FUNCTIONS[functions[0]][3]}\n    tasks:\n"
        before = "input"
        for function in functions:
            after = "" if before == "input" else f", after: [{before}]"
            size = "" if before == "input" else f", bytes: {FUNCTIONS[function][3]} per item"
            text += f"      {function}: {{model: {function}{after}{size}}}\n"
            before = function
    path.write_text(text, encoding="utf-8")


def main():
    folder = pathlib.Path(*usage.words(__doc__, 1))
    folder.mkdir(parents=True, exist_ok=True)
    write_profile(folder / "esg.profile.json")
    for level in FACTORS:
        write_scenario(folder / f"{level}.yaml", level)
    return 0


if __name__ == "__main__":
    sys.exit(main())
