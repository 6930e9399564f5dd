"""Starting echo_server, and talking to it, for the scripts beside this one."""

import http.client
import json
import os
import signal
import socket
import ssl
import struct
import subprocess
import time

WEFT = os.environ.get("WEFT", "build/weft")
ECHO = os.path.join(os.path.dirname(WEFT), "echo_server")
LIMIT = 30  # Seconds that anything may take.


class Server:
    """An echo_server process on ports of its own."""

    def __init__(self, *arguments, descriptors=None):
        limited = ["prlimit", f"--nofile={descriptors}:{descriptors}"] if descriptors else []
        self.process = subprocess.Popen(
            [*limited, ECHO, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        line = self.process.stdout.readline().split()
        if len(line) != 2:
            raise RuntimeError(self.process.stderr.read())
        self.address, self.metrics_address = (
            (host, int(port)) for host, port in (text.rsplit(":", 1) for text in line)
        )

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.stop(check=exception[0] is None)

    def stop(self, check=True, is_told=False):
        """Drain it: all is answered and nothing is held, or the test fails."""
        if self.process.poll() is None and not is_told:
            self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=LIMIT)
        if check and (self.process.returncode != 0 or err != ""):
            raise AssertionError(f"echo_server: {self.process.returncode} {out} {err}")
        return out

    def connect(self, context=None):
        if context is None:
            return http.client.HTTPConnection(*self.address, timeout=LIMIT)
        return http.client.HTTPSConnection(*self.address, timeout=LIMIT, context=context)

    def raw(self):
        return socket.create_connection(self.address, timeout=LIMIT)

    def ask(self, method, path, body=None, headers=None, context=None):
        """(status, headers, body) of one request on a connection of its own."""
        connection = self.connect(context)
        try:
            return ask(connection, method, path, body, headers)
        finally:
            connection.close()

    def infer(self, workflow, request, **options):
        return self.ask("POST", f"/v2/models/{workflow}/infer", json.dumps(request), **options)

    def metrics(self):
        connection = http.client.HTTPConnection(*self.metrics_address, timeout=LIMIT)
        status, headers, body = ask(connection, "GET", "/metrics")
        connection.close()
        if status != 200 or not headers["Content-Type"].startswith("text/plain; version=0.0.4"):
            raise AssertionError(f"{status} {headers}")
        return body.decode()

    def until(self, line):
        """Wait until the metrics have @line."""
        end = time.monotonic() + LIMIT
        while line not in self.metrics().splitlines():
            if time.monotonic() > end:
                raise AssertionError(f"not in the metrics: {line}")
            time.sleep(0.01)

    def is_well(self):
        """Whether another client is served as if nothing were."""
        status, _, body = self.infer("echo", {"inputs": [fp32("x", [1.5])]})
        return status == 200 and json.loads(body)["outputs"][0]["data"] == [1.5]


def ask(connection, method, path, body=None, headers=None):
    connection.request(method, path, body=body, headers=headers or {})
    response = connection.getresponse()
    return response.status, response.headers, response.read()


def fp32(name, values, shape=None):
    return {"name": name, "shape": shape or [len(values)], "datatype": "FP32", "data": values}


def binary(request, *tensors):
    """Body and header of a request with @tensors behind its JSON."""
    head = json.dumps(request).encode()
    return head + b"".join(tensors), {"Inference-Header-Content-Length": str(len(head))}


def texts(*values):
    return b"".join(struct.pack("<I", len(value)) + value for value in values)


def receive(sock):
    """Everything until the server hangs up."""
    out = b""
    try:
        while piece := sock.recv(65536):
            out += piece
    except ConnectionResetError:
        pass
    return out


def trusting(certificate):
    context = ssl.create_default_context(cafile=certificate)
    context.check_hostname = False
    return context
