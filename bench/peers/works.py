"""What samples take, each by itself: a profile has only the mean over all that it saw.

The time of a model may depend on what it is shown: how large a page is, how long a recording. A
rehearsal knows which sample each of its jobs was, and its trace has every run, with the others that
were under way meanwhile. So that the first seconds of a server do not count, which are slower, only
the last jobs are looked at. A run of a task is taken as

    what its sample takes alone  x  (1 + interference x part of other processors busy)  x  chance

The first becomes the work of the sample's tasks, the others go into the profile.
"""

import json
import math
import typing

import figures

SHARES = (*[k / 8 for k in range(8)], 15 / 16, 31 / 32, 63 / 64, 127 / 128, 1)
LEAST = 64  # Runs that quantiles are taken of.
INTERFERENCE_MAX = 4.0


class Run(typing.NamedTuple):
    task: str
    items: int
    parts: int
    ms: float
    beside: float  # The part of the other processors that was busy, on average.
    crowded: float  # Threads beyond processors, as a part of these.


class Busy:
    """How busy processors are, as time goes on."""

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


def read_jobs(lines, processors):
    """The runs of each job, in the order of arrival."""
    jobs, started, busy = {}, {}, Busy(processors)
    for line in lines:
        record = json.loads(line)
        job, key = record.get("job"), (record.get("job"), record.get("task"))
        if record["kind"] == "arrived":
            jobs[job] = []
        elif record["kind"] == "started":
            busy.pass_to(record["at_ns"])
            busy.parts[record["worker"]] = max(1, record.get("cpu", 0))
            started[key] = record, busy.beside_ns, busy.crowded_ns
        elif record["kind"] == "ended" and key in started:
            busy.pass_to(record["at_ns"])
            busy.parts.pop(record["worker"], None)
            begun, beside_ns, crowded_ns = started.pop(key)
            took_ns = max(1, record["at_ns"] - begun["at_ns"])
            jobs[job].append(Run(
                record["task"], begun.get("items", 1), max(1, begun.get("cpu", 0)), took_ns / 1e6,
                (busy.beside_ns - beside_ns) / took_ns, (busy.crowded_ns - crowded_ns) / took_ns,
            ))  # fmt: skip
    return list(jobs.values())


def between(points, items):
    """Milliseconds of @items by the nearest points, and per item beyond the last."""
    below = [one for one in points if one[0] <= items] or [points[0]]
    above = [one for one in points if one[0] >= items]
    if not above:
        return points[-1][1] * items / points[-1][0]
    (x0, y0), (x1, y1) = below[-1], above[0]
    return y0 if x0 == x1 else y0 + (y1 - y0) * (items - x0) / (x1 - x0)


def alone_ms(curve, run):
    """What the profile says of @run on an idle machine."""
    interference = curve.get("interference", 0)
    points = []
    for point in curve["points"]:
        met = (1 + point.get("crowded", 0)) * (1 + interference * point.get("beside", 0))
        points.append((point["items"], point["ms"] / met))
    return between(sorted(points), math.ceil(run.items / run.parts)) + curve.get("handoff_ms", 0)


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


def mend_parts(curve, ratios):
    """Let points that only parts of split runs have used say what those take.

    Rows of a part run one by one, those of a whole run together, which may be slower.
    """
    means = means_of(ratios)
    whole = {run.items for some in ratios.values() for run, _ in some if run.parts == 1}
    parts = {}
    for name, some in ratios.items():
        for run, ratio in some:
            items = math.ceil(run.items / run.parts)
            if run.parts > 1 and items not in whole and any(one.parts == 1 for one, _ in some):
                parts.setdefault(items, []).append(ratio / means[name])
    for point in curve["points"]:
        if point["items"] in parts:
            point["ms"] *= mean(parts[point["items"]])


def fit(runs, known):
    """The interference by which runs of equal samples differ least: a line through each of them.

    Parts of a split run are always beside each other: they tell nothing. Without others, it is as
    @known.
    """
    above = below = 0.0
    whole = {name: [one for one in some if one[0].parts == 1] for name, some in runs.items()}
    whole = {name: some for name, some in whole.items() if some}
    for some in whole.values():
        ratios = [ratio / (1 + run.crowded) for run, ratio in some]
        besides = [run.beside for run, _ in some]
        middle, centre = mean(ratios), mean(besides)
        above += sum((b - centre) * (r / middle) for b, r in zip(besides, ratios))
        below += sum((b - centre) ** 2 for b in besides)
    if below == 0:
        return known
    slope = above / below
    centre = mean([run.beside for some in whole.values() for run, _ in some])
    alone = 1 - slope * centre
    return min(max(slope / alone, 0.0), INTERFERENCE_MAX) if alone > 0 else INTERFERENCE_MAX


def scatter(curve, left):
    """Let run times of @curve scatter as what is @left of them, as parts of their mean."""
    curve.pop("quantiles", None)
    if len(left) >= LEAST:
        found = [figures.quantile(left, share) for share in SHARES[:-1]]
        tail = [value for value in left if value > found[-1]] or [found[-1]]
        curve["quantiles"] = [*found, max(2 * mean(tail) - found[-1], found[-1])]
    deviation = math.sqrt(mean([(value - 1) ** 2 for value in left]))
    for point in curve["points"]:
        point["sd_ms"] = deviation * point["ms"]


def by_task(jobs, names):
    """The runs of the last of @jobs, whose samples are @names, by task and sample."""
    found = {}
    for name, runs in zip(names, jobs[len(jobs) - len(names):]):
        for run in runs:
            found.setdefault(run.task, {}).setdefault(name, []).append(run)
    return found


def tell_apart(jobs, names, curves):
    """The work of each sample by task; @curves, by task, then have what is left."""
    works = {name: {} for name in names}
    for task, samples in by_task(jobs, names).items():
        curve = curves[task]
        seen = {name: [(run, run.ms / alone_ms(curve, run)) for run in runs]
                for name, runs in samples.items()}  # fmt: skip
        curve["interference"] = fit(seen, curve.get("interference", 0))
        mend_parts(curve, ratios_of(curve, samples))
        ratios = ratios_of(curve, samples)
        means = means_of(ratios)
        for name, work in means.items():
            works[name][task] = work
        scatter(curve, [ratio / means[name] for name, some in ratios.items() for _, ratio in some])
    return works
