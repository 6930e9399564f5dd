#!/usr/bin/env python3
"""Hostile clients beside good ones: what do the good ones notice?

usage: hostile.py BUILD [--seconds N] [...]          starts a server of that build folder
       hostile.py --address HOST:PORT --pid PID ...   takes one that is there

Good clients are served alone and beside hostile ones in turn, so that whatever else the machine
does meets both alike. Hostile ones send garbage, break off, are slow, lie about lengths, ask for
what cannot be and open more than they use. All of it is on loopback and bounded. Every good answer
is compared with what was answered at the beginning, when there was no other client. Prints a table;
exit code 1 if an answer was wrong, a good client got none, or the server did not survive it, or
did not end well; with --ratio also if the p99 of good clients grew by more.
"""

import collections
import functools
import http.client
import json
import multiprocessing
import os
import random
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools"))

import usage  # noqa: E402

SCENARIO = "scenarios/demo/demo.yaml"
ANSWER_S = 60  # A good client waits for so long.
ACTION_S = 2.0  # Nothing hostile takes much longer.
THREADS = 8  # Of one hostile process, each a client.
FLOOD_MAX = 50  # Connections at once of one hostile client.
SLICE_S = 10.0  # Alone or beside, at most.
END_S = 120  # Draining, with everything that hostile clients left behind.


def arguments():
    parser = usage.parser(__doc__)
    parser.add_argument("build", nargs="?", help="folder with bin/weft and bin/echo_server")
    parser.add_argument("--program", choices=("weft", "echo"), default="weft")
    parser.add_argument("--repository", help="serve this folder instead of emulated workers")
    parser.add_argument("--address", help="HOST:PORT of a server that is there")
    parser.add_argument("--pid", type=int, help="its process")
    parser.add_argument("--workflow", help="that good clients use")
    parser.add_argument("--input", metavar="NAME=FILE", help="bytes that good clients send")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--good", type=int, default=4, help="good clients")
    parser.add_argument("--hostile", type=int, default=4, help="processes of 8 hostile clients")
    parser.add_argument("--ratio", type=float, help="p99 beside may be so many times p99 alone")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if (given.build is None) == (given.address is None):
        parser.error("say either a build folder or --address")
    return given


class Server:
    """The server: ours, or another."""

    def __init__(self, given):
        self.process = None
        if given.address is not None:
            host, port = given.address.rsplit(":", 1)
            self.pid, self.address = given.pid, (host, int(port))
            return
        program = os.path.join(given.build, "bin", "weft")
        command = [program, "serve", "--http", "127.0.0.1:0", "--metrics", "none"]
        command += ["--plain", "--log-level", "error"]  # Refusals are no fault.
        command += [given.repository] if given.repository else ["--emulated", SCENARIO]
        if given.program == "echo":
            command = [os.path.join(given.build, "bin", "echo_server"), "turns=1"]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.pid = self.process.pid
        line = ""
        while (found := re.search(r"127\.0\.0\.1:(\d+)", line)) is None:
            line = self.process.stdout.readline()
            if line == "":
                sys.exit(f"hostile: no server: {self.process.stderr.read()}")
        self.address = ("127.0.0.1", int(found.group(1)))
        self.said, self.last = [], collections.deque(maxlen=2)
        for stream in (self.process.stdout, self.process.stderr):
            keep = self.said if stream is self.process.stderr else self.last
            threading.Thread(target=lambda s=stream, k=keep: k.extend(s), daemon=True).start()

    def resident_mb(self):
        try:
            with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
                return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1)) / 1024
        except (OSError, AttributeError):
            return 0.0

    def is_alive(self):
        if self.process is not None:
            return self.process.poll() is None
        return self.pid is None or os.path.exists(f"/proc/{self.pid}")

    def end(self):
        """What is wrong with how it ends; "" if nothing is."""
        if self.process is None:
            return ""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return f"did not end within {END_S} s"
        time.sleep(0.1)  # The last line may be on its way.
        said = "".join(self.said).strip()
        return "" if code == 0 and said == "" else f"exit code {code}: {said[-2000:]}"


