#!/usr/bin/env python3
"""Write scenarios of many models on one GPU: 40 models, copies of four nets, drawn by Zipf's law.

usage: generate.py FOLDER

Sizes and times are those that `weft profile` measured of the four nets on an H200, one row on the
whole card. The nets are dealt out in turn by rank, so that small and large models are popular
alike. The device's memory holds ten models of average size, and what the runs need besides.
"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

import usage  # noqa: E402

# MiB of weights, ms of a load, ms of a run, MiB while it runs.
NETS = {
    "bert": (210, 4.73, 0.438, 56),
    "r18": (24, 0.64, 0.192, 82),
    "r50": (50, 1.17, 0.381, 122),
    "vit": (166, 3.73, 0.587, 78),
}
MODELS = 40
COPY = 53.6e6  # Bytes per ms.
SKEWS = (0.7, 1, 1.3)

HEAD = """\
# Made by generate.py. 40 models of four nets on one H200, drawn by Zipf's law with exponent {skew}.
scenario: zipf-{skew}
cluster:
  machines: {{count: 1, device: {{kind: h200, memory: 1302MiB, h2d: 53.6GB/s}}, cpu: 16}}
profile: h200.profile.json
arrivals:
  kind: poisson
  rate: 300/s
  mix:
{mix}rows: {{load: 10ms, cache: 100ms}}
policy: compass
jobs: 8000
warmup: 10%
seeds: 8
workflows:
"""


def names():
    nets = list(NETS)
    return [f"{nets[i % len(nets)]}-{i:02}" for i in range(MODELS)]


def write_profile(path):
    lines = []
    for name in names():
        weights, load_ms, run_ms, workspace = NETS[name.split("-")[0]]
        fixed_ms = load_ms - weights * 2**20 / COPY
        model = {"load": f"{weights}MiB", "load_fixed_ms": round(fixed_ms, 3)}
        model["workspace"] = f"{workspace}MiB"
        model["devices"] = {"h200": {"ms": run_ms}}
        lines.append(f'  "{name}": {json.dumps(model)}')
    text = '{"weft_profile": 1, "figures": "measured",\n'
    text += ' "source": "weft profile on an H200: docs/studies/gpu.md.",\n "models": {\n'
    path.write_text(text + ",\n".join(lines) + "}}\n", encoding="utf-8")


def write_scenario(path, skew):
    mix = "".join(f"    {name}: {1 / (i + 1) ** skew:.5f}\n" for i, name in enumerate(names()))
    text = HEAD.format(skew=skew, mix=mix)
    for name in names():
        text += f"  - {{workflow: {name}, input: 300KB, tasks: {{run: {{model: {name}}}}}}}\n"
    path.write_text(text, encoding="utf-8")


def main():
    folder = pathlib.Path(*usage.words(__doc__, 1))
    folder.mkdir(parents=True, exist_ok=True)
    write_profile(folder / "h200.profile.json")
    for skew in SKEWS:
        write_scenario(folder / f"zipf-{skew}.yaml", skew)


if __name__ == "__main__":
    main()
