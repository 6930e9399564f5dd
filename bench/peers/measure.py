"""Runs a group: starts its servers, lets them take turns, and gives one row of figures a slice."""

import re
import signal
import statistics
import sys
import urllib.request

import content
import figures
import groups
import load
import predict
import processes
from install import Missing
from servers import Server

WARM_CLIENTS = 4
CAPACITY_CLIENTS = 16  # So many that there is always work in the queues of two processors.
CAPACITY_SLICES = 3  # The last of them say what loads are parts of.
TRIES = 5
RAMP_S = 0.5  # In which these clients begin.
PATIENCE_S = 60.0  # Of clients without a deadline.
SLICE_MAX_S = 40.0  # Of those that are to have many requests.


def say(text):
    print(text, file=sys.stderr, flush=True)


def cache_counters(server):
    """How often a model was needed by Weft, and how often it was resident; others do not say."""
    if server.arm.peer != "weft" or server.arm.work != "four":
        return None
    url = f"http://127.0.0.1:{server.metrics}/metrics"
    with urllib.request.urlopen(url, timeout=10) as answer:
        text = answer.read().decode()

    def total(name):
        return sum(float(value) for value in re.findall(rf"(?m)^{name}{{.*}} (\S+)$", text))

    return total("weft_model_needed_total"), total("weft_model_cache_hits_total")


def cache_figures(before, after, names):
    if before is None:
        return {}
    needed, hits = after[0] - before[0], after[1] - before[1]
    return {"hits": hits / max(needed, 1), "best_hits": groups.best_hits(names, 4)}


def good_answer(server, name, request):
    """The answer to @request; a server that gives up late requests may need more than one try."""
    for _ in range(TRIES):
        status, body = load.ask(server.port, request)
        if status == 200:
            return load.read_answer(body)
    raise Missing(f"{name}: status {status}: {body[:100].decode('utf-8', 'replace')}")


