"""What the simulator expects of a run of Weft, from what was measured before it.

Weft measures every model alone. Then the server that will be measured is rehearsed at four fifths
and at half of what it can do, with other arrivals than those of the runs, then with all samples one
after another, and after every slice for a moment. From the trace of that, works.py finds what tasks
take in this process: processes of the same program differ by a tenth, and at half load little shows
what busy processors do to each other, and what the clients take of them. The pace of the machine is
that of the rehearsals nearest to the slice, from a moment that is drawn: of as many as tell best
what each other saw. Policies know what the server had learnt when the slice began. What HTTP and
the client took is added. The simulated server is warmed up as the real one was; where there are
deadlines, it goes through all that the real one did.
"""

import concurrent.futures
import copy
import itertools
import json
import math
import os
import pathlib
import random
import re
import statistics
import subprocess
import typing

import content
import figures
import groups
import load
import processes
import servers
import works

SIM_S = 120
REHEARSAL_PARTS, REHEARSAL_SEED = (0.8, 0.5), 77
CLIENTS = 4
CALM_CORES = 0.2  # What other processes may take beside a rehearsal.
FACTORS_MAX = 4096  # Of a pace.
NEAR = 4  # Rehearsals that give the pace, at least: fewer are chance.
ALIKE = 4  # With deadlines, one of so many simulations counts: the most like the server.
REST_S = 10.0  # Between what warms a simulated server up and what counts.
TASK = r"(?m)^(  (\w+): *(?:\{|\n    ))(?:model|function): ([^,}\n]+)"
PIECES = {"ocr": "lines", "speech": "segments"}  # The output that has one entry for each.


class Lengths(typing.NamedTuple):
    """How long a rehearsal is, in seconds if nothing else is said."""

    least: float
    most: float
    each: int  # Requests of each kind: samples differ in what they take.
    again: float  # After every slice, at least.
    seeds: int  # Of simulations: one run of few requests has few draws.
    tries: int  # Until other processes leave a rehearsal alone.


FULL = Lengths(least=6, most=20, each=3, again=2, seeds=28, tries=3)
QUICK = Lengths(least=1, most=2, each=1, again=0.5, seeds=1, tries=1)
AGAIN_REQUESTS, AGAIN_MOST_S = 12, 4.0  # Of short rehearsals.


class Model(typing.NamedTuple):
    """A repository as a scenario, as `weft serve` would run it."""

    scenario: dict
    folder: pathlib.Path  # For the profile and traces.
    outside_ms: list  # Of requests: what HTTP and the client took.
    seeds: int
    warm: list  # When, in seconds, and what is asked for to warm up.


class Alone(typing.NamedTuple):
    """What Weft measured before it served."""

    profile: dict
    served: dict  # What its report says: workers, policy.
    trace: pathlib.Path  # For the server that is rehearsed and then measured.
    folder: pathlib.Path
    repository: pathlib.Path  # Where the server saves what it learns.


def simple(name):
    """The name of a workflow for sample @name."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def add_work(found, works_of):
    """The beginning of a task, in one line or several, with its work."""
    end = ", " if found[1].endswith("{") else "\n    "
    return f"{found[1]}work: {works_of.get(found[2], 1):.4f}{end}{found[0][len(found[1]):]}"


def on_average(by_sample):
    """What tasks of all samples take, as a sample of its own."""
    tasks = {task for some in by_sample.values() for task in some}
    return {task: works.mean([some.get(task, 1) for some in by_sample.values()]) for task in tasks}


def workflow_documents(arm, pieces, by_sample, folder):
    """A workflow for each model, or for each sample, with as many pieces and as much work.

    Where there are deadlines there is one for all: admission learns by workflow, and samples of the
    real server share theirs.
    """
    if arm.work not in content.WORKFLOWS:
        works_of = {name: by_sample.get(name, {}).get(name, 1) for name in content.ZOO}
        return [{"workflow": name, "tasks": {name: {"model": name, "work": work}}}
                for name, work in works_of.items()]  # fmt: skip
    path = content.demo_repository.DEMO / f"{arm.work}.workflow.yaml"
    text = path.read_text(encoding="utf-8")
    if arm.deadline_ms:
        pieces, by_sample = {arm.work: max(pieces.values())}, {arm.work: on_average(by_sample)}
    for name, count in pieces.items():
        own = re.sub(r"(?m)^workflow: .*$", f"workflow: {simple(name)}", text)
        own = re.sub(r"gives: \[.*?\]", f"gives: {count}", own)
        own = re.sub(TASK, lambda found: add_work(found, by_sample[name]), own)
        (folder / f"{simple(name)}.workflow.yaml").write_text(own, encoding="utf-8")
    return [f"{simple(name)}.workflow.yaml" for name in pieces]


def policy_of(place, arm, served):
    """The policy that was served with, role by role, and who refuses beside it.

    A single policy that refuses nothing leaves that to another, or to none.
    """
    policy = served["policy"]
    if "admit=" in policy:
        return policy
    if "=" not in policy:
        listed = subprocess.run([place.weft, "policies"], capture_output=True, text=True).stdout
        roles = re.search(rf"(?m)^{policy} +((?:\w+, )*\w+)  ", listed)[1].split(", ")
        policy = ",".join(f"{role}={policy}" for role in roles if role != "admit")
    return policy if "--no-admission" in arm.options else policy + ",admit=deadline"


def machine_memory():
    """What workers have together where settings say nothing: half of the machine's."""
    text = pathlib.Path("/proc/meminfo").read_text(encoding="ascii")
    return int(text.split()[1]) * 1024 // 2


