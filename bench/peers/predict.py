"""What the simulator expects of a run of Weft, from a profile that was learnt before it.

Weft measures every model alone, and then learns from a rehearsal at half of what it can do: what
hand-offs take, and what two models at once and the client cost each other on this machine. The
rehearsal has other arrivals than the runs, and ends with all samples one after another: works.py
finds how much more or less work each of them is than the mean. What HTTP and the client take is
measured with a model that does nothing, and added.
"""

import json
import pathlib
import random
import re
import subprocess
import typing

import content
import figures
import load
import servers
import works

SIM_S = 120
REHEARSAL_PART, REHEARSAL_SEED, ECHO_RATE = 0.5, 77, 50
CLIENTS = 4
TASK = r"(?m)^(  (\w+): *(?:\{|\n    ))(?:model|function): ([^,}\n]+)"
PIECES = {"ocr": "lines", "speech": "segments"}  # The output that has one entry for each.


class Lengths(typing.NamedTuple):
    """How long a rehearsal is, in seconds if nothing else is said."""

    warm: float  # The first seconds of a server are slower, and of no interest.
    least: float
    most: float
    each: int  # Requests of each kind: samples differ in what they take.
    echo: float
    seeds: int  # Of simulations: one run of few requests has few draws.


FULL = Lengths(warm=3, least=6, most=20, each=3, echo=3, seeds=5)
QUICK = Lengths(warm=0.5, least=1, most=2, each=1, echo=0.5, seeds=1)


class Model(typing.NamedTuple):
    """A repository as a scenario, as `weft serve` would run it."""

    scenario: dict
    folder: pathlib.Path  # For the profile and traces.
    outside_ms: list  # Of requests: what HTTP and the client took.
    seeds: int


def simple(name):
    """The name of a workflow for sample @name."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def add_work(found, works_of):
    """The beginning of a task, in one line or several, with its work."""
    end = ", " if found[1].endswith("{") else "\n    "
    return f"{found[1]}work: {works_of.get(found[2], 1):.4f}{end}{found[0][len(found[1]):]}"


def workflow_documents(arm, pieces, by_sample, folder):
    """A workflow for each model, or for each sample, with as many pieces and as much work."""
    if arm.work not in content.WORKFLOWS:
        works_of = {name: by_sample.get(name, {}).get(name, 1) for name in content.ZOO}
        return [{"workflow": name, "tasks": {name: {"model": name, "work": work}}}
                for name, work in works_of.items()]  # fmt: skip
    path = content.demo_repository.DEMO / f"{arm.work}.workflow.yaml"
    text = path.read_text(encoding="utf-8")
    for name, count in pieces.items():
        own = re.sub(r"(?m)^workflow: .*$", f"workflow: {simple(name)}", text)
        own = re.sub(r"gives: \[.*?\]", f"gives: {count}", own)
        own = re.sub(TASK, lambda found: add_work(found, by_sample[name]), own)
        (folder / f"{simple(name)}.workflow.yaml").write_text(own, encoding="utf-8")
    return [f"{simple(name)}.workflow.yaml" for name in pieces]


def policy_of(place, arm, served):
    """The policy that was served with; refusing is part of it unless it was switched off."""
    policy = served["policy"]
    if "--no-admission" in arm.options or "admit=" in policy:
        return policy
    if "=" not in policy:
        listed = subprocess.run([place.weft, "policies"], capture_output=True, text=True).stdout
        roles = re.search(rf"(?m)^{policy} +((?:\w+, )*\w+)  ", listed)[1]
        policy = ",".join(f"{role}={policy}" for role in roles.split(", "))
    return policy + ",admit=deadline"


def machine_memory():
    """What a worker has where settings say nothing: its part of half of the machine's."""
    text = pathlib.Path("/proc/meminfo").read_text(encoding="ascii")
    return int(text.split()[1]) * 1024 // 2


def play(server, requests, rate, seconds):
    """Requests at a @rate, drawn apart from those of any run; gives their names and answers."""
    times = load.arrivals(rate, seconds, REHEARSAL_SEED)
    names = requests.names(len(times), REHEARSAL_SEED)
    return names, load.open_loop(server.port, times, [requests.kinds[name] for name in names])


def count_pieces(server, arm, request):
    """Into how many pieces a sample is cut, which its answer lists."""
    if arm.work not in PIECES:
        return 1
    status, body = load.ask(server.port, request)
    if status != 200:
        raise servers.Missing(f"a rehearsal of {arm.work} ended with status {status}")
    return max(1, len(load.read_answer(body)[PIECES[arm.work]]))


def rehearse(place, arm, requests, folder, lengths):
    """Let Weft learn its profile from work at half of what it can do.

    Gives pieces by sample, and which samples the last requests were.
    """
    traced = arm._replace(options=(*arm.options, "--trace", folder / "rehearsal.jsonl"))
    server = servers.Server(place, traced, folder / "rehearsal.log")
    try:
        server.wait(requests.first())
        asked = requests.patient()
        kinds = list(asked.values())
        pieces = {name: count_pieces(server, arm, one) for name, one in asked.items()}
        load.saturate(server.port, kinds, CLIENTS, lengths.warm)
        rate = load.saturate(server.port, kinds, CLIENTS, lengths.least / 2)
        rate *= REHEARSAL_PART
        seconds = lengths.each * len(kinds) / max(rate, 0.1)
        names, _ = play(server, requests, rate, max(lengths.least, min(seconds, lengths.most)))
        alone = [*asked] * lengths.each
        for name in alone:
            load.ask(server.port, asked[name])
        return pieces, [*names, *alone]
    finally:
        server.stop()


