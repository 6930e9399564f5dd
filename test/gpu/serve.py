#!/usr/bin/env python3
"""Serve models on the GPU of this machine over HTTP, and measure.

usage: serve.py PART BIN REPOSITORY

PART is one of: profile (the document goes to $OUT), outputs (compared with PyTorch's, alone and
under load), overhead (of the server over a bare graph), beside (requests for a model that is there,
while others are loaded), cache (more models than there is memory), shares (small and large models
together; $SHARES names the cases that are wanted, in that order), steady (under load for
$SECONDS_STEADY seconds, or as long as a part of $PART_SECONDS can). REPOSITORY has models that
prepare.py made. All loads take $SCALE times as long as they usually do. A case that fails is
named, and the next one goes on; the exit code is 1 then.
"""

import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "tools")]

import usage  # noqa: E402
from mix_models import COMPOSED  # noqa: E402

BIN = ""
LIMIT = 200  # Seconds.
SCALE = float(os.environ.get("SCALE", "1"))
STARTED = time.time()
failed = []


class Case:
    """What is done in it may fail: that is said, and not passed on."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is None or issubclass(kind, KeyboardInterrupt):
            return False
        say(f"FAILED {self.name}: {error}")
        traceback.print_exception(kind, error, trace)
        failed.append(self.name)
        return True


def say(*text):
    print(*text, flush=True)


def rows_of(folder):
    """The batch sizes that the model at @folder has packages for."""
    with open(f"{folder}/manifest", encoding="utf-8") as file:
        return [int(line.split()[1]) for line in file if line.startswith("package ")]


def folder_of(repository, name):
    return f"{repository}/{name}/1/model.cuda"


def models_of(repository):
    return sorted(os.path.basename(os.path.dirname(os.path.dirname(p)))
                  for p in glob.glob(f"{repository}/*/1/model.cuda"))  # fmt: skip


def settings(repository, memory=None, seconds=None, slo=None, shares=None):
    lines = ["weft: gpu", "workers: 2", "memory: 1GB", "gpus:", "  count: 1"]
    lines += [f"  memory: {memory}"] if memory else []
    lines += [f"  shares: {shares}"] if shares else []
    lines += [f"time: {seconds}s"] if seconds else []
    lines += [f"slo: {slo}"] if slo else []
    with open(f"{repository}/weft.yaml", "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


class Server:
    """`weft serve`, until it is left; one at a time."""

    address = metrics = ""  # Of the one that runs, or ran last.

    def __init__(self, repository, *arguments):
        self.log = open(f"{repository}/../serve.log", "w+", encoding="utf-8")
        self.out = open(f"{repository}/../serve.out", "w+", encoding="utf-8")
        self.started = time.time()
        self.process = subprocess.Popen(
            [f"{BIN}/weft", "serve", repository, "--http", "127.0.0.1:0", "--metrics",
             "127.0.0.1:0", "--plain", "--no-admission", *arguments],
            stdout=self.out, stderr=self.log,
        )  # fmt: skip

    def listens(self):
        """Whether it says where."""
        with open(self.out.name, encoding="utf-8") as file:
            found = re.search(r"listening on http://(\S+), metrics on http://(\S+?)/", file.read())
        if found:
            Server.address, Server.metrics = found.groups()
        return found

    def __enter__(self):
        while not (self.listens() and "event=ready" in self.text()):
            if self.process.poll() is not None or time.time() - self.started > LIMIT:
                self.process.kill()
                raise RuntimeError(f"no server: {self.text()[-3000:]}")
            time.sleep(0.05)
        say(f"server ready after {time.time() - self.started:.1f} s")
        return self

    def text(self):
        with open(self.log.name, encoding="utf-8", errors="replace") as file:
            return file.read()

    def children(self, name):
        """The processes under the server whose name begins with @name."""
        found = []
        parents = {self.process.pid}
        for _ in range(4):
            for path in glob.glob("/proc/[0-9]*/stat"):
                try:
                    with open(path, encoding="utf-8", errors="replace") as file:
                        head, rest = file.read().rsplit(")", 1)
                except OSError:
                    continue
                pid, comm = head.split(" (", 1)
                if int(rest.split()[1]) in parents and int(pid) not in parents:
                    parents.add(int(pid))
                    found.append((int(pid), comm))
        return [(pid, comm) for pid, comm in found if comm.startswith(name)]

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
        lines = [line for line in self.text().splitlines()
                 if "level=warn" in line or "level=err" in line]  # fmt: skip
        printed = [line for line in self.text().splitlines()
                   if "engine printed" in line and "rror" in line]  # fmt: skip
        for line in lines[:6] + printed[:4]:
            say("log   ", line[:400].replace("engine printed", "printed"))


def load(seconds, rate, threads, slo_us, kinds, may_fail=False):
    """Requests, as gpu_http makes them. Returns its lines."""
    seconds = round(seconds * SCALE, 2)
    done = subprocess.run(
        [f"{BIN}/gpu_http", Server.address, str(seconds), str(rate), str(threads), str(slo_us),
         *kinds],
        capture_output=True, text=True, check=False, timeout=LIMIT + seconds,
    )  # fmt: skip
    if done.returncode == 1:
        say("WRONG", done.stdout, done.stderr[-300:])
        failed.append("a wrong answer")
    elif done.returncode != 0 or not done.stdout:
        raise RuntimeError(f"gpu_http: {done.returncode} {done.stderr[-500:]}")
    bad = re.search(r"failed ([1-9]\d*), wrong", done.stdout)
    if bad and not may_fail:
        say(f"FAILED {bad[1]} requests: {done.stderr[-300:]}")
        failed.append(f"{bad[1]} requests")
    return done.stdout.splitlines()


def kind(repository, name, rows, weight=1):
    return f"{name}:{folder_of(repository, name)}:{rows}:{weight}"


def profile(repository, processors=False):
    """Measure, and return the whole-device times of each model by rows, in us, and all of it."""
    start = time.time()
    done = subprocess.run([f"{BIN}/weft", "profile", repository], capture_output=True, text=True,
                          check=False, timeout=LIMIT)  # fmt: skip
    say(done.stdout + done.stderr[-2000:])
    say(f"profiled in {time.time() - start:.1f} s, exit {done.returncode}")
    found = glob.glob(f"{repository}/profiles/*_cuda-*")
    [path] = [path for path in found if ("-processors" in path) == processors]
    with open(path, encoding="utf-8") as file:
        return path, json.load(file)


def alone_us(document, name, rows, units=0):
    for point in points_of(document, name):
        if point["items"] == rows and point.get("gpu", 0) == units:
            return 1000 * point["ms"]
    return float("nan")


def keep(path, name):
    if "OUT" in os.environ:
        shutil.copy(path, f"{os.environ['OUT']}/{name}")


def profile_only(repository):
    settings(repository)
    path, _ = profile(repository)
    keep(path, "h200.profile.json")


def outputs(repository):
    settings(repository)
    say(subprocess.run([f"{BIN}/weft", "check", repository], capture_output=True, text=True,
                       check=False).stdout)  # fmt: skip
    profile(repository)
    kinds = [kind(repository, name, rows) for name in models_of(repository)
             for rows in rows_of(folder_of(repository, name))]  # fmt: skip
    with Server(repository):
        for one in kinds:
            with Case(one):
                for line in load(0.5, 0, 1, 0, [one])[1:2]:
                    say("alone ", one.split(":")[0], one.split(":")[2], line)
        for line in load(5, 0, 8, 0, kinds)[-2:]:
            say("loaded", line)


def learnt(name, before, after):
    """What was learnt of @name while it was served, one request at a time."""
    changed = [
        f"{old['items']} rows on {old.get('gpu', 0) or 'all'}: {1000 * old['ms']:.0f} to "
        f"{1000 * new['ms']:.0f}"
        for old, new in zip(points_of(before, name), points_of(after, name))
        if old["ms"] != new["ms"]
    ]
    say(f"learnt {name:5} us: {'; '.join(changed) or 'nothing'}")


def overhead(repository):
    settings(repository)
    path, document = profile(repository)
    with Server(repository):
        for name in models_of(repository):
            for rows in [n for n in (1, 8) if n in rows_of(folder_of(repository, name))]:
                with Case(f"{name} {rows}"):
                    overhead_of(repository, document, name, rows)
        say("\n".join(line for line in metrics().splitlines() if line.startswith("weft_gpu")))
    with open(path, encoding="utf-8") as file:
        after = json.load(file)
    for name in models_of(repository):
        learnt(name, document, after)


def overhead_of(repository, document, name, rows):
    bare = alone_us(document, name, rows)
    os.environ["WAIT_US"] = f"{bare:.0f}"
    lines = load(2, 0, 1, 0, [kind(repository, name, rows)])
    del os.environ["WAIT_US"]
    floor, late = [float(us) for us in re.search(r"floor (\d+) us, (\d+)", lines[0]).groups()]
    p50 = float(re.search(r"p50 +(\d+)", lines[1])[1])
    p99 = float(re.search(r"p99 +(\d+)", lines[1])[1])
    split = lines[2].split("says: ")[1]
    say(f"overhead {name:5} rows {rows}: graph {bare:5.0f}  sockets {floor:5.0f} late {late:5.0f}  "
        f"server p50 {p50:5.0f} p99 {p99:5.0f} us: +{p50 - bare:.0f}, beyond sockets "
        f"+{p50 - bare - floor:.0f}, late ones +{p50 - bare - late:.0f}; {split}")  # fmt: skip


def beside(repository):
    """
    One model at all times, and others of the largest net at random times, of which two fit into
    memory: two of them, which stay there, then eight, so that most are loaded. In turn, in one
    server: those that are started anew differ by more than loads cost.
    """
    count, rate, seconds, turns = 8, 200, 1.5, 9
    settings(repository)
    path, document = profile(repository)
    names = models_of(repository)
    hot = "r18" if "r18" in names else names[0]
    cold = max(names, key=lambda name: (document["models"][name]["resident"], name))
    target = f"{repository}-beside"
    made, models = make_copies(repository, target, document, [hot] + [cold] * count)
    write_profile(target, path, document, models)
    workspace = max(model.get("workspace", 0) for model in models.values())
    # As many batches run at a time.
    base = models[made[0]]["resident"] + 4 * workspace
    settings(target, memory=base + 2 * models[made[1]]["resident"])
    kinds = [kind(target, name, 1) for name in made]
    with Server(target):
        for one in kinds:
            load(0.05, 0, 1, 0, [one])
        for turn in range(turns):
            for label, others in (("all there", kinds[1:3]), ("loads", kinds[1:])):
                with Case(f"{label} {turn}"):
                    beside_of(f"beside {label:9} {turn}:", kinds[0], others, rate, seconds)


def beside_of(label, hot, others, rate, seconds):
    """Requests for @hot, beside those for @others, which have begun before and end later."""
    found = []
    thread = threading.Thread(
        target=lambda: found.extend(load(seconds + 1, rate, 32, 50000, others))
    )
    thread.start()
    time.sleep(0.5 * min(SCALE, 1))
    before = counts(metrics())
    lines = load(seconds, 0, 8, 50000, [hot])
    _, _, loads = [b - a for a, b in zip(before, counts(metrics()))]
    thread.join()
    scaled = round(seconds * SCALE, 2)
    answered = int(re.search(r"(\d+) good", lines[1])[1]) / scaled
    say(label, f"{answered:.0f}/s", lines[1])
    say(label, f"loads {loads / scaled:.0f}/s, others", found[-2] if found else "-")


def points_of(document, name):
    [(_, device)] = document["models"][name]["devices"].items()
    return device["points"]


def make_copies(repository, target, document, origins):
    """Models at @target: copies of those that @origins names. Returns names, and profiles."""
    shutil.rmtree(target, ignore_errors=True)
    models = {}
    for i, origin in enumerate(origins):
        name = f"{origin}-{i:02}"
        os.makedirs(f"{target}/{name}/1")
        subprocess.run(["cp", "-al", folder_of(repository, origin), f"{target}/{name}/1/"],
                       check=True)  # fmt: skip
        models[name] = document["models"][origin]
    return list(models), models


def write_profile(target, path, document, models):
    os.makedirs(f"{target}/profiles", exist_ok=True)
    with open(f"{target}/profiles/{os.path.basename(path)}", "w", encoding="utf-8") as file:
        json.dump({**document, "models": models}, file)


def copies(repository, target, count):
    """@count models at @target: copies of those of @repository, in turn, with their profile."""
    path, document = profile(repository)
    names = models_of(repository)
    made, models = make_copies(
        repository, target, document, [names[i % len(names)] for i in range(count)]
    )
    write_profile(target, path, document, models)
    total = sum(model["resident"] for model in models.values())
    largest = max(model["resident"] for model in models.values())
    return made, total, largest, max(model.get("workspace", 0) for model in models.values())


def metrics():
    address = f"http://{Server.metrics}/metrics"
    return urllib.request.urlopen(address, timeout=20).read().decode()


def counts(text):
    """How often models were needed, were there, and were loaded, so far."""
    return [sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name))
            for name in ("weft_model_needed_total", "weft_model_cache_hits_total",
                         "weft_model_loads_total")]  # fmt: skip


def cache(repository):
    count, rate, seconds = 40, 300, 12
    settings(repository)
    target = f"{repository}-{count}"
    names, total, largest, workspace = copies(repository, target, count)
    # The ranks are dealt out so that sizes mix: every fourth is of the same net.
    kinds = [kind(target, name, 1, 1 / (i + 1)) for i, name in enumerate(names)]
    budget = total * 10 // count
    say(f"{count} models, {total / 1e9:.2f} GB; budget for 10: {budget / 1e9:.2f} GB; "
        f"zipf 1, {rate}/s for {seconds} s")  # fmt: skip
    for label, memory, policy in (
        ("all resident", total + workspace, "compass"),
        ("compass", budget + workspace, "compass"),
        ("lru", budget + workspace, "place=compass,cache=lru"),
        ("weft", budget + workspace, "weft"),
        ("load per use", largest + workspace, "compass"),
    ):
        with Case(label):
            settings(target, memory=memory)
            cache_of(target, label, policy, kinds, rate, seconds)


def cache_of(target, label, policy, kinds, rate, seconds):
    with Server(target, "--policy", policy):
        load(0.2, 0, 1, 0, kinds[:1])
        start = time.time()
        for one in kinds:  # Code and plans are loaded once.
            load(0.01, 0, 1, 0, [one])
        say(f"warm after {time.time() - start:.1f} s")
        before = counts(metrics())
        for line in load(seconds, rate, 128, 50000, kinds)[-2:]:
            say(f"cache {label:12}", line)
        needed, hits, loads = [b - a for a, b in zip(before, counts(metrics()))]
        say(f"cache {label:12} needed {needed:.0f}, hits {100 * hits / max(needed, 1):.1f} %, "
            f"loads {loads:.0f}")  # fmt: skip


MIXED = (("r18", 8), ("r50", 2), ("vit", 1), ("bert", 1))
BATCHES = "place=compass,dispatch=first-fit:{},cache=compass"
# How processors are shared, and the policy.
FORMS = {
    "one by one": (None, "compass"),
    "batches": (None, BATCHES.format("gpu=0:batch=16")),
    "sevenths": ("processors", BATCHES.format("gpu=2:batch=16")),
    "quarters": ("processors", BATCHES.format("gpu=4:batch=16")),
    "paying": ("processors", BATCHES.format("gpu=0:paying:batch=16")),
    "4 streams": (None, BATCHES.format("gpu=4:batch=16")),
    "8 streams": (None, BATCHES.format("gpu=2:batch=16")),
    "default": (None, None),
    "composed": (None, COMPOSED),
    "priorities": ("priorities", None),
    "esg": ("processors", "esg"),
    "esg streams": (None, "esg"),
    "weft": ("processors", "weft"),
}
RATES = (0.9, 1.6, 2.4)  # Of what the card would do, one by one.


def shares(repository):
    settings(repository, slo="4ms")  # Of the 5 that are counted.
    _, document = profile(repository)
    parts = [(name, n) for name, n in MIXED if name in models_of(repository)]
    kinds = [kind(repository, name, 1, weight) for name, weight in parts]
    whole = sum(n * alone_us(document, name, 1) for name, n in parts) / sum(n for _, n in parts)
    for label in os.environ.get("SHARES", ",".join(FORMS)).split(","):
        with Case(label):
            form, policy = FORMS[label]
            settings(repository, slo="4ms", shares=form)
            path, _ = profile(repository, form == "processors")
            keep(path, f"shares-{form or 'streams'}.profile.json")
            shares_of(repository, label, policy, kinds, whole)
    settings(repository)


def shares_of(repository, label, policy, kinds, whole):
    with Server(repository, *(["--policy", policy] if policy else [])):
        load(4, round(0.6e6 / whole), 128, 5000, kinds)  # Graphs are recorded at first use.
        load(3, round(1.2e6 / whole), 128, 5000, kinds)
        for part in RATES if policy != "compass" else (0.4, 0.7, 0.9):
            rate = round(part * 1e6 / whole)
            held_s, ended = counted("worker_busy_seconds"), counted("slo_requests")
            lines = load(5, rate, 128, 5000, kinds)
            held_s, ended = counted("worker_busy_seconds") - held_s, counted("slo_requests") - ended
            for line in lines[1:]:
                if not line.startswith("http failed 0, wrong 0"):
                    say(f"shares {label:12} {rate}/s", line)
            # Batches have held the device for their time by the part of it that they had.
            say(f"shares {label:12} {rate}/s cost {1000 * held_s / max(ended, 1):.3f} ms")


def counted(name):
    """What the server has counted so far, of all its workers or workflows."""
    pattern = rf"^weft_{name}_total\S* (\S+)"
    return sum(float(each) for each in re.findall(pattern, metrics(), re.MULTILINE))


def memory_of(server):
    """MiB of the server and of each process under it, and of the GPU."""
    used = re.search(r"^weft_gpu_memory_used_bytes\S* (\S+)", metrics(), re.MULTILINE)
    found = [f"GPU {float(used[1]) / 2**20:.0f}"] if used else []
    for pid, name in [(server.process.pid, "server"), *server.children("weft")]:
        try:
            with open(f"/proc/{pid}/status", encoding="utf-8") as file:
                rss = re.search(r"VmRSS:\s+(\d+)", file.read())
        except OSError:
            continue
        found += [f"{name} {int(rss[1]) / 1024:.0f}"] if rss else []
    return ", ".join(found)


def steady(repository):
    """Hits, loads and batches together, for long: memory and latency may not drift."""
    count, piece = 40, 30
    until = STARTED + float(os.environ.get("PART_SECONDS", "1e6")) - 5
    seconds = int(os.environ.get("SECONDS_STEADY", "600"))
    settings(repository)
    target = f"{repository}-{count}"
    names, total, _, workspace = copies(repository, target, count)
    kinds = [kind(target, name, 1, 1 / (i + 1)) for i, name in enumerate(names)]
    settings(target, memory=total // 4 + workspace)
    with Server(target) as server:
        for one in kinds:
            load(0.01, 0, 1, 0, [one])
        load(5, 600, 64, 50000, kinds)
        start = time.time()
        until = min(until, start + seconds)
        while until - time.time() > 2:
            before = counts(metrics())
            lines = load(min(piece, (until - time.time() - 1) / SCALE), 600, 64, 50000, kinds)
            needed, hits, loads = [b - a for a, b in zip(before, counts(metrics()))]
            say(f"steady {time.time() - start:4.0f} s", re.sub(r" +", " ", lines[-2]))
            say(f"steady {time.time() - start:4.0f} s hits {100 * hits / max(needed, 1):.1f} %, "
                f"loads {loads:.0f}; MiB: {memory_of(server)}")  # fmt: skip
            if "failed 0, wrong 0" not in lines[-1]:
                say("steady", lines[-1])


def main():
    global BIN
    parts = {"profile": profile_only, "outputs": outputs, "overhead": overhead, "beside": beside,
             "cache": cache, "shares": shares, "steady": steady}  # fmt: skip
    part, BIN, repository = usage.words(__doc__, 3, choices=parts)
    parts[part](os.path.abspath(repository))
    say(f"{part} took {time.time() - STARTED:.0f} s", "; failed: " + ", ".join(failed) if failed
        else "")  # fmt: skip
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
