"""What samples take, each by itself: a profile has only the mean over all that it saw.

The time of a model may depend on what it is shown: how large a page is, how long a recording. A
rehearsal knows which sample each of its jobs was, and its trace has every run, with the others and
the loads that were under way meanwhile. Only jobs of rehearsals are looked at. A run of a task is
taken as

    what its sample takes alone  x  (1 + interference x part of other processors busy)
        x  pace of the machine  x  chance

and, if it is the first after a load, as something more. What samples take on average goes into the
profile, and so do interference, chance and loads. What each sample takes in relation to that
average is the work of its tasks. The pace is what runs of the same moment have in common: a machine
that shares its host with others is slower by a half for 50 ms, and by a twentieth for seconds.
"""

import collections
import json
import math
import typing

import figures

SHARES = (*[k / 8 for k in range(8)], 15 / 16, 31 / 32, 63 / 64, 127 / 128, 1)
LEAST = 64  # Runs that quantiles are taken of.
FEW = 3  # Runs that a mean is taken of.
ALONE_RUNS = 8  # As many count as much as what was measured alone.
INTERFERENCE_MAX = 4.0
SPREAD = 0.15  # By how much the interference of one task may differ from that of others.
ALIKE_S = 10  # Interference is sought within so many seconds: machines become slower and faster.
PACE_S = 0.02  # The shortest piece of a pace; others are as long as a few runs.
PACE_RUNS = 4
LATE = ("deadline exceeded", "cancelled")  # Why jobs with a deadline end without an answer.
LATE_S = 1.0
FADE_JOBS = 512  # As admission forgets.
FEW_REFUSALS = 16  # That a mean is taken of, the last ones.


class Run(typing.NamedTuple):
    task: str
    items: int
    parts: int
    ms: float
    beside: float  # The part of the other processors that was busy, on average.
    crowded: float  # Threads beyond processors, as a part of these.
    is_first: bool = False  # After a load of its model.
    at_s: float = 0.0  # When it began.


class Busy:
    """How busy processors are, as time goes on. Whoever loads a model keeps one of them busy."""

    def __init__(self, processors):
        self.processors, self.parts, self.at_ns = processors, {}, 0
        self.beside_ns = self.crowded_ns = 0.0

    def pass_to(self, at_ns):
        threads = sum(self.parts.values())
        if threads > 0:
            busy, passed_ns = min(threads, self.processors), at_ns - self.at_ns
            self.beside_ns += passed_ns * (busy - 1) / max(self.processors - 1, 1)
            self.crowded_ns += passed_ns * (threads - busy) / self.processors
        self.at_ns = at_ns

    def begin(self, at_ns, key, threads):
        """From now on @key has @threads. Gives what tells what it will have met."""
        self.pass_to(at_ns)
        self.parts[key] = threads
        return at_ns, self.beside_ns, self.crowded_ns

    def end(self, at_ns, key, begun):
        """Nanoseconds that @key took since it had @begun, and what it met: beside, crowded."""
        self.pass_to(at_ns)
        self.parts.pop(key, None)
        took_ns = max(1, at_ns - begun[0])
        return (took_ns, (self.beside_ns - begun[1]) / took_ns,
                (self.crowded_ns - begun[2]) / took_ns)  # fmt: skip


class Care(typing.NamedTuple):
    """How careful admission has become."""

    lateness: float = 0.0  # How much reason it has had: jobs that were late, until they fade.
    open: typing.Optional[float] = None  # Jobs that it had when it refused others, of late.

    def unlike(self, other):
        """What to sort by, if those are to come first that are like @other."""
        apart = 0.0
        if other.open is not None:
            apart = math.inf if self.open is None else abs(self.open - other.open)
        return apart, abs(self.lateness - other.lateness)


