"""`weft solve`: what it finds is what nona draws from, in any command that runs a scenario.

Covers: src/cli/solve.c, src/cli/solve_print.c
"""

import json
import pathlib
import re
import unittest

from commands import Commands, weft

SIZES = "scenarios/nona/sizes.yaml"
DIAMOND = "scenarios/nona/diamond.yaml"


class Solve(Commands):
    def with_mixture(self, scenario, mixture, name="s.yaml"):
        text = pathlib.Path(scenario).read_text(encoding="utf-8")
        pathlib.Path(self.path(name)).write_text(f"{text}mixture: {mixture}\n", encoding="utf-8")
        return self.path(name)

    def test_expectations_are_printed(self):
        text = self.good("solve", SIZES)
        self.assertIn("28.800 ms expected on average, 9.600 ms without waits", text)
        self.assertRegex(text, r"(?m)^short +4000\.0 +6\.000 +10 +1\.00$")
        self.assertRegex(text, r"(?m)^long +666\.7 +180\.000 +50 +1\.00$")
        self.assertRegex(text, r"busiest workers: \d+ \(80\.0 %\), ")
        self.assertIn("busiest links: none has a limit", text)
        text = self.good("solve", "scenarios/nona/one-link.yaml")
        self.assertRegex(text, r"busiest links: the one link \(65\.\d %\)\n")
        self.assertIn("down to node", self.good("solve", DIAMOND))

    def test_programs_get_json(self):
        answer = json.loads(self.good("solve", SIZES, "--json", "--rate", "4166.6667"))
        self.assertAlmostEqual(answer["mean_ms"], 14.4, places=2)
        self.assertAlmostEqual(answer["workflows"]["middle"]["rate_per_s"], 1250, places=2)
        self.assertEqual((len(answer["workers"]), len(answer["links"])), (80, 160))
        self.assertAlmostEqual(answer["load_max"], 0.5, places=4)

    def test_what_cannot_be_served_is_named(self):
        done = weft("solve", SIZES, "--rate", "9000")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"^weft solve: the load is too high: worker \d+ .* 108 %\n$")

    def test_the_mixture_that_was_written_is_the_one_that_is_drawn_from(self):
        self.good("solve", DIAMOND, "-o", self.path("m.json"))
        scenario = self.with_mixture(DIAMOND, "m.json")
        self.good("check", scenario)
        report = json.loads(self.good("sim", scenario, "--json", "--check"))
        self.assertAlmostEqual(report["latency_ms"]["mean"], 14, places=3)
        # One that says something else is believed as well: the heavy branch on the other.
        mixture = json.loads(pathlib.Path(self.path("m.json")).read_text(encoding="utf-8"))
        mixture["workflows"]["diamond"]["patterns"] = [{"weight": 1, "workers": [0, 0, 1, 0]}]
        pathlib.Path(self.path("m.json")).write_text(json.dumps(mixture), encoding="utf-8")
        report = json.loads(self.good("sim", scenario, "--json", "--check"))
        self.assertAlmostEqual(report["latency_ms"]["mean"], 32, places=3)
        table = self.good("compare", scenario, "--policies", "nona;expert", "--jobs", "50")
        self.assertRegex(table, r"(?m)^nona +.*\b32\.")
        self.assertRegex(table, r"(?m)^expert +.*\b22\.")

    def test_a_mixture_goes_to_standard_output_too(self):
        done = weft("solve", DIAMOND, "-o", "-")
        self.assertEqual(done.returncode, 0)
        mixture = json.loads(done.stdout)
        self.assertEqual(mixture["workflows"]["diamond"]["tasks"], ["a", "b", "c", "d"])
        self.assertIn("expected on average", done.stderr)

    def test_serving_solves_and_searches_too(self):
        """Ten times the rate that the mixture was solved for: it is solved again."""
        self.good("solve", DIAMOND, "--rate", "1/s", "-o", self.path("m.json"))
        scenario = self.with_mixture(DIAMOND, "m.json")
        report = json.loads(
            self.good("serve", scenario, "--emulated", "--rate", "20/s", "--seconds", "3",
                      "--policy", "nona:window_s=1", "--json")
        )  # fmt: skip
        served = report["served"]
        self.assertGreater(served["completed"], 20)
        self.assertEqual(served["completed"], served["jobs"])

    def test_drift_is_solved_for_in_simulations(self):
        self.good("solve", SIZES, "--rate", "1000/s", "-o", self.path("m.json"))
        scenario = self.with_mixture(SIZES, "m.json")
        trace = self.path("trace.jsonl")
        self.good("sim", scenario, "--policy", "nona:window_s=2", "--jobs", "40000", "--trace",
                  trace)  # fmt: skip
        lines = pathlib.Path(trace).read_text(encoding="utf-8").split("\n")
        solved = [json.loads(line) for line in lines if '"kind":"solved"' in line]
        self.assertGreaterEqual(len({record["node"] for record in solved}), 70)
        # Ticks come every second; a search takes 10 ms.
        self.assertTrue(all(record["at_ns"] % 10**9 == 10**7 for record in solved))

    def test_what_is_wrong_is_said(self):
        done = weft("solve", "scenarios/nona/none.yaml")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, re.escape("none.yaml: cannot be opened"))
        done = weft("solve", DIAMOND, "-o", self.path("no/m.json"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("No such file or directory", done.stderr)
        done = weft("solve")
        self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    unittest.main()
