"""weft compare for studies: saturation, ranges of rates, warm-up found by the run itself.

Covers: src/lab/compare_saturation.c, src/cli/compare_saturation_print.c, src/lab/compare_runs.c
"""

import json
import pathlib
import unittest

from commands import Commands, weft

DEMO = "scenarios/demo/demo.yaml"

# One worker and one model of 100 ms: it saturates at 10 jobs a second.
QUEUE = """
scenario: queue
cluster:
  machines: {{count: 1, device: {{kind: emulated, memory: 40GB, h2d: 6GB/s}}, cpu: 8}}
  network: {{kind: star, link: 10Gb/s, latency: 50us, sharing: fifo}}
workflows:
  - {{workflow: one, input: 1KB, tasks: {{run: {{model: thing}}}}}}
profile:
  weft_profile: 1
  models:
    thing: {{load: {load}, devices: {{emulated: {{ms: 100}}}}}}
arrivals: {arrivals}
policy: least-work
jobs: {jobs}
warmup: 10%
seeds: [1, 2, 3, 4]
"""


class Study(Commands):
    def queue(self, arrivals="{kind: poisson, rate: 3/s}", load="10MB", jobs=3000):
        path = pathlib.Path(self.folder.name, "queue.yaml")
        path.write_text(QUEUE.format(arrivals=arrivals, load=load, jobs=jobs), encoding="utf-8")
        return str(path)



class SaturationTest(Study):
    def test_the_limit_of_one_queue_is_found(self):
        arguments = ["compare", self.queue(), "--policies", "least-work;hash", "--saturation"]
        found = json.loads(self.good(*arguments, "--json"))
        self.assertEqual(list(found), ["saturation", "runs"])
        self.assertEqual(len(found["saturation"]), 2)
        for row, policy in zip(found["saturation"], ("least-work", "hash")):
            self.assertEqual((row["scenario"], row["policy"]), ("queue", policy))
            self.assertEqual((row["verdict"], row["seeds"]), ("found", 4))
            self.assertLess(row["rate_low"], row["rate_high"])
            self.assertLessEqual(row["rate_high"], row["rate_low"] * 1.05)
            self.assertTrue(9 < row["rate_low"] < 10.8, row)
            self.assertEqual(row["ratio_to_first"], 1)
            self.assertAlmostEqual(row["at_half"]["rate"], row["rate_low"] / 2, 3)
            self.assertEqual(row["at_half"]["stable"], 4)
            # M/D/1 at a load of about a half waits for half a run time.
            self.assertTrue(140 < row["at_half"]["latency_ms"] < 165, row)
            self.assertGreater(row["at_0.8"]["slowdown"], row["at_half"]["slowdown"])
            runs = [run for run in found["runs"] if run["policy"] == policy]
            self.assertEqual(len(runs), 4 * (row["tries"] + 2))
            self.assertEqual(runs[0]["rate"], 3)
            for rate, expected in ((row["rate_low"], True), (row["rate_high"], False)):
                stable = [run["stable"] for run in runs if run["rate"] == rate]
                self.assertEqual(sum(stable) >= 3, expected)

    def test_a_table_for_every_scenario(self):
        text = self.good(
            "compare", DEMO, self.queue(), "--policies", "jit;hash", "--saturation", "--seeds", "1",
            "--jobs", "400", "--precision", "20%",
        )  # fmt: skip
        tables = [table.strip("\n").split("\n") for table in text.split("\n\n")]
        self.assertEqual([len(table) for table in tables], [4, 4])
        self.assertEqual(tables[0][0], "demo: saturation within 20 %, 3 workers, 400 jobs, 1 seed")
        self.assertRegex(tables[0][1], r"^POLICY +RATE /s +BRACKET /s +VS FIRST ")
        number = r"[\d.]+"
        for line, ratio in zip(tables[0][2:], (r"1\.00", number)):
            self.assertRegex(
                line, rf"^\w+ +({number}) +\1 to {number} +{ratio}( +{number}){{4}}$"
            )

    def test_runs_repeat_alone(self):
        found = json.loads(self.good(
            "compare", self.queue(), "--saturation", "--policies", "hash", "--seeds", "1",
            "--jobs", "300", "--json", "--set", "rate=0.7/s",
        ))  # fmt: skip
        for run in found["runs"][-3:]:
            alone = json.loads(self.good(
                "sim", self.queue(), "--policy", "hash", "--rate", f"{run['rate']:.9f}",
                "--jobs", "300", "--json",
            ))  # fmt: skip
            self.assertEqual(alone["trace_hash"], run["trace_hash"])

    def test_no_limit_is_said_plainly(self):
        arguments = ["compare", self.queue(), "--policies", "hash", "--seeds", "1", "--saturation"]
        text = self.good(*arguments, "--jobs", "5")
        self.assertRegex(text, r"\nhash +none +above 196610 +-( +-){4}\n")
        self.assertIn("\nhash: stable even at 196610/s, the highest rate that was tried", text)
        text = self.good(*arguments, "--jobs", "500", "--set", "rate=100000/s")
        self.assertRegex(text, r"\nhash +none +below 97\.655 +-( +-){4}\n")
        self.assertIn("\nhash: unstable even at 97.655/s, the lowest rate that was tried\n", text)
        row = json.loads(self.good(*arguments, "--jobs", "5", "--json"))["saturation"][0]
        self.assertEqual(row["verdict"], "always stable")
        self.assertIsNone(row["rate_high"])
        self.assertIsNone(row["ratio_to_first"])

    def test_wrong_options(self):
        self.wrong(
            "weft compare: '--saturation' finds the rates by itself; "
            "'--set rate=R' says where it starts",
            "compare", DEMO, "--saturation", "--rates", "1",
        )  # fmt: skip
        self.wrong(
            "weft compare: '--precision' goes with '--saturation' only",
            "compare", DEMO, "--precision", "5%",
        )  # fmt: skip
        for precision in ("0", "200%", "x"):
            self.wrong(
                f"weft compare: '--precision' is '{precision}'; "
                "it must be between 0.1% and 100%",
                "compare", DEMO, "--saturation", "--precision", precision,
            )  # fmt: skip
        path = self.queue("{kind: list, list: [{at: 0s, workflow: one}]}", jobs=1)
        self.wrong(
            f"weft compare: {path}: its arrivals have no rate that could be raised",
            "compare", path, "--saturation",
        )  # fmt: skip


