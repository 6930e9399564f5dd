"""The clients, the same for every server: closed loops by wrk, open loops here.

An open loop sends requests at Poisson times whether earlier ones are answered or not, and counts
latency from when a request was due. The same seed gives the same times for every server.
"""

import asyncio
import json
import pathlib
import random
import re
import shutil
import struct
import subprocess
import tempfile
import time
import typing

from install import Missing

HERE = pathlib.Path(__file__).resolve().parent
BINARY = "Inference-Header-Content-Length"
BROKEN = (OSError, asyncio.TimeoutError, asyncio.IncompleteReadError, ValueError)


class Request(typing.NamedTuple):
    path: str
    body: bytes
    headers: dict


class Answer(typing.NamedTuple):
    due_s: float
    latency_s: float
    status: int  # 0: the client left, or the connection broke.


# Requests and answers of the Open Inference Protocol.


def tensor(name, kind, shape):
    return {"name": name, "datatype": kind, "shape": shape}


def request_json(model, described, data):
    body = json.dumps({"inputs": [{**described, "data": data}]}).encode()
    return Request(f"/v2/models/{model}/infer", body, {"Content-Type": "application/json"})


def request_binary(model, described, data, **more):
    described = {**described, "parameters": {"binary_data_size": len(data)}}
    head = json.dumps({**more, "inputs": [described]}).encode()
    headers = {BINARY: str(len(head)), "Content-Type": "application/octet-stream"}
    return Request(f"/v2/models/{model}/infer", head + data, headers)


def read_answer(body):
    """Outputs by name: lists of numbers or texts."""
    try:
        head, end = json.JSONDecoder().raw_decode(body[:1024].decode("latin-1"))
    except ValueError:
        head, end = json.JSONDecoder().raw_decode(body.decode("utf-8"))
    outputs = {}
    for one in head["outputs"]:
        size = (one.get("parameters") or {}).get("binary_data_size")
        if size is None:
            outputs[one["name"]] = flat(one["data"])
        else:
            outputs[one["name"]] = list(struct.unpack(f"<{size // 4}f", body[end : end + size]))
            end += size
    return outputs


def flat(data):
    if data and isinstance(data[0], list):
        return [value for row in data for value in flat(row)]
    return data


def is_close(a, b):
    if isinstance(a, str) or isinstance(b, str):
        return a == b
    return abs(a - b) <= 1e-3 * max(1.0, abs(a), abs(b))


def difference(ours, theirs):
    """Where two answers differ, or an empty text."""
    for name, values in ours.items():
        others = theirs.get(name)
        if others is None or len(others) != len(values):
            return f"output '{name}' has another size"
        if not all(map(is_close, values, others)):
            return f"output '{name}' differs"
    return ""


# Open loop.


def arrivals(rate, seconds, seed):
    draw, at, times = random.Random(seed), 0.0, []
    while True:
        at += draw.expovariate(rate)
        if at >= seconds:
            return times
        times.append(at)


def encode(port, request):
    lines = [f"POST {request.path} HTTP/1.1", f"Host: 127.0.0.1:{port}"]
    lines += [f"{name}: {value}" for name, value in request.headers.items()]
    lines += [f"Content-Length: {len(request.body)}", "", ""]
    return "\r\n".join(lines).encode() + request.body


async def read_body(reader, head):
    if b"transfer-encoding: chunked" in head:
        body = b""
        while True:
            size = int((await reader.readline()).split(b";")[0], 16)
            chunk = await reader.readexactly(size + 2)
            if size == 0:
                return body
            body += chunk[:-2]
    found = re.search(rb"\r\ncontent-length: *(\d+)", head)
    return await reader.readexactly(int(found[1])) if found else b""


class Connections:
    """Connections to one server; one that waits for nothing is used again."""

    def __init__(self, port):
        self.port, self.idle = port, []

    async def ask(self, data):
        """The status and body of the answer; the connection is closed if that is cancelled."""
        if self.idle:
            reader, writer = self.idle.pop()
        else:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 24)
        try:
            writer.write(data)
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            body = await read_body(reader, head)
        except BaseException:
            writer.close()
            raise
        if b"\r\nconnection: close" in head:
            writer.close()
        else:
            self.idle.append((reader, writer))
        return int(head.split(b" ", 2)[1]), body

    def close(self):
        for _, writer in self.idle:
            writer.close()


