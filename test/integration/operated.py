"""A repository with functions that fail, loop and crash, served for the scripts beside this one."""

import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading

import onnx_models

WEFT = os.environ.get("WEFT", "build/weft")
LIBRARY = onnx_models.LIBRARY
LIMIT = 60  # Seconds that anything may take.


def workflow(name, declared=""):
    return f"""workflow: {name}
inputs: {{image: {{dtype: UINT8, shape: [-1]}}}}
tasks: {{work: {{function: sample.{name}, in: {{image: inputs.image}}}}}}
outputs: {{out: {declared or "work.out"}}}
"""


def write_repository(folder, *functions):
    onnx_models.write_repository(folder)
    (folder / "functions").mkdir()
    shutil.copy(
        pathlib.Path(WEFT).parent / "functions/functions_sample.so",
        folder / "functions/sample.so",
    )
    for name in functions:
        (folder / f"{name}.workflow.yaml").write_text(workflow(name), encoding="utf-8")


class Server:
    """`weft serve` of a folder, on ports of its own."""

    def __init__(self, folder, *arguments, cache=None, environment=None, wait=True):
        self.process = subprocess.Popen(
            [WEFT, "serve", str(folder), "--http", "127.0.0.1:0", "--metrics", "127.0.0.1:0",
             "--plain", *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=dict(os.environ, WEFT_ONNXRUNTIME=str(LIBRARY),
                     WEFT_CACHE=str(cache or folder.parent / "cache"), **(environment or {})),
        )  # fmt: skip
        self.address = None  # Until it is ready.
        self.watch()
        if wait:
            try:
                self.wait_until_ready()
            except AssertionError:
                self.process.kill()  # Nobody else knows of it yet.
                self.ended()
                raise

    def watch(self):
        """Gather what the process prints."""
        self.log = []
        self.out = []
        self.has_line = threading.Condition()
        self.open_streams = 2
        self.threads = [
            threading.Thread(target=self.gather, args=pair, daemon=True)
            for pair in ((self.process.stderr, self.log), (self.process.stdout, self.out))
        ]
        for thread in self.threads:
            thread.start()

    def wait_until_ready(self):
        address = r"http://(\S+):(\d+)"
        line = self.wait_for(self.out, f"^listening on {address}, metrics on {address}/")
        self.address = (line[1], int(line[2]))
        self.metrics_address = (line[3], int(line[4]))

    def gather(self, stream, lines):
        for line in stream:
            with self.has_line:
                lines.append(line.rstrip("\n"))
                self.has_line.notify_all()
        with self.has_line:
            self.open_streams -= 1
            self.has_line.notify_all()

    def wait_for(self, lines, pattern):
        """The match of the first line that has @pattern."""
        found = []

        def is_there():
            found[:] = [match for match in (re.search(pattern, line) for line in lines) if match]
            return found or self.open_streams == 0

        with self.has_line:
            self.has_line.wait_for(is_there, LIMIT)
        if not found:
            raise AssertionError(f"no {pattern!r} in {self.out} {self.log}")
        return found[0]

    def logged(self, pattern):
        return self.wait_for(self.log, pattern)

    def ask(self, method, path, body=None, headers=None, address=None):
        """(status, headers, body) of one request."""
        connection = http.client.HTTPConnection(*(address or self.address), timeout=LIMIT)
        try:
            data = None if body is None else json.dumps(body)
            connection.request(method, path, body=data, headers=headers or {})
            response = connection.getresponse()
            return response.status, response.headers, response.read().decode()
        finally:
            connection.close()

    def infer(self, name, values=(1, 2)):
        given = {"name": "image", "datatype": "UINT8", "shape": [len(values)],
                 "data": list(values)}  # fmt: skip
        return self.ask("POST", f"/v2/models/{name}/infer", {"inputs": [given]})

    def metrics(self):
        return self.ask("GET", "/metrics", address=self.metrics_address)[2]

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        """(exit code, standard output, log) after SIGTERM."""
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        return self.ended()

    def ended(self):
        """The same of a server that ends by itself, or has been told to."""
        self.process.wait(timeout=LIMIT)
        for thread in self.threads:
            thread.join(timeout=LIMIT)
        for stream in (self.process.stdout, self.process.stderr):
            stream.close()
        return self.process.returncode, self.out, self.log

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        if not self.process.stdout.closed:
            self.end()


def temporary(test):
    """A folder for @test, removed after it."""
    folder = tempfile.TemporaryDirectory()
    test.addCleanup(folder.cleanup)
    return pathlib.Path(folder.name) / "repository"
