"""`weft generate`: what it makes is good, the same everywhere, and there as a whole or not at all.

Covers: src/cli/generate.c, src/lab/generate_trace.c, src/lab/generate_workflows.c,
src/lab/generate_operators.c, src/lab/generate_folder.c, src/console/whole_folder.c
"""

import csv
import filecmp
import json
import os
import pathlib
import statistics
import subprocess
import unittest

from commands import WEFT, Commands

TRACE = ("generate", "trace", "--workflows", "a,b=3")


class Generate(Commands):
    def wrong(self, line, *arguments, code=2):
        super().wrong(f"weft generate: {line}", *arguments, code=code)


class TraceTest(Generate):
    def rows(self, *arguments):
        text = self.good(*TRACE, *arguments)
        return [(float(row["t_ms"]), row["workflow"]) for row in csv.DictReader(text.split("\n"))]

    def test_rows_are_in_order_and_have_the_mix(self):
        rows = self.rows("--rate", "100/s", "--jobs", "4000")
        times = [time for time, _ in rows]
        self.assertEqual(len(rows), 4000)
        self.assertEqual(times, sorted(times))
        self.assertAlmostEqual(times[-1] / 40000, 1, delta=0.05)
        self.assertAlmostEqual(sum(name == "b" for _, name in rows) / 4000, 0.75, delta=0.03)

    def test_gamma_has_its_coefficient_of_variation(self):
        rows = self.rows("--kind", "gamma", "--rate", "5/s", "--cv", "4", "--jobs", "30000")
        gaps = [after[0] - before[0] for before, after in zip(rows, rows[1:])]
        self.assertAlmostEqual(statistics.mean(gaps) / 200, 1, delta=0.1)
        self.assertAlmostEqual(statistics.pstdev(gaps) / statistics.mean(gaps) / 4, 1, delta=0.1)

    def test_the_other_kinds(self):
        self.assertEqual(self.rows("--kind", "constant", "--rate", "3", "--jobs", "2")[1][0],
                         666.666666)  # fmt: skip
        burst = ("--rate", "1/s", "--burst-rate", "50/s", "--every", "10s", "--length", "1s")
        self.assertEqual(len(self.rows("--kind", "burst", *burst)), 1000)
        self.assertEqual(self.rows("--kind", "burst", *burst), self.rows(*burst))
        self.assertNotEqual(self.rows("--kind", "mmpp", *burst), self.rows(*burst))
        self.assertEqual(len(self.rows("--rate=9/s", "--period=1m", "--swing=50%")), 1000)

    def test_a_seed_repeats_and_another_does_not(self):
        one = self.good(*TRACE, "--rate", "5/s", "--seed", "1")
        self.assertEqual(one, self.good(*TRACE, "--rate", "5/s"))
        self.assertNotEqual(one, self.good(*TRACE, "--rate", "5/s", "--seed", "2"))

    def test_a_public_trace_is_rewritten(self):
        public = self.path("public.csv")
        pathlib.Path(public).write_text(
            "TIMESTAMP,ContextTokens,GeneratedTokens\n"
            "2023-11-16 18:15:46.5,374,44\n2023-11-16 18:15:47,1000,1\n",
            encoding="utf-8",
        )
        text = self.good(
            "generate", "trace", "--workflows=a", "--trace", public, "--items-per=512",
            "--speed=2",
        )  # fmt: skip
        self.assertEqual(text, "t_ms,workflow,items\n0,a,1\n250,a,2\n")
        self.wrong(
            "'--jobs' must be between 1 and 2",
            "generate", "trace", "--workflows=a", "--trace", public, "--jobs=3",
        )  # fmt: skip

    def test_what_is_written_can_be_replayed(self):
        self.good(*TRACE, "--rate", "5/s", "--jobs", "30", "-o", self.path("t.csv"))
        self.assertEqual(self.files(), ["t.csv"])
        pathlib.Path(self.path("s.yaml")).write_text(
            "scenario: s\n"
            "cluster: {machines: {device: {kind: t4, memory: 8GB, h2d: 10GB/s}}}\n"
            "workflows: [{workflow: a, tasks: {t: {model: m}}},"
            " {workflow: b, tasks: {t: {model: m}}}]\n"
            "profile: {weft_profile: 1, models: {m: {load: 1GB, devices: {t4: {ms: 5}}}}}\n"
            "arrivals: {trace: t.csv, speed: 2}\n",
            encoding="utf-8",
        )
        report = json.loads(self.good("sim", self.path("s.yaml"), "--json"))
        self.assertEqual((report["jobs"], report["completed"]), (30, 30))

    def test_what_is_wrong_is_said_and_leaves_nothing(self):
        output = self.path("t.csv")
        options = (*TRACE, "-o", output)
        self.wrong("'rate' is missing", *options)
        self.wrong("'rate' wants a rate such as '2/s', not 'fast'", *options, "--rate", "fast")
        self.wrong("'cv' goes with 'kind: gamma'", *options, "--kind=mmpp", "--rate=1", "--cv=2")
        self.wrong("'every' is missing", *options, "--rate=1", "--burst-rate=2", "--length=1s")
        self.wrong("'--jobs' must be between 1 and 16000000", *options, "--rate=1", "--jobs=0")
        self.wrong("a trace is at most ten days long; only 9 jobs fit", *options, "--kind=constant",
                   "--rate=0.04/h")  # fmt: skip
        self.wrong("a trace needs '--workflows'", "generate", "trace", "--rate=1")
        self.wrong("'--workflows' names 'a' twice", "generate", "trace", "--workflows=a,a",
                   "--rate=1")  # fmt: skip
        self.wrong("'--workflows' gives no workflow a weight", "generate", "trace", "--rate=1",
                   "--workflows=a=0")  # fmt: skip
        self.wrong("no.csv: cannot be opened: No such file or directory", *options,
                   "--trace=no.csv")  # fmt: skip
        self.assertEqual(self.files(), [])
        nowhere = self.path("no/t.csv")
        self.wrong(f"{nowhere}: No such file or directory", *TRACE, "--rate=1", "-o", nowhere,
                   code=1)  # fmt: skip

    def test_options_go_with_what_is_generated(self):
        self.wrong("'--count' does not go with 'trace'", *TRACE, "--count=3")
        self.wrong("'--rate' does not go with 'workflows'", "generate", "workflows", "--rate=3/s")
        self.wrong("'tracee' cannot be generated; use trace, workflows or operators; "
                   "did you mean 'trace'?", "generate", "tracee")  # fmt: skip
        self.wrong("no trace, workflows or operators given", "generate")