class Admission:
    """What a trace shows of admission.

    Jobs that were late at one moment count as one, because it learns of them but once.
    """

    def __init__(self):
        self.arrived, self.late = 0, []  # When each was late, and how many had arrived by then.
        self.jobs, self.refusing = 0, None  # Open ones: now, and when others were refused.

    def add(self, record):
        if record["kind"] == "arrived":
            self.arrived += 1
            self.jobs += 1
        elif record["kind"] == "refused":
            before = self.jobs if self.refusing is None else self.refusing
            self.refusing = before + (self.jobs - before) / FEW_REFUSALS
        elif record["kind"] == "answered":
            self.jobs -= 1
            last_ns = self.late[-1][0] if self.late else -math.inf
            if record.get("reason") in LATE and record["at_ns"] > last_ns + 1e9 * LATE_S:
                self.late.append((record["at_ns"], self.arrived))

    def care(self):
        left = sum(math.exp((arrived - self.arrived) / FADE_JOBS) for _, arrived in self.late)
        return Care(left, self.refusing)


class Trace:
    """What a trace says of runs and loads; @models has the model of each task."""

    def __init__(self, lines, processors, models):
        self.busy, self.models = Busy(processors), models
        self.jobs, self.arrived_ns = {}, []  # Runs of each job, in the order of arrival.
        self.loads = []  # When each ended, its model, and its milliseconds.
        self.begun, self.fresh = {}, set()
        self.admission, self.asked_ns = Admission(), []  # When jobs arrived or were refused.
        self.take(lines)

    def take(self, lines):
        """What has been written since."""
        for line in lines:
            self.add(json.loads(line))

    def add(self, record):
        kind, at_ns, worker = record["kind"], record["at_ns"], record.get("worker")
        self.admission.add(record)
        if kind in ("arrived", "refused"):
            self.asked_ns.append(at_ns)
        if kind == "arrived":
            self.jobs[record["job"]] = []
            self.arrived_ns.append(at_ns)
        elif kind == "started":
            key = record["job"], record["task"]
            threads = max(1, record.get("cpu", 0))
            self.begun[key] = record, self.busy.begin(at_ns, worker, threads), self.is_first(record)
        elif kind == "ended" and (record["job"], record["task"]) in self.begun:
            self.ended(record)
        elif kind == "loading":
            key = worker, record["model"]
            self.begun[key] = self.busy.begin(at_ns, key, 1)
        elif kind in ("loaded", "load dropped") and (worker, record["model"]) in self.begun:
            key = worker, record["model"]
            took_ns, _, _ = self.busy.end(at_ns, key, self.begun.pop(key))
            if kind == "loaded":
                self.loads.append((at_ns, record["model"], took_ns / 1e6))
                self.fresh.add(key)

    def is_first(self, record):
        key = record["worker"], self.models.get(record["task"])
        was_fresh = key in self.fresh
        self.fresh.discard(key)
        return was_fresh

    def ended(self, record):
        begun, since, is_first = self.begun.pop((record["job"], record["task"]))
        took_ns, beside, crowded = self.busy.end(record["at_ns"], record["worker"], since)
        self.jobs[record["job"]].append(Run(
            record["task"], begun.get("items", 1), max(1, begun.get("cpu", 0)), took_ns / 1e6,
            beside, crowded, is_first, since[0] / 1e9,
        ))  # fmt: skip

    def of(self, first, count):
        """The runs of @count jobs from the @first on, and the loads until the next, by model."""
        loads, times = {}, self.arrived_ns[first:first + count + 1]
        until_ns = times[count] if len(times) > count else math.inf
        for at_ns, model, ms in self.loads:
            if times[0] <= at_ns < until_ns:
                loads.setdefault(model, []).append(ms)
        return list(self.jobs.values())[first:first + count], loads


def between(points, items):
    """Milliseconds of @items by the nearest points, and per item beyond the last."""
    below = [one for one in points if one[0] <= items] or [points[0]]
    above = [one for one in points if one[0] >= items]
    if not above:
        return points[-1][1] * items / points[-1][0]
    (x0, y0), (x1, y1) = below[-1], above[0]
    return y0 if x0 == x1 else y0 + (y1 - y0) * (items - x0) / (x1 - x0)


def part_items(run):
    return math.ceil(run.items / run.parts)


