"""tools/weft_bound.py: no schedule of a small case has more jobs in time than the bound allows.

Covers: tools/weft_bound.py
"""

import functools
import itertools
import pathlib
import random
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import weft_bound  # noqa: E402
from weft_bound import Task  # noqa: E402


def most_in_time(workflows, arrivals, units):
    """By trying every schedule in which batches start at whole seconds, each task once."""
    end = max(at + workflows[name][1] for at, name in arrivals)

    def due(job):
        at, name = arrivals[job]
        return at + workflows[name][1]

    @functools.lru_cache(maxsize=None)
    def best(now, running, done):
        """@running: (end, units, ((job, task), ...)); @done: (job, task) that have ended."""
        ended = done.union(*(set(batch) for until, _, batch in running if until <= now))
        running = frozenset(each for each in running if each[0] > now)
        if now >= end:
            return sum(
                all((job, task) in ended for task in workflows[name][0])
                for job, (_, name) in enumerate(arrivals)
            )
        busy = {item for _, _, batch in running for item in batch}
        free = units - sum(held for _, held, _ in running)
        ready = {}
        for job, (at, name) in enumerate(arrivals):
            for task, spec in workflows[name][0].items():
                is_ready = at <= now < due(job) and all((job, one) in ended for one in spec.after)
                if is_ready and (job, task) not in ended and (job, task) not in busy:
                    ready.setdefault((name, task), []).append((job, task))
        result = best(now + 1, running, frozenset(ended))
        for (name, task), waiting in ready.items():
            for items, seconds, held, _, _ in workflows[name][0][task].options:
                if items > len(waiting) or held > free:
                    continue
                for batch in itertools.combinations(waiting, items):
                    if all(now + seconds <= due(job) for job, _ in batch):
                        started = running | {(now + seconds, held, batch)}
                        result = max(result, best(now, frozenset(started), frozenset(ended)))
        return result

    return best(0, frozenset(), frozenset())


def draw_case(rng):
    """One or two workflows of one or two tasks on a device of one or two units."""
    units = rng.randint(1, 2)
    workflows = {}
    for name in ("a", "b")[: rng.randint(1, 2)]:
        tasks, before = {}, []
        for task in ("first", "second")[: rng.randint(1, 2)]:
            seconds = rng.randint(1, 3)
            options = [(1, seconds, 1, 0, "k"), (2, seconds + rng.randint(0, 1), 1, 0, "k")]
            if units == 2 and seconds > 1:
                options.append((1, seconds - 1, 2, 0, "k"))
            tasks[task] = Task(before, options)
            before = [task]
        workflows[name] = (tasks, rng.randint(2, 6))
    arrivals = sorted((rng.randint(0, 3), rng.choice(list(workflows))) for _ in range(4))
    return workflows, arrivals, units


class BoundTest(unittest.TestCase):
    def test_no_schedule_is_better(self):
        rng = random.Random(1)
        reached, some_late = 0, 0
        for _ in range(60):
            workflows, arrivals, units = draw_case(rng)
            best = most_in_time(workflows, arrivals, units)
            most = weft_bound.bound(workflows, arrivals, {"k": units}, 0)
            self.assertLessEqual(best, most + 1e-9, (arrivals, units))
            reached += best == int(most + 1e-9)
            some_late += best < len(arrivals)
        self.assertGreater(some_late, 20)  # Or nothing was asked of it.
        self.assertGreater(reached, 30)

    def test_two_at_once_are_one_too_many(self):
        workflows = {"w": ({"t": Task([], [(1, 1.0, 1, 0, "k")])}, 1.0)}
        for count in (1, 2, 3):
            most = weft_bound.bound(workflows, [(0.0, "w")] * count, {"k": 1}, 0)
            self.assertAlmostEqual(most, 1.0)
        self.assertAlmostEqual(weft_bound.bound(workflows, [(0.0, "w")] * 3, {"k": 2}, 0), 2.0)
        self.assertAlmostEqual(
            weft_bound.bound(workflows, [(0.0, "w"), (0.5, "w")], {"k": 1}, 0), 1.5
        )

    def test_a_job_that_is_late_even_alone_does_not_count(self):
        tasks = {"t": Task([], [(1, 1.0, 1, 0, "k")]), "u": Task(["t"], [(1, 1.0, 1, 0, "k")])}
        self.assertEqual(weft_bound.bound({"w": (tasks, 1.9)}, [(0.0, "w")], {"k": 9}, 0), 0.0)

    def test_batches_form_only_of_what_comes_in_time(self):
        workflows = {"w": ({"t": Task([], [(1, 1.0, 1, 0, "k"), (2, 1.0, 1, 0, "k")])}, 1.5)}
        near = weft_bound.bound(workflows, [(0.0, "w"), (0.4, "w")], {"k": 1}, 0)
        far = weft_bound.bound(workflows, [(0.0, "w"), (0.6, "w")], {"k": 1}, 0)
        alone = weft_bound.bound(workflows, [(0.0, "w")] * 4, {"k": 1}, 0)
        self.assertAlmostEqual(near, 2.0)
        self.assertAlmostEqual(far, 2.0)  # One after the other, the second until 2.1.
        self.assertAlmostEqual(alone, 3.0)  # Two batches, of which one and a half end by 1.5.

    def test_processors_are_short_as_well(self):
        workflows = {"w": ({"t": Task([], [(1, 1.0, 1, 4, "k")])}, 1.0)}
        arrivals = [(0.0, "w")] * 8
        self.assertAlmostEqual(weft_bound.bound(workflows, arrivals, {"k": 8}, 0), 8.0)
        self.assertAlmostEqual(weft_bound.bound(workflows, arrivals, {"k": 8}, 8), 2.0)

    def test_times_between_points_are_interpolated(self):
        self.assertEqual(weft_bound.curve([(1, 2.0), (3, 4.0)]), {1: 2.0, 2: 3.0, 3: 4.0})


if __name__ == "__main__":
    unittest.main()
