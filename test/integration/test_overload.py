"""What clients meet when they ask for more than there is: refusals, deadlines, priorities."""

import http.client
import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

WEFT = os.environ.get("WEFT", "build/weft")

SCENARIO = """\
scenario: one-worker
cluster: {machines: {count: 1, device: {kind: small, memory: 2GB, h2d: 6GB/s}}}
workflows:
  - {workflow: slow, tasks: {run: {function: slow}}}
  - {workflow: quick, tasks: {run: {function: quick}}}
profile:
  weft_profile: 1
  figures: assumed
  models:
    slow: {devices: {small: {ms: 1000}}}
    quick: {devices: {small: {ms: 50}}}
arrivals: {kind: poisson, rate: 1/s}
"""


class Server:
    def __init__(self, *options):
        self.folder = tempfile.TemporaryDirectory()
        self.connections = []
        scenario = Path(self.folder.name, "one.yaml")
        scenario.write_text(SCENARIO)
        self.process = subprocess.Popen(
            [WEFT, "serve", "--emulated", str(scenario), "--plain", "--http", "127.0.0.1:0",
             "--metrics", "127.0.0.1:0", *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        line = self.process.stdout.readline()
        self.ports = [int(port) for port in re.findall(r"127\.0\.0\.1:(\d+)", line)]

    def send(self, workflow, deadline_ms=None, priority=None):
        """A request that is on its way: its connection."""
        connection = http.client.HTTPConnection("127.0.0.1", self.ports[0], timeout=60)
        self.connections.append(connection)
        headers = {} if deadline_ms is None else {"x-slo-ms": str(deadline_ms)}
        request = {"inputs": []}
        if priority is not None:
            request["parameters"] = {"priority": priority}
        connection.request("POST", f"/v2/models/{workflow}/infer", json.dumps(request), headers)
        return connection

    def ask(self, *arguments, **options):
        connection = self.send(*arguments, **options)
        answer = connection.getresponse()
        body = answer.read()
        return answer.status, answer.headers, json.loads(body)

    def metrics(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.ports[1], timeout=60)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        return text

    def wait_for(self, pattern):
        """Until the metrics say so."""
        for _ in range(2000):
            if re.search(pattern, self.metrics()):
                return
        raise AssertionError(f"{pattern} never came")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err

    def end(self):
        for connection in self.connections:
            connection.close()
        self.process.kill()
        self.process.communicate(timeout=60)
        self.folder.cleanup()


RUNNING = r'pending_request_count\{model="slow",version="1"\} 1\n'


class Overload(unittest.TestCase):
    def open(self, *options):
        server = Server(*options)
        self.addCleanup(server.end)
        return server

    def test_what_cannot_be_in_time_is_refused_at_once(self):
        server = self.open()
        first = server.send("slow")
        server.wait_for(RUNNING)
        status, headers, body = server.ask("slow", deadline_ms=1050)
        self.assertEqual((status, headers["Retry-After"]), (503, "1"))
        self.assertEqual(body, {"error": "refused: admission"})
        first.sock.setblocking(False)
        with self.assertRaises(BlockingIOError):  # The first one still runs.
            first.sock.recv(1)
        first.sock.settimeout(60)
        self.assertEqual(first.getresponse().status, 200)
        self.assertEqual(server.ask("slow", deadline_ms=5000)[0], 200)
        text = server.metrics()
        refusals = 'weft_request_failures_total{model="slow",reason="admission"} 1\n'
        self.assertIn(refusals, text)
        self.assertIn('weft_requests_refused_total{model="slow",version="1"} 1\n', text)
        code, out, _ = server.stop()
        self.assertEqual(code, 0)
        self.assertRegex(out, r"served 3 requests in .*: 2 completed, 1 refused, 0 failed\n")
        self.assertNotIn("SLO met", out)  # No workflow has one.

    def test_retry_after_grows_with_the_queue(self):
        server = self.open()
        for _ in range(4):
            server.send("slow")
        server.wait_for(r'pending_request_count\{model="slow",version="1"\} 4\n')
        _, headers, _ = server.ask("slow", deadline_ms=1500)
        self.assertIn(headers["Retry-After"], ("3", "4"))

    def test_admission_can_be_turned_off(self):
        server = self.open("--no-admission")
        first = server.send("slow")
        server.wait_for(RUNNING)
        status, _, body = server.ask("slow", deadline_ms=300)
        self.assertEqual(status, 504)
        self.assertEqual(body, {"error": "late: not done within its deadline of 300.000 ms"})
        self.assertEqual(first.getresponse().status, 200)

    def test_who_is_overtaken_past_hope_hears_it_before_the_deadline(self):
        server = self.open()
        first = server.send("slow")
        server.wait_for(RUNNING)
        overtaken = server.send("slow", deadline_ms=2900)
        server.wait_for(r'pending_request_count\{model="slow",version="1"\} 2\n')
        urgent = server.send("slow", priority=1)
        self.assertEqual(overtaken.getresponse().status, 504)
        self.assertEqual([first.getresponse().status, urgent.getresponse().status], [200, 200])
        self.assertIn('weft_requests_late_total{model="slow",version="1"} 1\n', server.metrics())
        self.assertRegex(server.stop()[1], r": 2 completed, 0 refused, 0 failed, 1 cancelled\n")

    def test_the_urgent_go_first(self):
        server = self.open()
        order = []
        threads = []

        def wait(name, connection):
            self.assertEqual(connection.getresponse().status, 200)
            order.append(name)

        first = server.send("slow")
        server.wait_for(RUNNING)
        names = [f"usual {i}" for i in range(12)] + ["1", "5", "0"]
        for count, name in enumerate(names):
            connection = server.send("quick", priority=int(name) if name.isdigit() else None)
            threads.append(threading.Thread(target=wait, args=(name, connection)))
            threads[-1].start()
            server.wait_for(rf'request_count\{{model="quick",version="1"\}} {count + 1}\n')
        for thread in threads:
            thread.join()
        self.assertEqual(first.getresponse().status, 200)
        # Those between may be heard in another order: their threads wait for a processor.
        self.assertEqual((order[:2], order[-1]), (["1", "5"], "0"))
        self.assertEqual(sorted(order), sorted(names))


def came_s(record):
    """When its request came, if it tells."""
    return (record["at_ns"] - record.get("latency_ns", 0)) / 1e9


class Run:
    """What became of the requests of a simulated run, by workflow."""

    def __init__(self, scenario, *options):
        with tempfile.TemporaryDirectory() as folder:
            trace = Path(folder, "trace.jsonl")
            done = subprocess.run(
                [WEFT, "sim", f"scenarios/{scenario}.yaml", "--seed", "1", "--json",
                 "--trace", str(trace), "--set", "jobs=12000", *options],
                capture_output=True, text=True, timeout=300, check=True,
            )  # fmt: skip
            self.report = json.loads(done.stdout)
            records = [json.loads(line) for line in trace.read_text().splitlines()]
        records = [record for record in records if came_s(record) > 1]  # What is to be learnt is.
        self.refused = [record for record in records if record["kind"] == "refused"]
        self.answered = [record for record in records if record["kind"] == "answered"]

    def per_second(self):
        return self.report["completed"] / self.report["duration_s"]


def latency_ms(record):
    return record["latency_ns"] / 1e6


class Simulated(unittest.TestCase):
    """The scenarios of scenarios/overload, where every run of a seed is the same."""

    def check(self, scenario, slos, rest, *options, share=0.9):
        run = Run(f"overload/{scenario}", *options)
        good = [
            record for record in run.answered
            if "reason" not in record and latency_ms(record) <= slos[record["workflow"]]
        ]  # fmt: skip
        all_taken = Run(f"overload/{scenario}", "--policy", rest, *options)
        goodput = len(good) / (run.report["duration_s"] - 1)
        self.assertGreaterEqual(len(good), 0.95 * len(run.answered))
        self.assertGreaterEqual(goodput, share * all_taken.per_second())
        self.assertEqual((all_taken.refused, all_taken.report["cancelled"]), ([], 0))
        self.assertLess(all_taken.report["slo_hit_rate"], 0.11)  # One in ten goes first.
        return run

    def test_one_worker(self):
        for rate in ("200/s", "500/s", "1000/s"):
            self.check("one", {"one": 100}, "least-work", "--rate", rate)

    def test_batches(self):
        rest = "place=least-work,order=edf,dispatch=first-fit"
        for rate in ("900/s", "2000/s", "4400/s"):
            jobs = f"jobs={int(rate[:-2]) * 8}"
            self.check("batches", {"chain": 200}, rest, "--rate", rate, "--set", jobs)

    def test_mixed_workflows(self):
        slos = {"document": 500, "speech": 600, "image": 300}
        # Without admission, long queues of one workflow spare many loads; in time they cannot.
        run = self.check("mixed", slos, "place=compass,cache=compass,order=edf", share=0.85)
        self.assertEqual({record["workflow"] for record in run.answered}, set(slos))

    def test_the_urgent_are_served_whatever_others_want(self):
        slos = {"urgent": 100, "usual": 200}
        run = self.check("priorities", slos, "least-work")
        of_urgent = [record for record in run.refused if record["workflow"] == "urgent"]
        urgent = [record for record in run.answered if record["workflow"] == "urgent"]
        usual = [record for record in run.answered if record["workflow"] == "usual"]
        self.assertLessEqual(len(of_urgent), 0.01 * len(urgent))
        self.assertEqual([record for record in urgent if latency_ms(record) > 100], [])
        self.assertGreater(len(usual), len(urgent) / 2)  # They are not starved.

    def test_many_nodes_learn_from_few_jobs_each(self):
        """Twice the load of sixteen nodes, of which each sees a sixteenth, of four workflows."""
        policy = "place=weft,order=weft,cache=weft,admit=deadline:strict=1"
        slos = {"image-classification": 526, "depth": 1233, "background-elimination": 1452,
                "expanded-classification": 1892}  # fmt: skip
        learnt, good = [], []
        for seed in ("1", "2", "3"):  # One by itself differs by 3 %.
            run = Run("esg/moderate", "--policy", policy, "--rate", "48/s", "--set", "jobs=2160",
                      "--seed", seed)  # fmt: skip
            late = [record for record in run.answered if came_s(record) > 10]
            learnt += late
            good += [
                record for record in late
                if "reason" not in record and latency_ms(record) <= slos[record["workflow"]]
            ]  # fmt: skip
        self.assertGreaterEqual(len(good), 0.85 * len(learnt))
        self.assertGreaterEqual(len(good), 0.9 * 24 * 35 * 3)  # 24/s is what they can do.

    def test_the_demo_keeps_its_promises_from_the_first_jobs_on(self):
        """Three times the load of two workers; at first nothing is known but the profile."""
        for jobs in ("100", "1000"):
            run = Run("overload/shared", "--set", "warmup=0", "--jobs", jobs)
            report = run.report
            admitted = report["jobs"] - report["refused"]
            self.assertGreater(report["slo_hit_rate"] * report["jobs"], 0.9 * admitted, jobs)
            self.assertGreater(report["slo_hit_rate"], 0.3)  # As much as there is room for.

    def test_after_a_burst_all_is_as_before(self):
        run = Run("overload/burst")
        spans = {"before": [], "after": []}  # Bursts take the last two of every ten seconds.
        for record in run.answered:
            second = came_s(record)
            if second > 10 and 0.5 < second % 10 < 8:
                self.assertNotIn("reason", record)
                spans["before" if second % 10 > 4 else "after"].append(latency_ms(record))
        between = [record for record in run.refused if 0.2e9 < record["at_ns"] % 10e9 < 8e9]
        self.assertEqual(between, [])  # The queue is gone at once.
        before, after = (sorted(spans[name]) for name in ("before", "after"))
        for part in (0.5, 0.95):
            was, is_now = (list_[int(part * len(list_))] for list_ in (before, after))
            self.assertLess(abs(is_now - was), 0.15 * was)


if __name__ == "__main__":
    unittest.main()