def ask(address, method, path, body=None):
    connection = http.client.HTTPConnection(*address, timeout=ANSWER_S)
    try:
        connection.request(method, path, body=body)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


class Workflows:
    """What there is, and what it takes."""

    def __init__(self, address):
        _, body = ask(address, "POST", "/v2/repository/index", "{}")
        names = [entry["name"] for entry in json.loads(body)]
        self.inputs = {}
        for name in names + ["echo", "hops", "image", "text"]:  # Those of echo_server.
            status, body = ask(address, "GET", f"/v2/models/{name}")
            if status == 200:
                self.inputs[name] = json.loads(body)["inputs"]

    def preferred(self, name):
        if name is not None:
            return name
        known = [known for known in ("echo", "image") if known in self.inputs]
        return (known + sorted(self.inputs))[0]


def good_inputs(given):
    """A few requests, apart from their ids."""
    if given.input is not None:
        name, path = given.input.split("=", 1)
        with open(path, "rb") as file:
            data = list(file.read())
        return [[{"name": name, "shape": [len(data)], "datatype": "UINT8", "data": data}]]
    draw = random.Random(given.seed)
    many = []
    for count in (1, 7, 300):
        values = [draw.randrange(1000) / 8 for _ in range(count)]
        many.append([{"name": "x", "shape": [count], "datatype": "FP32", "data": values}])
    return many


class Good:
    """A client that asks, and looks at what it is told."""

    def __init__(self, address, path, requests, number):
        self.address, self.path, self.requests, self.number = address, path, requests, number
        self.latencies = {ALONE: [], BESIDE: []}
        self.ends = {ALONE: collections.Counter(), BESIDE: collections.Counter()}
        self.notes = []

    def run(self, slices):
        connection = http.client.HTTPConnection(*self.address, timeout=ANSWER_S)
        count = 0
        while not slices.is_over:
            kind, number = slices.kind, slices.number
            inputs, outputs = self.requests[count % len(self.requests)]
            count += 1
            name = f"good-{self.number}-{count}"
            start = time.monotonic()
            try:
                connection.request("POST", self.path, json.dumps({"id": name, "inputs": inputs}))
                response = connection.getresponse()
                status, body = response.status, response.read()
            except (OSError, http.client.HTTPException) as cause:
                self.ends[kind or BESIDE]["broken"] += 1
                self.notes.append(f"{name}: {cause!r}")
                connection.close()
                continue
            seconds = time.monotonic() - start
            end = self.end_of(name, status, body, outputs)
            self.ends[kind or BESIDE][end] += 1
            if end == "good" and kind is not None and number == slices.number:
                self.latencies[kind].append(seconds)
            time.sleep(0.002)
        connection.close()

    def end_of(self, name, status, body, outputs):
        if status == 503:
            self.notes.append(f"{name}: {body[:200]}")
            return "refused"
        reply = json.loads(body)
        if status == 200 and reply.get("id") == name and reply["outputs"] == outputs:
            return "good"
        self.notes.append(f"{name}: {status} {body[:200]}")
        return "wrong"


ALONE, BESIDE = "alone", "beside"


class Slices:
    """Whose turn it is. Between slices, while hostile clients come to an end, it is no one's."""

    def __init__(self, hostile, seconds):
        self.kind, self.number, self.is_over = None, 0, False
        self.hostile = hostile
        self.until = time.monotonic() + seconds
        self.slice_s = max(1.0, min(SLICE_S, seconds / 8))

    def last(self, kind):
        self.kind = kind
        time.sleep(max(0.0, min(self.slice_s, self.until - time.monotonic())))
        self.kind, self.number = None, self.number + 1

    def run(self):
        while time.monotonic() < self.until:
            self.last(ALONE)
            self.hostile.allow(True)
            self.last(BESIDE)
            self.hostile.allow(False)
        self.is_over = True


