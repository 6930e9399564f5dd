"""Memory that runs out: at every call, one at a time, from a call on, and at a limit.

A command ends with one line that says so, or is unharmed. A server goes on: it refuses, at most,
what there was no memory for, and serves the next client as if nothing had been.

Covers: test/memory/failing_memory.c src/base/memory.c

Only a sample of the calls fails here. With MEMORY_ALL=1 every one of them does: make soak.
"""

import collections
import concurrent.futures
import http.client
import json
import mmap
import os
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import threading
import time
import unittest

from echoing import ECHO, WEFT, ask, binary, fp32, trusting

LIBRARY = os.path.join(os.path.dirname(WEFT), "failing_memory.so")
ALL = os.environ.get("MEMORY_ALL") == "1"
DEMO = "scenarios/demo/demo.yaml"
LIMIT = 30  # Seconds that a command may take.
ANSWER_LIMIT = 10  # Seconds that an answer may take: far more than it does.
LANES = 2 * (os.cpu_count() or 1) if ALL else 1  # What is tried side by side.
IDLE_LANES = 10 * LANES if ALL else 1  # The same for commands that mostly wait.
ONE, FROM, BYTES = range(3)  # As in failing_memory.c.


class Memory:
    """The file that failing_memory.so looks at."""

    FIELDS = ("is_armed", "mode", "first", "limit", "calls", "failed", "used", "unused")

    def __init__(self):
        self.file = tempfile.NamedTemporaryFile()
        self.file.write(bytes(64))
        self.file.flush()
        self.map = mmap.mmap(self.file.fileno(), 64)
        self.environment = {
            **os.environ, "LD_PRELOAD": LIBRARY, "FAILING_MEMORY": self.file.name
        }  # fmt: skip

    def set(self, field, value):
        struct.pack_into("<q", self.map, 8 * self.FIELDS.index(field), value)

    def get(self, field):
        return struct.unpack_from("<q", self.map, 8 * self.FIELDS.index(field))[0]

    def arm(self, mode, first=0, limit=0):
        for field, value in (("is_armed", 0), ("mode", mode), ("first", first), ("limit", limit),
                             ("calls", 0), ("failed", 0), ("is_armed", 1)):  # fmt: skip
            self.set(field, value)

    def disarm(self):
        self.set("is_armed", 0)

    def close(self):
        self.map.close()
        self.file.close()


def chosen(count, sample):
    """The numbers of the calls that fail: all @count, or about @sample of them and the ends."""
    step = 1 if ALL else max(1, count // sample)
    return range(1, count + 2, step)


def timeless(out):
    """@out without how fast this machine is."""
    return re.sub(r"in [0-9.]+ s: ([0-9]+ events), .*|[0-9]+ ns", r"\1", out)


def clean(err):
    """Whether @err is one line that speaks of memory."""
    return err.count("\n") == 1 and "memory" in err


class Case(unittest.TestCase):
    def setUp(self):
        self.assertTrue(os.path.exists(LIBRARY), LIBRARY)
        self.lock = threading.Lock()
        self.ends = collections.Counter()

    def tearDown(self):
        print(f"\n{self.id()}: {dict(self.ends)}", end=" ", flush=True)

    def count(self, end):
        with self.lock:
            self.ends[end] += 1

    def share(self, numbers, lanes, work):
        """Let work(numbers of a lane, its memory) deal with every one of @numbers."""

        def run(lane):
            memory = Memory()
            try:
                work(numbers[lane::lanes], memory)
            finally:
                memory.close()

        with concurrent.futures.ThreadPoolExecutor(lanes) as pool:
            for done in [pool.submit(run, lane) for lane in range(lanes)]:
                done.result()


class Commands(Case):
    def setUp(self):
        super().setUp()
        self.memory = Memory()
        self.addCleanup(self.memory.close)

    def weft(self, memory, *arguments):
        done = subprocess.run(
            [WEFT, *arguments], capture_output=True, timeout=LIMIT, check=False,
            env=memory.environment,
        )  # fmt: skip
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def try_all(self, mode, sample, check, *arguments, lanes=LANES):
        """Let one call after another fail; check(result, good result, what) judges each run."""
        self.memory.arm(mode)
        good = self.weft(self.memory, *arguments)
        self.assertEqual((good[0], good[2]), (0, ""))
        calls = self.memory.get("calls")
        self.assertGreater(calls, 100)

        def work(numbers, memory):
            for first in numbers:
                memory.arm(mode, first)
                code, out, err = self.weft(memory, *arguments)
                what = f"call {first} of {calls}, {arguments}: {code} {err!r}"
                if code == 0:
                    check(out, err, good[1], what)
                else:
                    self.assertIn(code, (1, -signal.SIGABRT), what)
                    self.assertTrue(clean(err), what)
                self.count("unharmed" if code == 0 else "abort" if code < 0 else "error")

        self.share(chosen(calls, sample), lanes, work)

    def check_same(self, out, err, good, what):
        self.assertEqual(err, "", what)
        self.assertEqual(timeless(out), timeless(good), what)

    def check_ended(self, out, _err, _good, what):
        self.assertIn("served", out, what)

    def test_check(self):
        self.try_all(ONE, 60, self.check_same, "check", DEMO)
        self.try_all(FROM, 20, self.check_same, "check", DEMO)

    def test_check_of_json(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"jobs": [{"name": "a" * 100, "values": [1, 2.5, "text", None]}]}, file)
            file.flush()
            self.memory.arm(ONE)
            code, _, err = self.weft(self.memory, "check", file.name)
            calls = self.memory.get("calls")
            self.assertEqual(code, 2)
            for first in range(1, calls + 1):
                self.memory.arm(ONE, first)
                code, _, failed = self.weft(self.memory, "check", file.name)
                self.assertNotIn("not JSON", failed, first)
                self.assertTrue((code, failed) == (2, err) or clean(failed), (first, failed))

    def test_sim(self):
        self.try_all(ONE, 40, self.check_same, "sim", DEMO, "--jobs", "20")
        self.try_all(FROM, 20, self.check_same, "sim", DEMO, "--jobs", "20")

    def test_serving_a_scenario(self):
        arguments = ("serve", "--emulated", DEMO, "--seconds", "1", "--plain")
        self.try_all(ONE, 3, self.check_ended, *arguments, lanes=IDLE_LANES)
        self.try_all(FROM, 3, self.check_ended, *arguments, lanes=IDLE_LANES)