class Played(typing.NamedTuple):
    """A part of a rehearsal, in the order of arrival."""

    names: list
    answers: list


def play(server, requests, rate, seconds, number):
    """Requests at a @rate, drawn apart from those of any run and of other parts."""
    seed = REHEARSAL_SEED + 1000 * number
    times = load.arrivals(rate, seconds, seed) or [0.0]
    asked = requests.patient()
    names = requests.names(len(times), seed)
    return Played(names, load.open_loop(server.port, times, [asked[name] for name in names]))


def count_pieces(server, arm, request):
    """Into how many pieces a sample is cut, which its answer lists."""
    if arm.work not in PIECES:
        return 1
    status, body = load.ask(server.port, request)
    if status != 200:
        raise servers.Missing(f"a rehearsal of {arm.work} ended with status {status}")
    return max(1, len(load.read_answer(body)[PIECES[arm.work]]))


class Rehearsal(typing.NamedTuple):
    capacity: float
    pieces: dict  # By sample.
    played: list  # Parts.
    alone: list  # The samples that were then asked for one after another.

    @property
    def names(self):
        """The samples of all."""
        return [*(name for part in self.played for name in part.names), *self.alone]


def rehearse(server, arm, requests, lengths):
    """Work at parts of what @server can do, and then every sample for itself."""
    asked = requests.patient()
    kinds = list(asked.values())
    pieces = {name: count_pieces(server, arm, one) for name, one in asked.items()}
    capacity = load.saturate(server.port, kinds, CLIENTS, lengths.least / 2)
    played = []
    for number, part in enumerate(REHEARSAL_PARTS):
        seconds = lengths.each * len(kinds) / max(part * capacity, 0.1)
        seconds = max(lengths.least, min(seconds, lengths.most))
        server.tree.settle()
        played.append(play(server, requests, part * capacity, seconds, number))
    alone = [*asked] * lengths.each
    for name in alone:
        load.ask(server.port, asked[name])
    return Rehearsal(capacity, pieces, played, alone)


def rehearse_calmly(server, arm, requests, lengths):
    """A rehearsal beside which other processes took little, or else the last of a few."""
    for _ in range(lengths.tries):
        with processes.Meter(server) as meter:
            found = rehearse(server, arm, requests, lengths)
        if meter.others_cores < CALM_CORES:
            break
    return found


def outside(answers, inside):
    """Milliseconds of requests outside of the server, before and after what its records say.

    Requests that are close to each other may change places on their way. So those that came are
    paired in the order of arrival and those that left in the order of leaving: the clocks begin at
    different times, which does not matter for the sum.
    """
    came = zip(sorted(answer.due_s for answer in answers),
               sorted(one["at_ns"] - one["latency_ns"] for one in inside))  # fmt: skip
    before_ms = [at_ns / 1e6 - 1000 * due_s for due_s, at_ns in came]
    left = sorted((one.due_s + one.latency_s, number) for number, one in enumerate(answers))
    said_ns = sorted(one["at_ns"] for one in inside)
    after_ms = {number: 1000 * at_s - at_ns / 1e6 for (at_s, number), at_ns in zip(left, said_ns)}
    return [max(0.0, ms + after_ms[number]) for number, ms in enumerate(before_ms)]


