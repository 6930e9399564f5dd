"""bench/peers: figures and tables as they should be, and Weft measured by it once.

Covers: bench/peers/figures.py, bench/peers/groups.py, bench/peers/load.py, bench/peers/tables.py,
bench/peers/measure.py, bench/peers/predict.py, bench/peers/processes.py, bench/peers/run.py,
bench/peers/works.py
"""

import asyncio
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEERS = ROOT / "bench/peers"
sys.path[:0] = [str(PEERS), str(ROOT / "tools")]

import figures  # noqa: E402
import groups  # noqa: E402
import install  # noqa: E402
import load  # noqa: E402
import measure  # noqa: E402
import predict  # noqa: E402
import tables  # noqa: E402
import works  # noqa: E402
from servers import Arm  # noqa: E402

GROUP = groups.Group(
    "few", "A few", "What is done.", [Arm("weft", "few"), Arm("triton", "few"), Arm("ray", "few")],
    [groups.Case("half", load=0.5)],
)  # fmt: skip


def row(arm, cycle, mean, **more):
    return {
        "group": "few", "case": "half", "arm": arm, "cycle": cycle, "mean_ms": mean,
        "p50_ms": mean, "p99_ms": 2 * mean, "cpu_ms": mean, "answered_share": 1.0,
        "memory_mb": 10, "rate": 5.0, **more,
    }  # fmt: skip


ROWS = [
    row("Weft", 0, 10), row("Triton", 0, 30), row("Weft", 1, 20), row("Triton", 1, 40),
    row("Weft", 2, 40), row("Triton", 2, 60),
]  # fmt: skip


def answer(latency_s, status=200):
    return load.Answer(0.0, latency_s, status)


WEIGHS = """
import pathlib, sys, time
sys.path.insert(0, sys.argv[1])
import processes
pathlib.Path("/proc/self/autogroup").write_text("5")
time.sleep(0.2)  # Others than root may say so ten times a second.
tree = processes.Tree(["sleep", "60"], {}, sys.argv[2])
print(pathlib.Path(f"/proc/{tree.process.pid}/autogroup").read_text())
tree.stop()
"""


class ProcessesTest(unittest.TestCase):
    def test_servers_weigh_as_much_as_what_asks_them(self):
        if not pathlib.Path("/proc/self/autogroup").exists():
            self.skipTest("this system does not weigh sessions")
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-c", WEIGHS, str(PEERS), f"{folder}/log"]
            done = subprocess.run(command, capture_output=True, text=True, start_new_session=True)
        self.assertEqual(done.stdout.split()[1:], ["nice", "5"], done.stderr)


class FiguresTest(unittest.TestCase):
    def test_a_quantile_lies_between_the_nearest_two(self):
        self.assertEqual(figures.quantile([4, 1, 3, 2], 0.5), 2.5)
        self.assertEqual(figures.quantile([1, 2, 3], 1.0), 3)
        self.assertEqual(figures.quantile([7], 0.99), 7)

    def test_ratios_are_taken_within_a_cycle(self):
        rows = [one for one in ROWS if one["arm"] == "Triton"]
        reference = [one for one in ROWS if one["arm"] == "Weft"]
        self.assertEqual(figures.ratios(rows, reference, "mean_ms"), [3, 2, 1.5])
        self.assertEqual(figures.ratios(rows[:1], reference[1:], "mean_ms"), [])

    def test_spread_is_the_median_and_both_ends(self):
        self.assertEqual(figures.spread([3, 2, 1.5]), "2.00 (1.50 to 3.00)")
        self.assertEqual(figures.spread([0.5], 100), "50.0")
        self.assertEqual(figures.spread([]), "–")
        self.assertEqual(figures.with_least([3, 2, 1.5]), "2.00 / 1.50")

    def test_numbers_have_three_digits(self):
        shown = [figures.number(value) for value in (0, 0.1234, 1.234, 12.34, 123.4, 12345.6)]
        self.assertEqual(shown, ["0", "0.123", "1.23", "12.3", "123", "12,346"])

    def test_only_good_answers_count_and_lateness_is_seen(self):
        found = figures.summarise([answer(0.1), answer(0.3), answer(0.01, 503)], 0.6, 200)
        self.assertEqual((found["requests"], found["answered"]), (3, 2))
        self.assertAlmostEqual(found["mean_ms"], 200)
        self.assertAlmostEqual(found["cpu_ms"], 300)
        self.assertAlmostEqual(found["in_time_share"], 1 / 3)
        self.assertNotIn("mean_ms", figures.summarise([answer(1, 0)], 1.0, 0))


    def test_goodput_is_that_of_the_middle_of_a_slice(self):
        def ended(end_s, latency_s, status=200):
            return load.Answer(end_s - latency_s, latency_s, status)

        early, left = ended(0.9, 0.5), ended(4.1, 0.5)
        late, refused = ended(3.0, 1.1), ended(3.0, 0.1, 503)
        answers = [early, left, late, refused, ended(1.0, 0.9), ended(3.9, 1.0)]
        self.assertAlmostEqual(figures.goodput(answers, 1000, 4.0), 2 / 3)