class Server:
    """An echo_server whose memory can fail."""

    def __init__(self, memory, *arguments):
        memory.disarm()
        self.process = subprocess.Popen(
            [ECHO, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=memory.environment,
        )  # fmt: skip
        host, port = self.process.stdout.readline().split()[0].rsplit(":", 1)
        self.address = host, int(port)
        self.limit = ANSWER_LIMIT
        self.context = None  # Of TLS.

    def ask(self, method, path, body=None, headers=None):
        """(status, body) of one request; status 0: closed, -1: no answer in time."""
        if self.context is None:
            connection = http.client.HTTPConnection(*self.address, timeout=self.limit)
        else:
            connection = http.client.HTTPSConnection(
                *self.address, timeout=self.limit, context=self.context
            )
        try:
            status, _, body = ask(connection, method, path, body, headers)
            return status, body
        except TimeoutError:
            return -1, b""
        except (OSError, http.client.HTTPException) as cause:
            return 0, str(cause).encode()
        finally:
            connection.close()

    def echo(self, values, workflow="echo"):
        """What became of a request: 'good', 'refused', 'closed', or something that is wrong."""
        request = {"inputs": [fp32("x", values)]}
        status, body = self.ask("POST", f"/v2/models/{workflow}/infer", json.dumps(request))
        if status == 200:
            outputs = json.loads(body)["outputs"]
            return "good" if outputs[0]["data"] == values else f"wrong: {body[:200]}"
        return judge(status, body)

    def raw(self, count):
        """The same with a tensor behind the JSON, there and back."""
        data = os.urandom(4 * count)
        head = {"parameters": {"binary_data_output": True},
                "inputs": [{"name": "x", "shape": [count], "datatype": "FP32",
                            "parameters": {"binary_data_size": len(data)}}]}  # fmt: skip
        body, headers = binary(head, data)
        status, body = self.ask("POST", "/v2/models/hops/infer", body, headers)
        if status == 200:
            return "good" if body.endswith(data) else "wrong: other bytes"
        return judge(status, body)

    def other(self, method, path, body=None):
        status, body = self.ask(method, path, body)
        return "good" if status == 200 else judge(status, body)

    def series(self):
        yield self.echo([1.5])
        yield self.echo([0.25] * 4000)  # Long enough for another thread.
        yield self.echo([2.5, 3], workflow="hops")
        yield self.raw(3000)
        yield self.other("GET", "/v2/models/echo")
        yield self.other("GET", "/v2/models/stats")
        yield self.other("POST", "/v2/repository/index", "{}")
        yield self.other("POST", "/v2/repository/models/spare/load", '{"parameters": {}}')

    def stop(self):
        """(code, stderr) of its end."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        _, err = self.process.communicate(timeout=LIMIT)
        return self.process.returncode, err


def judge(status, body):
    if status <= 0:
        return "closed" if status == 0 else "waits"
    if status == 503 and body == b"":  # Turned away before anything was read.
        return "refused"
    if status in (500, 503) and (b"memory" in body or b"no room" in body):
        return "refused"
    return f"wrong: {status} {body[:200]}"


class Serving(Case):
    def check_series(self, server, what):
        for end in server.series():
            self.assertIn(end, ("good", "refused", "closed"), what)
            self.count(end)

    def try_each(self, make, sample):
        """One call fails: at most its own request does."""
        memory = Memory()
        server = make(memory)
        list(server.series())  # What is made at first use is there.
        memory.arm(ONE)
        self.assertEqual(set(server.series()), {"good"})
        calls = memory.get("calls")
        self.assertGreater(calls, 100)
        self.assertEqual(server.stop(), (0, ""))
        memory.close()

        def work(numbers, memory):
            server = make(memory)
            list(server.series())
            for first in numbers:
                memory.arm(ONE, first)
                self.check_series(server, f"call {first} of {calls}")
                memory.disarm()
                self.assertEqual(server.echo([1.5]), "good", f"after call {first} of {calls}")
            self.assertEqual(server.stop(), (0, ""))

        self.share(chosen(calls, sample), LANES, work)

    def test_no_failure_ends_it(self):
        self.try_each(Server, 60)

    @unittest.skipUnless(shutil.which("openssl"), "openssl, which makes certificates, is missing")
    def test_no_failure_ends_tls(self):
        with tempfile.TemporaryDirectory() as folder:
            key, certificate = os.path.join(folder, "key"), os.path.join(folder, "certificate")
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj",
                 "/CN=localhost", "-days", "1", "-keyout", key, "-out", certificate],
                check=True, capture_output=True, timeout=60,
            )  # fmt: skip

            def make(memory):
                server = Server(memory, f"cert={certificate}", f"key={key}")
                server.context = trusting(certificate)
                return server

            self.try_each(make, 20)

    def test_nothing_left_is_the_end_or_a_refusal(self):
        """All calls fail from one on. The reserve is no help: it cannot be given to anyone."""
        memory = Memory()
        server = Server(memory)
        memory.arm(FROM)
        list(server.series())
        calls = memory.get("calls")
        self.assertEqual(server.stop(), (0, ""))
        memory.close()

        def work(numbers, memory):
            server = None
            for first in numbers:
                server = server or Server(memory)
                server = server if self.survives(server, memory, first) else None
            if server is not None:
                self.assertEqual(server.stop(), (0, ""))

        self.share(chosen(calls, 20), LANES, work)

    def survives(self, server, memory, first):
        """Whether @server goes on after all calls from @first on have failed for a while."""
        memory.arm(FROM, first)
        server.limit = 0.5  # Who cannot be accepted waits until memory comes back.
        for end in server.series():
            self.assertNotIn("wrong", end, first)
            if end in ("closed", "waits"):
                break
        memory.disarm()
        server.limit = ANSWER_LIMIT
        end = server.echo([1.5])
        if end == "good":
            self.count("alive")
            return True
        # An abort takes a while on a busy machine: a process may be there that will not be.
        _, err = server.process.communicate(timeout=LIMIT)
        self.assertTrue(server.process.returncode != 0 and clean(err), (first, end, err))
        self.count("ended")
        return False

    def test_a_limit_is_survived(self):
        """Many large requests, and room for few of them: those that fit are served."""
        memory = Memory()
        server = Server(memory)
        list(server.series())
        for room in (100_000, 1_000_000, 4_000_000, 16_000_000):
            memory.arm(BYTES, limit=memory.get("used") + room)
            ends = []

            def work(count):
                for _ in range(20 if ALL else 5):
                    ends.append(server.raw(count))
                    ends.append(server.echo([0.5] * 5000))

            threads = [
                threading.Thread(target=work, args=(count,))
                for count in (1000, 10_000, 100_000, 300_000) * 3
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            for end in ends:
                self.assertIn(end, ("good", "refused", "closed"), room)
                self.count(end)
            memory.disarm()
            self.assertEqual(server.echo([1.5]), "good", f"after a limit of {room}")
        self.assertIn("good", self.ends)
        self.assertEqual(server.stop(), (0, ""))
        memory.close()


if __name__ == "__main__":
    unittest.main()