def answered(lines):
    """The records of a trace that say that a job was answered, by arrival."""
    found = [json.loads(line) for line in lines if '"kind":"answered"' in line]
    return sorted(found, key=lambda one: one["at_ns"] - one["latency_ns"])


def runs_of(arm):
    """What each task of the work of @arm runs, by the name of the task."""
    if arm.work not in content.WORKFLOWS:
        return {name: name for name in content.ZOO}
    path = content.demo_repository.DEMO / f"{arm.work}.workflow.yaml"
    return {task: run for _, task, run in re.findall(TASK, path.read_text(encoding="utf-8"))}


def saved_profile(repository):
    [path] = (repository / "profiles").glob("*.profile.json")
    return json.loads(path.read_text(encoding="utf-8"))


def as_believed(measured, learnt, device):
    """What policies know while batches take what was @measured: the run times of @learnt.

    Whether a batch pays may hang on a few parts in a hundred, and that is what a server decides by.
    """
    believed = copy.deepcopy(measured)
    for name, model in believed["models"].items():
        curve, own = (one.get("devices", {}).get(device)
                      for one in (model, learnt["models"].get(name, {})))  # fmt: skip
        if curve and own:
            curve["points"] = [point for point in own["points"] if "gpu" not in point]
            curve["handoff_ms"] = own.get("handoff_ms", 0)
    return believed


def measure_alone(place, arm, folder):
    """Let Weft measure what @arm serves."""
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
    folder.mkdir(parents=True, exist_ok=True)
    served = json.loads(done.stdout)["served"]
    return Alone(saved_profile(repository), served, folder / "served.jsonl", folder, repository)


def warming(requests, times, names):
    """What warms a simulated server up: each kind by itself, often at once, and a rehearsal."""
    kinds = [simple_of(requests, name) for name in requests.kinds]
    first = [(REST_S * number, kind) for number, kind in enumerate(kinds) for _ in range(CLIENTS)]
    since_s = REST_S * len(kinds)
    asked = [simple_of(requests, name) for name in names]
    return first + [(since_s + at, name) for at, name in zip(times, asked)]


def simple_of(requests, name):
    """The workflow that stands for sample @name."""
    arm = requests.arm
    if arm.work in ("all", "four"):
        return name
    return simple(arm.work if arm.deadline_ms else name)


class Part(typing.NamedTuple):
    """Of all that a server was rehearsed with."""

    first: int  # Its first job, by arrival.
    names: list
    is_calm: bool  # What loads are learnt from: beside a busy machine they take longer.
    outside_ms: list  # Of its requests, in the order of arrival.


def nearest(paces, place, count):
    """The numbers of the @count rehearsals about @place that saw runs, in their order."""
    known = [number for number, one in enumerate(paces) if one]
    return sorted(sorted(known, key=lambda number: abs(number - place))[:count])


def telling(paces):
    """How many rehearsals about each tell best how fast the machine was in that one.

    Those of other times say less where the machine changes for minutes; where it does only for
    moments, the fewer there are, the more is chance.
    """
    levels = {number: math.log(works.mean(one)) for number, one in enumerate(paces) if one}
    counts, count = [], NEAR
    while count < len(levels):
        counts.append(count)
        count *= 2
    counts.append(max(len(levels), 1))

    def off(count):
        errors = []
        for number, level in levels.items():
            others = [one if at != number else [] for at, one in enumerate(paces)]
            told = [factor for at in nearest(others, number, count) for factor in paces[at]]
            errors.append((math.log(works.mean(told)) - level) ** 2)
        return sum(errors)

    return min(counts, key=off)


