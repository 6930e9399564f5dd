"""The program weft as a person or a script meets it: texts, exit codes, files, signals.

Covers: src/cli/check.c, src/cli/command.c, src/cli/compare.c, src/cli/compare_fairness.c,
src/cli/compare_table.c, src/cli/explain.c, src/cli/job_story.c, src/cli/main.c, src/cli/manual.c,
src/cli/policies.c, src/cli/report_json.c, src/cli/report_rows.c, src/cli/report_text.c,
src/cli/sim.c, src/console/progress.c, src/lab/compare_plan.c, src/lab/compare_runs.c, src/lab/run.c
"""

import fcntl
import json
import os
import pathlib
import pty
import re
import resource
import select
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unittest

from commands import WEFT, Commands, weft

DEMO = "scenarios/demo/demo.yaml"
COMPASS = "scenarios/compass/compass.yaml"
EXIT_CODES = "exit codes: 0 ok; 1 the run failed; 2 bad usage or document\n"

KEYS = [
    "scenario", "policy", "seed", "rate", "jobs", "completed", "refused", "failed", "latency_ms",
    "slowdown", "slo_hit_rate", "cost_per_job", "cache_hit_rate", "loads", "evictions",
    "workers_used", "utilisation", "stable", "events", "steps", "tasks", "wall_s", "events_per_s",
    "tasks_per_s", "decisions", "decision_ns", "trace_hash",
]  # fmt: skip


def wait_until(holds, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.01)
    return False


class Cli(Commands):
    def run_json(self, *arguments):
        return json.loads(self.good("sim", DEMO, "--jobs", "200", "--json", *arguments))


class HelpTest(Cli):
    def test_help_lists_the_commands_and_exit_codes(self):
        text = self.good("--help")
        for name in ("check", "compare", "policies", "sim"):
            self.assertRegex(text, rf"\n  {name} +\w")
        self.assertTrue(text.endswith(EXIT_CODES))
        self.assertEqual(self.good("help"), text)
        self.assertEqual(self.good("-h"), text)

    def test_each_command_explains_itself(self):
        for name in ("check", "compare", "policies", "sim"):
            text = self.good(name, "--help")
            self.assertTrue(text.startswith(f"usage: weft {name} "))
            self.assertTrue(text.endswith(EXIT_CODES))
            self.assertEqual(self.good("help", name), text)
            for line in text.split("\n"):
                self.assertLessEqual(len(line), 90)
                self.assertEqual(line, line.rstrip())

    def test_a_manual_page_and_completion_come_from_the_same_tables(self):
        page = self.good("help", "--man")
        script = self.good("help", "--bash")
        listed = self.good("--help").split("commands:\n")[1].split("\n\n")[0]
        for name in re.findall(r"(?m)^  (\w+) ", listed):
            table = self.good(name, "--help").split("-h, ")[0]
            options = re.findall(r"(?m)^  (--?\w[\w-]*)", table)
            [words] = re.findall(rf"(?m)^    \*:{name}\) words='(.*)';;$", script)
            self.assertEqual(words.split(), [*options, "--help"])
            section = page.split(f".SS weft {name} ")[1].split(".SS ")[0].replace("\\-", "-")
            for option in options:
                self.assertIn(option, section)
        self.assertNotRegex(page, r"(?m)^\.(?!TH |SH |SS |PP$|nf$|fi$|B |I )")
        ask = 'COMP_WORDS=(weft "$@"); COMP_CWORD=$#; _weft; echo "${COMPREPLY[*]}"'
        for words, told in (
            (["ex"], "explain export"), (["serve", "--tr"], "--trace"), (["check", "a"], ""),
        ):  # fmt: skip
            done = subprocess.run(
                ["bash", "-c", script + ask, "bash", *words], capture_output=True, text=True
            )
            self.assertEqual((done.stdout, done.stderr), (told + "\n", ""))

    def test_no_command_is_bad_usage(self):
        done = weft()
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, self.good("--help"))

    def test_version(self):
        for name in ("--version", "-V", "version"):
            self.assertRegex(self.good(name), r"^weft \d+\.\d+\.\d+\n$")

    def test_wrong_words_are_answered_with_the_right_ones(self):
        self.wrong("weft: unknown command 'smi'; did you mean 'sim'?", "smi")
        self.wrong("weft: unknown command 'zzz'; see 'weft --help'", "zzz")
        self.wrong("weft: unknown command 'zzz'; see 'weft --help'", "help", "zzz")
        self.wrong("weft: unknown option '--hlep'; did you mean '--help'?", "--hlep")
        self.wrong("weft: unknown option '--verson'; did you mean '--version'?", "--verson")
        self.wrong("weft sim: unknown option '--rat'; did you mean '--rate'?", "sim", "--rat", "3")
        self.wrong("weft sim: no SCENARIO given", "sim")
        self.wrong("weft sim: 'b' is one argument too many", "sim", "a", "b")
        self.wrong("weft check: no FILE given", "check")
        self.wrong("weft sim: '--seed' is 'x'; it must be a whole number", "sim", "a", "--seed=x")


class CheckTest(Cli):
    def test_good_documents_are_named(self):
        lines = self.good("check", DEMO, COMPASS).splitlines()
        named = [line for line in lines if not line.startswith("  ")]
        self.assertEqual(named, [f"{DEMO}: scenario ok", f"{COMPASS}: scenario ok"])

    def test_all_files_are_checked_and_any_bad_one_counts(self):
        bad = self.path("bad.yaml")
        pathlib.Path(bad).write_text("scenario: x\nbogus: 1\n", encoding="utf-8")
        done = weft("check", bad, DEMO, "/no/such.yaml")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stdout.splitlines()[0], f"{DEMO}: scenario ok")
        lines = done.stderr.split("\n")
        self.assertEqual(len(lines), 3)
        self.assertRegex(lines[0], r"bad\.yaml:\d+: .+")
        self.assertRegex(lines[1], r"/no/such\.yaml.*No such file")