def measure_outside(place, requests, log, lengths):
    """Milliseconds of requests to a model that gives back what it gets."""
    server = servers.Server(place, servers.Arm("weft", "echo"), log)
    try:
        server.wait(requests.first())
        load.saturate(server.port, [requests.first()], CLIENTS, lengths.warm)
        _, answers = play(server, requests, ECHO_RATE, lengths.echo)
        return [1000 * answer.latency_s for answer in answers]
    finally:
        server.stop()


def tell_apart(arm, names, measured, device, workers, folder):
    """The work of each sample; @measured then has what others and chance do to runs."""
    runs = {name: name for name in content.ZOO}
    if arm.work in content.WORKFLOWS:
        path = content.demo_repository.DEMO / f"{arm.work}.workflow.yaml"
        found = re.findall(TASK, path.read_text(encoding="utf-8"))
        runs = {task: run for _, task, run in found}
    curves = {task: measured["models"][run]["devices"][device] for task, run in runs.items()}
    with open(folder / "rehearsal.jsonl", encoding="utf-8") as lines:
        return works.tell_apart(works.read_jobs(lines, workers), names, curves)


def prepare(place, arm, folder, requests, outside_ms, lengths):
    """Let Weft measure what @arm serves, and learn from a rehearsal with @requests."""
    [port, metrics] = servers.free_ports(2)
    command = servers.weft_command(place, arm, port, metrics)
    repository = pathlib.Path(command[2])
    content.clear(repository / "profiles")
    command = [word for word in command if word != "--plain"] + ["--json", "--seconds", "1"]
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=servers.READY_S
    )
    if not done.stdout:
        raise servers.Missing(servers.install.last_line(done.stderr))
    served = json.loads(done.stdout)["served"]
    folder.mkdir(parents=True, exist_ok=True)
    pieces, names = rehearse(place, arm, requests, folder, lengths)
    [profile] = (repository / "profiles").glob("*.profile.json")
    content.demo_repository.put(profile, folder / "learnt.profile.json")
    measured = json.loads(profile.read_text(encoding="utf-8"))
    [device] = {kind for model in measured["models"].values() for kind in model.get("devices", {})}
    workers = served["workers"]
    by_sample = tell_apart(arm, names, measured, device, workers, folder)
    path = folder / "measured.profile.json"
    path.write_text(json.dumps(measured, indent=1), encoding="utf-8")
    memory = content.MEMORY_FOR_FOUR if arm.work == "four" else machine_memory() // workers
    scenario = {
        "scenario": f"predicted-{arm.work}",
        "cluster": {"machines": {
            "count": 1, "devices": workers, "cpu": workers,
            "device": {"kind": device, "memory": memory, "h2d": 0, "splits": True},
        }},
        "workflows": workflow_documents(arm, pieces, by_sample, folder),
        "profile": "measured.profile.json",
        "policy": policy_of(place, arm, served), "warmup": "0%",
    }  # fmt: skip
    return Model(scenario, folder, outside_ms, lengths.seeds)


class Arrivals(typing.NamedTuple):
    times: list  # In seconds.
    names: list  # Of workflows.
    items: int  # Of each.


def simulate(place, model, seed):
    """Latencies of the jobs that were answered, as clients would see them."""
    trace = model.folder / "simulated.jsonl"
    command = [place.weft, "sim", model.folder / "scenario.json", "--json", "--brief"]
    command += ["--seed", str(seed), "--trace", trace]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SIM_S)
    if done.returncode != 0:
        raise servers.Missing(servers.install.last_line(done.stderr))
    chance = random.Random(seed)
    with open(trace, encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines if '"kind":"answered"' in line]
    return [one["latency_ns"] / 1e6 + chance.choice(model.outside_ms) for one in records]


def predict(place, model, arrivals, deadline_ms):
    """Mean and p99 that the simulator gives for @arrivals, on average over some seeds."""
    rows = [f"{1000 * at:.6f},{name},{arrivals.items}"
            for at, name in zip(arrivals.times, arrivals.names)]  # fmt: skip
    (model.folder / "trace.csv").write_text("\n".join(["t_ms,workflow,items", *rows, ""]), "ascii")
    described = {"kind": "trace", "trace": "trace.csv"}
    if deadline_ms:
        described["deadline"] = f"{deadline_ms}ms"
    path = model.folder / "scenario.json"
    path.write_text(json.dumps({**model.scenario, "arrivals": described}, indent=1), "utf-8")
    try:
        runs = [simulate(place, model, seed) for seed in range(1, model.seeds + 1)]
    except servers.Missing as error:
        return {"prediction": str(error)}
    runs = [run for run in runs if run]
    if not runs:
        return {"prediction": "no job was answered"}
    return {
        "predicted_mean_ms": works.mean([works.mean(run) for run in runs]),
        "predicted_p99_ms": works.mean([figures.quantile(run, 0.99) for run in runs]),
        "predicted_completed": works.mean([len(run) for run in runs]),
    }