class Rehearsed:
    """A server that is rehearsed, and what it is simulated as by then."""

    def __init__(self, place, alone, server, requests, lengths):
        self.place, self.alone, self.server = place, alone, server
        self.requests, self.lengths = requests, lengths
        self.seen = works.Trace([], alone.served["workers"], runs_of(server.arm))
        self.read, self.parts = 0, []
        self.slices, self.slice_began = [], None  # Of what was asked for, by number.
        self.beliefs = {}  # What the server believed of its models before rehearsals, by number.
        self.rehearsal = rehearse_calmly(server, server.arm, requests, lengths)
        self.begin()

    def begin(self):
        """Take in what was rehearsed before the first cycle."""
        played, answers = self.rehearsal.played, self.catch_up()
        first = len(self.seen.arrived_ns) - len(self.rehearsal.names)
        for part in played:
            self.add(first, part, answers, part is played[-1])
            first += len(part.names)
        self.parts.append(Part(first, self.rehearsal.alone, True, []))

    def catch_up(self):
        """Read what was traced since; gives the records of answers."""
        with open(self.alone.trace, "rb") as file:
            file.seek(self.read)
            text = file.read()
        text = text[:text.rfind(b"\n") + 1]
        self.read += len(text)
        lines = text.decode("utf-8").splitlines()
        self.seen.take(lines)
        return answered(lines)

    def add(self, first, part, answers, is_calm):
        if any(answer.status != 200 for answer in part.answers):
            raise servers.Missing("requests of a rehearsal were not answered")
        behind = len(self.seen.arrived_ns) - first
        inside = answers[len(answers) - behind:][:len(part.names)]
        self.parts.append(Part(first, part.names, is_calm, outside(part.answers, inside)))

    def again(self):
        """A moment after a slice, at one of the same rates."""
        self.catch_up()
        if self.slice_began is not None:
            self.slices.append(range(self.slice_began, len(self.seen.asked_ns)))
        number = len(self.parts)
        rate = REHEARSAL_PARTS[number % len(REHEARSAL_PARTS)] * self.rehearsal.capacity
        seconds = max(self.lengths.again, min(AGAIN_REQUESTS / max(rate, 0.1), AGAIN_MOST_S))
        part = play(self.server, self.requests, rate, seconds, number)
        answers = self.catch_up()
        first = len(self.seen.arrived_ns) - len(part.names)
        if all(answer.status == 200 for answer in part.answers):
            self.add(first, part, answers, True)

    def span_s(self, part):
        """When a part began and ended."""
        last = part.first + len(part.names) - 1
        return self.seen.arrived_ns[part.first] / 1e9, self.seen.arrived_ns[last] / 1e9

    def factors(self, pace, place):
        """The pace of the machine before rehearsal @place, as those about that moment saw it."""
        paces = [pace.factors([self.span_s(part)]) for part in self.parts]
        return [factor for number in nearest(paces, place - 0.5, telling(paces))
                for factor in paces[number]]  # fmt: skip

    def past(self, deadline_ms):
        """What the server was asked for until now, when a slice begins, and how careful it is.

        At its times, but for long rests, and with the deadlines that requests had: those of slices,
        or of clients that are patient. Only admission remembers it.
        """
        if not deadline_ms:
            return [], works.Care()
        self.catch_up()
        self.slice_began = len(self.seen.asked_ns)
        name, times = simple(self.server.arm.work), sorted(self.seen.asked_ns)
        gaps = [min((now - last) / 1e9, REST_S) for last, now in zip(times[:1] + times, times)]
        deadlines = [groups.PATIENT_MS] * len(times)
        for numbers in self.slices:
            deadlines[numbers.start:numbers.stop] = [deadline_ms] * len(numbers)
        asked = [(at_s, name, ms) for at_s, ms in zip(itertools.accumulate(gaps), deadlines)]
        return asked, self.seen.admission.care()

    def note_beliefs(self):
        """What the server has learnt of its models by now, when a slice begins."""
        self.beliefs.setdefault(len(self.parts), saved_profile(self.alone.repository))

    def tell_apart(self, measured, device):
        """The work of each sample, and the pace; @measured then has the rest."""
        jobs, loads = [], {}
        for part in self.parts:
            some, loaded = self.seen.of(part.first, len(part.names))
            jobs += some
            for model, times in loaded.items() if part.is_calm else ():
                loads.setdefault(model, []).extend(times)
        works.put_loads(measured["models"], loads)
        runs = runs_of(self.server.arm)
        curves = {task: measured["models"][run]["devices"][device] for task, run in runs.items()}
        return works.tell_apart(jobs, [name for part in self.parts for name in part.names], curves)

    def model(self, place):
        """What the server is simulated as between rehearsals @place - 1 and @place."""
        arm, folder, workers = self.server.arm, self.alone.folder, self.alone.served["workers"]
        measured = copy.deepcopy(self.alone.profile)
        models = measured["models"].values()
        [device] = {kind for model in models for kind in model.get("devices", {})}
        by_sample, pace = self.tell_apart(measured, device)
        believed = as_believed(measured, self.beliefs[place], device)
        for name, document in (("measured", measured), ("believed", believed)):
            path = folder / f"{name}.profile.json"
            path.write_text(json.dumps(document, indent=1), encoding="utf-8")
        memory = f"{workers * content.MB_FOR_FOUR}MB" if arm.work == "four" else machine_memory()
        factors = self.factors(pace, place)
        scenario = {
            "scenario": f"predicted-{arm.work}",
            "cluster": {"machines": {
                "count": 1, "devices": workers, "cpu": workers,
                "device": {"kind": device, "memory": memory, "h2d": 0, "splits": True,
                           "shares_memory": True},
            }},
            "workflows": workflow_documents(arm, self.rehearsal.pieces, by_sample, folder),
            "profile": "believed.profile.json", "truth": "measured.profile.json",
            "policy": policy_of(self.place, arm, self.alone.served), "warmup": "0%",
            "pace": {"every": f"{1000 * pace.every_s:g}ms",
                     "factors": [round(one, 4) for one in factors[:FACTORS_MAX]] or [1]},
        }  # fmt: skip
        last = self.rehearsal.played[-1]
        warm = warming(self.requests, [answer.due_s for answer in last.answers], last.names)
        outside_ms = [ms for part in self.parts for ms in part.outside_ms]
        return Model(scenario, folder, outside_ms, self.lengths.seeds, warm)