class LoadTest(unittest.TestCase):
    def test_the_same_seed_gives_the_same_arrivals(self):
        times = load.arrivals(100, 5, 3)
        self.assertEqual(times, load.arrivals(100, 5, 3))
        self.assertNotEqual(times, load.arrivals(100, 5, 4))
        self.assertEqual(times, sorted(times))
        self.assertTrue(400 < len(times) < 600 and times[-1] < 5, len(times))

    def test_what_is_sustained_is_counted_while_all_clients_ask(self):
        begun = []

        async def ask(_connections, _data):
            begun.append(time.perf_counter())
            await asyncio.sleep(0.12)
            return 200, b""

        requests = [load.Request("/", b"", {})]
        with unittest.mock.patch.object(load.Connections, "ask", ask):
            rate = load.sustain(0, requests, 4, 0.2, 0.6)
        # Each of four is answered every 0.12 s: five times while all ask, and once or twice before.
        self.assertTrue(28 <= rate <= 34, rate)
        self.assertGreater(begun[3] - begun[0], 0.1)

    def test_answers_in_both_forms_are_read(self):
        plain = b'{"outputs":[{"name":"y","shape":[2,1],"datatype":"FP32","data":[[1],[2]]}]}'
        head = b'{"outputs":[{"name":"y","parameters":{"binary_data_size":8}}]}'
        packed = head + b"\x00\x00\x80\x3f\x00\x00\x00\x40"
        self.assertEqual(load.read_answer(plain), {"y": [1, 2]})
        self.assertEqual(load.read_answer(packed), {"y": [1.0, 2.0]})

    def test_answers_that_differ_are_found(self):
        ours = {"y": [1.0, 2.0], "text": ["a"]}
        self.assertEqual(load.difference(ours, {"y": [1.0001, 2.0], "text": ["a"]}), "")
        self.assertEqual(load.difference(ours, {"y": [1.1, 2.0], "text": ["a"]}),
                         "output 'y' differs")  # fmt: skip
        self.assertEqual(load.difference(ours, {"y": [1.0, 2.0]}), "output 'text' has another size")
        self.assertEqual(load.difference(ours, {"y": [1.0, 2.0], "text": ["b"]}),
                         "output 'text' differs")  # fmt: skip


class GroupsTest(unittest.TestCase):
    def test_the_best_hits_keep_what_is_needed_next(self):
        self.assertEqual(groups.best_hits(["a", "b", "a", "b"], 2), 1.0)
        # b leaves for c, because a comes first; least recently used would have dropped a.
        self.assertEqual(groups.best_hits(["a", "b", "c", "a", "b"], 2), 0.6)
        self.assertEqual(groups.best_hits(["a", "b", "c", "a", "a"], 2), 0.8)

    def test_every_peer_of_a_group_can_be_installed(self):
        for group in groups.GROUPS:
            self.assertEqual(group.arms[0].peer, "weft")
            self.assertLessEqual({arm.peer for arm in group.arms}, {"weft", *install.VERSIONS})

    def test_versions_are_pinned(self):
        found = install.read_versions("# peers\na  b==1 c==2\n\n")
        self.assertEqual(found, {"a": ["b==1", "c==2"]})
        for packages in install.VERSIONS.values():
            self.assertTrue(all("==" in package for package in packages), packages)


class TablesTest(unittest.TestCase):
    def test_a_server_that_is_not_there_says_why(self):
        table = tables.case_table(GROUP, GROUP.cases[0], ROWS, {"Ray Serve": "no such package"})
        lines = table.splitlines()
        self.assertEqual(len(lines), 5)
        self.assertTrue(
            lines[2].startswith("| Weft | 20.0 / 10.0 | 1.00 (1.00 to 1.00) |"), lines[2]
        )
        self.assertTrue(
            lines[3].startswith("| Triton | 40.0 / 30.0 | 2.00 (1.50 to 3.00) |"), lines[3]
        )
        self.assertEqual(lines[4], "| Ray Serve | not measured: no such package |")
        table = tables.case_table(GROUP, GROUP.cases[0], ROWS, {})
        self.assertIn("| Ray Serve | not measured: left out of this run |\n", table)

    def test_predictions_are_compared_with_their_own_slice(self):
        rows = [{**one, "predicted_mean_ms": 0.9 * one["mean_ms"],
                 "predicted_p99_ms": 2.2 * one["mean_ms"]} for one in ROWS]  # fmt: skip
        line = tables.prediction_text([GROUP], rows).splitlines()[2]
        self.assertIn("| 3 | 20.0 | 18.0 | 0.900 (0.900 to 0.900) | 40.0 | 44.0 | 1.10 ", line)
        self.assertEqual(tables.prediction_text([GROUP], ROWS), "")

    def test_cycles_of_weft_alone_are_predicted_and_not_compared(self):
        more = {"predicted_mean_ms": 9.0, "predicted_p99_ms": 9.0}
        rows = [*ROWS, row("Weft", 3, 90, is_alone=True, **more)]
        self.assertEqual(tables.compared(rows), ROWS)
        facts = dict.fromkeys(("date", "machine", "commit", "others", "cycles", "command",
                               "triton", "runtime"), "")  # fmt: skip
        text = tables.page_text(facts, [GROUP], rows, {})
        self.assertIn("| Weft | 20.0 / 10.0 |", text)
        self.assertIn("| A few | half | 1 | 90.0 | 9.00 |", text)

    def test_what_others_do_better_is_said(self):
        better = [row("Triton", cycle, 5) for cycle in range(3)]
        mine = [one for one in ROWS if one["arm"] == "Weft"]
        [line] = tables.losses([GROUP], mine + better).splitlines()
        self.assertTrue(line.startswith("* A few, half: Triton: mean 0.250 (0.125 to 0.500); p50"))
        self.assertEqual(tables.losses([GROUP], ROWS), "")


