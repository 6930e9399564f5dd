"""How many jobs can be in time at all: a bound for every policy, from work and capacity.

A job that is in time does each of its tasks between the earliest moment at which the tasks before
it can have ended and the latest from which those after it can still end in time. It takes at least
the part of a batch that is cheapest among those that fit into that window, with the items that come
close enough together to share it. So a policy that completes a set of jobs in time has
put these amounts of work into these windows, and in no interval more than the devices have.

Leave out that work runs on devices one by one, transfers, loads and memory, and let a job count by
the share of its work that is done. The most jobs are then a linear program over a polymatroid:
its greedy solution is exact. Jobs with the least work come first, and the most work that
a set of jobs can do within its windows is what the earliest deadline first does (Horn, 1974).

Units of devices and of processors are two resources. Every weighted sum of them is a resource of
which there is no more either, so the bound is the least over several weights.
"""

import heapq
import itertools
import math

SHARES = (0.0, 0.8, 1.0)  # Weights of devices beside processors,
VALUES = (0.5, 1.0)  # and of a unit of one kind of device beside another.
ITEMS_MAX = 32  # Batches are not larger.
STEP = 1.02  # Jobs count as having the work of the cheapest within this factor.
STEPS = 120  # Into so many a deadline is divided,
SPANS = 6  # and into so many the slack of a job; what does not fit is left out.


class Task:
    """What one task of a workflow may take: options (items, seconds, units, processors, kind)."""

    def __init__(self, after, options):
        self.after = after
        self.options = options
        self.fastest = min(seconds for items, seconds, *_ in options if items == 1)


def curve(points):
    """Seconds for every number of items up to the most measured, of ascending points."""
    times = {}
    for (items, seconds), (more, longer) in zip(points, points[1:]):
        for count in range(items, more):
            times[count] = seconds + (longer - seconds) * (count - items) / (more - items)
    times[points[-1][0]] = points[-1][1]
    return times


def windows(tasks):
    """By task: the least time before it, and after it, in the same job."""
    heads, tails = {}, {}
    for name, task in tasks.items():
        heads[name] = max((heads[each] + tasks[each].fastest for each in task.after), default=0.0)
    for name in reversed(list(tasks)):
        after = [each for each, task in tasks.items() if name in task.after]
        tails[name] = max((tails[each] + tasks[each].fastest for each in after), default=0.0)
    return heads, tails


def spans(arrivals, most):
    """By arrival and n: the shortest time in which it and n - 1 neighbours arrive."""
    result = []
    for i in range(len(arrivals)):
        mine = [0.0]
        for count in range(2, most + 1):
            starts = range(max(0, i - count + 1), min(i, len(arrivals) - count) + 1)
            mine.append(
                min((arrivals[s + count - 1] - arrivals[s] for s in starts), default=float("inf"))
            )
        result.append(mine)
    return result


def usable(task, room, span):
    """
    The options of one task with @room: in a batch of n, the first of them has waited for the
    others, which takes at least span[n - 1].
    """
    return [
        option
        for option in task.options
        if option[0] <= len(span) and option[1] + span[option[0] - 1] <= room + 1e-12
    ]


def costs_of(options, weight):
    return [(option[1], weight(option) * option[1] / option[0]) for option in options]


def critical(tasks):
    """The tasks of the longest path, by their fastest options."""
    heads, tails = windows(tasks)
    length = max(heads[name] + task.fastest + tails[name] for name, task in tasks.items())
    path = []
    for name, task in tasks.items():
        is_on = heads[name] + task.fastest + tails[name] >= length - 1e-12
        if is_on and (not path or path[-1] in task.after):
            path.append(name)
    return path


def cheapest_path(costs, slo):
    """
    The least work of tasks that run one after another within @slo; of each its (seconds, work).
    Times count in steps, rounded down, so the work may only come out too small.
    """
    step = slo / STEPS
    least = [0.0] * (STEPS + 1)  # By the steps that there are.
    for choices in costs:
        best, useful = float("inf"), []
        for seconds, cost in sorted(choices):
            if cost < best:
                best = cost
                useful.append((int(seconds / step + 1e-9), cost))
        least = [
            min((cost + least[room - steps] for steps, cost in useful if steps <= room),
                default=float("inf"))
            for room in range(STEPS + 1)
        ]  # fmt: skip
    return least[STEPS]


