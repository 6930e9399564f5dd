"""A chain of short models: right answers whatever happens to processes, clients and processors.

Engine processes run the tasks of such a chain ahead, and share a processor with the server's loop
while one client asks alone. Skipped without ONNX Runtime.

Covers: src/process/ahead.c, src/process/near.c, src/engine/near.c
"""

import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

import onnx_models

WEFT = os.environ.get("WEFT", "build/weft")
LIBRARY = onnx_models.LIBRARY
PATH = "/v2/models/chain/infer"
CHAIN = """workflow: chain
inputs: {x: {dtype: FP32, shape: [-1, 4]}}
tasks:
  first: {model: twice1, in: {x: inputs.x}}
  second: {model: twice2, in: {x: first.y}}
  third: {model: twice3, in: {x: second.y}}
outputs: {y: third.y}
"""


def twice():
    tensors = [onnx_models.value_info(name, ["N", 4]) for name in "xy"]
    node = onnx_models.node("Add", ["x", "x"], "y")
    return onnx_models.model([node], tensors[:1], tensors[1:], [])


def body_of(value):
    tensor = {"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [value, 1, 2, 3]}
    return json.dumps({"inputs": [tensor]})


def children(process):
    """All processes that @process has started, and those that they have."""
    found, todo = [], [process]
    while todo:
        for path in pathlib.Path(f"/proc/{todo.pop()}/task").glob("*/children"):
            try:
                numbers = [int(word) for word in path.read_text().split()]
            except OSError:
                continue
            found += numbers
            todo += numbers
    return found


def name_of(process):
    try:
        return pathlib.Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        return ""


class Crowd:
    """Clients that ask at the same time."""

    def __init__(self, count, seconds):
        self.answers = [0] * count  # So far, by client.
        self.failures = []
        self.is_told = False
        self.until = None if seconds is None else time.monotonic() + seconds

    def is_over(self):
        return self.is_told or (self.until is not None and time.monotonic() > self.until)

    def wait_for_answers(self):
        """Until each client has got some for what it asked from now on, or one has failed."""
        wanted = [count + 20 for count in self.answers]
        end = time.monotonic() + 60
        while any(got < want for got, want in zip(self.answers, wanted)) and not self.failures:
            if time.monotonic() > end:
                raise AssertionError(f"answers: {self.answers}")
            time.sleep(0.01)


@unittest.skipUnless(LIBRARY.exists(), "there is no ONNX Runtime; see tools/fetch.sh")
class Chain(unittest.TestCase):
    def start(self, processors=None):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        repository = pathlib.Path(folder.name) / "repository"
        for name in ("twice1", "twice2", "twice3"):
            path = repository / name / "1/model.onnx"
            path.parent.mkdir(parents=True)
            path.write_bytes(twice())
        (repository / "chain.workflow.yaml").write_text(CHAIN, encoding="ascii")
        environment = dict(os.environ, WEFT_ONNXRUNTIME=str(LIBRARY),
                           WEFT_CACHE=str(pathlib.Path(folder.name) / "cache"))  # fmt: skip
        before = os.sched_getaffinity(0)
        if processors is not None:
            os.sched_setaffinity(0, processors)
        try:
            self.process = subprocess.Popen(
                # A busy machine is late, and would rightly refuse some.
                [WEFT, "serve", str(repository), "--http", "127.0.0.1:0", "--no-admission"],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment,
            )  # fmt: skip
        finally:
            os.sched_setaffinity(0, before)
        self.addCleanup(self.process.stdout.close)
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.kill)
        for line in self.process.stdout:
            found = re.match(r"listening on http://127\.0\.0\.1:(\d+)", line)
            if found:
                self.port = int(found[1])
                break
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        deadline = time.monotonic() + 60
        while self.ask_once(1) != 8 and time.monotonic() < deadline:
            time.sleep(0.05)

    def ask_once(self, value):
        """The answer's first number, of a connection of its own; None if there was none."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            return self.ask(connection, value)
        except (OSError, AssertionError):
            return None
        finally:
            connection.close()

    def ask(self, connection, value):
        connection.request("POST", PATH, body_of(value))
        answer = connection.getresponse()
        text = answer.read()
        self.assertEqual(answer.status, 200, text)
        data = json.loads(text)["outputs"][0]["data"]
        self.assertEqual(data[1:], [8, 16, 24])
        return data[0]

    def client(self, number, crowd):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        value = 10000 * number
        try:
            while not crowd.is_over():
                self.assertEqual(self.ask(connection, value), 8 * value)
                value += 1
                crowd.answers[number] += 1
        except Exception as error:  # pylint: disable=broad-except
            crowd.failures.append(error)
        connection.close()

    def engines(self):
        return [one for one in children(self.process.pid) if name_of(one) == "weft-engine"]

    def clients(self, count, seconds=None):
        """Start @count clients, which ask for so long, or until they are told to end."""
        crowd = Crowd(count, seconds)
        threads = [threading.Thread(target=self.client, args=(i, crowd)) for i in range(count)]
        for thread in threads:
            thread.start()

        def end():
            crowd.is_told = crowd.is_told or seconds is None
            for thread in threads:
                thread.join()
            self.assertEqual(crowd.failures, [])

        return crowd, end

    def test_engine_processes_are_killed(self):
        self.start()
        for count in (1, 4):
            crowd, end = self.clients(count)
            for _ in range(3):
                # A task whose process ends twice is blamed for it: each is to have run again.
                crowd.wait_for_answers()
                for one in self.engines()[:1]:
                    os.kill(one, signal.SIGKILL)
            crowd.wait_for_answers()
            end()
        self.assertIsNone(self.process.poll())

    def test_clients_hang_up(self):
        self.start()
        _, end = self.clients(1, 0.8)
        head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body_of(1))}\r\n\r\n"
        until = time.monotonic() + 0.6
        before = self.engines()
        while time.monotonic() < until:
            for part in (10, None):
                with socket.create_connection(("127.0.0.1", self.port)) as connection:
                    connection.sendall(head.encode() + body_of(1).encode()[:part])
        end()
        self.assertLessEqual(set(before), set(self.engines()))  # None was replaced.

    def test_other_processors_are_not_used(self):
        one = min(os.sched_getaffinity(0))
        self.start({one})
        self.clients(1, 0.7)[1]()
        self.clients(4, 0.3)[1]()
        for process in [self.process.pid, *children(self.process.pid)]:
            for status in pathlib.Path(f"/proc/{process}/task").glob("*/status"):
                allowed = re.search(r"Cpus_allowed_list:\s*(.*)", status.read_text())
                self.assertEqual(allowed[1], str(one))

    def test_a_busy_server_holds_no_processor(self):
        self.start()
        everywhere = os.sched_getaffinity(0)
        for count, seconds in ((1, 0.7), (4, 0.3)):
            self.clients(count, seconds)[1]()
            end = time.monotonic() + 60  # It is idle, and sees that soon.
            while os.sched_getaffinity(self.process.pid) != everywhere and time.monotonic() < end:
                time.sleep(0.05)
            self.assertEqual(os.sched_getaffinity(self.process.pid), everywhere)


if __name__ == "__main__":
    unittest.main(verbosity=2)