def points_alone(curve):
    """Milliseconds by items, on an idle machine."""
    interference = curve.get("interference", 0)
    points = []
    for point in curve["points"]:
        met = (1 + point.get("crowded", 0)) * (1 + interference * point.get("beside", 0))
        points.append((point["items"], point["ms"] / met))
    return sorted(points)


def alone_ms(curve, run):
    """What the profile says of @run on an idle machine."""
    return between(points_alone(curve), part_items(run)) + curve.get("handoff_ms", 0)


def mean(values):
    return sum(values) / len(values)


def calm(run, ms, interference):
    """Of @ms, what is left without what others did to @run."""
    return ms / (1 + run.crowded) / (1 + interference * run.beside)


def ratios_of(curve, samples):
    """Runs by sample, each with what it took per millisecond that the profile says, alone."""
    interference = curve.get("interference", 0)
    return {name: [(run, calm(run, run.ms / alone_ms(curve, run), interference)) for run in runs]
            for name, runs in samples.items()}  # fmt: skip


def means_of(ratios):
    """The work of each sample, by its whole runs if it has any."""
    found = {}
    for name, some in ratios.items():
        whole = [ratio for run, ratio in some if run.parts == 1]
        found[name] = mean(whole or [ratio for _, ratio in some])
    return found


def add_points(curve, samples):
    """A point for every number of items that was run."""
    points = points_alone(curve)
    known = {items for items, _ in points}
    for items in {part_items(run) for runs in samples.values() for run in runs} - known:
        curve["points"].append({"items": items, "ms": between(points, items)})
    curve["points"].sort(key=lambda point: point["items"])


def mend_parts(curve, ratios):
    """Let points that only parts of split runs have used say what those take.

    Rows of a part run one by one, those of a whole run together, which may be slower.
    """
    means = means_of(ratios)
    whole = {run.items for some in ratios.values() for run, _ in some if run.parts == 1}
    parts = {}
    for name, some in ratios.items():
        for run, ratio in some:
            items = part_items(run)
            if run.parts > 1 and items not in whole and any(one.parts == 1 for one, _ in some):
                parts.setdefault(items, []).append(ratio / means[name])
    for point in curve["points"]:
        some = parts.get(point["items"], [])
        if len(some) >= FEW:
            point["ms"] *= mean(some)


def mend_batches(curve, ratios):
    """Let points of other sizes say what runs of them took in the same moments as the usual ones.

    A batch of two is run when much waits, which is when the machine is slow. The fewer runs there
    were of a size, the more counts what was measured of it alone.
    """
    whole = [(run, ratio) for some in ratios.values() for run, ratio in some if run.parts == 1]
    sizes = collections.Counter(run.items for run, _ in whole)
    if len(sizes) < 2:
        return
    [(usual, _)] = sizes.most_common(1)
    means = means_of({name: [one for one in some if one[0].items == usual] or some
                      for name, some in ratios.items()})  # fmt: skip
    told = {}
    for name, some in ratios.items():
        for run, ratio in some:
            if run.parts == 1:
                told.setdefault(run.items, []).append((run, ratio / means[name]))
    pace = Pace(told[usual])
    for point in curve["points"]:
        some = [ratio / pace.at(run.at_s) for run, ratio in told.get(point["items"], [])
                if pace.piece(run.at_s) in pace.pieces]  # fmt: skip
        if point["items"] != usual and some:
            point["ms"] *= (sum(some) + ALONE_RUNS) / (len(some) + ALONE_RUNS)


class Slope(typing.NamedTuple):
    """A line through what the runs of each sample took, by what was beside them."""

    above: float
    below: float
    left: float  # The variance about it.
    centre: float  # Of what was beside them.