def run_good(address, path, requests, clients, slices):
    """What good clients saw: how requests ended and how long they took, by kind of slice."""
    all_good = [Good(address, path, requests, number) for number in range(clients)]
    threads = [threading.Thread(target=good.run, args=(slices,)) for good in all_good]
    for thread in threads:
        thread.start()
    slices.run()
    for thread in threads:
        thread.join()
    seen = {}
    for kind in (ALONE, BESIDE):
        ends = sum((good.ends[kind] for good in all_good), collections.Counter())
        seen[kind] = ends, sorted(sum((good.latencies[kind] for good in all_good), []))
    return seen, sum((good.notes for good in all_good), [])


class Hostile:
    """One hostile process. Each method is a kind of action; its name is shown."""

    def __init__(self, address, inputs, seed, number):
        self.address, self.inputs = address, inputs
        self.draw = random.Random(f"{seed}-{number}")
        self.source = f"127.0.0.{2 + number % 200}"  # An address of its own.
        self.names = sorted(inputs)

    def dial(self, window=0):
        sock = socket.socket()
        if window:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
        sock.settimeout(ACTION_S)
        try:
            sock.bind((self.source, 0))
            sock.connect(self.address)
        except OSError:
            sock.close()
            raise
        return sock

    def say(self, data, hear=True):
        """Send @data at once, and take what comes for a moment."""
        with self.dial() as sock:
            sock.sendall(data)
            if hear:
                self.hear(sock)

    def hear(self, sock, seconds=0.2):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([sock], [], [], left)[0] or sock.recv(65536) == b"":
                return

    def head(self, length, name=None, extra=""):
        name = name or self.draw.choice(self.names)
        return (
            f"POST /v2/models/{name}/infer HTTP/1.1\r\nHost: h\r\n"
            f"Content-Length: {length}\r\n{extra}\r\n"
        ).encode()

    def post(self, body, **options):
        body = body if isinstance(body, bytes) else body.encode()
        return self.head(len(body), **options) + body

    def good(self, count=3):
        values = ",".join(["1.5"] * count)
        return self.post(
            f'{{"inputs":[{{"name":"x","shape":[{count}],"datatype":"FP32","data":[{values}]}}]}}'
        )

    def binary(self, name, data, dtype="BYTES", shape=None, size=None, workflow=None):
        size = len(data) if size is None else size
        text = json.dumps(
            {"inputs": [{"name": name, "datatype": dtype, "shape": shape or [1],
                         "parameters": {"binary_data_size": size}}]}
        ).encode()  # fmt: skip
        extra = f"Inference-Header-Content-Length: {len(text)}\r\n"
        return self.post(text + data, name=workflow, extra=extra)

    def garbage(self):
        self.say(self.draw.randbytes(self.draw.choice((1, 10, 1000, 100_000))))

    def mangled(self):
        data = bytearray(self.good(self.draw.choice((1, 100))))
        for _ in range(self.draw.randrange(1, 6)):
            data[self.draw.randrange(len(data))] = self.draw.randrange(256)
        self.say(bytes(data))

    def split(self):
        data = self.good()
        with self.dial() as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while data:
                size = self.draw.randrange(1, 20)
                sock.sendall(data[:size])
                data = data[size:]
                time.sleep(0.001)
            self.hear(sock)

    def hang_up(self):
        data = self.good(self.draw.choice((1, 10_000)))
        with self.dial() as sock:
            sock.sendall(data[: self.draw.randrange(len(data) + 1)])
            self.leave(sock)

    def hang_up_on_the_answer(self):
        with self.dial(window=4096) as sock:
            sock.sendall(self.good(50_000))
            time.sleep(self.draw.random() * 0.05)
            if self.draw.random() < 0.5:
                sock.recv(self.draw.randrange(1, 4096))
            self.leave(sock)

    def leave(self, sock):
        if self.draw.random() < 0.5:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def read_slowly(self):
        with self.dial(window=4096) as sock:
            sock.sendall(self.good(50_000))
            end = time.monotonic() + ACTION_S
            while time.monotonic() < end and sock.recv(1):
                time.sleep(0.02)

    def write_slowly(self):
        with self.dial() as sock:
            for byte in self.good()[: self.draw.randrange(20, 80)]:
                sock.sendall(bytes((byte,)))
                time.sleep(0.02)

    def numbers(self):
        number = self.draw.choice(
            ("1e400", "-1e400", "9" * 400, "4700000000000000", str(2**63), str(2**64 - 1), "-1",
             "0.1", "1e-400", str(2**62), "9223372036854775807", "1" + "0" * 5000)
        )  # fmt: skip
        template = self.draw.choice(
            ('{"inputs":[{"name":"x","shape":[%s],"datatype":"FP32","data":[1]}]}',
             '{"inputs":[{"name":"x","shape":[2,%s],"datatype":"FP64","data":[1,2]}]}',
             '{"inputs":[{"name":"x","shape":[1],"datatype":"FP32","data":[%s]}]}',
             '{"inputs":[{"name":"x","shape":[1],"datatype":"INT8","data":[%s]}]}',
             '{"parameters":{"timeout":%s},"inputs":[]}',
             '{"parameters":{"priority":%s},"inputs":[]}',
             '{"inputs":[{"name":"x","shape":[1],"datatype":"FP32",'
             '"parameters":{"binary_data_size":%s}}]}')
        )  # fmt: skip
        extra = self.draw.choice(("", f"x-slo-ms: {number}\r\n"))
        self.say(self.post(template % number, extra=extra))

    def deep(self):
        depth = self.draw.choice((100, 3000, 100_000))
        opening = self.draw.choice(("[", '{"a":', '{"inputs":['))
        self.say(self.post(opening * depth))

    def bombs(self):
        """Small files that would be large pictures and sounds."""
        data = self.draw.choice((png_bomb, png_wide, flac_bomb))()
        for name, inputs in self.inputs.items():
            for given in inputs:
                if given["datatype"] == "BYTES":
                    text = struct.pack("<I", len(data)) + data
                    self.say(self.binary(given["name"], text, workflow=name))
                elif given["datatype"] == "UINT8":
                    self.say(self.binary(given["name"], data, "UINT8", [len(data)], workflow=name))

    def texts(self):
        """Lengths inside of texts that lie."""
        length = self.draw.choice((0, 1, 2**31, 2**32 - 1))
        self.say(self.binary("text", struct.pack("<I", length) + b"abc"))
        self.say(self.binary("x", b"abcd", "FP32", [1], size=self.draw.choice((0, 3, 5, 2**40))))

    def pipeline(self):
        data = self.draw.choice((b"GET /v2 HTTP/1.1\r\nHost: h\r\n\r\n", self.good()))
        with self.dial() as sock:
            sock.sendall(data * self.draw.choice((2, 50, 200)))
            if self.draw.random() < 0.5:
                self.hear(sock)

    def lengths(self):
        body = b'{"inputs":[]}'
        length = self.draw.choice(
            ("-1", "0", "5", "14", "99999999", str(2**40), str(2**64), "1e3", "0x0d", " 13 ",
             "13\r\nContent-Length: 14", "13\r\nTransfer-Encoding: chunked")
        )  # fmt: skip
        self.say(self.head(length) + body)

    def chunks(self):
        size = self.draw.choice(("d", "D;a=b", "fffffffffffffffff", "-1", "", "zz", "e", "0"))
        name = self.draw.choice(self.names)
        self.say(
            f"POST /v2/models/{name}/infer HTTP/1.1\r\nHost: h\r\n"
            "Transfer-Encoding: chunked\r\n\r\n"
            f'{size}\r\n{{"inputs":[]}}\r\n0\r\n\r\n'.encode()
        )

    def heads(self):
        name = self.draw.choice(("A", "A" * 20_000, "A B", "", "\x00"))
        count = self.draw.choice((1, 63, 64, 100, 5000))
        self.say(b"GET /v2 HTTP/1.1\r\n" + f"{name}: b\r\n".encode() * count + b"\r\n")

    def paths(self):
        path = self.draw.choice(
            ("/", "//", "/v2/../etc/passwd", "/v2/%2e%2e/x", "/v2/models/%00", "/" + "a" * 5000,
             "/v2/models/" + "a" * 3000 + "/infer", "*", "http://x/v2", "/v2?" + "q" * 3000)
        )  # fmt: skip
        method = self.draw.choice(("GET", "POST", "HEAD", "PUT", "DELETE", "BREW", "CONNECT"))
        self.say(f"{method} {path} HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n".encode())

    def repository(self):
        name = self.draw.choice(("nobody", "..", "a" * 200, "%2f"))
        verb = self.draw.choice(("load", "unload", "ready"))
        body = self.draw.choice(("", "{}", "[", '{"parameters":{"x":1}}', " " * 100_000))
        self.say(
            f"POST /v2/repository/models/{name}/{verb} HTTP/1.1\r\nHost: h\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
        )

    def tls(self):
        hello = b"\x16\x03\x01" + struct.pack(">H", self.draw.choice((10, 512, 65535)))
        self.say(hello + self.draw.randbytes(512))

    def flood(self):
        socks = []
        try:
            for _ in range(self.draw.randrange(10, FLOOD_MAX)):
                socks.append(self.dial())
            for sock in socks:
                sock.sendall(self.good()[: self.draw.randrange(100)])
            time.sleep(0.1)
        finally:
            for sock in socks:
                sock.close()

    def run(self, control):
        counts = collections.Counter()
        while not control.is_over.is_set():
            if not control.is_allowed.wait(0.1):
                continue
            kind = self.draw.choice(KINDS)
            with control.busy.get_lock():
                control.busy.value += 1
            try:
                getattr(self, kind)()
            except OSError:
                pass  # It was thrown out, or was too slow for itself.
            finally:
                with control.busy.get_lock():
                    control.busy.value -= 1
            counts[kind] += 1
        return counts


