"""tools/weft_slowdown.py: no schedule of a small case has a smaller slow-down than the bound.

Covers: tools/weft_slowdown.py
"""

import itertools
import pathlib
import random
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import weft_slowdown  # noqa: E402
from weft_slowdown import Job, Shape  # noqa: E402


def serial(jobs, workers, order):
    """The sum of slow-downs if tasks are put in @order, each as early as there is a worker."""
    running, ends = [], {}
    for index, name in order:
        job = jobs[index]
        before, run = job.shape.tasks[name]
        ready = max([job.at, *(ends[index, each] for each in before)])
        for begin in sorted({ready, *(end for _, end in running if end > ready)}):
            inside = [begin, *(start for start, _ in running if begin < start < begin + run)]
            if all(sum(a <= at < b for a, b in running) < workers for at in inside):
                break
        running.append((begin, begin + run))
        ends[index, name] = begin + run
    last = [max(ends[index, name] for name in job.shape.tasks) for index, job in enumerate(jobs)]
    return sum((end - job.at) / job.shape.path for end, job in zip(last, jobs))


def least(jobs, workers):
    """By trying every order: one of these schedules is the best of all."""
    tasks = [(index, name) for index, job in enumerate(jobs) for name in job.shape.tasks]

    def can_run(order):
        seen = set()
        for index, name in order:
            if any((index, each) not in seen for each in jobs[index].shape.tasks[name][0]):
                return False
            seen.add((index, name))
        return True

    orders = filter(can_run, itertools.permutations(tasks))
    return min(serial(jobs, workers, order) for order in orders)


def draw_case(rng):
    """Two or three jobs of up to five tasks in all, with times in whole seconds."""
    shapes = []
    for _ in range(2):
        tasks = {"a": ([], rng.randint(1, 4))}
        if rng.random() < 0.6:
            tasks["b"] = (["a"], rng.randint(1, 4))
        if len(tasks) == 2 and rng.random() < 0.4:
            tasks["c"] = (["a"], rng.randint(1, 4))
        shapes.append(tasks)
    jobs, left = [], 5
    for at in sorted(rng.randint(0, 4) for _ in range(3)):
        tasks = rng.choice(shapes)
        if len(tasks) <= left:
            left -= len(tasks)
            jobs.append((tasks, at))
    return jobs, rng.randint(1, 2)


def jobs_of(case, cell=1.0):
    return [Job(Shape(tasks, cell), float(at), cell) for tasks, at in case]


class BoundTest(unittest.TestCase):
    def test_no_schedule_is_better(self):
        rng = random.Random(1)
        waited, bounds, bests = 0, 0.0, 0.0
        for _ in range(40):
            case, workers = draw_case(rng)
            best = least(jobs_of(case), workers)
            bound, reached = weft_slowdown.bound_group(jobs_of(case), workers, cell=1.0, rounds=60)
            self.assertLessEqual(bound, best + 1e-9, case)
            self.assertGreaterEqual(reached, best - 1e-9, case)
            waited += best > len(case) + 1e-9
            bounds, bests = bounds + bound - len(case), bests + best - len(case)
        self.assertGreater(waited, 15)  # Or nothing was asked of it.
        self.assertGreater(bounds, 0.5 * bests)  # Of what is above 1 at the best.

    def test_coarse_cells_bound_as_well(self):
        rng = random.Random(2)
        for _ in range(10):
            case, workers = draw_case(rng)
            best = least(jobs_of(case), workers)
            bound, _ = weft_slowdown.bound_group(jobs_of(case, 1.7), workers, cell=1.7, rounds=30)
            self.assertLessEqual(bound, best + 1e-9, case)

    def test_two_at_once_on_one_worker(self):
        workflows = {"w": {"t": ([], 1.0)}}
        for count, mean in ((1, 1.0), (2, 1.5), (3, 2.0)):
            bound, reached = weft_slowdown.bound(workflows, [(0.0, "w")] * count, 1, cell=0.1)
            self.assertAlmostEqual(reached, mean)
            self.assertLessEqual(bound, mean + 1e-9)
            self.assertGreaterEqual(bound, 1 + 0.9 * (mean - 1))

    def test_short_jobs_come_first(self):
        workflows = {"long": {"t": ([], 8.0)}, "short": {"t": ([], 1.0)}}
        arrivals = [(0.0, "long"), (0.0, "short")]
        bound, reached = weft_slowdown.bound(workflows, arrivals, 1, cell=1.0)
        self.assertAlmostEqual(reached, (1 + 9 / 8) / 2)
        self.assertLessEqual(bound, reached + 1e-9)
        self.assertGreater(bound, 1.05)

    def test_branches_run_at_the_same_time(self):
        tasks = {"a": ([], 1.0), "b": (["a"], 2.0), "c": (["a"], 2.0), "d": (["b", "c"], 1.0)}
        for workers, slowdown in ((1, 6 / 4), (2, 1.0)):
            bound, reached = weft_slowdown.bound({"w": tasks}, [(0.0, "w")], workers, cell=1.0)
            self.assertAlmostEqual(reached, slowdown)
            self.assertLessEqual(bound, slowdown + 1e-9)
            self.assertGreaterEqual(bound, 1 + 0.5 * (slowdown - 1) - 1e-9)


if __name__ == "__main__":
    unittest.main()
