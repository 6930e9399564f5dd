"""How small the mean slow-down of jobs can be at all: a bound for every policy, by prices of time.

Tasks run one at a time on alike workers, as long as the profile says. Leave out transfers, loads
and memory, and let a schedule know all arrivals before. Put a price on every moment of a worker's
time. Then each job alone runs where the sum of its slow-down and of what its tasks pay is least.
What all of them pay in any schedule is at most the price of all workers' time, so no schedule has
less than

    sum of these minima - workers x sum of prices

whatever the prices are (Lagrange). Prices rise where more tasks would run than there are workers,
and fall elsewhere (a subgradient method); the best bound that was seen counts.

Time is in cells. Run times, arrivals and starts are rounded down, which keeps every schedule one:
what did not overlap does not, and nothing ends later. Of the tasks for which a task has to end
one is kept, that with the longest way to go; the others start no sooner than they could alone.
Jobs are bounded in groups, as if those of other groups were not there.

Beside it stands what one queue for all workers reaches in the best of a few orders, likewise
without transfers, loads and memory: what can be had lies between the two.
"""

import bisect
import heapq
import itertools

import weft_bound

CELL = 0.005  # Seconds.
GROUP = 400  # Jobs.
ROUNDS = 200
SHARE = 0.1  # The first step, as a share of what would close the gap if prices were right.
GROW = 1.2  # After a round that was better,
SHRINK = 0.85  # and after one that was not.
FALL = 0.3  # So much of the gap lost: go back to the best prices.
SETTLED = 0.0005  # Steps that are smaller change nothing any more.
BEYOND = 5  # So many times as many cells follow after the last that has a price.
ORDERS = (0.0, 1.0, 2.0, 4.0, 8.0, 1000.0)  # Of one queue: by arrival and so many paths.


class Shape:
    """A workflow. @tasks: {name: (names before, seconds)} in an order in which they can run."""

    def __init__(self, tasks, cell):
        self.tasks = tasks
        exact = {name: task_of(after, seconds) for name, (after, seconds) in tasks.items()}
        heads, self.tails = weft_bound.windows(exact)
        self.path = max(heads[name] + exact[name].fastest for name in tasks)
        # The same in cells.
        self.runs = {name: int(seconds / cell + 1e-9) for name, (_, seconds) in tasks.items()}
        whole = {name: task_of(after, self.runs[name]) for name, (after, _) in tasks.items()}
        heads, tails = weft_bound.windows(whole)
        self.heads = {name: int(head) for name, head in heads.items()}
        self.length = max(self.heads[name] + self.runs[name] for name in tasks)
        self.slack = {
            name: self.length - self.heads[name] - self.runs[name] - int(tails[name])
            for name in tasks
        }
        self.before = {name: [] for name in tasks}  # Those that are kept.
        self.last = []
        for name in tasks:
            after = [each for each, (before, _) in tasks.items() if name in before]
            if after:
                longest = max(after, key=lambda each: self.runs[each] + tails[each])
                self.before[longest].append(name)
            else:
                self.last.append(name)


def task_of(after, time):
    return weft_bound.Task(after, [(1, time, 1, 0, "")])


class Job:
    def __init__(self, shape, at, cell):
        self.shape = shape
        self.at = at
        self.first = int(at / cell + 1e-9)
        self.room = 8  # Cells of delay that are looked at at first.


def costs_of(job, sums):
    """By task: the least that it and what is kept before it pay, by its latest start."""
    shape, least = job.shape, {}
    for name in shape.tasks:
        run, base = shape.runs[name], job.first + shape.heads[name]
        count = job.room + shape.slack[name] + 1
        begins, ends = sums[base : base + count], sums[base + run : base + run + count]
        costs = list(map(float.__sub__, ends, begins))
        for each in shape.before[name]:
            gap = shape.heads[name] - shape.runs[each] - shape.heads[each]
            costs = list(map(float.__add__, costs, least[each][gap : gap + count]))
        least[name] = list(itertools.accumulate(costs, min))
    return least