KINDS = (
    "garbage", "mangled", "split", "hang_up", "hang_up_on_the_answer", "read_slowly",
    "write_slowly", "numbers", "deep", "bombs", "texts", "pipeline", "lengths", "chunks", "heads",
    "paths", "repository", "tls", "flood",
)  # fmt: skip


def png_chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, *chunks):
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header) + b"".join(chunks)
        + png_chunk(b"IDAT", zlib.compress(bytes(2))) + png_chunk(b"IEND", b"")
    )  # fmt: skip


@functools.cache  # Made once: who makes it should not be what takes time.
def png_bomb():
    """One pixel, and a text of 64 MB beside it."""
    packer = zlib.compressobj(9)
    zeros = b"".join(packer.compress(bytes(1 << 20)) for _ in range(64)) + packer.flush()
    return png(1, 1, png_chunk(b"zTXt", b"a\x00\x00" + zeros))


def png_wide():
    return png(2**31 - 1, 2**31 - 1)


def flac_bomb():
    """A head that speaks of hours at the highest rate, and nothing behind it."""
    rate, channels, bits, total = 655_350, 8, 24, 2**36 - 1
    packed = rate << 44 | (channels - 1) << 41 | (bits - 1) << 36 | total
    info = struct.pack(">HH", 4096, 4096) + bytes(6) + packed.to_bytes(8, "big") + bytes(16)
    return b"fLaC" + struct.pack(">I", 0x80 << 24 | len(info)) + info + bytes(1000)