async def play(port, times, requests, patience_s):
    """Send @requests at @times; gives the answers in the order of the requests."""
    encoded = {id(request): encode(port, request) for request in requests}
    connections, start = Connections(port), time.perf_counter() + 0.05

    async def one(request, due):
        try:
            left = start + due + patience_s - time.perf_counter()
            status, _ = await asyncio.wait_for(connections.ask(encoded[id(request)]), left)
        except BROKEN:
            status = 0
        return Answer(due, time.perf_counter() - start - due, status)

    tasks = []
    for request, due in zip(requests, times):
        await asyncio.sleep(max(0, start + due - time.perf_counter()))
        tasks.append(asyncio.ensure_future(one(request, due)))
    answers = await asyncio.gather(*tasks)
    connections.close()
    return answers


def open_loop(port, times, requests, patience_s=60.0):
    return asyncio.run(play(port, times, requests, patience_s))


def run(coroutine):
    """What @coroutine gives; a connection that breaks or never answers is a reason to give up."""
    try:
        return asyncio.run(coroutine)
    except BROKEN as error:
        raise Missing(f"its connection failed: {type(error).__name__}") from error


def ask(port, request, patience_s=30.0):
    """One request, and its status and body."""

    async def one():
        return await asyncio.wait_for(Connections(port).ask(encode(port, request)), patience_s)

    return run(one())


# Closed loop.


class Closed(typing.NamedTuple):
    requests: int
    seconds: float
    bad: int
    mean_us: float
    p50_us: float
    p99_us: float


def closed_loop(port, request, connections, seconds):
    """@connections clients, each of which asks again as soon as it is answered."""
    if shutil.which("wrk") is None:
        raise Missing("wrk is not installed; it is a Debian package")
    with tempfile.NamedTemporaryFile() as file:
        file.write(request.body)
        file.flush()
        headers = [f"{name}: {value}" for name, value in request.headers.items()]
        done = subprocess.run(
            ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s",
             "-s", HERE / "wrk.lua", f"http://127.0.0.1:{port}{request.path}", "--",
             file.name, *headers],
            capture_output=True, text=True, timeout=seconds + 60,
        )  # fmt: skip
    found = re.search(r"(?m)^figures (.*)$", done.stdout)
    if found is None:
        raise Missing(f"wrk: {done.stderr.strip()}")
    requests, micros, bad, mean, p50, p99 = found[1].split()
    return Closed(int(requests), int(micros) / 1e6, int(bad), float(mean), float(p50), float(p99))


async def answer_times(port, requests, clients, ramp_s, seconds):
    """When good answers came to @clients that never rest, counted from when the last had begun.

    They begin one after another, or they would all be answered, and ask again, at the same time.
    They end @seconds after that. Last comes when all was answered.
    """
    connections, start = Connections(port), time.perf_counter() + ramp_s
    encoded, times = [encode(port, request) for request in requests], []

    async def client(number):
        await asyncio.sleep(ramp_s * number / clients)
        while time.perf_counter() < start + seconds:
            number += clients
            status, _ = await connections.ask(encoded[number % len(encoded)])
            if status == 200:
                times.append(time.perf_counter() - start)

    await asyncio.gather(*[client(number) for number in range(clients)])
    connections.close()
    return times, time.perf_counter() - start


def saturate(port, requests, clients, seconds):
    """Answers per second to @clients that ask for @requests in turn, without a rest."""
    times, end_s = run(answer_times(port, requests, clients, 0.0, seconds))
    return len(times) / end_s


def sustain(port, requests, clients, ramp_s, seconds):
    """The same while all of them ask: for @seconds, after @ramp_s in which they begin."""
    times, _ = run(answer_times(port, requests, clients, ramp_s, seconds))
    return sum(0 <= at_s < seconds for at_s in times) / seconds