def range_text(option):
    if option["whole"] and (option["minimum"], option["maximum"]) == (0, 1):
        return "0 or 1"
    ends = f"{option['minimum']:.10g} to {option['maximum']:.10g}"
    return ends + (", whole" if option["whole"] else "")

    def test_a_model_alone(self):
        line = "m/1/model.onnx: a model; check the repository that it is in, which is a folder"
        self.wrong(line, "check", "m/1/model.onnx")


class PoliciesTest(Cli):
    def test_the_page_has_every_option_as_the_policy_describes_it(self):
        page = pathlib.Path("docs/POLICIES.md").read_text(encoding="utf-8")
        for policy in json.loads(self.good("policies", "--json")):
            part = re.search(rf"\n### {policy['name']}\n(.*?)(\n### |$)", page, re.DOTALL)
            row = r"\n\| `(\w+)` \| ([\d.]+) \| ([^|]+) \| (.*) \|"
            rows = re.findall(row, part[1])
            expected = [
                (option["name"], f"{option['value']:.10g}", range_text(option), option["help"])
                for option in policy["options"]
            ]
            self.assertEqual(rows, expected, policy["name"])

    def test_the_table_has_a_line_a_policy(self):
        lines = self.good("policies").split("\n")
        self.assertTrue(lines[0].startswith("POLICY "))
        names = [line.split()[0] for line in lines[1:-1]]
        self.assertIn("hash", names)
        listed = json.loads(self.good("policies", "--json"))
        self.assertEqual([policy["name"] for policy in listed], names)
        for policy in listed:
            keys = ["name", "roles", "summary", "source", "ignores", "options"]
            self.assertEqual(list(policy), keys)
            self.assertTrue(policy["roles"])
            self.assertIn(policy["name"], self.good("policies", policy["name"]))

    def test_one_policy_is_explained(self):
        text = self.good("policies", "jit")
        for word in ("roles", "source", "ignores", "threshold_ms"):
            self.assertIn(word, text)
        self.assertEqual(json.loads(self.good("policies", "jit", "--json"))["name"], "jit")
        self.wrong("weft policies: unknown policy 'jti'; did you mean 'jit'?", "policies", "jti")


