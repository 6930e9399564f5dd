"""A scenario that fails is cut down, and what is left fails from its file.

No run of weft is known to break an invariant, so the failure here is mostly one that is asked
for: more events than --events-max allows.

Covers: src/cli/sim_shrink.c, src/lab/checked_run.c and src/lab/run_invariants.c.
"""

import json
import re
import unittest

from commands import Commands, weft

DEMO = "scenarios/demo/demo.yaml"


class Shrink(Commands):
    def setUp(self):
        super().setUp()
        self.out = self.path("small.yaml")

    def shrink(self, *arguments):
        return weft("sim", DEMO, "--check", "--shrink", self.out, *arguments)

    def test_what_fails_is_cut_down_to_one_job(self):
        done = self.shrink("--jobs", "200", "--events-max", "5")
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertIn("demo fails: no end after 5 events\n", done.stdout)
        for name in ("jobs", "workflows", "nodes", "workers", "tasks"):
            self.assertRegex(done.stdout, rf"(?m)^  {name} +\d+ -> 1$")
        checked = weft("check", self.out).stdout.splitlines()
        self.assertEqual(checked[0], f"{self.out}: scenario ok")
        command = re.search(r"(?m)^repeat it with: weft (.*)$", done.stdout).group(1)
        self.assertEqual(command, f"sim {self.out} --check --events-max 5")
        again = weft(*command.split())
        self.assertEqual((again.returncode, again.stdout), (1, ""))
        self.assertEqual(again.stderr, "weft sim: demo: no end after 5 events\n")
        self.assertEqual(self.files(), ["small.yaml"])

    def test_more_events_need_more_jobs(self):
        done = self.shrink("--jobs", "200", "--events-max", "500")
        self.assertEqual(done.returncode, 1)
        left = int(re.search(r"jobs +200 -> (\d+)", done.stdout).group(1))
        self.assertGreater(left, 1)
        self.assertLess(left, 100)

    def test_what_the_command_line_says_is_in_the_document(self):
        done = self.shrink("--events-max", "5", "--tries-max", "0", "--jobs", "20", "--seed", "9",
                           "--policy", "place=jit,order=edf", "--set", "noise=7%")  # fmt: skip
        self.assertEqual(done.returncode, 1)
        self.assertIn("tries      0, all that were allowed\n", done.stdout)
        with open(self.out, encoding="utf-8") as file:
            text = file.read()
        for line in ("jobs: 20", "seeds: [9]", 'policy: "place=jit,order=edf"', "noise: 0.07"):
            self.assertIn(f"\n{line}\n", text)
        settings = ["--seed", "9", "--jobs", "20", "--set", "noise=7%"]
        before = weft("sim", DEMO, "--policy", "place=jit,order=edf", *settings)
        hashes = [
            re.search(r"trace +([0-9a-f]{16})", run.stdout).group(1)
            for run in (before, weft("sim", self.out))
        ]
        self.assertEqual(hashes[0], hashes[1])

    def test_an_assertion_is_repeated(self):
        path = self.path("down.yaml")
        weft("sim", DEMO, "--shrink", path, "--events-max", "5", "--tries-max", "0")
        with open(path, "a", encoding="utf-8") as file:  # Whom would a client ask then?
            file.write("faults:\n")
            for node in range(3):
                file.write(f"  - {{at: {node + 1}s, crash: {node}}}\n")
        first = weft("sim", path, "--check")
        if "assertion failed" not in first.stderr:
            self.skipTest("a cluster that is down stops nothing any more")
        done = weft("sim", path, "--check", "--shrink", self.out)
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertIn(f"demo fails: {first.stderr.splitlines()[-1]}\n", done.stdout)
        for line in ("jobs +2000 -> 1", "faults +3 -> 1", "nodes +3 -> 1"):
            self.assertRegex(done.stdout, rf"(?m)^  {line}$")
        self.assertEqual(weft("sim", self.out, "--check").stderr, first.stderr)

    def test_what_does_not_fail_is_left_alone(self):
        done = self.shrink("--jobs", "50")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, "demo does not fail: nothing to cut down\n")
        self.assertEqual(self.files(), [])

    def test_a_folder_that_is_not_there_is_said(self):
        self.out = self.path("no/small.yaml")
        done = self.shrink("--jobs", "20", "--events-max", "5", "--tries-max", "1")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, f"weft sim: {self.out}: No such file or directory\n")

    def test_bad_usage(self):
        for arguments, line in (
            (["--json"], "'--shrink' goes neither with '--trace' nor '--json'"),
            (["--trace", "-"], "'--shrink' goes neither with '--trace' nor '--json'"),
        ):
            done = self.shrink(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertEqual(done.stderr, f"weft sim: {line}\n")
        done = weft("sim", DEMO, "--tries-max", "3")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr, "weft sim: '--tries-max' goes with '--shrink'\n")

    def test_a_check_has_an_end_and_a_plain_run_has_none(self):
        done = weft("sim", DEMO, "--jobs", "50", "--check", "--events-max", "7")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "weft sim: demo: no end after 7 events\n")
        self.assertEqual(weft("sim", DEMO, "--jobs", "50").returncode, 0)

    def test_the_limit_counts_what_the_report_counts(self):
        arguments = ["sim", DEMO, "--jobs", "50", "--json"]
        events = json.loads(weft(*arguments).stdout)["events"]
        self.assertEqual(weft(*arguments, "--events-max", str(events + 1)).returncode, 0)
        done = weft(*arguments, "--events-max", str(events))
        self.assertEqual((done.returncode, done.stdout), (1, ""))


if __name__ == "__main__":
    unittest.main()
