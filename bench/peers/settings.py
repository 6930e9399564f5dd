#!/usr/bin/env python3
"""What settings of ONNX Runtime are worth for each model of the demo.

usage: settings.py [--rounds N] [MODEL...]

Sessions of one model with different settings run in turn in one process; another process does the
same with huge pages for all that the C library gives out (GLIBC_TUNABLES). Prints processor time
per run, the median of N rounds (9 unless given), as a part of that with the library's own settings.
With two threads it is the time that passes. Run it by a Python that has onnxruntime, such as
build/peers/env/mosec/bin/python.
"""

import os
import pathlib
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

import usage  # noqa: E402

MODELS = pathlib.Path(__file__).resolve().parents[2] / "build/models"
SHAPES = {  # As the demo's functions give them.
    "page-orientation": (1, 3, 224, 224), "page-layout": (1, 3, 800, 608),
    "picture-safety": (1, 224, 224, 3), "ppocr-det": (1, 3, 640, 640),
    "ppocr-cls": (1, 3, 48, 192), "ppocr-rec": (1, 3, 48, 320),
    "moonshine-encoder": (1, 48000),
}  # fmt: skip
SETTINGS = {
    "its own": {}, "extended": {"level": "ORT_ENABLE_EXTENDED"},
    "basic": {"level": "ORT_ENABLE_BASIC"}, "no arena": {"arena": False, "pattern": False},
    "no pattern": {"pattern": False},
    "unpacked": {"entry": ("session.disable_prepacking", "1")},
    "two threads": {"threads": 2},
}  # fmt: skip
HUGE = "GLIBC_TUNABLES"


def session(onnxruntime, path, level="ORT_ENABLE_ALL", arena=True, pattern=True, entry=None,
            threads=1):  # fmt: skip
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 3
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    options.enable_cpu_mem_arena, options.enable_mem_pattern = arena, pattern
    if entry:
        options.add_session_config_entry(*entry)
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def child(model):
    """Runs every setting once for each line that comes in, and says how long each took."""
    import numpy
    import onnxruntime

    path = MODELS / model / "1/model.onnx"
    sessions = {name: session(onnxruntime, path, **one) for name, one in SETTINGS.items()}
    values = numpy.random.default_rng(0).random(SHAPES[model], numpy.float32)
    feed = {sessions["its own"].get_inputs()[0].name: values}
    for one in sessions.values():
        one.run(None, feed)
    print("ready", flush=True)
    for _ in sys.stdin:
        taken = []
        for name, one in sessions.items():
            clock = time.perf_counter if name == "two threads" else time.process_time
            start = clock()
            one.run(None, feed)
            taken.append(clock() - start)
        print(*taken, flush=True)


def start(model, environment):
    command = [sys.executable, __file__, "--child", model]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, **environment},
    )  # fmt: skip
    process.stdout.readline()
    return process


def turn(process):
    process.stdin.write("\n")
    process.stdin.flush()
    return [float(word) for word in process.stdout.readline().split()]


def measure(model, rounds):
    """Seconds with the library's own settings, and the ratios of all others."""
    processes = [start(model, {}), start(model, {HUGE: "glibc.malloc.hugetlb=1"})]
    found = []
    for _ in range(rounds):
        plain, huge = map(turn, processes)
        found.append([plain[0], *(value / plain[0] for value in [*plain[1:], huge[0]])])
    for process in processes:
        process.stdin.close()
        process.wait()
    return [statistics.median(column) for column in zip(*found)]


def main():
    parser = usage.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--child", action="store_true")
    parser.add_argument("model", nargs="*")
    options = parser.parse_args()
    if options.child:
        child(options.model[0])
        return
    names = [f"{name}, ms" if name == "its own" else name for name in SETTINGS]
    print("| model |", " | ".join([*names, "huge pages"]), "|")
    print("|---" * (len(names) + 2) + "|")
    for model in options.model or SHAPES:
        base, *ratios = measure(model, options.rounds)
        cells = [f"{1000 * base:.2f}", *(f"{ratio:.2f}" for ratio in ratios)]
        print(f"| `{model}` |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
