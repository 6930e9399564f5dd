#!/usr/bin/env python3
"""A server that is asked for more than it can do, with admission and without.

usage: overload.py [REPOSITORY WORKFLOW [NAME=@FILE...]]

Three servers: emulated workers (scenarios/overload/served.yaml), a model of sixteen layers on ONNX
Runtime, and, if it is named, WORKFLOW of a repository such as `make demo` leaves in build/demo. Of
each: capacity, by a few clients that wait for their answers; then an open loop of `weft bench` at
2, 5 and 10 times that, each request with a deadline of ten times what one takes alone; then again
half of the capacity, which shows whether it recovers. First with admission, then the same
without, by --no-admission.

Prints, against the client's clock: goodput over capacity; of requests that were not refused, how
many were answered in time; when refusals were told; the server's memory before, at most during,
and after.

Settings, in the environment: WEFT (build/weft), SECONDS (10, of each load).
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "test/integration"), str(ROOT / "tools")]

import onnx_models  # noqa: E402
import usage  # noqa: E402

WEFT = os.environ.get("WEFT", "build/weft")
SECONDS = os.environ.get("SECONDS", "10")
FACTORS = (2, 5, 10)
CLIENTS = 4  # Enough that no worker ever waits, where there are two.

LAYERS = """weft: overload
workers: 1
memory: 1GB
"""


class Server:
    def __init__(self, arguments):
        self.process = subprocess.Popen(
            [WEFT, "serve", *arguments, "--plain", "--http", "127.0.0.1:0", "--metrics", "none"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, restore_signals=False,
        )  # fmt: skip
        for line in self.process.stdout:
            found = re.search(r"listening on (http://\S+)", line)
            if found:
                self.url = found.group(1)
                break
        else:
            sys.exit(f"overload: {self.process.stderr.read()}")
        self.reader = threading.Thread(target=self.process.stdout.read)
        self.reader.start()

    def memory_mb(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        found = re.search(r"VmRSS:\s+(\d+)", status)
        if found is None:
            sys.exit(f"overload: the server ended with {self.process.wait()}")
        return int(found.group(1)) / 1024

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=120)
        self.reader.join()


def load(server, target, rate, *options):
    """What `weft bench` measured, and the most memory that the server had."""
    process = subprocess.Popen(
        [WEFT, "bench", server.url, *target, "--rate", f"{rate:g}/s", "--json", *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    most_mb = 0
    while process.poll() is None:
        most_mb = max(most_mb, server.memory_mb())
        time.sleep(0.05)
    out = process.stdout.read()
    if not out:
        sys.exit(f"overload: {process.stderr.read()}")
    return json.loads(out), most_mb


def measure(server, target):
    alone, _ = load(server, target, 5, "--seconds", "4")
    rate = 4e3 / alone["run_ms"]["p50"]  # More than two workers can do, but not by far.
    busy, _ = load(server, target, rate, "--connections", str(CLIENTS), "--seconds", SECONDS)
    capacity = busy["good_per_s"]
    deadline_ms = max(100, round(10 * alone["run_ms"]["p50"]))
    before, _ = load(server, target, capacity / 2, "--seconds", SECONDS)
    first_mb = server.memory_mb()
    print(f"  capacity {capacity:.1f}/s, deadline {deadline_ms} ms, memory {first_mb:.0f} MB")
    print("  load  goodput  in time, %  refused, %  told, p95 ms  memory, MB")
    for factor in FACTORS:
        run, most_mb = load(
            server, target, factor * capacity, "--connections", "2000", "--seconds", SECONDS,
            "--slo", str(deadline_ms), "--deadline", str(deadline_ms),
        )  # fmt: skip
        counts = run["requests"]
        taken = counts["due"] - counts["refused"]
        told = run["refused_ms"]["p95"] if counts["refused"] > 0 else float("nan")
        in_time = 100 * run["in_slo"] / max(taken, 1)
        refused = 100 * counts["refused"] / counts["due"]
        goodput = run["in_slo"] / float(SECONDS) / capacity
        print(f"  {factor:3}x {goodput:8.2f} {in_time:11.1f} {refused:11.1f}", end="")
        print(f" {told:13.1f} {most_mb:11.0f}")
    after, _ = load(server, target, capacity / 2, "--seconds", SECONDS)
    print("  at half of the capacity, p50 and p95 in ms:"
          f" before {before['latency_ms']['p50']:.1f}, {before['latency_ms']['p95']:.1f};"
          f" after {after['latency_ms']['p50']:.1f}, {after['latency_ms']['p95']:.1f};"
          f" memory {server.memory_mb():.0f} MB")  # fmt: skip


def compare(name, arguments, target):
    for title, options in (("with admission", []), ("without", ["--no-admission"])):
        print(f"{name}, {title}", flush=True)
        server = Server([*arguments, *options])
        try:
            measure(server, target)
        finally:
            server.stop()
        sys.stdout.flush()


def main():
    given = usage.words(__doc__, 0, usage.ANY)
    if len(given) == 1:
        usage.fail(__doc__, f"which workflow of {given[0]}?")
    compare("emulated", ["--emulated", str(ROOT / "scenarios/overload/served.yaml")], ["picture"])
    with tempfile.TemporaryDirectory() as work:
        model = pathlib.Path(work) / "layers/1/model.onnx"
        model.parent.mkdir(parents=True)
        model.write_bytes(onnx_models.layers(512, 16, rows=64))
        (pathlib.Path(work) / "weft.yaml").write_text(LAYERS, encoding="ascii")
        compare("sixteen layers on ONNX Runtime", [work], ["layers"])
    if given:
        compare(given[1], given[:1], given[1:])


if __name__ == "__main__":
    main()