class Run:
    """All slices of one group."""

    def __init__(self, place, group, options):
        self.place, self.group, self.options = place, group, options
        self.servers, self.requests, self.rehearsed, self.missing = [], {}, {}, {}
        self.asked = []  # Slices without a prediction: row, arm, place, arrivals.
        self.sustained = []  # Answers per second, slice by slice.

    @property
    def capacity(self):
        """What loads are parts of."""
        given = self.options.capacity.get(self.group.name)
        return given or statistics.median(self.sustained[-CAPACITY_SLICES:])

    def log(self, arm):
        folder = self.place.folder / "log"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{self.group.name}-{arm.label.replace(', ', '-').replace(' ', '-')}.log"

    def start_one(self, arm, expected):
        """Start a server, compare its answers with the first server's, and let it wait its turn."""
        say(f"{self.group.name}: start {arm.label}")
        requests = self.requests[arm] = groups.Requests(self.place, self.group, arm)
        alone = None
        if arm.peer == "weft" and self.group.cases[0].load:
            folder = self.place.folder / "predicted" / f"{self.group.name}-{arm.work}"
            alone = predict.measure_alone(self.place, arm, folder)
        more = ("--trace", alone.trace) if alone else ()
        server = Server(self.place, arm, self.log(arm), more)
        self.servers.append(server)
        server.wait(requests.first_patient())
        for name, request in requests.patient().items():
            answer = good_answer(server, name, request)
            found = load.difference(expected.setdefault(name, answer), answer)
            if found:
                raise Missing(f"it answers {name} otherwise: {found}")
        self.warm(server)
        if alone:
            self.rehearsed[arm] = predict.Rehearsed(
                self.place, alone, server, requests, self.options.lengths
            )
        server.tree.pause()

    def start(self, arms):
        expected = {}
        for arm in arms:
            try:
                self.start_one(arm, expected)
            except Missing as error:
                if self.servers and self.servers[-1].arm == arm:
                    self.give_up(self.servers[-1], error)
                else:
                    say(f"{self.group.name}: {arm.label}: {error}")
                    self.missing[arm.label] = str(error)
            if self.servers:
                self.sustain()
        while self.servers and self.needs_capacity and len(self.sustained) < CAPACITY_SLICES:
            self.sustain()

    def warm(self, server):
        """Each model by itself, so that whoever may run it has met it, and then all requests."""
        kinds = list(self.requests[server.arm].patient().values())
        seconds = self.options.warm_seconds
        models = kinds if server.arm.work in ("all", "four") else []  # Samples share theirs.
        for kind in models:
            load.saturate(server.port, [kind], WARM_CLIENTS, seconds / len(kinds))
        load.saturate(server.port, kinds, WARM_CLIENTS, seconds)
        server.tree.settle()

    @property
    def needs_capacity(self):
        return self.group.cases[0].load > 0 and self.group.name not in self.options.capacity

    def sustain(self):
        """Once more what the first server answers per second if its queues are never empty."""
        if not self.needs_capacity:
            return
        server = self.servers[0]
        kinds = list(self.requests[server.arm].patient().values())
        server.tree.resume()
        rate = load.sustain(
            server.port, kinds, CAPACITY_CLIENTS, RAMP_S, self.options.saturate_seconds
        )
        server.tree.pause()
        if rate == 0:
            raise Missing(f"{server.arm.label} answered nothing when asked without a rest")
        self.sustained.append(rate)
        say(f"{self.group.name}: {server.arm.label} sustains {rate:.1f}/s")

    def closed(self, server, case):
        request = groups.closed_request(server.arm, case)
        with processes.Meter(server) as meter:
            closed = load.closed_loop(
                server.port, request, case.connections, self.options.closed_seconds
            )
        return meter, figures.summarise_closed(closed, meter.cpu_s)

    def open(self, server, case, cycle):
        arm, group = server.arm, self.group
        rate, seed = case.load * self.capacity, 1000 * cycle + round(100 * case.load)
        enough_s = min(self.options.requests / rate, SLICE_MAX_S)
        seconds = max(self.options.open_seconds, enough_s, 2 * group.deadline_ms / 1000)
        times = load.arrivals(rate, seconds, seed)
        requests = self.requests[arm]
        names = requests.names(len(times), seed)
        asked = [requests.kinds[name] for name in names]
        patience_s = group.deadline_ms / 1000 if group.deadline_ms else PATIENCE_S
        past = ()
        if arm in self.rehearsed:
            self.rehearsed[arm].note_beliefs()
            past = self.rehearsed[arm].past(group.deadline_ms)
        counters = cache_counters(server)
        with processes.Meter(server) as meter:
            answers = load.open_loop(server.port, times, asked, patience_s)
            server.tree.settle()
        found = figures.summarise(answers, meter.cpu_s, group.deadline_ms)
        found |= {"rate": rate, "capacity": self.capacity}
        if group.deadline_ms:
            in_time = figures.goodput(answers, group.deadline_ms, seconds)
            found["goodput"] = in_time / self.capacity
        found |= cache_figures(counters, cache_counters(server), names)
        if arm in self.rehearsed:
            asked = [predict.simple_of(requests, name) for name in names]
            rows = groups.ZOO_ROWS if arm.work in ("all", "four") else 1
            place = len(self.rehearsed[arm].parts)
            self.asked.append((found, arm, place, predict.Arrivals(times, asked, rows, *past)))
        return meter, found

    def predict(self):
        """Add to the last slices what the simulator expects of their requests."""
        for found, arm, place, arrivals in self.asked:
            model = self.rehearsed[arm].model(place)
            found |= predict.predict(self.place, model, arrivals, self.group.deadline_ms)
            if found.get("predicted_mean_ms"):
                say(f"{found['case']}: {found['arm']}: mean {found['mean_ms']:.1f}, predicted "
                    f"{found['predicted_mean_ms']:.1f}")  # fmt: skip
        self.asked = []

    def slice(self, server, case, cycle):
        server.tree.resume()
        if case.connections:
            meter, found = self.closed(server, case)
        else:
            meter, found = self.open(server, case, cycle)
        if server.tree.has_ended():
            raise Missing(f"it ended: {server.tail()}")
        found |= {
            "group": self.group.name, "case": case.name, "arm": server.arm.label, "cycle": cycle,
            "memory_mb": server.tree.memory_mb(), "ready_s": server.ready_s,
            "others_cores": meter.others_cores,
        }  # fmt: skip
        if server.arm in self.rehearsed:  # Not before: only this server would be warm then.
            self.rehearsed[server.arm].again()
        server.tree.pause()
        return found

    def cycle(self, number, is_alone=False):
        """Every server gets every load once; who begins changes from cycle to cycle.

        Alone, only those that are predicted do.
        """
        for case in self.group.cases:
            turns = [one for one in self.servers if one.arm in self.rehearsed or not is_alone]
            first = number % max(len(turns), 1)
            for server in turns[first:] + turns[:first]:
                if case.binary and server.arm.peer not in groups.SPEAK_BINARY:
                    continue
                try:
                    row = self.slice(server, case, number)
                except Missing as error:
                    self.give_up(server, error)
                else:
                    say(describe(row))
                    row["is_alone"] = is_alone
                    yield row
        self.sustain()  # Not just before a slice: only this server would be warm then.
        self.predict()

    def give_up(self, server, error):
        say(f"{self.group.name}: {server.arm.label}: {error}")
        self.missing[server.arm.label] = str(error)
        self.servers.remove(server)
        server.stop()

    def stop(self):
        """End all servers, even if a second Ctrl-C comes meanwhile: none may be left behind."""
        numbers = (signal.SIGINT, signal.SIGTERM)
        handlers = [signal.signal(number, signal.SIG_IGN) for number in numbers]
        for server in self.servers:
            server.stop()
        self.servers = []
        for number, handler in zip(numbers, handlers):
            signal.signal(number, handler)


def describe(row):
    """A slice in one line, while it goes on."""
    unit = "us" if "p50_us" in row else "ms"
    answered = f"{row['answered']} of {row['requests']} answered"
    parts = [f"{row['group']} {row['cycle'] + 1}, {row['case']}: {row['arm']}: {answered}"]
    for key in ("p50", "p99", "cpu"):
        value = row.get(f"{key}_{unit}")
        parts.append(f"{key} {value:.1f} {unit}" if value is not None else f"{key} -")
    if "goodput" in row:
        parts.append(f"goodput {row['goodput']:.2f}")
    if "hits" in row:
        parts.append(f"hits {row['hits']:.2f} of {row['best_hits']:.2f}")
    return ", ".join(parts) + f"; others {row['others_cores']:.1f} cores"


def prepare(place, wanted):
    """Models and the demo, as far as the groups need them."""
    works = {arm.work for group in wanted for arm in group.arms}
    content.make_models(place.models, works)
    if works & set(content.WORKFLOWS):
        content.make_demo(place.build, place.demo)
