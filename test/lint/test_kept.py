"""tools/kept.py and tools/study_weft_table.py: what has run is not run again; rates between runs.

Covers: tools/kept.py tools/study_weft_table.py
"""

import pathlib
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


class Kept(unittest.TestCase):
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


class Carried(unittest.TestCase):
    def test_the_rate_lies_between_two_that_were_run(self):
        rate, is_last = study_weft_table.carried([10, 20], [0.99, 0.91])
        self.assertAlmostEqual(rate, 15)
        self.assertFalse(is_last)
        self.assertEqual(study_weft_table.carried([10, 20], [0.99, 0.97]), (20, True))
        self.assertEqual(study_weft_table.carried([10, 20], [0.9, 0.8]), (0.0, False))


if __name__ == "__main__":
    unittest.main()