class Control:
    """What tells hostile processes when to act, and how many of them do."""

    def __init__(self):
        self.is_allowed, self.is_over = multiprocessing.Event(), multiprocessing.Event()
        self.busy = multiprocessing.Value("i", 0)


def be_hostile(address, inputs, seed, number, control, results):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    png_bomb()
    all_hostile = [Hostile(address, inputs, seed, number + i) for i in range(THREADS)]
    counts = []
    threads = [
        threading.Thread(target=lambda one=one: counts.append(one.run(control)))
        for one in all_hostile
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    results.put(sum(counts, collections.Counter()))


class Hostiles:
    """All hostile processes."""

    def __init__(self, server, given, inputs):
        self.control, self.results = Control(), multiprocessing.Queue()
        self.processes = [
            multiprocessing.Process(
                target=be_hostile,
                args=(server.address, inputs, given.seed, number * THREADS, self.control,
                      self.results),
                daemon=True,
            )
            for number in range(given.hostile)
        ]  # fmt: skip
        for process in self.processes:
            process.start()

    def allow(self, is_allowed):
        """Let them act, or wait until none does."""
        if is_allowed:
            self.control.is_allowed.set()
            return
        self.control.is_allowed.clear()
        end = time.monotonic() + 10 * ACTION_S
        while self.control.busy.value > 0 and time.monotonic() < end:
            time.sleep(0.02)

    def end(self):
        """How often they did what."""
        self.control.is_over.set()
        counts = collections.Counter()
        for _ in self.processes:
            counts += self.results.get(timeout=60)
        for process in self.processes:
            process.join(timeout=10)
        return counts


def quantile(latencies, share):
    return latencies[min(len(latencies) - 1, int(share * len(latencies)))] if latencies else 0.0


def p99_ratio(seen):
    before, after = (quantile(seen[kind][1], 0.99) for kind in (ALONE, BESIDE))
    return after / before if before > 0 else 0.0


def print_table(seen, counts, server, resident):
    alone, beside = seen[ALONE], seen[BESIDE]
    rows = [("", "alone", "beside", "ratio")]
    for end in ("good", "refused", "broken", "wrong"):
        rows.append((f"{end} requests", str(alone[0][end]), str(beside[0][end]), ""))
    for share in (0.5, 0.99):
        before, after = (quantile(latencies, share) for latencies in (alone[1], beside[1]))
        ratio = f"{after / before:.2f}" if before > 0 else ""
        rows.append((f"p{share * 100:.0f}, ms", f"{before * 1e3:.2f}", f"{after * 1e3:.2f}", ratio))
    rows.append(("resident, MB", f"{resident[0]:.0f}", f"{resident[1]:.0f}", ""))
    for row in rows:
        print("{:<18}{:>10}{:>10}{:>8}".format(*row))
    print(f"\n{sum(counts.values())} hostile actions:")
    for kind in KINDS:
        print(f"  {kind:<24}{counts[kind]:>8}")
    print(f"\nserver: {'alive' if server.is_alive() else 'DEAD'}", flush=True)


def main():
    given = arguments()
    server = Server(given)
    workflows = Workflows(server.address)
    path = f"/v2/models/{workflows.preferred(given.workflow)}/infer"
    requests = []
    for inputs in good_inputs(given):
        status, body = ask(server.address, "POST", path, json.dumps({"inputs": inputs}))
        if status != 200:
            sys.exit(f"hostile: {path}: {status} {body[:200]}")
        requests.append((inputs, json.loads(body)["outputs"]))
    hostiles = Hostiles(server, given, workflows.inputs)
    before = server.resident_mb()
    slices = Slices(hostiles, given.seconds)
    seen, notes = run_good(server.address, path, requests, given.good, slices)
    counts = hostiles.end()
    resident = before, server.resident_mb()
    print_table(seen, counts, server, resident)
    problems = []
    for ends, _ in seen.values():
        if ends["wrong"] + ends["broken"] > 0 or ends["good"] == 0:
            problems.append(f"good clients: {dict(ends)}: {notes[:5]}")
    if given.ratio is not None and p99_ratio(seen) > given.ratio:
        problems.append(f"p99 grew {p99_ratio(seen):.2f} times, more than {given.ratio}")
    if not server.is_alive():
        problems.append("the server is dead")
    elif ask(server.address, "GET", "/v2/health/ready")[0] != 200:
        problems.append("the server is not ready")
    problem = server.end()
    if server.process is not None and given.program == "echo":
        print("".join(server.last), end="")
    problems += [f"the server: {problem}"] if problem else []
    for problem in problems:
        print(f"hostile: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
