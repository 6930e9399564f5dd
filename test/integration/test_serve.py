"""`weft serve --emulated` on a real clock: lines, the picture, Ctrl-C, and the prediction.

Covers: src/cli/explain.c, src/cli/serve.c, src/server/jobs.c, src/service/screen.c,
src/service/screen_history.c, src/service/screen_news.c, src/service/served_trace.c
"""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unittest

import signals

WEFT = os.environ.get("WEFT", "build/weft")
DEMO = "scenarios/demo/demo.yaml"


def serve(*arguments, **options):
    return subprocess.Popen(
        [WEFT, "serve", "--emulated", DEMO, *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options,
    )  # fmt: skip


def read_until(process, pattern):
    """Read a line that says so."""
    if not any(re.search(pattern, line) for line in iter(process.stdout.readline, "")):
        raise AssertionError(f"it never said {pattern!r}")


def finish(process):
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


class Serve(unittest.TestCase):
    def test_a_line_a_second_and_a_summary_at_the_end(self):
        code, out, err = finish(serve("--seconds", "3", "--plain"))
        self.assertEqual((code, err), (0, ""))
        lines = out.splitlines()
        self.assertRegex(lines[0], r"^ +[1-9]\d*\.\d s  \d+ arrived, \d+ refused, \d+ done, ")
        self.assertGreaterEqual(sum(" arrived, " in line for line in lines), 2)
        title = next(line for line in lines if line.startswith("demo: "))
        self.assertRegex(title, r"seed 1: served for \d+\.\d s, predicted in ")
        jobs = next(line.split() for line in lines if line.startswith("  jobs "))
        self.assertEqual(jobs[1], jobs[2])
        self.assertGreater(int(jobs[1]), 10)
        for row in ("completed", "latency mean", "latency p95", "SLO met", "loads", "evictions"):
            self.assertTrue(any(line.startswith("  " + row) for line in lines), row)
        self.assertNotIn("\033", out)

    def test_a_trace_can_be_explained_while_it_serves(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.jsonl")
            process = serve("--seconds", "30", "--trace", path, "--why")
            end = time.monotonic() + 25
            told = []
            while time.monotonic() < end and not told:
                time.sleep(0.1)
                if not os.path.exists(path):
                    continue
                with open(path, encoding="utf-8") as file:
                    whole = [line for line in file if line.endswith("\n")]
                told = [json.loads(line) for line in whole if '"kind":"answered"' in line]
            done = subprocess.run(
                [WEFT, "explain", path, told[0]["job"]], capture_output=True, text=True, timeout=30
            )
            process.send_signal(signal.SIGINT)
            code, _, _ = finish(process)
            self.assertEqual((code, done.returncode), (0, 0), done.stderr)
            self.assertIn("; w", done.stdout)
            self.assertIn(" answered at n", done.stdout)
        code, _, err = finish(serve("--trace", "/no/such/file"))
        self.assertEqual((code, err), (1, "weft serve: /no/such/file: No such file or directory\n"))

    def explain(self, url, job, *trace):
        return subprocess.run(
            [WEFT, "explain", *(trace or ["--url", url]), job],
            capture_output=True, text=True, timeout=30,
        )  # fmt: skip

    def test_a_running_server_explains_its_jobs_as_their_trace_does(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.jsonl")
            process = serve(
                "--http", "127.0.0.1:0", "--metrics", "none", "--rate", "20", "--why", "--plain",
                "--seconds", "40", "--trace", path,
            )  # fmt: skip
            url = process.stdout.readline().split()[-1]
            end = time.monotonic() + 30
            told = self.explain(url, "0.2")
            while time.monotonic() < end and " answered at n" not in told.stdout:
                time.sleep(0.1)
                told = self.explain(url, "0.2")
            from_file = self.explain(url, "0.2", path)
            while time.monotonic() < end and " answered at n" not in from_file.stdout:
                time.sleep(0.1)  # It is written a little later.
                from_file = self.explain(url, "0.2", path)
            unknown = self.explain(url, "0.999999")
            process.send_signal(signal.SIGINT)
            self.assertEqual(finish(process)[0], 0)
        self.assertEqual((told.returncode, told.stderr), (0, ""))
        self.assertRegex(told.stdout, r"; w\d: ends in ")
        self.assertEqual(told.stdout, from_file.stdout)
        line = "weft explain: 404: there has been no job 0.999999 here\n"
        self.assertEqual((unknown.returncode, unknown.stderr), (1, line))
        wrong = self.explain(url, "run.jsonl")
        line = "'run.jsonl' is not the name of a job, such as 0.14; for a trace, say 'TRACE JOB'"
        self.assertEqual((wrong.returncode, wrong.stderr), (2, f"weft explain: {line}\n"))
        gone = self.explain(url, "0.2")
        self.assertEqual((gone.returncode, gone.stderr.count("\n")), (1, 1))

    def test_without_a_terminal_it_is_plain(self):
        code, out, _ = finish(serve("--seconds", "1", "--rate", "5"))
        self.assertEqual(code, 0)
        self.assertNotIn("\033", out)

    def test_json_is_the_only_output(self):
        code, out, err = finish(
            serve("--seconds", "2", "--json", "--policy", "least-work", "--seed", "7")
        )
        self.assertEqual((code, err), (0, ""))
        both = json.loads(out)
        for side in ("served", "predicted"):
            self.assertEqual(both[side]["policy"], "least-work")
            self.assertEqual(both[side]["seed"], 7)
        served, predicted = both["served"], both["predicted"]
        self.assertEqual(served["jobs"], served["completed"])
        self.assertEqual(served["jobs"], predicted["jobs"])
        mean = served["latency_ms"]["mean"] / predicted["latency_ms"]["mean"]
        self.assertAlmostEqual(both["latency_ratio"], mean, places=6)

    def test_the_first_interrupt_drains(self):
        process = serve("--plain")
        signals.wait_until_caught(process, signal.SIGINT)
        read_until(process, r" [1-9]\d* done")
        process.send_signal(signal.SIGINT)
        code, out, err = finish(process)
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, r"(?m)^  completed +(\d+)")

    def test_sigterm_drains_as_well(self):
        process = serve("--plain")
        signals.wait_until_caught(process, signal.SIGTERM)
        read_until(process, r" [1-9]\d* arrived")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(finish(process)[0], 0)

    def test_the_second_interrupt_stops_at_once(self):
        process = serve("--plain", "--rate", "300")  # Far more than can be served.
        signals.wait_until_caught(process, signal.SIGINT)
        read_until(process, r" \d{3,} tasks queued")
        signals.send(process, signal.SIGINT)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        code, out, err = finish(process)
        self.assertEqual(code, 1)
        self.assertRegex(err, r"weft serve: stopped with \d+ of \d+ requests unanswered")
        self.assertIn("latency mean", out)

    def watch(self, *arguments, columns=100, rows=40, environment=None):
        """Everything that is written to a terminal of this size."""
        terminal, end = pty.openpty()
        fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        process = subprocess.Popen(  # A short name: how far down the program lies is chance.
            ["weft", "serve", "--emulated", DEMO, *arguments], executable=WEFT,
            stdout=end, stderr=end, stdin=subprocess.DEVNULL,
            env={**os.environ, "TERM": "xterm", "NO_COLOR": "", **(environment or {})},
        )  # fmt: skip
        os.close(end)
        shown = b""
        while select.select([terminal], [], [], 30)[0]:
            try:
                piece = os.read(terminal, 65536)
            except OSError:  # Linux says so when the other side is closed.
                break
            if not piece:
                break
            shown += piece
        os.close(terminal)
        self.assertEqual(process.wait(timeout=30), 0)
        return shown.decode()

    def pictures(self, columns, rows, *arguments, locale="C.UTF-8", rate="60"):
        """All pictures of a run, in overload by default; plain. Each fits its terminal."""
        text = self.watch(
            "--seconds", "3", "--rate", rate, "--http", "127.0.0.1:0", "--metrics", "none",
            *arguments, columns=columns, rows=rows, environment={"LC_ALL": locale},
        )  # fmt: skip
        [self.address] = re.findall(r"listening on (http://\S+)", text)
        pictures = re.sub(r"\033\[(\d*m|K|\?25[lh])", "", text).split("\033[H")[1:]
        pictures = [picture.split("\033[J")[0].replace("\r", "") for picture in pictures]
        for picture in pictures:
            lines = picture.splitlines()
            self.assertLessEqual(len(lines), rows)
            self.assertLessEqual(max(len(line) for line in lines), columns)
        return pictures

    def test_on_a_small_terminal_everything_can_be_read(self):
        pictures = self.pictures(80, 24, "--no-admission")
        last = pictures[-1]
        self.assertIn(self.address, pictures[0])
        for name in ("w0", "w1", "w2"):
            self.assertRegex(last, rf"(?m)^ +\d {name} ")
        self.assertIn("no more come", last)
        self.check_late(last)

    def test_a_tiny_terminal_says_what_it_leaves_out(self):
        last = self.pictures(60, 15)[-1]
        [heading] = re.findall(r"(?m)^workflow .*$", last)
        self.assertRegex(heading, r" asked +refused +.* met % …$")
        self.assertNotIn("p50", heading)
        self.assertRegex(last, r"(?m)^at, s +workflow +late by .*…$")
        ascii_only = self.pictures(60, 15, locale="C")[-1]
        self.assertTrue(ascii_only.isascii())
        self.assertRegex(ascii_only, r"(?m)^workflow .* met % >$")

    def test_a_large_terminal_shows_what_was(self):
        last = self.pictures(200, 50)[-1]
        for name in ("asked per s", "answered per s", "refused per s", "in the system"):
            self.assertRegex(last, rf"(?m)^{name} +\d+ +\d+ ")
        for name in ("p50 of 10 s, s", "p99 of 10 s, s"):
            self.assertRegex(last, rf"(?m)^{name} +\d+\.\d\d +\d+\.\d\d [▁-█ ]*[▁-█]")
        loads = r"models: loaded \d+ times in \d+\.\d s, evicted \d+$"
        self.assertRegex(last, rf"(?m)^at, s +workflow .*  at, s  {loads}")  # Side by side.
        legend = dict(re.findall(r"(\S) ([\w-]+),", re.search(r"(?m)^.*, \. idle$", last)[0]))
        cells = re.findall(r"(?m)^ +\d w\d .* [MG]B  (\S*)$", last)
        self.assertEqual(len(cells), 3)
        for line in cells:
            self.assertTrue(set(line) <= {".", "+", *legend})
        self.assertTrue(set("".join(cells)) & set(legend), cells)

    def test_a_command_explains_the_last_late_job(self):
        last = self.pictures(200, 50, "--no-admission")[-1]
        self.assertRegex(
            last, rf"(?m)^ +why: weft explain \d+\.\d+ --url {self.address}(  .*)?$"
        )
        last = self.pictures(200, 50, "--no-admission", "--management", "off")[-1]
        self.assertIn("mean of ", last)
        self.assertNotIn("why: ", last)

    def test_figures_that_do_not_exist_are_dashes(self):
        first = self.pictures(100, 40, rate="0.5")[0]
        rows = re.findall(r"(?m)^\S+ +0 +0 +0 +0 +0 +0 +.*$", first)
        self.assertGreater(len(rows), 0)
        for row in rows:
            self.assertRegex(row, r" - +- +(\d+|-) +-$")

    def test_what_is_bad_is_red(self):
        text = self.watch("--seconds", "3", "--rate", "60", columns=100, rows=40)
        last = text.split("\033[H")[-1]
        red = re.findall(r"\033\[31m *([\d.]+)\033\[0m", last)
        for figure in (r"\d+", r"\d+\.\d", r"\d+\.\d\d"):  # How many, met, by how much.
            self.assertTrue(any(re.fullmatch(figure, one) for one in red), (figure, red))

    def check_late(self, picture):
        """What late jobs took is the sum of its parts, for each and in the mean."""
        figures = r"((?: +\d+\.\d\d){5})"
        [mean] = re.findall(rf"(?m)^ +mean of \d+ *{figures}$", picture)
        jobs = re.findall(
            rf"(?m)^ +\d+\.\d \S+ +(\d+\.\d\d){figures} +\d+\.\d\d \S+ w\d$", picture
        )
        self.assertGreater(len(jobs), 0)
        for late, row in jobs:
            self.assertLess(float(late), float(row.split()[0]))  # Than it took: not an id.
        for row in [mean, *(row for _, row in jobs)]:
            took, *parts = [float(figure) for figure in row.split()]
            self.assertAlmostEqual(took, sum(parts), delta=0.03)  # Each is rounded.

    def test_colours_can_be_left_out(self):
        plain = self.watch("--seconds", "1", environment={"NO_COLOR": "1"})
        self.assertIn("\033[H", plain)
        self.assertNotRegex(plain, r"\033\[\d*m")
        lines = self.watch("--seconds", "2", environment={"TERM": "dumb"})
        self.assertNotIn("\033", lines)
        self.assertRegex(lines, r"\d\.\d s  \d+ arrived, ")

    def test_on_a_terminal_a_picture_is_drawn_over_and_over(self):
        text = self.watch("--seconds", "2")
        self.assertGreaterEqual(text.count("\033[H"), 4)  # Of 20, if nothing else wants time.
        self.assertIn("\033[?25l", text)
        self.assertGreater(text.rindex("\033[?25h"), text.rindex("\033[?25l"))
        self.assertRegex(text, r"w2 +\d+ ")
        self.assertRegex(text, r"\[#*\.*\] +[\d.]+/[\d.]+ [MG]B")
        self.assertRegex(re.sub(r"\033\[\d*m", "", text), r"load(ing|ed) text-detector")
        self.assertIn("predicted", text.rsplit("\033[?25h", 1)[1])

    def test_what_cannot_be_served_is_said_plainly(self):
        for arguments, cause in (
            ([DEMO], "a scenario is served with --emulated, a repository is a folder"),
            (["--emulated", "no/such.yaml"], "no/such.yaml"),
            (["--emulated", DEMO, "--policy", "wishful"], "wishful"),
            (["--emulated", DEMO, "--set", "colour=red"], "colour"),
        ):
            done = subprocess.run(
                [WEFT, "serve", *arguments], capture_output=True, text=True, timeout=60, check=False
            )
            self.assertEqual(done.returncode, 2, arguments)
            self.assertEqual(done.stdout, "")
            self.assertIn(cause, done.stderr)


if __name__ == "__main__":
    unittest.main()
