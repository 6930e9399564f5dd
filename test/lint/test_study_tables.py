"""tools/study.py: every table has its place in docs/studies, and figures are written as they are.

Covers: tools/page.py, tools/study.py, tools/study_tables.py
"""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import page as pages  # noqa: E402
import study  # noqa: E402
from study_tables import TABLES  # noqa: E402


def page(name):
    return (ROOT / "docs" / "studies" / f"{name}.md").read_text(encoding="utf-8")


def run(latency, stable=True, price=1.0):
    return {
        "latency_ms": {"mean": latency}, "slowdown": {"mean": 2.0}, "cache_hit_rate": 0.5,
        "slo_hit_rate": 0.25, "price_per_job": price, "stable": stable,
    }  # fmt: skip


def outcome(runs, first=None):
    return study.Outcome(runs, first or runs, None)


class PageTest(unittest.TestCase):
    def test_every_table_is_in_its_page_once(self):
        for table in TABLES:
            begin = pages.BEGIN.format(table.name)
            self.assertEqual(page(table.study).count(begin), 1, (table.study, table.name))

    def test_every_place_has_a_table(self):
        for name in {table.study for table in TABLES}:
            places = re.findall(r"<!-- table: (\S+) -->", page(name))
            self.assertEqual(
                sorted(places), sorted(table.name for table in TABLES if table.study == name)
            )
            self.assertEqual(page(name).count(pages.END), len(places))

    def test_heads_and_rows_are_those_of_the_table(self):
        for table in TABLES:
            lines = pages.get(page(table.study), table.name).split("\n")
            where = (table.study, table.name)
            self.assertEqual("\n".join(lines[:2]) + "\n", study.head(table), where)
            labels = [line.split(" |")[0].removeprefix("| ") for line in lines[2:-1]]
            rows = table.heads if table.turned else [row.label for row in table.rows]
            self.assertEqual(labels, rows, where)

    def test_every_cell_has_its_writer(self):
        for table in TABLES:
            self.assertTrue(table.cell == "prediction" or table.cell in study.CELLS, table.cell)


class WritingTest(unittest.TestCase):
    def test_only_what_is_between_the_markers_changes(self):
        before = "a\n<!-- table: x -->\nold\n<!-- end -->\nb\n<!-- table: y -->\n<!-- end -->\n"
        after = pages.put(before, "x", "| new |\n")
        self.assertEqual(after, before.replace("old", "| new |"))

    def test_a_page_without_the_place_is_named(self):
        with self.assertRaisesRegex(pages.Missing, "no place for the table 'z'"):
            pages.put("<!-- table: x -->\n<!-- end -->\n", "z", "")


class CellTest(unittest.TestCase):
    def test_differences_are_paired(self):
        pair = outcome([run(110), run(220)], [run(100), run(200)])
        self.assertEqual(study.difference(pair), "+10.0 ± 0.0 %")
        self.assertEqual(study.difference(outcome([run(1)])), "–")

    def test_a_star_marks_runs_that_were_not_all_stable(self):
        self.assertEqual(study.latency(outcome([run(1000), run(1000)])), "1000")
        self.assertEqual(study.latency_slowdown(outcome([run(1000, False)])), "1000* · 2.00")

    def test_unstable_figures_are_in_brackets(self):
        runs = [run(50)] * 3
        self.assertEqual(study.latency_interval(outcome(runs + [run(50, False)])), "50.0 ± 0.0")
        self.assertEqual(study.latency_interval(outcome([run(50, False)] * 2)), "(50)")

    def test_costs_are_beside_those_of_the_first_policy(self):
        first = [run(1, price=0.0002)]
        self.assertEqual(study.met_cost(outcome(first)), "25.0 ± 0.0 · 0.2000")
        dearer = outcome([run(1, price=0.0003)], first)
        self.assertEqual(study.met_cost(dearer), "25.0 ± 0.0 · 1.50×")

    def test_an_interval_is_students(self):
        mean, half = study.interval([1.0, 2.0, 3.0])
        self.assertEqual(mean, 2.0)
        self.assertAlmostEqual(half, 4.303 / 3**0.5, 3)


if __name__ == "__main__":
    unittest.main()