def slope_of(curve, samples):
    """Parts of a split run are always beside each other: they tell nothing."""
    points, besides, moments = [], [], {}
    for runs in samples.values():
        whole = [run for run in runs if run.parts == 1]
        ratios = [run.ms / alone_ms(curve, run) / (1 + run.crowded) for run in whole]
        if whole:
            middle, centre = mean(ratios), mean([run.beside for run in whole])
            besides += [run.beside for run in whole]
            for run, ratio in zip(whole, ratios):
                moment = moments.setdefault(int(run.at_s / ALIKE_S), [])
                moment.append((run.beside - centre, ratio / middle - 1))
    for some in moments.values():  # A slow moment with little beside it says nothing.
        x0, y0 = mean([x for x, _ in some]), mean([y for _, y in some])
        points += [(x - x0, y - y0) for x, y in some]
    above, below = sum(x * y for x, y in points), sum(x * x for x, _ in points)
    line = above / below if below > 0 else 0.0
    left = mean([(y - line * x) ** 2 for x, y in points]) if points else 0.0
    return Slope(above, below, left, mean(besides) if points else 0.0)


def interference_of(own, common):
    """By the slope of one task; the fewer runs tell, the more by what tasks have in @common."""
    weight = own.left / SPREAD**2
    if own.below + weight == 0:
        slope = common
    else:
        slope = (own.above + weight * common) / (own.below + weight)
    alone = 1 - slope * own.centre
    return min(max(slope / alone, 0.0), INTERFERENCE_MAX) if alone > 0 else INTERFERENCE_MAX


def fit(tasks, curves):
    """The interference by which runs of equal samples differ least, for each of @curves."""
    slopes = {task: slope_of(curves[task], samples) for task, samples in tasks.items()}
    below = sum(slope.below for slope in slopes.values())
    if below > 0:
        common = sum(slope.above for slope in slopes.values()) / below
        for task, slope in slopes.items():
            curves[task]["interference"] = interference_of(slope, common)


def tell_first(curve, samples):
    """What first runs take longer; gives the others, and first runs without that if alone."""
    interference = curve.get("interference", 0)
    longer, counts = [], [0, 0]
    for runs in samples.values():
        split = [[calm(run, run.ms, interference) for run in runs if run.is_first == first]
                 for first in (False, True)]  # fmt: skip
        counts = [count + len(some) for count, some in zip(counts, split)]
        if split[0]:
            longer += [ms - mean(split[0]) for ms in split[1]]
    if len(longer) >= FEW and counts[0] >= FEW:
        curve["first_run_ms"] = max(0.0, mean(longer))
    first_ms = curve.get("first_run_ms", 0)
    found = {}
    for name, runs in samples.items():
        later = [run for run in runs if not run.is_first]
        found[name] = later or [run._replace(ms=max(run.ms - first_ms, run.ms / 2)) for run in runs]
    return found


def quantiles_of(values):
    """As a profile has them: the last one is such that draws have the mean of @values."""
    found = [figures.quantile(values, share) for share in SHARES[:-1]]
    tail = [value for value in values if value > found[-1]] or [found[-1]]
    return [*found, max(2 * mean(tail) - found[-1], found[-1])]


def scatter(curve, left):
    """Let run times of @curve scatter as what is @left of them, as parts of their mean."""
    curve.pop("quantiles", None)
    if len(left) >= LEAST:
        curve["quantiles"] = quantiles_of(left)
    deviation = math.sqrt(mean([(value - 1) ** 2 for value in left]))
    for point in curve["points"]:
        point["sd_ms"] = deviation * point["ms"]


def put_mean(curve, samples, factor):
    """Let points say what a run took on average, as a server learns it: @factor times as long."""
    runs = [run for some in samples.values() for run in some]
    beside, crowded = mean([run.beside for run in runs]), mean([run.crowded for run in runs])
    met = (1 + crowded) * (1 + curve.get("interference", 0) * beside)
    handoff_ms = curve.get("handoff_ms", 0)
    for point, (_, ms) in zip(curve["points"], points_alone(curve)):
        longer = max(factor * (ms + handoff_ms) - handoff_ms, factor * ms / 2)
        point |= {"ms": longer * met, "beside": beside, "crowded": crowded}