def most_work(pieces):
    """How much of (release, deadline, amount), by release, one server of speed 1 can do in time."""
    done, now, waiting = 0.0, 0.0, []
    at = 0
    while at < len(pieces) or waiting:
        if not waiting:
            now = max(now, pieces[at][0])
        while at < len(pieces) and pieces[at][0] <= now:
            heapq.heappush(waiting, list(pieces[at][1:]))
            at += 1
        deadline, amount = waiting[0]
        until = min(deadline, now + amount, pieces[at][0] if at < len(pieces) else float("inf"))
        if deadline <= now:
            heapq.heappop(waiting)
            continue
        done += until - now
        waiting[0][1] -= until - now
        now = until
        if waiting[0][1] <= 1e-12:
            heapq.heappop(waiting)
    return done


def greedy(jobs):
    """The most jobs, of (work, pieces), of which a part counts as that part."""
    everything = sorted(piece for _, pieces in jobs for piece in pieces)
    if most_work(everything) >= sum(amount for *_, amount in everything) - 1e-9:
        return float(len(jobs))
    groups = {}
    low = min((work for work, _ in jobs if work > 0), default=0.0)
    for work, pieces in jobs:
        if work > 0:
            level = int(math.log(work / low) / math.log(STEP) + 1e-9)
            groups.setdefault(level, []).extend(pieces)
    count = float(sum(1 for work, _ in jobs if work == 0))
    before, so_far = 0.0, []
    for level in sorted(groups):
        so_far = sorted(so_far + groups[level])
        done = most_work(so_far)
        count += (done - before) / (low * STEP**level)
        before = done
    return count


def amounts_of(tasks, slo, span, weight):
    """Windows and amounts of work of a job that others arrive around as @span says."""
    heads, tails = windows(tasks)
    costs = {
        name: costs_of(usable(task, slo - heads[name] - tails[name], span), weight)
        for name, task in tasks.items()
    }
    if not all(costs.values()):
        return None  # It cannot be in time even alone.
    amounts = {name: min(cost for _, cost in each) for name, each in costs.items()}
    path = critical(tasks)
    together = cheapest_path([costs[name] for name in path], slo)
    # Not all of them have the whole slack: what that costs is done somewhere within the job.
    rest = max(together - sum(amounts[name] for name in path), 0.0)
    pieces = [(heads[name], slo - tails[name], amount) for name, amount in amounts.items()]
    return [each for each in [*pieces, (0.0, slo, rest)] if each[2] > 0]


def jobs_of(workflows, arrivals, weight):
    """(Work, pieces) of each job that could be in time alone; @arrivals are (seconds, workflow)."""
    jobs = []
    for name, (tasks, slo) in workflows.items():
        times = sorted(at for at, workflow in arrivals if workflow == name)
        heads, tails = windows(tasks)
        slack = slo - max(heads[each] + task.fastest + tails[each] for each, task in tasks.items())
        most = min(max(option[0] for task in tasks.values() for option in task.options), ITEMS_MAX)
        step = max(slack, 1e-9) / SPANS
        known = {}
        for at, exact in zip(times, spans(times, most)):
            span = tuple(int(each / step) * step for each in exact if each <= slack + 1e-12)
            if span not in known:
                known[span] = amounts_of(tasks, slo, span, weight)
            if known[span] is not None:
                pieces = [(at + begin, at + end, amount) for begin, end, amount in known[span]]
                jobs.append((sum(amount for _, _, amount in pieces), pieces))
    return jobs


def bound(workflows, arrivals, units, processors):
    """
    The most jobs that can be in time. Of @workflows: (tasks in an order in which they can run, SLO
    in seconds); @units of devices by kind, @processors in all, 0 if they are not counted.
    """
    least = float(len(arrivals))
    kinds = sorted(units)
    values = itertools.product(VALUES, repeat=len(kinds))
    values = [dict(zip(kinds, each)) for each in values if max(each) == 1.0]
    shares = SHARES if processors else (1.0,)
    for value, share in itertools.product(values, shares):
        all_units = sum(units[kind] * value[kind] for kind in kinds)

        def weight(option, share=share, value=value, all_units=all_units):
            _, _, of_device, of_machine, kind = option
            cpu = (1 - share) * of_machine / processors if processors else 0.0
            return share * of_device * value[kind] / all_units + cpu

        least = min(least, greedy(jobs_of(workflows, arrivals, weight)))
    return least