def cheapest(job, sums, cell):
    """(Least cost, [(start, run) of its tasks in cells]); @sums: of prices up to each cell."""
    shape = job.shape
    while True:
        least = costs_of(job, sums)
        ends = range(job.first + shape.length, job.first + shape.length + job.room + 1)
        slowdowns = [max((end * cell - job.at) / shape.path, 1.0) for end in ends]
        totals = slowdowns
        for name in shape.last:
            totals = list(map(float.__add__, totals, least[name][shape.slack[name] :]))
        best = min(totals)
        if best <= slowdowns[-1]:  # What ends later costs more by itself.
            break
        job.room *= 2
    starts = []

    def follow(name, latest):
        """The first of the starts that cost as little."""
        begin = bisect.bisect_left(least[name], -least[name][latest], key=lambda cost: -cost)
        starts.append((job.first + shape.heads[name] + begin, shape.runs[name]))
        for each in shape.before[name]:
            follow(each, begin + shape.heads[name] - shape.runs[each] - shape.heads[each])

    for name in shape.last:
        follow(name, shape.slack[name] + totals.index(best))
    return best, starts


def relaxed(jobs, workers, prices, cell):
    """The bound on the sum of slow-downs at @prices; by cell, the workers that are too few."""
    sums = list(itertools.accumulate(prices, initial=0.0))
    total = -workers * sums[-1]
    sums += [sums[-1]] * (BEYOND * (len(prices) + 16))
    change = [0] * (len(prices) + 1)
    for job in jobs:
        cost, starts = cheapest(job, sums, cell)
        total += cost
        for begin, run in starts:
            change[min(begin, len(prices))] += 1
            change[min(begin + run, len(prices))] -= 1
    return total, [used - workers for used in itertools.accumulate(change[:-1])]


def one_queue(jobs, workers, paths):
    """The sum of slow-downs if tasks run, none idle, by arrival + @paths critical paths."""
    events = [(job.at, index, None) for index, job in enumerate(jobs)]
    missing = [{name: len(after) for name, (after, _) in job.shape.tasks.items()} for job in jobs]
    heapq.heapify(events)
    ready, free, total = [], workers, 0.0
    while events:
        now, index, ended = heapq.heappop(events)
        job, shape = jobs[index], jobs[index].shape
        if ended is not None:
            free += 1
            del missing[index][ended]
            total += 0.0 if missing[index] else (now - job.at) / shape.path
        for name in missing[index]:
            before = shape.tasks[name][0]
            missing[index][name] -= 1 if ended in before else 0
            if ended in before and missing[index][name] == 0 or ended is None and not before:
                due = job.at + paths * shape.path - shape.tails[name] / 1024
                heapq.heappush(ready, (due, index, name))
        while free > 0 and ready and (not events or events[0][0] > now):
            _, started, name = heapq.heappop(ready)
            free -= 1
            heapq.heappush(events, (now + jobs[started].shape.tasks[name][1], started, name))
    return total


def bound_group(jobs, workers, cell=CELL, rounds=ROUNDS):
    """(A bound on the sum of slow-downs of @jobs, what one queue reaches)."""
    reached = min(one_queue(jobs, workers, paths) for paths in ORDERS)
    first = min(job.first for job in jobs)
    for job in jobs:
        job.first -= first
        job.at -= first * cell
    work = sum(sum(job.shape.runs.values()) for job in jobs)
    prices = [0.0] * (max(job.first + job.shape.length for job in jobs) + work // workers + 1)
    best, best_prices, best_excess, share = -1.0, prices, [], SHARE
    for _ in range(rounds):
        total, excess = relaxed(jobs, workers, prices, cell)
        if total > best:
            best, best_prices, best_excess = total, prices, excess
            share *= GROW
        else:
            share *= SHRINK
            if total < best - (reached - best) * FALL:
                prices, excess = best_prices, best_excess
        excess = [each if price > 0 else max(each, 0) for each, price in zip(excess, prices)]
        norm = sum(each * each for each in excess)
        if share < SETTLED or best >= reached * (1 - 1e-9) or norm == 0:
            break
        step = share * (reached - best) / norm
        prices = [max(price + step * each, 0.0) for price, each in zip(prices, excess)]
    return best, reached


def groups_of(workflows, arrivals, cell=CELL, group=GROUP):
    """Jobs in groups; @workflows: {name: tasks of a Shape}, @arrivals: (seconds, name)."""
    shapes = {name: Shape(tasks, cell) for name, tasks in workflows.items()}
    jobs = [Job(shapes[name], at, cell) for at, name in sorted(arrivals)]
    count = max(round(len(jobs) / group), 1)
    return [jobs[len(jobs) * i // count : len(jobs) * (i + 1) // count] for i in range(count)]


def bound(workflows, arrivals, workers, cell=CELL, rounds=ROUNDS):
    """(A bound on the mean slow-down of any schedule, the mean that one queue reaches)."""
    groups = groups_of(workflows, arrivals, cell)
    found = [bound_group(jobs, workers, cell, rounds) for jobs in groups]
    return tuple(sum(each) / len(arrivals) for each in zip(*found))