class Arrivals(typing.NamedTuple):
    times: list  # In seconds.
    names: list  # Of workflows.
    items: int  # Of each.
    before: list = []  # When, in seconds, for what, and with which deadline it was asked before.
    care: works.Care = works.Care()  # By then.


class Simulated(typing.NamedTuple):
    latencies_ms: list  # Of the jobs that were answered, as clients see them.
    care: works.Care  # Before them.


def simulate(place, model, seed, since_s):
    """What became of the jobs that came after @since_s."""
    trace = model.folder / f"simulated-{seed}.jsonl"
    command = [place.weft, "sim", model.folder / "scenario.json", "--json", "--brief"]
    command += ["--seed", str(seed), "--trace", trace]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SIM_S)
    if done.returncode != 0:
        raise servers.Missing(servers.install.last_line(done.stderr))
    chance, admission = random.Random(seed), works.Admission()
    lines = trace.read_text(encoding="utf-8").splitlines()
    trace.unlink()
    for line in lines:
        if any(f'"kind":"{kind}"' in line for kind in ("arrived", "answered", "refused")):
            record = json.loads(line)
            if record["at_ns"] >= 1e9 * since_s:
                break
            admission.add(record)
    records = [one for one in answered(lines)
               if one["at_ns"] - one["latency_ns"] >= 1e9 * since_s]  # fmt: skip
    latencies_ms = [one["latency_ns"] / 1e6 + chance.choice(model.outside_ms) for one in records]
    return Simulated(latencies_ms, admission.care())


def predict(place, model, arrivals, deadline_ms):
    """Mean and p99 that the simulator gives for @arrivals: medians over some seeds.

    With deadlines all comes first that the server was asked for: admission learns of it. Whether
    any of that was late is chance, so of more seeds those count in which admission then is most
    like that of the server: in how many jobs it has when it refuses others.
    """
    warm = arrivals.before if deadline_ms else [(at_s, name, 0) for at_s, name in model.warm]
    start_s = warm[-1][0] + 2 * REST_S
    times_s = [start_s + at_s for at_s in arrivals.times]
    asked = warm + [(at_s, name, deadline_ms) for at_s, name in zip(times_s, arrivals.names)]
    rows = [{"at": f"{1000 * at_s:.6f}ms", "workflow": name, "items": arrivals.items}
            | ({"deadline": f"{ms}ms"} if ms else {}) for at_s, name, ms in asked]  # fmt: skip
    described = {"kind": "list", "list": rows}
    path = model.folder / "scenario.json"
    path.write_text(json.dumps({**model.scenario, "arrivals": described}, indent=1), "utf-8")
    try:
        seeds = range(1, model.seeds + 1)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            found = [*pool.map(lambda seed: simulate(place, model, seed, start_s - REST_S), seeds)]
    except servers.Missing as error:
        return {"prediction": str(error)}
    if deadline_ms:
        found.sort(key=lambda one: one.care.unlike(arrivals.care))
        found = found[:max(1, model.seeds // ALIKE)]
    runs = [one.latencies_ms for one in found if one.latencies_ms]
    if not runs:
        return {"prediction": "no job was answered"}
    return {
        "predicted_mean_ms": statistics.median(works.mean(run) for run in runs),
        "predicted_p99_ms": statistics.median(figures.quantile(run, 0.99) for run in runs),
        "predicted_completed": works.mean([len(run) for run in runs]),
    }