def ran(task, worker, begun_ms, ended_ms, job, **more):
    about = {"job": job, "task": task, "worker": worker}
    return [{"kind": "started", "at_ns": int(begun_ms * 1e6), **about, **more},
            {"kind": "ended", "at_ns": int(ended_ms * 1e6), **about}]  # fmt: skip


def traced(*runs):
    records = [{"kind": "arrived", "at_ns": 0, "job": job} for job in sorted({
        one["job"] for run in runs for one in run})]  # fmt: skip
    records += sorted((one for run in runs for one in run), key=lambda one: one["at_ns"])
    return [json.dumps(one) for one in records]


class WorksTest(unittest.TestCase):
    def test_runs_know_what_was_beside_them(self):
        lines = traced(ran("a", 0, 0, 10, "1", items=4), ran("a", 1, 5, 25, "2", cpu=2))
        [[first], [split]], loads = works.Trace(lines, processors=2, models={}).of(0, 2)
        self.assertEqual(loads, {})
        self.assertEqual((first.items, first.parts, first.ms), (4, 1, 10.0))
        self.assertEqual((first.beside, first.crowded), (0.5, 0.25))
        self.assertEqual((split.parts, split.beside, split.crowded), (2, 1.0, 0.125))

    def test_a_load_is_beside_runs_and_makes_the_next_one_the_first(self):
        about = {"worker": 1, "model": "m"}
        lines = traced(
            ran("a", 0, 0, 10, "1"), ran("b", 1, 20, 30, "2"), ran("b", 1, 30, 40, "3"),
            [{"kind": "loading", "at_ns": 4000000, "job": "1", **about},
             {"kind": "loaded", "at_ns": 8000000, "job": "1", **about}],
            [{"kind": "loading", "at_ns": 12000000, "job": "1", **about},
             {"kind": "load dropped", "at_ns": 50000000, "job": "1", **about}],
        )  # fmt: skip
        [[a], [first], [later]], loads = works.Trace(lines, 2, {"a": "n", "b": "m"}).of(0, 3)
        self.assertEqual(loads, {"m": [4.0]})
        self.assertEqual((a.beside, a.is_first), (0.4, False))
        self.assertEqual((first.beside, first.is_first), (1.0, True))
        self.assertFalse(later.is_first)
        models = {"m": {"load": 1}, "other": {"load": 1, "load_fixed_ms": 9}, "f": {"load": 0}}
        works.put_loads(models, loads)
        self.assertEqual([one.get("load_fixed_ms") for one in models.values()], [4.0, 4.0, None])

    def test_first_runs_count_apart(self):
        def run(ms, **more):
            return works.Run("read", 1, 1, ms, 0.0, 0.0, **more)

        later, first = [run(ms) for ms in (9.0, 10.0, 11.0)], [run(14.0, is_first=True)] * 3
        only = [run(24.0, is_first=True)]
        curves = {"read": {"points": [{"items": 1, "ms": 5.0}], "first_run_ms": 1.0}}
        jobs = [[one] for one in later + first + only]
        found, _ = works.tell_apart(jobs, ["a"] * 6 + ["b"], curves)
        self.assertAlmostEqual(curves["read"]["first_run_ms"], 4.0)
        point = curves["read"]["points"][0]["ms"]
        self.assertAlmostEqual(point, 12.5)  # Three of 10 and one of 20.
        self.assertAlmostEqual(point * found["a"]["read"], 10.0)
        self.assertAlmostEqual(point * found["b"]["read"], 20.0)

    def test_few_runs_tell_little_of_interference(self):
        def runs(task, slope, count):
            return [[works.Run(task, 1, 1, (10 + i % 3) * (1 + slope * (i % 2)), i % 2, 0.0)]
                    for i in range(count)]  # fmt: skip

        jobs = runs("often", 0.5, 300) + runs("seldom", 3.0, 6)
        curves = {task: {"points": [{"items": 1, "ms": 10.0}]} for task in ("often", "seldom")}
        works.tell_apart(jobs, ["a"] * len(jobs), curves)
        self.assertAlmostEqual(curves["often"]["interference"], 0.5, delta=0.05)
        self.assertGreater(curves["seldom"]["interference"], 0.6)
        self.assertLess(curves["seldom"]["interference"], 2.5)

    def test_samples_others_and_chance_are_told_apart(self):
        jobs, names = [], []
        for i in range(200):
            name, beside = ("long" if i % 2 else "short"), (i // 2) % 3 / 2
            chance = 1.1 if i // 6 % 2 else 0.9
            ms = (30 if name == "long" else 10) * (1 + 0.4 * beside) * chance
            jobs.append([works.Run("read", 1, 1, ms, beside, 0.0)])
            names.append(name)
        jobs.append([works.Run("read", 2, 2, 15.0, 1.0, 0.0)])  # Split: it tells nothing.
        names.append("split")
        point = {"items": 1, "ms": 24.0, "beside": 0.5}
        curves = {"read": {"points": [point], "interference": 0.2}}
        found, _ = works.tell_apart(jobs, names, curves)
        self.assertAlmostEqual(curves["read"]["interference"], 0.4, delta=0.02)
        self.assertAlmostEqual(found["short"]["read"], 0.5, delta=0.02)  # Of 20 alone.
        self.assertAlmostEqual(found["long"]["read"], 1.5, delta=0.05)
        self.assertAlmostEqual(curves["read"]["quantiles"][2], 0.9, delta=0.02)
        self.assertAlmostEqual(curves["read"]["quantiles"][-1], 1.1, delta=0.02)
        self.assertAlmostEqual(point["sd_ms"], 2.4, delta=0.1)

    def test_jobs_between_rehearsals_do_not_count(self):
        lines = traced(*[ran("a", 0, 10 * i, 10 * i + i + 1, str(i)) for i in range(6)])
        seen = works.Trace(lines[:9], 2, {})
        seen.take(lines[9:])
        self.assertEqual([[run.ms for run in runs] for runs in seen.of(1, 2)[0]], [[2.0], [3.0]])
        self.assertAlmostEqual(seen.of(3, 1)[0][0][0].at_s, 0.03)

    def test_a_machine_that_is_slow_for_a_while_is_told_from_chance(self):
        def run(i):
            slow = 1.5 if i // 20 % 2 else 1.0  # For 60 ms, then not.
            return works.Run("a", 1, 1, 3 * slow * (0.9 + 0.2 * (i % 2)), 0.0, 0.0, at_s=0.003 * i)

        runs = [run(i) for i in range(400)]
        curves = {"a": {"points": [{"items": 1, "ms": 3.0}]}}
        _, pace = works.tell_apart([[one] for one in runs], ["x"] * 400, curves)
        self.assertEqual(pace.every_s, works.PACE_S)
        self.assertAlmostEqual(pace.at(0.13), 0.8, delta=0.06)
        self.assertAlmostEqual(pace.at(0.09), 1.2, delta=0.06)
        self.assertEqual(pace.at(1000.0), 1.0)
        factors = pace.factors([(0.06, 0.119), (0.3, 0.33), (5.0, 6.0)])
        self.assertEqual(len(factors), 5)
        self.assertEqual(factors[0], pace.at(0.07))
        quantiles = curves["a"]["quantiles"]
        self.assertGreater(quantiles[1], 0.8)  # Without the pace it would be 0.72.
        self.assertLess(quantiles[-1], 1.25)

    def test_runs_that_have_nothing_in_common_have_no_pace(self):
        runs = [works.Run("a", 1, 1, 3.0 + (i % 2), 0.0, 0.0, at_s=0.003 * i) for i in range(400)]
        pace = works.Pace([(one, one.ms / 3.5) for one in runs])
        self.assertLess(max(abs(pace.at(0.003 * i) - 1) for i in range(400)), 0.02)

    def test_a_slow_minute_is_no_interference(self):
        def run(i):
            late = i >= 200
            beside = 1.0 if i % 4 == 0 or (late and i % 4 != 3) else 0.0
            ms = 10 * (1.5 if late else 1.0) * (1 + 0.2 * beside)
            return works.Run("a", 1, 1, ms, beside, 0.0, at_s=60.0 * late + 0.01 * (i % 200))

        curves = {"a": {"points": [{"items": 1, "ms": 10.0}]}}
        works.tell_apart([[run(i)] for i in range(400)], ["x"] * 400, curves)
        self.assertAlmostEqual(curves["a"]["interference"], 0.2, delta=0.05)

    def test_parts_and_whole_runs_have_times_of_their_own(self):
        whole = works.Run("read", 6, 1, 60.0, 0.0, 0.0)
        part = works.Run("read", 6, 2, 20.0, 1.0, 0.0)
        other = works.Run("read", 6, 2, 40.0, 1.0, 0.0)
        curves = {"read": {"points": [{"items": 2, "ms": 20.0}, {"items": 6, "ms": 50.0}]}}
        jobs = [[whole], [part], [part], [part], [other]]
        found, _ = works.tell_apart(jobs, ["a", "a", "a", "a", "b"], curves)
        self.assertEqual([one["items"] for one in curves["read"]["points"]], [2, 3, 6])
        for run, name in ((whole, "a"), (part, "a"), (other, "b")):
            alone_ms = works.alone_ms(curves["read"], run)
            self.assertAlmostEqual(alone_ms * found[name]["read"], run.ms)

    def test_work_is_written_into_tasks_of_either_form(self):
        text = "tasks:\n  a: {model: m, in: {}}\n  b:\n    function: f\noutputs:\n  a: {from: b}\n"
        own = re.sub(predict.TASK, lambda one: predict.add_work(one, {"a": 2, "b": 0.5}), text)
        self.assertIn("  a: {work: 2.0000, model: m, in: {}}", own)
        self.assertIn("  b:\n    work: 0.5000\n    function: f\n", own)
        self.assertIn("  a: {from: b}", own)


class WarmingTest(unittest.TestCase):
    def test_a_rehearsal_that_others_disturb_is_repeated(self):
        for cores, expected in (([0.9, 0.1, 0.0], 2), ([0.9, 0.9, 0.9, 0.0], 3)):
            meters = [unittest.mock.MagicMock(others_cores=one) for one in cores]
            for one in meters:
                one.__enter__.return_value = one
            with unittest.mock.patch.object(predict.processes, "Meter", side_effect=meters), \
                    unittest.mock.patch.object(predict, "rehearse", side_effect=[1, 2, 3]):
                found = predict.rehearse_calmly(None, None, None, predict.FULL)
            self.assertEqual(found, expected)

    def test_what_is_outside_of_a_server_is_found_though_requests_change_places(self):
        def record(came_ms, left_ms):
            return {"at_ns": left_ms * 1e6, "latency_ns": (left_ms - came_ms) * 1e6}

        answers = [load.Answer(0.000, 0.013, 200), load.Answer(0.001, 0.104, 200)]
        inside = [record(5001, 5101), record(5002, 5011)]  # Its clock began 5 s before.
        found = predict.outside(answers, inside)
        self.assertAlmostEqual(found[0], 3.0, places=6)  # 1 ms to come and 2 ms to leave.
        self.assertAlmostEqual(found[1], 5.0, places=6)

    def test_a_simulated_server_meets_all_kinds_before_it_is_rehearsed(self):
        requests = unittest.mock.Mock(kinds={"a.png": 1, "b.png": 2}, arm=Arm("weft", "picture"))
        found = predict.warming(requests, [0.5, 1.5], ["b.png", "a.png"])
        names = [name for _, name in found]
        self.assertEqual(names, ["a-png"] * 4 + ["b-png"] * 4 + ["b-png", "a-png"])
        rest_s, times = predict.REST_S, [at for at, _ in found]
        self.assertEqual(times[3:5], [0, rest_s])
        self.assertEqual(times[8:], [2 * rest_s + 0.5, 2 * rest_s + 1.5])

    def test_rehearsals_before_and_after_a_slice_give_its_pace(self):
        rehearsed = predict.Rehearsed.__new__(predict.Rehearsed)
        rehearsed.parts = list(range(8))
        rehearsed.span_s = lambda part: part
        paces = [[1 + 0.1 * number] * number for number in range(8)]  # The first has seen no run.
        pace = unittest.mock.Mock(factors=lambda spans: paces[spans[0]])
        for place, expected in ((4, [2, 3, 4, 5]), (1, [1, 2, 3, 4]), (8, [4, 5, 6, 7])):
            found = rehearsed.factors(pace, place)
            self.assertEqual(found, [one for number in expected for one in paces[number]])

    def test_more_rehearsals_give_the_pace_where_the_next_tell_nothing(self):
        chance = [1.0, 1.1, 0.9, 1.1, 1.1, 0.9, 1.0, 0.9, 1.1, 0.9, 1.0, 1.0]
        drift = [1.0 + 0.02 * number for number in range(12)]
        for levels, expected in ((drift, 4), (chance, 12), (drift[:2], 2), ([], 1)):
            self.assertEqual(predict.telling([[one] * 3 for one in levels]), expected)


class BatchesTest(unittest.TestCase):
    """Whether a batch pays may hang on a little."""

    def curve_after(self, slow_runs, batch_runs):
        """Runs of 8 and of 16 items, the latter only while all takes twice as long."""
        def run(i, items, ms, at_s):
            return [works.Run("a", items, 1, ms * (0.9 + 0.2 * (i % 2)), 0.0, 0.0, at_s=at_s)]

        jobs = [run(i, 8, 3.0, 0.003 * i) for i in range(200)]
        for i in range(slow_runs):
            jobs.append(run(i, 8, 6.0, 9 + 0.006 * i))
            jobs += [run(i, 16, 9.0, 9 + 0.006 * i)] if i < batch_runs else []
        curve = {"points": [{"items": 8, "ms": 3.0}, {"items": 16, "ms": 6.0}]}
        works.tell_apart(jobs, ["x"] * len(jobs), {"a": curve})
        small, large = curve["points"]
        return large["ms"] / small["ms"]

    def test_they_are_compared_with_runs_of_the_same_moment(self):
        self.assertAlmostEqual(self.curve_after(200, 200), 1.5, delta=0.05)

    def test_few_tell_little(self):
        self.assertAlmostEqual(self.curve_after(200, works.ALONE_RUNS), 1.75, delta=0.05)
        self.assertAlmostEqual(self.curve_after(200, 0), 2.0)

    def test_policies_know_what_the_server_had_learnt(self):
        def profile(ms, **more):
            return {"models": {"m": {"load": 1, "devices": {"cpu": {
                "points": [{"items": 1, "ms": ms}], "interference": ms, **more}}}}}  # fmt: skip

        measured, learnt = profile(2.0, handoff_ms=0.5), profile(3.0)
        learnt["models"]["m"]["devices"]["cpu"]["points"].append({"items": 1, "gpu": 1, "ms": 9})
        measured["models"]["new"] = {"devices": {"cpu": {"points": [{"items": 1, "ms": 5.0}]}}}
        believed = predict.as_believed(measured, learnt, "cpu")
        self.assertEqual(believed["models"]["m"]["devices"]["cpu"], {
            "points": [{"items": 1, "ms": 3.0}], "interference": 2.0, "handoff_ms": 0})
        self.assertEqual(believed["models"]["new"], measured["models"]["new"])

    def test_that_is_read_when_a_slice_begins_and_not_after_it(self):
        rehearsed = predict.Rehearsed.__new__(predict.Rehearsed)
        rehearsed.alone, rehearsed.parts, rehearsed.beliefs = unittest.mock.Mock(), [1, 2], {}
        with unittest.mock.patch.object(predict, "saved_profile", side_effect=["before", "after"]):
            rehearsed.note_beliefs()
            rehearsed.note_beliefs()
        self.assertEqual(rehearsed.beliefs, {2: "before"})


class HandoffTest(unittest.TestCase):
    def test_a_hand_off_takes_no_longer_than_the_shortest_run(self):
        curve = {"points": [{"items": 1, "ms": 1.0}], "handoff_ms": 49.0}  # Of a process's start.
        runs = [works.Run("a", 1, 1, 2.0 + i % 3, 0.0, 0.0, at_s=0.01 * i) for i in range(90)]
        works.tell_apart([[run] for run in runs], ["sample"] * 90, {"a": curve})
        self.assertEqual(curve["handoff_ms"], 2.0)
        self.assertAlmostEqual(curve["points"][0]["ms"] + curve["handoff_ms"], 3.0)


class TurnsTest(unittest.TestCase):
    def test_weft_alone_gets_the_last_cycles(self):
        run = measure.Run(None, GROUP, None)
        run.servers = [unittest.mock.Mock(arm=arm) for arm in GROUP.arms]
        run.rehearsed = {GROUP.arms[0]: unittest.mock.Mock()}

        def slice_of(server, case, cycle):
            return {**row(server.arm.label, cycle, 1), "answered": 1, "requests": 1,
                    "others_cores": 0.0}  # fmt: skip

        with unittest.mock.patch.object(run, "slice", slice_of), \
                unittest.mock.patch.object(run, "predict"), \
                unittest.mock.patch.object(run, "sustain"):
            turns = [[one["arm"] for one in run.cycle(number, number > 1)] for number in (1, 2)]
            [last] = run.cycle(2, is_alone=True)
        self.assertEqual(turns, [["Triton", "Ray Serve", "Weft"], ["Weft"]])
        self.assertTrue(last["is_alone"])


class CapacityTest(unittest.TestCase):
    """What Weft sustains, found again and again."""

    def setUp(self):
        options = unittest.mock.Mock(capacity={}, saturate_seconds=3)
        self.run_ = measure.Run(None, GROUP._replace(deadline_ms=9), options)
        self.run_.requests = {arm: unittest.mock.Mock() for arm in GROUP.arms}
        self.asked, self.rates = [], []

    def sustain(self, port, kinds, clients, _ramp_s, seconds):
        self.asked.append((port, kinds, clients, seconds))
        return self.rates.pop(0)

    def start_one(self, arm, _expected):
        self.run_.servers.append(unittest.mock.Mock(arm=arm, port=arm.peer))
        self.run_.requests[arm].patient.return_value = {"a": f"{arm.peer} waits"}

    def start(self, arms, rates):
        self.rates = rates
        with unittest.mock.patch.object(load, "sustain", self.sustain), \
                unittest.mock.patch.object(self.run_, "start_one", self.start_one):
            self.run_.start(arms)

    def test_it_is_measured_after_each_start_without_deadlines(self):
        self.start(GROUP.arms, [7.0, 9.0, 8.0])
        self.assertEqual(self.asked, [("weft", ["weft waits"], measure.CAPACITY_CLIENTS, 3)] * 3)
        self.assertEqual(self.run_.capacity, 8.0)

    def test_alone_it_is_measured_as_often(self):
        self.start(GROUP.arms[:1], [1.0, 3.0, 2.0])
        self.assertEqual((len(self.asked), self.run_.capacity), (3, 2.0))

    def test_a_cycle_is_followed_by_one_more_and_the_last_three_count(self):
        self.start(GROUP.arms, [7.0, 9.0, 8.0])
        self.rates = [5.0]
        with unittest.mock.patch.object(load, "sustain", self.sustain), \
                unittest.mock.patch.object(self.run_, "slice", side_effect=measure.Missing("-")), \
                unittest.mock.patch.object(self.run_, "give_up"):
            self.assertEqual(list(self.run_.cycle(0)), [])
        self.assertEqual((self.run_.sustained, self.run_.capacity), ([7.0, 9.0, 8.0, 5.0], 8.0))
        self.run_.sustained.append(6.0)
        self.assertEqual(self.run_.capacity, 6.0)

    def test_a_capacity_that_is_given_is_not_measured(self):
        self.run_.options.capacity = {"few": 4.0}
        self.start(GROUP.arms, [])
        self.assertEqual((self.asked, self.run_.capacity), ([], 4.0))


class DeadlinesTest(unittest.TestCase):
    """Admission learns by workflow, and remembers."""

    def test_a_cold_server_is_asked_without_a_deadline(self):
        arm = Arm("weft", "picture", deadline_ms=9)
        requests = groups.Requests.__new__(groups.Requests)
        requests.arm, requests.kinds = arm, {"a.png": load.Request("/", b"", {"x-slo-ms": "9"})}
        run = measure.Run(unittest.mock.MagicMock(), GROUP._replace(cases=groups.CLOSED), None)
        with unittest.mock.patch.object(measure, "Server") as server, \
                unittest.mock.patch.object(groups, "Requests", return_value=requests), \
                unittest.mock.patch.object(measure, "good_answer", return_value={}), \
                unittest.mock.patch.object(run, "warm"):
            run.start_one(arm, {})
        [asked] = server.return_value.wait.call_args.args
        self.assertEqual(asked.headers, {"x-slo-ms": "60000"})

    def test_samples_of_a_server_that_refuses_are_one_workflow(self):
        names = ["a.png", "b.png"]
        for deadline_ms, expected in ((0, ["a-png", "b-png"]), (9, ["picture", "picture"])):
            requests = unittest.mock.Mock(arm=Arm("weft", "picture", deadline_ms=deadline_ms))
            found = [predict.simple_of(requests, name) for name in names]
            self.assertEqual(found, expected)
        by_sample = {"a.png": {"see": 1.0, "read": 0.5}, "b.png": {"see": 2.0}}
        self.assertEqual(predict.on_average(by_sample), {"see": 1.5, "read": 0.75})

    def test_all_that_was_asked_comes_before_the_slice_in_question(self):
        now = predict.Arrivals([0.5], ["now"], 1, [(0.0, "before", 60), (1.0, "before", 9)])
        written = {}
        with tempfile.TemporaryDirectory() as folder:
            model = predict.Model({}, pathlib.Path(folder), [0.0], 1, [(1.0, "warm")])

            def simulate(_place, _model, _seed, since_s):
                scenario = json.loads((model.folder / "scenario.json").read_text("utf-8"))
                written["rows"] = scenario["arrivals"]["list"]
                written["since_ms"] = 1000 * since_s
                return predict.Simulated([2.0], works.Care())

            with unittest.mock.patch.object(predict, "simulate", simulate):
                for deadline_ms, first in ((9, ["before", "before"]), (0, ["warm"])):
                    predict.predict(None, model, now, deadline_ms)
                    rows = written["rows"]
                    self.assertEqual([row["workflow"] for row in rows], [*first, "now"])
                    deadlines = ["60ms", "9ms", "9ms"] if deadline_ms else [None, None]
                    self.assertEqual([row.get("deadline") for row in rows], deadlines)
                    times = [float(row["at"].removesuffix("ms")) for row in rows]
                    self.assertTrue(times[-2] < written["since_ms"] < times[-1])

    def test_a_single_policy_leaves_refusing_to_deadline_or_to_none(self):
        listed = unittest.mock.Mock(stdout="weft    admit, place, tick  run tasks\n")
        cases = (((), "weft", "place=weft,tick=weft,admit=deadline"),
                 (groups.ADMIT_ALL, "weft", "place=weft,tick=weft"),
                 ((), "place=jit,admit=weft", "place=jit,admit=weft"),
                 (groups.ADMIT_ALL, "place=jit", "place=jit"))  # fmt: skip
        with unittest.mock.patch.object(predict.subprocess, "run", return_value=listed):
            for options, policy, expected in cases:
                arm = Arm("weft", "picture", options=options)
                found = predict.policy_of(unittest.mock.Mock(), arm, {"policy": policy})
                self.assertEqual(found, expected)

    def test_seeds_count_in_which_admission_is_as_careful(self):
        cases = ((works.Care(0.9), works.Care(1.0, 3.0), works.Care(0.0, 3.0)),  # None was refused.
                 (works.Care(0.9, 5.0), works.Care(0.0, 6.0), works.Care(0.9, 8.0)),
                 (works.Care(0.9, 5.0), works.Care(0.0, 8.0), works.Care(0.9)),
                 (works.Care(0.9, 5.0), works.Care(1.0, 5.0), works.Care(0.0, 5.0)))  # fmt: skip
        for server, near, far in cases:
            now = predict.Arrivals([0.5], ["now"], 1, [(0.0, "before", 9)], server)
            with tempfile.TemporaryDirectory() as folder:
                seeds = predict.ALIKE
                model = predict.Model({}, pathlib.Path(folder), [0.0], seeds, [(1.0, "warm")])
                found = [predict.Simulated([9.0], far)] * (seeds - 1)
                found.insert(1, predict.Simulated([4.0], near))
                with unittest.mock.patch.object(predict, "simulate", side_effect=found):
                    told = predict.predict(None, model, now, 9)
            self.assertEqual(told["predicted_mean_ms"], 4.0)

    def test_how_many_jobs_are_open_when_others_are_refused(self):
        admission = works.Admission()
        for at_ns, kind in enumerate(["arrived"] * 5 + ["refused", "answered", "refused"]):
            admission.add({"kind": kind, "at_ns": at_ns})
        self.assertEqual(admission.care().open, 5 - 1 / works.FEW_REFUSALS)

    def test_late_jobs_of_one_moment_count_once_and_fade(self):
        def ended(at_s, reason):
            return {"kind": "answered", "at_ns": at_s * 1e9, "latency_ns": 1e9, "reason": reason}

        trace = works.Trace([], 2, {})
        for record in (ended(1, "deadline exceeded"), ended(1.5, "cancelled"), ended(9, "crashed")):
            trace.add(record)
        self.assertEqual(trace.admission.care().lateness, 1.0)
        for number in range(works.FADE_JOBS):
            trace.add({"kind": "arrived", "at_ns": 10e9 + number, "job": str(number)})
        trace.add({"kind": "refused", "at_ns": 11e9})
        self.assertAlmostEqual(trace.admission.care().lateness, 0.3679, places=4)
        self.assertEqual(len(trace.asked_ns), works.FADE_JOBS + 1)

    def test_long_rests_of_a_server_are_short_in_its_past(self):
        rehearsed = predict.Rehearsed.__new__(predict.Rehearsed)
        rehearsed.server = unittest.mock.Mock(arm=Arm("weft", "picture"))
        rehearsed.seen = works.Trace([], 2, {})
        rehearsed.seen.asked_ns, rehearsed.slices = [5e9, 6e9, 1000e9], [range(1, 2)]
        with unittest.mock.patch.object(rehearsed, "catch_up", create=True):
            asked, care = rehearsed.past(9)
        patient = groups.PATIENT_MS
        self.assertEqual(asked, [(0, "picture", patient), (1, "picture", 9),
                                 (1 + predict.REST_S, "picture", patient)])  # fmt: skip
        self.assertEqual(rehearsed.slice_began, 3)
        self.assertEqual((care, rehearsed.past(0)), (works.Care(), ([], works.Care())))


class WeftTest(unittest.TestCase):
    """The whole way, without a peer."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def start(self, *arguments):
        command = [sys.executable, "-B", PEERS / "run.py", "--quick", "--only", "weft"]
        return subprocess.Popen(
            [*command, "--folder", self.folder.name, *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def test_weft_is_measured_and_predicted(self):
        if not (ROOT / "build/models/page-layout").exists():
            self.skipTest("the models are not fetched")
        process = self.start("identity", "picture")
        out, err = process.communicate(timeout=240)
        self.assertEqual(process.returncode, 0, err)
        found = json.loads(pathlib.Path(self.folder.name, "figures.json").read_text("utf-8"))
        rows = [one for one in found["rows"] if one["group"] == "picture"]
        self.assertEqual([one["case"][:3] for one in rows], ["0.3", "0.6", "0.9"])
        for one in rows:
            self.assertEqual(one["answered"], one["requests"])
        self.assertTrue(any(one.get("predicted_mean_ms") for one in rows), rows)
        closed = [one for one in found["rows"] if one["group"] == "identity"]
        self.assertTrue(closed or "wrk" in str(found["missing"]), found["missing"])
        self.assertIn("## The workflow `picture`", out)
        self.assertIn("## Predicted by the simulator", out)
        self.assertNotIn(str(ROOT), out)

    def test_ctrl_c_prints_what_there_is(self):
        process = self.start("chain")
        for line in process.stderr:
            if line.startswith("chain 1,") or "wrk" in line:
                break
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)  # While servers are stopped; it must not matter.
        out, _ = process.communicate(timeout=60)
        self.assertIn("# Weft beside other servers", out)
        self.assertEqual(self.left(), "")

    def left(self):
        """Processes that work in the folder still."""
        done = subprocess.run(["pgrep", "-f", self.folder.name], capture_output=True, text=True)
        return done.stdout

    def test_servers_end_with_a_run_that_is_killed(self):
        process = self.start("chain")
        for line in process.stderr:
            if line.startswith("chain 1,") or "wrk" in line:
                break
        self.assertNotEqual(self.left(), "")
        process.kill()
        process.communicate()
        end = time.monotonic() + 30
        while self.left() and time.monotonic() < end:
            time.sleep(0.1)
        self.assertEqual(self.left(), "")


if __name__ == "__main__":
    unittest.main()