class Pace:
    """How fast the machine was, by what runs took in relation to what is expected of them.

    @runs are pairs: a run, and what it took as a part of that. What a piece of time shows is partly
    chance, the more the fewer runs there are in it. It counts so far that pieces differ as much as
    runs of the same piece are alike.
    """

    def __init__(self, runs):
        total = sum(run.ms for run, _ in runs)
        typical_ms = sum(run.ms**2 for run, _ in runs) / total
        self.every_s = max(PACE_S, round(PACE_RUNS * typical_ms / 1000, 3))
        self.pieces = {}
        for run, ratio in runs:
            self.pieces.setdefault(self.piece(run.at_s), []).append((ratio, run.ms))
        off = [[ratio - 1 for ratio, _ in some] for some in self.pieces.values()]
        pairs = sum(len(some) * (len(some) - 1) for some in off)
        alike = sum(sum(some) ** 2 - sum(x * x for x in some) for some in off) / max(pairs, 1)
        every = mean([x * x for some in off for x in some])
        self.chance = (every - alike) / alike if alike > 0 else math.inf  # Per common variance.

    def piece(self, at_s):
        return int(at_s / self.every_s)

    def at(self, at_s):
        """How many times as long as on average runs took at that time."""
        some = self.pieces.get(self.piece(at_s))
        if not some:
            return 1.0
        ratio = sum(ms for _, ms in some) / sum(ms / ratio for ratio, ms in some)
        return 1 + (ratio - 1) * math.sqrt(len(some) / (len(some) + self.chance))

    def factors(self, spans):
        """Those of @spans, pairs of times in seconds, one after the other."""
        return [self.at((piece + 0.5) * self.every_s)
                for begin_s, end_s in spans
                for piece in range(self.piece(begin_s), self.piece(end_s) + 1)
                if piece in self.pieces]  # fmt: skip


def by_task(jobs, names):
    """The runs of the last of @jobs, whose samples are @names, by task and sample."""
    found = {}
    for name, runs in zip(names, jobs[len(jobs) - len(names):]):
        for run in runs:
            found.setdefault(run.task, {}).setdefault(name, []).append(run)
    return found


def mend_handoff(curve, samples):
    """A hand-off is a part of every run, so none takes longer than the shortest of them.

    A profile of few runs knows that of the first, which may be as long as a process takes to start.
    """
    shortest_ms = min(run.ms for runs in samples.values() for run in runs)
    curve["handoff_ms"] = min(curve.get("handoff_ms", 0), shortest_ms)


def tell_apart(jobs, names, curves):
    """The work of each sample by task, and the pace; @curves, by task, then have what is left."""
    works, left = {name: {} for name in names}, {}
    tasks = by_task(jobs, names)
    for task, samples in tasks.items():
        mend_handoff(curves[task], samples)
        add_points(curves[task], samples)
    later = {task: {name: [run for run in runs if not run.is_first] for name, runs in some.items()}
             for task, some in tasks.items()}  # fmt: skip
    fit(later, curves)
    for task, samples in tasks.items():
        curve = curves[task]
        samples = tell_first(curve, samples)
        mend_parts(curve, ratios_of(curve, samples))
        mend_batches(curve, ratios_of(curve, samples))
        ratios = ratios_of(curve, samples)
        means = means_of(ratios)
        whole = mean([means[name] for name, some in ratios.items() for _ in some])
        is_own = sum(other is curve for other in curves.values()) == 1
        if is_own:
            put_mean(curve, samples, whole)
        for name, work in means.items():
            works[name][task] = work / whole if is_own else work
        left[task] = [(run, ratio / means[name])
                      for name, some in ratios.items() for run, ratio in some]  # fmt: skip
    pace = Pace([one for some in left.values() for one in some])
    for task, some in left.items():
        scatter(curves[task], [ratio / pace.at(run.at_s) for run, ratio in some])
    return works, pace


def put_loads(models, loads):
    """Let @models say what loads took, on average: of each of them, or else of all.

    They scatter as all do: of one model there are few.
    """
    every = [ms for some in loads.values() for ms in some]
    parts = [ms / mean(some) for some in loads.values() for ms in some if len(some) >= FEW]
    for name, model in models.items():
        some = loads.get(name, [])
        if every and model.get("load"):
            model["load_fixed_ms"] = mean(some if len(some) >= FEW else every)
            if len(parts) >= LEAST:
                for curve in model.get("devices", {}).values():
                    curve["load_quantiles"] = quantiles_of(parts)