class SimTest(Cli):
    def test_a_summary_for_people(self):
        text = self.good("sim", DEMO, "--jobs", "200")
        self.assertRegex(text, r"^demo: \S+ at [\d.]+/s, seed \d+\n")
        for word in ("jobs", "latency", "slow-down", "cache", "workers", "backlog", "trace"):
            self.assertRegex(text, rf"\n  {word} +\S")

    def test_rows_by_workflow_task_model_and_worker(self):
        text = self.good("sim", DEMO, "--jobs", "200")
        self.assertLessEqual(max(map(len, text.splitlines())), 80, text)
        self.assertRegex(text, r"\n  time +queued [\d.]+ %, loading [\d.]+ %, running [\d.]+ ")
        tables = text.split("\n\n")[1:]
        heads = [table.split()[0] for table in tables]
        self.assertEqual(heads, ["WORKFLOW", "TASK", "MODEL", "WORKER"])
        rows = {line.split()[0]: line.split() for line in tables[0].splitlines()[1:]}
        for row in rows.values():  # The parts add up to the mean.
            self.assertAlmostEqual(sum(map(float, row[5:])), float(row[2]), delta=0.3)
        jobs = sum(int(row[1]) for name, row in rows.items() if name != "all")
        self.assertEqual(jobs, int(rows["all"][1]))
        brief = self.good("sim", DEMO, "--jobs", "200", "--brief")
        self.assertNotIn("WORKFLOW", brief)
        self.assertNotIn("  time ", brief)

    def test_long_tables_show_the_largest_rows(self):
        text = self.good("sim", COMPASS, "--jobs", "200", "--set", "workers=30")
        self.assertLessEqual(max(map(len, text.splitlines())), 80, text)
        self.assertIn("\nthe 10 of 15 tasks with the most time; --json lists all\n", text)
        workers = text[text.index("\nWORKER"):].splitlines()
        self.assertEqual(sum(line.startswith("w") for line in workers), 10)

    def test_owners_hear_of_tasks_from_nodes_that_they_do_not_know(self):
        faults = "faults: [{at: 2s, partition: 8, for: 2s}, {at: 5s, partition: 3, for: 2s}]"
        path = pathlib.Path(COMPASS)
        text = path.read_text().replace("faults: []", faults)
        self.assertIn(faults, text)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".yaml") as scenario:
            scenario.write(text)
            scenario.flush()
            self.good("sim", scenario.name, "--policy", "compass", "--rate", "16/s",
                      "--jobs", "200", "--set", "workers=16")  # fmt: skip

    def test_rows_as_json_add_up(self):
        run = self.run_json()
        self.assertEqual([row["workflow"] for row in run["by_workflow"]],
                         ["document", "speech", "image"])  # fmt: skip
        self.assertEqual(sum(row["counted"] for row in run["by_workflow"]), run["counted"])
        for row in [run, *run["by_workflow"]]:
            self.assertAlmostEqual(sum(row["time_ms"].values()), row["latency_ms"]["mean"], 6)
            self.assertEqual(list(row["time_ms"]), ["queued", "loading", "running", "moving"])
        self.assertEqual(sum(row["runs"] for row in run["by_task"]), run["tasks"])
        self.assertEqual(sum(row["loads"] for row in run["by_model"]), run["loads"])
        self.assertEqual(sum(row["evictions"] for row in run["by_worker"]), run["evictions"])
        busy = sum(row["busy"] for row in run["by_worker"]) / run["workers"]
        self.assertAlmostEqual(busy, run["utilisation"], 6)
        brief = self.run_json("--brief")
        rows = {"time_ms", "by_workflow", "by_task", "by_model", "by_worker"}
        self.assertEqual(set(run) - set(brief), rows)
        self.assertEqual(brief["trace_hash"], run["trace_hash"])

    def test_what_grows_is_not_printed_to_six_digits(self):
        arguments = ["sim", DEMO, "--jobs", "1000", "--rate", "24", "--warmup", "0"]
        text = self.good(*arguments)
        self.assertRegex(text, r"\n  latency    mean > [\d.]+ s, growing\n  slow-down  -\n")
        self.assertRegex(text, r"\n  SLO        < [\d.]+ % met\n")
        self.assertRegex(text, r"\n  backlog    GROWING, ")
        self.assertRegex(text, r"\nall +1000 +> [\d.]+ s +- +< [\d.]+( +-){4}\n")
        self.assertLessEqual(max(map(len, text.splitlines())), 80, text)
        self.assertIs(json.loads(self.good(*arguments, "--json"))["stable"], False)

    def test_bursts_are_told_by_their_mean_rate(self):
        burst = "scenarios/compass/burst.yaml"
        text = self.good("sim", burst, "--jobs", "50", "--brief")
        self.assertIn(" at 1.58/s on average, 1/s between bursts, seed 1\n", text)
        run = json.loads(self.good("sim", burst, "--jobs", "50", "--json"))
        self.assertEqual((run["rate"], round(run["mean_rate"], 4)), (1, 1.5833))
        text = self.good("compare", burst, "--policies", "hash", "--jobs", "50", "--seeds", "2")
        self.assertTrue(text.startswith("compass-bursts at 1.58/s on average, 1/s between "))
        run = self.run_json()
        self.assertEqual(run["rate"], run["mean_rate"])

    def test_one_json_object_with_the_promised_keys(self):
        run = self.run_json()
        for key in KEYS:
            self.assertIn(key, run)
        self.assertEqual(list(run["latency_ms"]), ["mean", "p50", "p95", "p99", "max"])
        for key in ("mean", "p50", "p95", "p99"):
            self.assertIn(key, run["slowdown"])
        self.assertEqual(list(run["decision_ns"]), ["mean", "p99"])
        self.assertEqual(run["jobs"], 200)
        self.assertEqual(run["completed"] + run["refused"] + run["failed"], 200)
        self.assertRegex(run["trace_hash"], r"^[0-9a-f]{16}$")
        self.assertIs(type(run["stable"]), bool)
        self.assertLessEqual(run["latency_ms"]["p50"], run["latency_ms"]["p99"])
        self.assertGreaterEqual(run["slowdown"]["mean"], 1)

    def test_the_same_seed_gives_the_same_trace(self):
        first = self.run_json("--seed", "5")
        again = self.run_json("--seed", "5")
        other = self.run_json("--seed", "6")
        self.assertEqual(first["trace_hash"], again["trace_hash"])
        self.assertEqual(first["latency_ms"], again["latency_ms"])
        self.assertNotEqual(first["trace_hash"], other["trace_hash"])

    def test_settings_change_the_run(self):
        run = self.run_json("--policy", "place=jit:transfer,cache=lru", "--rate", "3")
        self.assertEqual(run["policy"], "place=jit:transfer,cache=lru")
        self.assertEqual(run["rate"], 3)
        self.assertEqual(self.run_json("--rate", "4/s")["rate"], 4)
        self.assertEqual(self.run_json("--set", "rate=5/s", "--set", "noise=0")["rate"], 5)
        self.assertEqual(self.run_json("--check")["jobs"], 200)

    def test_every_setting_reaches_the_simulator(self):
        plain = self.run_json("--policy", "jit")
        for setting in (
            "noise=20%", "rows.load=200ms", "rows.cache=2s", "latency=5ms", "link=1Gb/s",
            "memory=2.6GB", "workers=5",
        ):  # fmt: skip
            run = self.run_json("--policy", "jit", "--set", setting)
            self.assertNotEqual(run["trace_hash"], plain["trace_hash"], setting)
        run = self.run_json("--policy", "jit", "--set", "warmup=50%")
        self.assertEqual(run["trace_hash"], plain["trace_hash"])
        self.assertEqual(run["counted"], 100)

    def test_clients_that_hang_up_are_counted(self):
        text = self.good("sim", DEMO, "--jobs", "200", "--set", "patience=300ms")
        done = re.search(r"200: (\d+) completed, 0 refused, 0 failed, (\d+) cancelled, ", text)
        self.assertGreater(int(done[2]), 0)
        self.assertEqual(int(done[1]) + int(done[2]), 200)
        run = self.run_json("--set", "patience=300ms")
        self.assertEqual(run["cancelled"], int(done[2]))

    def test_jobs_end_at_the_deadline_that_clients_name(self):
        run = self.run_json("--set", "deadline=300ms")
        self.assertGreater(run["cancelled"], 0)
        self.assertEqual(run["completed"] + run["cancelled"], 200)
        self.assertLessEqual(run["latency_ms"]["max"], 300)
        self.assertEqual(run["slo_hung_up"], 0)  # It was not the clients who left.

    def test_a_request_of_a_list_may_have_a_deadline_of_its_own(self):
        rows = [{"at": "0s", "workflow": "chat"},
                {"at": "1s", "workflow": "chat", "deadline": "60ms"},
                {"at": "2s", "workflow": "chat", "deadline": "20ms"}]  # fmt: skip
        scenario = {
            "scenario": "own", "warmup": "0%", "arrivals": {"deadline": "30ms", "list": rows},
            "cluster": {"machines": {
                "count": 1, "device": {"kind": "t4", "memory": "8GB", "h2d": "10GB/s"}}},
            "workflows": [{"workflow": "chat", "tasks": {"a": {"model": "small"}}}],
            "profile": {"weft_profile": 1, "models": {
                "small": {"load": "1MB", "devices": {"t4": {"ms": 50}}}}},
        }  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "own.json"
            path.write_text(json.dumps(scenario), encoding="utf-8")
            found = [json.loads(self.good("sim", path, "--json")),
                     json.loads(weft("serve", "--emulated", path, "--json").stdout)["served"]]
        for run in found:
            self.assertEqual((run["completed"], run["cancelled"]), (1, 2))

    def test_where_no_job_was_counted_there_is_no_figure(self):
        text = self.good("sim", DEMO, "--jobs", "1", "--warmup", "10%")
        for line in ("latency    -", "slow-down  -", "SLO        - met"):
            self.assertIn(f"\n  {line}\n", text)
        self.assertRegex(text, r"\n  backlog    -, ")
        run = json.loads(self.good("sim", DEMO, "--jobs", "1", "--warmup", "10%", "--json"))
        self.assertEqual((run["counted"], run["slo_hit_rate"], run["stable"]), (0, None, None))
        self.assertEqual(set(run["latency_ms"].values()) | set(run["slowdown"].values()), {None})

    def test_an_overload_of_impatient_clients_does_not_meet_its_slo(self):
        run = self.run_json("--rate", "1000", "--set", "patience=1ms")
        self.assertEqual((run["cancelled"], run["slo_hit_rate"]), (200, 0))
        self.assertEqual(run["slo_hung_up"], 200 - run["warmup_jobs"])

    def test_wrong_settings(self):
        for arguments in (
            ["--policy", "nope"],
            ["--rate", "fast"],
            ["--jobs", "0"],
            ["--jobs", "-1"],
            ["--set", "bogus=1"],
            ["--set", "rate"],
            ["--set", "=1"],
        ):
            done = weft("sim", DEMO, *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertRegex(done.stderr, r"^weft sim: [^\n]+\n$")

    def test_a_missing_scenario(self):
        done = weft("sim", "/no/such.yaml")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"^weft sim: /no/such\.yaml.*No such file[^\n]*\n$")

    def test_output_that_cannot_be_written_fails(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run(
                [WEFT, "sim", DEMO, "--jobs", "10"], stdout=full, stderr=subprocess.PIPE, text=True,
                timeout=100, check=False,
            )  # fmt: skip
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "weft sim: standard output: No space left on device\n")