class WorkflowsTest(Generate):
    def test_the_folder_is_good_and_runs(self):
        folder = self.path("made")
        self.good("generate", "workflows", "--count=5", "--seed=9", "--name=five", "-o", folder)
        names = [f"w0{i}.yaml" for i in range(1, 6)]
        self.assertEqual(
            sorted(os.listdir(folder)), sorted(["five.yaml", "five.profile.json", *names])
        )
        self.assertEqual(os.stat(folder).st_mode & 0o700, 0o700)
        for name in os.listdir(folder):
            self.good("check", os.path.join(folder, name))
        report = json.loads(self.good("sim", f"{folder}/five.yaml", "--json"))
        self.assertEqual((report["completed"], report["stable"]), (2000, True))

    def test_many_seeds_make_scenarios_that_pass_every_check(self):
        for seed in range(20):
            folder = self.path(f"seed-{seed}")
            self.good("generate", "workflows", f"--seed={seed}", "--count=3", "-o", folder)
            self.good("sim", f"{folder}/random.yaml", "--jobs=50", "--check", "--json")

    def test_more_workflows_leave_the_first_as_they_are(self):
        self.good("generate", "workflows", "--count=3", "-o", self.path("three"))
        self.good("generate", "workflows", "--count=6", "-o", self.path("six"))
        for name in ("w01.yaml", "w02.yaml", "w03.yaml"):
            self.assertTrue(
                filecmp.cmp(self.path(f"three/{name}"), self.path(f"six/{name}"), shallow=False)
            )

    def test_an_empty_folder_is_taken_and_a_full_one_is_not(self):
        os.mkdir(self.path("empty"))
        self.good("generate", "workflows", "--count=1", "-o", self.path("empty") + "/")
        full = self.path("empty")
        before = sorted(os.listdir(full))
        self.assertEqual(len(before), 3)
        self.wrong(f"{full}: the folder is not empty", "generate", "workflows", "-o", full)
        self.assertEqual(sorted(os.listdir(full)), before)
        self.assertEqual(self.files(), ["empty"])

    def test_what_is_wrong_is_said_and_leaves_nothing(self):
        folder = self.path("made")
        self.wrong("workflows need '-o': a folder", "generate", "workflows")
        options = ("generate", "workflows", "-o", folder)
        self.wrong("'--count' must be between 1 and 256", *options, "--count=0")
        self.wrong("'--tasks-max' must be between 2 and 199", *options, "--tasks-max=1")
        self.wrong("'--name' is 'w01', and so is that of a workflow", *options, "--name=w01")
        self.wrong("a name has letters, digits, '.', '_' and '-', unlike 'a b'", *options,
                   "--name=a b")  # fmt: skip
        nowhere = self.path("no/made")
        self.wrong(f"{nowhere}: No such file or directory", "generate", "workflows", "-o", nowhere,
                   code=1)  # fmt: skip
        self.assertEqual(self.files(), [])