class RatesTest(Study):
    def test_a_range_of_rates(self):
        runs = json.loads(self.good(
            "compare", self.queue(), "--rates", "0.5:1.5:0.5, 4/s,0.1:0.3:0.1",
            "--policies", "hash", "--seeds", "1", "--jobs", "20", "--json",
        ))["runs"]  # fmt: skip
        self.assertEqual([run["rate"] for run in runs], [0.5, 1, 1.5, 4, 0.1, 0.2, 0.3])

    def test_wrong_ranges(self):
        for part in ("4:3:1", "1:2", "1:2:0", "1:x:1", "1:2:3:4", ":2:1", "0:2:1"):
            self.wrong(
                f"weft compare: '{part}' is not a range of rates such as '0.5:4:0.5'",
                "compare", DEMO, "--rates", part,
            )  # fmt: skip
        self.wrong("weft compare: more than 64 rates", "compare", DEMO, "--rates", "1:65:1")


class WarmupTest(Study):
    def sim(self, *arguments, load="10MB"):
        return json.loads(self.good("sim", self.queue(load=load), "--json", *arguments))

    def test_a_cold_start_is_left_out(self):
        # Loading takes 5 s, and what came meanwhile some more.
        arguments = ["--rate", "5"]
        slow = self.sim("--warmup", "auto", *arguments, load="30GB")
        cold = self.sim("--warmup", "0", *arguments, load="30GB")
        self.assertEqual((cold["warmup_jobs"], cold["counted"]), (0, 3000))
        self.assertTrue(25 <= slow["warmup_jobs"] <= 300, slow["warmup_jobs"])
        self.assertEqual(slow["counted"], 3000 - slow["warmup_jobs"])
        self.assertLess(slow["latency_ms"]["max"], cold["latency_ms"]["max"] / 2)
        self.assertEqual(slow["trace_hash"], cold["trace_hash"])

    def test_a_share_is_as_in_the_scenario(self):
        self.assertEqual(self.sim()["warmup_jobs"], 300)
        run = self.sim("--warmup", "20%")
        self.assertEqual((run["warmup_jobs"], run["counted"]), (600, 2400))
        done = weft("sim", DEMO, "--warmup", "much")
        self.assertEqual((done.returncode, done.stdout), (2, ""))

    def test_compare_finds_it_for_every_run(self):
        arguments = ["--jobs", "500", "--warmup", "auto", "--json"]
        runs = json.loads(self.good(
            "compare", DEMO, "--policies", "jit;hash", "--seeds", "2", *arguments
        ))["runs"]  # fmt: skip
        for run in runs:
            alone = json.loads(self.good(
                "sim", DEMO, "--policy", run["policy"], "--seed", str(run["seed"]), *arguments
            ))  # fmt: skip
            self.assertEqual(alone["warmup_jobs"], run["warmup_jobs"])
            self.assertEqual(alone["latency_ms"], run["latency_ms"])
            self.assertLessEqual(run["warmup_jobs"], 250)

    def test_people_are_told(self):
        text = self.good("sim", DEMO, "--jobs", "300", "--warmup", "auto")
        self.assertRegex(text, r"\n  warm-up    \d+ jobs, found by MSER-5\n")


if __name__ == "__main__":
    unittest.main()
