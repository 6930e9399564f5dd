"""tools/kept.py and tools/study_weft_table.py: what has run is not run again; rates between runs.

Covers: tools/kept.py tools/kept_run.sh tools/study_weft_table.py
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import kept  # noqa: E402
import study_weft_table  # noqa: E402

PROGRAM = """#!/bin/sh
echo run >>{log}
echo '{{"runs": [{{"policy": "p", "interrupted": {interrupted}}}]}}'
"""


class Program(unittest.TestCase):
    """A program that prints one run, and a scenario."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.log = self.folder / "log"
        self.scenario = self.folder / "s.yaml"
        self.scenario.write_text("profile: some.json\n", encoding="utf-8")
        (self.folder / "some.json").write_text("1", encoding="utf-8")
        kept.KEPT = self.folder / "kept"
        self.write(interrupted="false")

    def write(self, interrupted):
        program = self.folder / "weft"
        text = PROGRAM.format(log=self.log, interrupted=interrupted)
        program.write_text(text, encoding="utf-8")
        program.chmod(0o755)
        kept.WEFT = str(program)
        kept.program.cache_clear()

    def count(self):
        return len(self.log.read_text(encoding="utf-8").split())


class Kept(Program):
    def test_the_same_runs_once(self):
        first = kept.compare(self.scenario, "p", "--jobs", "3")
        self.assertEqual(kept.compare(self.scenario, "p", "--jobs", "3"), first)
        self.assertEqual(self.count(), 1)

    def test_what_differs_runs(self):
        kept.compare(self.scenario, "p")
        kept.compare(self.scenario, "q")
        kept.compare(self.scenario, "p", "--jobs", "3")
        (self.folder / "some.json").write_text("2", encoding="utf-8")
        kept.compare(self.scenario, "p")
        self.assertEqual(self.count(), 4)

    def test_an_interrupted_run_is_not_kept(self):
        self.write(interrupted="true")
        with self.assertRaises(SystemExit):
            kept.compare(self.scenario, "p")
        self.assertFalse(kept.KEPT.exists())


class Listed(Program):
    """What is listed runs elsewhere, and is then kept here."""

    def setUp(self):
        super().setUp()
        self.listed = self.folder / "listed"
        self.listed.mkdir()

    def make_list(self):
        kept.LISTED = str(self.listed)
        self.addCleanup(setattr, kept, "LISTED", None)
        kept.compare(self.scenario, "a=b,c=d", "--set", "jobs=3 4")
        kept.compare(self.scenario, "q")
        kept.LISTED = None

    def run_list(self):
        command = [ROOT / "tools/kept_run.sh", self.listed, kept.KEPT, "2"]
        subprocess.run(command, check=True, env={**os.environ, "WEFT": kept.WEFT})

    def test_what_was_listed_is_kept(self):
        self.make_list()
        self.assertFalse(self.log.exists())
        self.run_list()
        self.assertEqual(self.count(), 2)
        runs = kept.compare(self.scenario, "a=b,c=d", "--set", "jobs=3 4")
        self.assertEqual(runs, [{"policy": "p", "interrupted": False}])
        self.run_list()
        self.assertEqual(self.count(), 2)

    def test_what_is_kept_is_not_listed(self):
        kept.compare(self.scenario, "q")
        self.make_list()
        lines = (self.listed / "list").read_text(encoding="utf-8").splitlines()
        runs = [line.split("\t")[2:] for line in lines]
        self.assertEqual(runs, [["a=b,c=d", "--set", "jobs=3 4"]])

    def test_files_that_a_scenario_names_are_copied(self):
        self.make_list()
        copies = sorted(file.name for file in self.listed.glob("files/*/*"))
        self.assertEqual(copies, ["s.yaml", "some.json"])

    def test_an_interrupted_run_runs_again(self):
        self.make_list()
        text = pathlib.Path(kept.WEFT).read_text(encoding="utf-8")
        pathlib.Path(kept.WEFT).write_text(text.replace("false", "true"), encoding="utf-8")
        self.run_list()
        self.assertEqual(list(kept.KEPT.glob("*.json")), [])


class Carried(unittest.TestCase):
    def test_the_rate_lies_between_two_that_were_run(self):
        rate, is_last = study_weft_table.carried([10, 20], [0.99, 0.91])
        self.assertAlmostEqual(rate, 15)
        self.assertFalse(is_last)
        self.assertEqual(study_weft_table.carried([10, 20], [0.99, 0.97]), (20, True))
        self.assertEqual(study_weft_table.carried([10, 20], [0.9, 0.8]), (0.0, False))


if __name__ == "__main__":
    unittest.main()