class OperatorsTest(Generate):
    def test_networks_become_workflows_with_a_profile(self):
        folder = self.path("made")
        self.good("generate", "operators", "--networks=hydra,gpt2", "--gmac-ms=1", "-o", folder)
        self.assertEqual(
            sorted(os.listdir(folder)), ["gpt2.yaml", "hydra.yaml", "operators.profile.json"]
        )
        for name in os.listdir(folder):
            self.good("check", os.path.join(folder, name))
        text = pathlib.Path(folder, "hydra.yaml").read_text(encoding="utf-8")
        self.assertEqual(text.count("function:"), 12)
        self.assertEqual(text.count("hydra.008"), 2)  # Two heads are alike.
        profile = json.loads(pathlib.Path(folder, "operators.profile.json").read_text())
        self.assertEqual(profile["figures"], "assumed")
        self.assertEqual(len([name for name in profile["models"] if name[:5] == "hydra"]), 11)

    def test_a_faster_device_takes_less_time(self):
        times = []
        for option in ("--gmac-ms=10", "--gmac-ms=5"):
            folder = self.path(option)
            self.good("generate", "operators", "--networks=vgg16", option, "--writes=1000GB/s",
                      "--device=box", "-o", folder)  # fmt: skip
            profile = json.loads(pathlib.Path(folder, "operators.profile.json").read_text())
            points = profile["models"]["vgg16.000"]["devices"]["box"]["points"]
            times.append(points[0]["ms"])
        self.assertAlmostEqual(times[0], 155, delta=2)
        self.assertAlmostEqual(times[1] * 2 / times[0], 1, delta=0.01)

    def test_what_is_wrong_is_said_and_leaves_nothing(self):
        folder = self.path("made")
        options = ("generate", "operators", "-o", folder)
        self.wrong("operators need '-o': a folder", "generate", "operators")
        self.wrong("'resnet19' is not a known network; did you mean 'resnet18'?", *options,
                   "--networks=vgg16,resnet19")  # fmt: skip
        self.wrong("'--networks' names 'vgg16' twice", *options, "--networks=vgg16,vgg16")
        self.wrong("'--gmac-ms' wants a number such as '1.5', not '-1'", *options,
                   "--gmac-ms=-1")  # fmt: skip
        self.wrong("'--seed' does not go with 'operators'", *options, "--seed=1")
        self.assertEqual(self.files(), [])


class ShippedTest(Generate):
    def test_what_is_shipped_is_what_is_generated(self):
        done = subprocess.run(
            ["scenarios/generate.sh", self.folder.name], capture_output=True, text=True,
            timeout=100, check=False, env={**os.environ, "WEFT": WEFT},
        )  # fmt: skip
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        compared = 0
        for path in pathlib.Path(self.folder.name).rglob("*.*"):
            shipped = pathlib.Path("scenarios") / path.relative_to(self.folder.name)
            self.assertEqual(path.read_bytes(), shipped.read_bytes(), shipped)
            self.assertLess(len(path.read_bytes()), 200_000)
            compared += 1
        self.assertEqual(compared, 4 + 8 + 2 + 9 + 1 + 4 + 16 + 4)

    def test_what_is_shipped_runs(self):
        for name in ("scenarios/traces/replay.yaml", "scenarios/random/random.yaml"):
            self.good("check", name)
            report = json.loads(self.good("sim", name, "--jobs", "300", "--json"))
            self.assertEqual(report["completed"], 300)


if __name__ == "__main__":
    unittest.main()