class TraceTest(Cli):
    def test_text_lines(self):
        path = self.path("trace.txt")
        self.good("sim", DEMO, "--jobs", "5", "--trace", path)
        lines = pathlib.Path(path).read_text(encoding="utf-8").splitlines()
        for line in lines:
            self.assertRegex(line, r"^\[ *\d+\.\d{3} ms\] n\d+ \w")
        self.assertEqual(sum(" arrived job " in line for line in lines), 5)
        self.assertEqual(sum(" answered job " in line for line in lines), 5)
        self.assertEqual(self.files(), ["trace.txt"])

    def read_lines(self, *arguments):
        path = self.path("trace.jsonl")
        self.good("sim", DEMO, "--trace", path, *arguments)
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def test_json_lines(self):
        records = self.read_lines("--jobs", "5")
        answered = [record for record in records if record["kind"] == "answered"]
        self.assertEqual(len(answered), 5)
        times = [record["at_ns"] for record in records]
        self.assertEqual(times, sorted(times))
        for record in answered:
            parts = [record[f"{part}_ns"] for part in ("queued", "loading", "running", "moving")]
            self.assertEqual(sum(parts), record["latency_ns"])
        self.assertTrue(all(record["slo_ns"] > 0 for record in records
                            if record["kind"] == "arrived"))  # fmt: skip

    def test_a_trace_for_viewers(self):
        path = self.path("trace.json")
        self.good("sim", DEMO, "--jobs", "50", "--trace", path)
        events = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["traceEvents"]
        slices = {}
        for event in events:
            if event["ph"] == "X":
                span = (event["ts"], event["ts"] + event["dur"])
                slices.setdefault((event["pid"], event["tid"]), []).append(span)
        for spans in slices.values():  # Threads do one thing at a time.
            for first, second in zip(sorted(spans), sorted(spans)[1:]):
                self.assertLessEqual(first[1], second[0] + 0.001)
        names = {event["args"]["name"] for event in events if event["ph"] == "M"}
        self.assertLessEqual({"n0", "w0 emulated", "w0 loads", "jobs and transfers"}, names)
        for phase in "be":
            jobs = [event for event in events
                    if event["ph"] == phase and event["cat"] == "job"]  # fmt: skip
            self.assertEqual(len(jobs), 50)

    def test_why_names_the_alternatives_and_changes_nothing(self):
        for policy in ("compass", "heft", "least-work", "jit", "weft"):
            arguments = ["--jobs", "100", "--policy", policy]
            plain = self.read_lines(*arguments)
            asked = self.read_lines(*arguments, "--why")
            placed = [record for record in asked if "weighed" in record]
            self.assertGreater(len(placed), 50, policy)
            # In a crowd weft looks at the workers of the task's node only: here that is one. What
            # waits in a home queue is tried in several configs, each of them on all workers.
            counts = {len(record["weighed"]) for record in placed}
            if policy == "weft":
                self.assertLessEqual({1, 3}, counts)
                counts = {3 if count % 3 == 0 else count for count in counts} - {1}
            self.assertEqual(counts, {3}, policy)
            for record in placed:
                self.assertIn(record["worker"], [item["worker"] for item in record["weighed"]])
                del record["weighed"]
            self.assertEqual(asked, plain, policy)
        text = weft("sim", DEMO, "--jobs", "20", "--trace", "-", "--why").stdout
        others = r"(, w\d: [\d.]+ ms[^,\n]*){2}\n"
        self.assertRegex(text, rf" placed [^\n]*; w0: ends in [\d.]+ ms{others}")
        self.assertIn(" (must load ", text)
        self.wrong("weft sim: '--why' goes with '--trace'", "sim", DEMO, "--why")

    def test_why_of_configs(self):
        text = weft(
            "sim", "scenarios/esg/moderate.yaml", "--policy", "esg", "--jobs", "30", "--trace", "-",
            "--why",
        ).stdout  # fmt: skip
        config = r"\(batch of \d, \d units?\)"
        self.assertRegex(text, rf" claimed [^\n]*; w\d+: ends in [\d.]+ ms {config}")

    def test_standard_output_has_the_trace_alone(self):
        done = weft("sim", DEMO, "--jobs", "5", "--trace", "-")
        self.assertEqual(done.returncode, 0)
        self.assertTrue(all(line.startswith("[") for line in done.stdout.splitlines()))
        self.assertTrue(done.stderr.startswith("demo: "))
        done = weft("sim", DEMO, "--jobs", "5", "--trace", "-", "--json")
        for line in done.stdout.splitlines():
            json.loads(line)
        self.assertEqual(json.loads(done.stderr)["jobs"], 5)

    def test_a_trace_changes_nothing(self):
        run = self.run_json("--trace", self.path("t"))
        self.assertEqual(run["trace_hash"], self.run_json()["trace_hash"])

    def test_a_path_that_cannot_be_written(self):
        path = self.path("no/such/trace.txt")
        self.wrong(
            f"weft sim: {path}: No such file or directory",
            "sim", DEMO, "--trace", path, code=1,
        )  # fmt: skip

    def test_a_full_disk_leaves_no_part_of_a_file(self):
        path = self.path("trace.txt")

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

        # Python ignores SIGXFSZ; with restore_signals off the child does so too.
        done = weft(
            "sim", DEMO, "--jobs", "200", "--trace", path, preexec_fn=limit, restore_signals=False
        )
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, f"weft sim: {path}: File too large\n")
        self.assertEqual(self.files(), [])

    def written(self):
        return sum(os.path.getsize(self.path(name)) for name in self.files())

    def test_an_interrupt_keeps_what_has_ended(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            path = self.path("trace.jsonl")
            arguments = ["sim", DEMO, "--jobs", "10000000", "--trace", path, "--json"]
            wanted = self.written() + 1000000  # Bytes: some jobs have ended then.
            with subprocess.Popen(
                [WEFT, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
            ) as process:
                started = wait_until(lambda: self.written() > wanted)
                process.send_signal(number)
                out, err = process.communicate(timeout=60)
            self.assertTrue(started)
            self.assertEqual((process.returncode, err), (-number, b""))
            run = json.loads(out)
            self.assertIs(run["interrupted"], True)
            self.assertTrue(0 < run["completed"] <= run["jobs"] < 10000000)
            self.assertEqual(self.files(), ["trace.jsonl"])
            with open(path, encoding="utf-8") as file:
                kinds = [json.loads(line)["kind"] for line in file]
            self.assertEqual(kinds.count("answered"), run["completed"])
            os.unlink(path)

    def test_an_interrupted_run_says_so(self):
        with subprocess.Popen(
            [WEFT, "sim", DEMO, "--jobs", "10000000", "--trace", self.path("trace.txt")],
            stdout=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            self.assertTrue(wait_until(self.files))
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertIn("\n  INTERRUPTED: this is what had ended by then\n", out)
        self.assertIn("\nWORKFLOW ", out)


class ExplainTest(Cli):
    def trace(self, *arguments):
        path = self.path("trace.jsonl")
        self.good("sim", *arguments, "--trace", path, "--why")
        with open(path, encoding="utf-8") as file:
            return path, [json.loads(line) for line in file]

    def test_the_story_of_a_job(self):
        path, records = self.trace(DEMO, "--jobs", "100")
        own = [record for record in records if record.get("job") == "0.7"]
        text = self.good("explain", path, "0.7")
        lines = text.splitlines()
        took = own[-1]["latency_ns"] / 1e6
        end = rf"answered after {took:.1f} ms"
        self.assertRegex(lines[0], rf"^job 0\.7 of \w+, arrived at [\d.]+ ms: {end}")
        self.assertRegex(lines[0], r", (in time|[\d.]+ ms late) \(SLO \d+ ms\)$")
        parts = re.findall(r"(\w+) ([\d.]+) ms \(\d+ %\)", lines[1])
        self.assertEqual([part[0] for part in parts], ["queued", "loading", "running", "moving"])
        self.assertAlmostEqual(sum(float(part[1]) for part in parts), took, delta=0.3)
        told = [line for line in lines[2:] if " meanwhile " not in line]
        self.assertEqual(len(told), len(own))
        self.assertTrue(told[0].endswith("  arrived at n0"))
        self.assertRegex(text, r" placed on w\d \(planned\); w\d: ends in [\d.]+ ms, w\d: ")
        self.assertRegex(text, r" started on w\d; it had waited [\d.]+ ms\n")
        self.assertNotIn(", 0.0 kB", text)

    def test_batches_and_loads(self):
        scenario = "scenarios/esg/moderate.yaml"
        path, records = self.trace(scenario, "--policy", "esg", "--jobs", "100")
        start = next(i for i, record in enumerate(records)
                     if record["kind"] == "started" and record["batch"] == 3)  # fmt: skip
        jobs = [record["job"] for record in records[start:start + 3]]
        text = self.good("explain", path, jobs[0])
        self.assertIn(f", in a batch of 3 with {jobs[1]}, {jobs[2]}; it had waited", text)
        loads = 0
        for job in {record["job"] for record in records if record["kind"] == "arrived"}:
            told = self.good("explain", path, job)
            loads += len(re.findall(r"meanwhile w\d+ has loaded [\w-]+, which took ", told))
        self.assertGreater(loads, 0)

    def test_what_cannot_be_told(self):
        path, _ = self.trace(DEMO, "--jobs", "5")
        self.wrong(f"weft explain: {path}: there is no job '9.9' in it", "explain", path, "9.9")
        line = "weft explain: /no/such: No such file or directory"
        self.wrong(line, "explain", "/no/such", "0.1")
        done = weft("explain", "README.md", "0.1")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"^weft explain: README\.md:1: not a record; [^\n]+\n$")


class CompareTest(Cli):
    def test_a_table_for_every_scenario_and_rate(self):
        text = self.good(
            "compare", DEMO, COMPASS, "--policies", "hash,jit,cache=lru,heft",
            "--rates", "1,2", "--seeds", "3", "--jobs", "60",
        )  # fmt: skip
        tables = text.split("\n\n")
        self.assertEqual(len(tables), 4)
        for table, title in zip(
            tables, ("demo at 1/s", "demo at 2/s", "compass-five-workers at 1/s", "compass-five")
        ):
            lines = table.strip("\n").split("\n")
            self.assertTrue(lines[0].startswith(title))
            self.assertIn("60 jobs, 3 seeds", lines[0])
            self.assertEqual(len(lines), 5)
            self.assertRegex(lines[2], r"^hash .* \d+\.\d ± \d+\.\d .* of 3 +-$")
            self.assertTrue(lines[3].startswith("jit,cache=lru "))
            self.assertRegex(lines[4], r"^heft .* of 3 +[+-]\d+\.\d ± \d+\.\d %$")

    def test_a_policy_does_not_differ_from_itself(self):
        text = self.good(
            "compare", DEMO, "--policies", "jit,jit", "--seeds", "3", "--jobs", "60"
        )
        self.assertRegex(text, r"\njit .* \+0\.0 ± 0\.0 %\n")

    def test_differences_are_means_over_pairs_of_seeds(self):
        arguments = ["compare", DEMO, "--policies", "jit;hash", "--seeds", "2", "--jobs", "60"]
        runs = json.loads(self.good(*arguments, "--json"))["runs"]
        means = [run["latency_ms"]["mean"] for run in runs]
        first, second = (100 * (means[2 + i] / means[i] - 1) for i in range(2))
        half = 12.7062 * abs(first - second) / 2
        expected = f"{(first + second) / 2:+.1f} ± {half:.1f} %"
        self.assertTrue(self.good(*arguments).endswith(expected + "\n"))

    def test_a_policy_that_counted_no_job_does_not_win(self):
        text = self.good("compare", DEMO, "--jobs", "50", "--seeds", "2", "--policies",
                         "hash,compass", "--set", "patience=1us")  # fmt: skip
        rows = [line.split() for line in text.split("\n")[2:4]]
        for row in rows:
            self.assertEqual(row[1:6], ["-", "-", "-", "-", "0.0"])
            self.assertEqual(row[-4:], ["0", "of", "2", "-"])
        self.assertIn("compass: in 2 of 2 runs no job was counted\n", text)

    def test_one_seed_has_no_interval(self):
        text = self.good(
            "compare", DEMO, "--policies", "jit;hash", "--seeds", "1", "--jobs", "60"
        )
        self.assertNotIn("±", text)
        self.assertTrue(text.endswith("\none seed: there are no intervals; --seeds N runs more\n"))
        self.assertRegex(text, r"\nhash .* 1 of 1 +[+-]\d+\.\d %\n")

    def test_runs_as_json_are_those_of_sim(self):
        text = self.good(
            "compare", DEMO, "--policies", "jit;hash", "--seeds", "5", "--jobs", "200", "--json"
        )
        runs = json.loads(text)["runs"]
        self.assertEqual([run["policy"] for run in runs], ["jit"] * 5 + ["hash"] * 5)
        self.assertEqual(len({run["trace_hash"] for run in runs}), 10)
        seeds = [run["seed"] for run in runs]
        self.assertEqual(seeds[:5], seeds[5:])
        self.assertEqual(len(set(seeds)), 5)
        for run in (runs[0], runs[9]):
            alone = self.run_json("--policy", run["policy"], "--seed", str(run["seed"]))
            self.assertEqual(alone["trace_hash"], run["trace_hash"])
            self.assertEqual(alone["latency_ms"], run["latency_ms"])

    def test_compare_says_how_workflows_fare(self):
        arguments = ["compare", COMPASS, "--policies", "hash;jit", "--seeds", "2", "--jobs", "200"]
        text = self.good(*arguments, "--fairness")
        rows = text.split("\n\n")[1].splitlines()
        self.assertRegex(rows[0], r"^POLICY +FAIRNESS +WORKFLOW +PRIORITY +SLOW-DOWN +SLO %$")
        self.assertEqual(len(rows), 1 + 2 * 4)
        self.assertRegex(rows[1], r"^hash +0\.\d{3}  \S+ +- +\d+\.\d\d +-")
        self.assertEqual(sum(row.endswith("worst") for row in rows), 2)
        for run in json.loads(self.good(*arguments, "--json"))["runs"]:
            fairness = run["fairness"]
            slow = {row["workflow"]: row["slowdown"] for row in fairness["workflows"]}
            self.assertEqual(fairness["worst"], max(slow, key=slow.get))
            index = sum(slow.values()) ** 2 / 4 / sum(each**2 for each in slow.values())
            self.assertAlmostEqual(fairness["index"], index)
        done = weft(*arguments, "--saturation", "--fairness")
        self.assertEqual(done.returncode, 2)

    def test_compare_says_how_the_worst_workflow_and_priorities_fare(self):
        arguments = ["compare", "scenarios/overload/priorities.yaml", "--policies",
                     "admit=deadline:strict,place=least-work", "--seeds", "2", "--jobs", "1000",
                     "--set", "rate=250/s"]  # fmt: skip
        runs = json.loads(self.good(*arguments, "--json"))["runs"]
        rates = {"urgent": [], "usual": []}
        for run in runs:
            fairness = run["fairness"]
            urgent, usual = fairness["workflows"]
            self.assertEqual([urgent["priority"], usual["priority"]], [1, None])
            for row, level in zip((urgent, usual), fairness["priorities"]):
                self.assertEqual(level["priority"], row["priority"])
                self.assertAlmostEqual(level["slo_hit_rate"], row["slo_hit_rate"])
                self.assertAlmostEqual(level["slowdown"], row["slowdown"])
                rates[row["workflow"]].append(row["slo_hit_rate"])
            worst = min((urgent, usual), key=lambda row: (row["slo_hit_rate"], -row["slowdown"]))
            self.assertEqual(fairness["worst"], worst["workflow"])
            self.assertEqual(fairness["worst_slo_hit_rate"], worst["slo_hit_rate"])
        lines = self.good(*arguments).split("\n")
        columns = re.split(r"  +", lines[1])
        row = re.split(r"  +", lines[2])
        worst = min(sum(each) / len(each) for each in rates.values())
        self.assertEqual(row[columns.index("WORST %")], f"{100 * worst:.1f}")
        self.assertRegex(row[columns.index("FAIR")], r"^[01]\.\d\d$")
        self.assertLess(worst, 0.9)
        self.assertRegex(
            lines[-2],
            r"least-work: SLOs met by priority: \d+\.\d % of 1, \d+\.\d % of those without$",
        )
        self.assertNotIn("by priority", self.good(
            "compare", DEMO, "--policies", "jit", "--seeds", "1", "--jobs", "20"))  # fmt: skip

    def test_the_default_compares_with_the_scenarios_policy(self):
        runs = json.loads(self.good("compare", DEMO, "--seeds", "1", "--jobs", "20", "--json"))
        policies = [run["policy"] for run in runs["runs"]]
        self.assertEqual(policies[0], self.run_json()["policy"])
        self.assertEqual(len(policies), len(set(policies)))
        self.assertIn("hash", policies)
        self.assertNotIn("lru", policies)  # It places nothing.

    def test_nothing_runs_unless_everything_is_right(self):
        for arguments in (
            [DEMO, "/no/such.yaml"],
            [DEMO, "--policies", "jit,nope"],
            [DEMO, "--policies", "jit,,hash"],
            [DEMO, "--rates", "1,fast"],
            [DEMO, "--seeds", "0"],
            [DEMO, "--seeds", "1025"],
            [DEMO, "--parallel", "0"],
            [DEMO, "--set", "bogus=1"],
            [],
        ):
            done = weft("compare", *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertRegex(done.stderr, r"^weft compare: [^\n]+\n$")

    def start(self, *arguments):
        """A comparison that takes long, and its children."""
        process = subprocess.Popen(
            [WEFT, "compare", DEMO, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        listing = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
        self.assertTrue(wait_until(lambda: len(listing.read_text().split()) == 2))
        return process, [int(pid) for pid in listing.read_text().split()]

    def test_a_crash_is_reported_with_the_command_that_repeats_it(self):
        process, children = self.start(
            "--policies", "jit;place=hash,order=edf", "--seeds", "1", "--rates", "3",
            "--set", "noise=5%", "--jobs", "5000000", "--parallel", "2",
        )  # fmt: skip
        os.kill(children[1], signal.SIGSEGV)
        os.kill(children[0], signal.SIGKILL)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1)
        expected = re.escape(
            f"repeat it with: weft sim {DEMO} --policy place=hash,order=edf --rate 3 --seed 1 "
            "--jobs 5000000 --set noise=5%\n"
        )
        self.assertRegex(err, rf"weft compare: a run ended by [^\n]*; {expected}")
        self.assertIn("a run ended by signal 9 (Killed); ", err)
        self.assertRegex(out, r"\njit +- .* 0 of 0 ")

    def test_an_interrupt_ends_every_child(self):
        process, children = self.start("--jobs", "5000000", "--parallel", "2")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out, err), (-signal.SIGINT, "", ""))
        for pid in children:
            self.assertFalse(os.path.exists(f"/proc/{pid}"))

    def interrupt(self, arguments, is_ready):
        """Start a comparison, interrupt its whole group when it is ready; what it printed."""
        process = subprocess.Popen(
            [WEFT, "compare", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, start_new_session=True,
        )  # fmt: skip
        before = is_ready(process)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, err), (-signal.SIGINT, ""), out)
        return before + out

    def test_a_table_is_there_as_soon_as_its_runs_are(self):
        arguments = [DEMO, "--policies", "hash", "--seeds", "2", "--rates", "5,6", "--jobs", "300",
                     "--parallel", "1"]  # fmt: skip
        text = self.good("compare", *arguments)
        titles = [table[:12] for table in text.split("\n\n")]
        self.assertEqual(titles, ["demo at 5/s:", "demo at 6/s:"])

        def read_table(process):
            return "".join(process.stdout.readline() for _ in range(3))

        arguments = [DEMO, "--policies", "hash", "--seeds", "2", "--rates", "3,1000", "--jobs",
                     "20000", "--parallel", "1"]  # fmt: skip
        shown = self.interrupt(arguments, read_table)
        self.assertTrue(shown.startswith("demo at 3/s: "))
        self.assertRegex(shown, r"\nhash .* 2 of 2 +-\n")

    def children_of(self, process):
        listing = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
        return listing.read_text().split()

    def wait_for_second(self, process):
        """Until the first of two runs has ended."""
        first = []

        def is_second():
            now = self.children_of(process)
            first.extend(now if not first else [])
            return first and now and now != first

        self.assertTrue(wait_until(is_second))
        return ""

    def test_an_interrupt_prints_the_runs_that_have_ended(self):
        arguments = [DEMO, "--policies", "compass;jit", "--seeds", "1", "--jobs", "40000",
                     "--rates", "5", "--parallel", "1"]  # fmt: skip
        shown = self.interrupt(arguments, self.wait_for_second)
        self.assertRegex(shown, r"\ncompass .* 1 of 1 +-\njit +- .* 0 of 0 +-\n")
        self.assertTrue(shown.endswith("interrupted: 1 of 2 runs had ended\n"), shown)
        runs = json.loads(self.interrupt([*arguments, "--json"], self.wait_for_second))
        self.assertEqual((len(runs["runs"]), runs["interrupted"]), (1, True))

    def test_an_interrupt_prints_how_far_a_search_has_come(self):
        arguments = [DEMO, "--policies", "compass", "--seeds", "1", "--jobs", "40000",
                     "--saturation", "--parallel", "1"]  # fmt: skip
        shown = self.interrupt(arguments, self.wait_for_second)
        self.assertRegex(shown, r"\ncompass +- +above 12 +-( +-){4}\n")
        self.assertRegex(shown, r"\ncompass: interrupted after [1-9] rates?\n")
        found = json.loads(self.interrupt([*arguments, "--json"], self.wait_for_second))
        self.assertEqual(found["saturation"][0]["verdict"], "open")
        self.assertIsNone(found["saturation"][0]["at_half"])
        self.assertIs(found["interrupted"], True)

    def test_what_is_unstable_has_no_figures(self):
        text = self.good(
            "compare", DEMO, "--policies", "compass;hash", "--seeds", "2", "--jobs", "500",
            "--rates", "23",
        )  # fmt: skip
        self.assertRegex(text, r"\ncompass +\d+\.\d ± [^\n]* 2 of 2 +-\n")
        self.assertRegex(
            text, r"\nhash +> [\d.]+ s +- +- +- +< [\d.]+ .* 1 of 2 +-\n"
        )
        text = self.good(
            "compare", DEMO, "--policies", "hash;compass", "--seeds", "2", "--jobs", "500",
            "--rates", "23",
        )  # fmt: skip
        self.assertRegex(text, r"\ncompass +\d+\.\d ± .* 2 of 2 +-\n")  # There is no pair.


class ProgressTest(Cli):
    def test_a_terminal_shows_how_far_it_is(self):
        master, slave = pty.openpty()
        shown = b""
        with subprocess.Popen(
            [WEFT, "sim", DEMO, "--jobs", "10000000"], stdout=subprocess.PIPE, stderr=slave
        ) as process:
            os.close(slave)
            end = time.monotonic() + 30
            while time.monotonic() < end and b"%" not in shown:
                if select.select([master], [], [], 1)[0]:
                    shown += os.read(master, 4096)
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)
        os.close(master)
        self.assertRegex(shown, rb"\r\x1b\[Kdemo \[[#.]{30}\] +\d+ %")

    def lines(self, columns, *arguments):
        """What a terminal of that width gets on standard output."""
        terminal, end = pty.openpty()
        fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen(
            [WEFT, *arguments], stdin=subprocess.DEVNULL, stdout=end, stderr=subprocess.DEVNULL,
            env={**os.environ, "NO_COLOR": "1"},
        )  # fmt: skip
        os.close(end)
        shown = b""
        while select.select([terminal], [], [], 30)[0]:
            try:
                shown += os.read(terminal, 65536)
            except OSError:  # Linux says so when the other side is closed.
                break
        os.close(terminal)
        self.assertEqual(process.wait(timeout=30), 0)
        return shown.decode().replace("\r", "").splitlines()

    def test_help_and_tables_fit_a_narrow_terminal(self):
        for name in ("serve", "explain", "bench"):
            lines = self.lines(80, name, "--help")
            self.assertLessEqual(max(len(line) for line in lines), 80)
            whole = self.good(name, "--help")
            self.assertEqual(" ".join(lines).split(), whole.split())
            self.assertEqual("\n".join(self.lines(120, name, "--help")) + "\n", whole)
        compare = ["compare", DEMO, "--policies", "fifo,jit", "--seeds", "2", "--jobs", "50"]
        lines = self.lines(80, *compare)
        self.assertLessEqual(max(len(line) for line in lines), 80)
        self.assertRegex("\n".join(lines), r"(?m)^no room for WORKERS, BUSY %[A-Z, %]*$")
        self.assertNotIn("no room", self.good(*compare))


if __name__ == "__main__":
    unittest.main()
