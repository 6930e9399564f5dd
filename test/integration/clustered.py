"""A cluster of `weft serve` processes on this machine, and clients that check every answer."""

import http.client
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import time
import urllib.request

import onnx_models
from operated import LIMIT, WEFT, Server
from ports import free_ports

WIDTH = 256
WORKFLOW = f"""workflow: twice
inputs: {{x: {{dtype: FP32, shape: [-1, {WIDTH}]}}}}
tasks:
  first: {{model: deep, in: {{x: inputs.x}}}}
  second: {{model: deep, in: {{x: first.y}}}}
outputs: {{y: second.y}}
"""
SETTINGS = """weft: clustered
members: [a, b, c]
workers: 1
memory: 200MB
device: cpu
policy: {place: jit}
admission: off
isolate: false
"""


def write_repository(folder, settings=SETTINGS):
    """A model that takes some milliseconds, and a workflow that runs it twice."""
    path = folder / "deep/1/model.onnx"
    path.parent.mkdir(parents=True)
    path.write_bytes(onnx_models.layers(WIDTH, 8))
    (folder / "twice.workflow.yaml").write_text(WORKFLOW, encoding="utf-8")
    (folder / "weft.yaml").write_text(settings, encoding="utf-8")


def openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def sign(folder, authority, name):
    """A certificate in the name of a node: NAME.pem and NAME.key in @folder."""
    openssl(folder, "req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key",
            "-out", f"{name}.csr", "-subj", f"/CN={name}")  # fmt: skip
    (folder / "names").write_text(f"subjectAltName=DNS:{name}\n")
    openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.pem",
            "-CAkey", f"{authority}.key", "-CAcreateserial", "-days", "2",
            "-extfile", "names", "-out", f"{name}.pem")  # fmt: skip


def make_authority(folder, authority):
    openssl(folder, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
            "-keyout", f"{authority}.key", "-out", f"{authority}.pem",
            "-subj", f"/CN={authority}")  # fmt: skip


class Cluster:
    """Nodes by name, each a process; its folder is removed after @test."""

    has_certificates = False  # Or a secret.
    net = "auto"

    def __init__(self, test, directory=None):
        holder = tempfile.TemporaryDirectory()
        test.addCleanup(holder.cleanup)
        self.test = test
        self.root = pathlib.Path(holder.name)
        self.folder = self.root / "repository"
        self.directory = directory or f"file:{self.root / 'members'}"
        self.secret = self.root / "secret"
        self.secret.write_text("a secret that only these processes know")
        write_repository(self.folder)
        self.nodes = {}

    def arguments(self, name):
        where = ["--cluster", self.directory, "--node", name, "--cluster-net", self.net]
        if self.has_certificates:
            return [*where, "--cluster-cert", str(self.root / f"{name}.pem"), "--cluster-key",
                    str(self.root / f"{name}.key"), "--cluster-ca",
                    str(self.root / "ca.pem")]  # fmt: skip
        return [*where, "--cluster-secret-file", str(self.secret)]

    def launch(self, name, *more, folder=None, **options):
        server = Server(folder or self.folder, *self.arguments(name), *more,
                        cache=self.root / "cache", **options)  # fmt: skip
        self.test.addCleanup(server.kill)
        self.nodes[name] = server
        return server

    def members(self):
        """What the directory and the members say, by name."""
        text = subprocess.run(
            [WEFT, "cluster", self.directory, "--json"],
            check=True, capture_output=True, timeout=LIMIT,
        ).stdout  # fmt: skip
        return {member["node"]: member for member in json.loads(text)["members"]}

    def pretend(self, name, incarnation=1, **said):
        """Be in the directory under @name, and say @said there, until the test has ended."""
        said = {"address": "", "http": "", "version": "0", "agreement": "0", "beat": 1} | said
        path = self.root / f"members/{name}.{incarnation}.member"
        ends = threading.Event()

        def keep():
            while not ends.wait(0.2):
                said["beat"] += 1
                path.with_name(".kept").write_text(json.dumps(said))
                path.with_name(".kept").rename(path)

        path.write_text(json.dumps(said))
        thread = threading.Thread(target=keep, daemon=True)
        thread.start()
        self.test.addCleanup(thread.join)
        self.test.addCleanup(ends.set)

    def bench_while_killed(self, name, urls, *options):
        """Node @name is killed while `weft bench` asks @urls: what came of its requests."""
        bench = subprocess.Popen(
            [WEFT, "bench", urls, "twice", "--rate", "40", "--json", *options],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        time.sleep(2.5)
        self.nodes[name].process.kill()
        counts = json.loads(bench.communicate(timeout=LIMIT)[0])["requests"]
        self.test.assertEqual(counts["good"], counts["due"], counts)
        return counts

    def drain(self, name):
        """Ask @name to leave, and wait for it."""
        drained = subprocess.run(
            [WEFT, "drain", self.directory, name],
            capture_output=True, text=True, timeout=2 * LIMIT,
        )  # fmt: skip
        self.test.assertEqual(drained.stdout, f"{name} has left\n", drained.stderr)

    def launch_all(self, *names):
        for name in names:
            self.launch(name, wait=not self.nodes)  # The first measures for all.
        for name in names:
            self.nodes[name].wait_until_ready()
        for name in names:
            for other in names:
                if other != name:
                    self.nodes[name].logged(f"event=member node={other} ")

    def wait_until_connected(self, *names):
        """Until each of @names has heard of the workers of all of them."""
        end = time.monotonic() + LIMIT
        for name in names:
            heard = set()
            while len(heard) < len(names):
                if time.monotonic() > end:
                    raise AssertionError(f"{name} has heard only of {heard}")
                workers = json.loads(self.nodes[name].ask("GET", "/v2/cluster")[2])["workers"]
                heard = {one["node"] for one in workers if one["incarnation"] > 0}


def request(value):
    row = [value] + [0] * (WIDTH - 1)
    given = {"name": "x", "datatype": "FP32", "shape": [1, WIDTH], "data": row}
    return json.dumps({"inputs": [given]})


def post(address, value, headers=None, limit_s=LIMIT, silent=None):
    """(status, outputs or text, headers) for @value; None if the connection broke.

    A connection on which nothing came for @limit_s is put to @silent, if that is a list: a server
    whose client leaves may drop the request.
    """
    connection = http.client.HTTPConnection(*address, timeout=limit_s)
    try:
        connection.request("POST", "/v2/models/twice/infer", request(value), headers or {})
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
    except (OSError, http.client.HTTPException) as cause:
        if isinstance(cause, TimeoutError) and silent is not None:
            silent.append(connection)
        else:
            connection.close()
        return None
    got = json.loads(text)["outputs"][0]["data"] if response.status == 200 else text
    return response.status, got, dict(response.getheaders())


def infer(address, value):
    """The output for @value; None if the connection broke, or the server asks to go elsewhere."""
    status, got, _ = post(address, value) or (503, None, None)
    if status == 503:
        return None
    if status != 200:
        raise AssertionError(f"{status}: {got}")
    return got


def ask_once(address, value, key, attempt, limit_s=LIMIT, silent=None):
    """Status and outputs, or text, of one request; None if the connection broke."""
    headers = {"Idempotency-Key": key, "weft-attempt": str(attempt)}
    status, got, _ = post(address, value, headers, limit_s, silent) or (None, None, None)
    return status, got


def ask_with_key(addresses, value, key, limit_s=60.0):
    """Ask one address after the other with @key until one answers: (answer, headers, attempts).

    What is not an answer of its own right, 503 or a lost connection, is asked for again.
    """
    end = time.monotonic() + limit_s
    attempt = 0
    while time.monotonic() < end:
        address = addresses[attempt % len(addresses)]
        attempt += 1
        headers = {"Idempotency-Key": key, "weft-attempt": str(attempt)}
        status, got, heads = post(address, value, headers) or (503, None, None)
        if status == 200:
            return got, heads, attempt
        if status != 503:
            raise AssertionError(f"{status}: {got}")
        time.sleep(0.05)
    raise AssertionError(f"no answer for {key} after {attempt} attempts")


class Load:
    """Clients that ask one node each, in a closed loop, and compare what they get."""

    def __init__(self, servers, per_server=3):
        self.expected = {value: infer(servers[0].address, value) for value in range(4)}
        self.ends = threading.Event()
        self.good = {id(server): 0 for server in servers}
        self.broken = {id(server): 0 for server in servers}
        self.wrong = []
        self.threads = [
            threading.Thread(target=self.ask, args=(server, i), daemon=True)
            for server in servers for i in range(per_server)
        ]  # fmt: skip
        for thread in self.threads:
            thread.start()

    def ask(self, server, value):
        while not self.ends.is_set():
            value = (value + 1) % len(self.expected)
            try:
                answer = infer(server.address, value)
            except AssertionError as wrong:
                self.wrong.append(str(wrong))
                continue
            if answer is None:
                self.broken[id(server)] += 1
                time.sleep(0.05)
            elif answer != self.expected[value]:
                self.wrong.append(f"{answer[:3]} for {value}")
            else:
                self.good[id(server)] += 1

    def wait_for(self, server, count):
        """Until @server has answered @count more requests well."""
        target = self.good[id(server)] + count
        end = time.monotonic() + LIMIT
        while self.good[id(server)] < target:
            if time.monotonic() > end:
                raise AssertionError(f"{self.good} {self.broken} {self.wrong[:3]} {server.log}")
            time.sleep(0.02)

    def stop(self):
        self.ends.set()
        for thread in self.threads:
            thread.join(timeout=LIMIT)


def busy_seconds(server):
    return {
        int(worker): float(value)
        for worker, value in re.findall(
            r'weft_worker_busy_seconds_total\{worker="(\d+)"\} (\S+)', server.metrics()
        )
    }


class Etcd:
    """An etcd of @count members, in folders of their own; none of it is left after @test."""

    PROGRAM = shutil.which("etcd")

    def __init__(self, test, address="127.0.0.1", count=1):
        holder = tempfile.TemporaryDirectory()
        test.addCleanup(holder.cleanup)
        self.address = address
        self.folder = holder.name
        ports = free_ports(2 * count)
        self.clients, self.peers = ports[:count], ports[count:]
        self.processes = [None] * count
        test.addCleanup(self.kill)
        self.start()

    def url(self, i):
        return f"http://{self.address}:{self.clients[i]}"

    def launch(self, i):
        peer = f"http://127.0.0.1:{self.peers[i]}"
        cluster = ",".join(f"m{k}=http://127.0.0.1:{port}" for k, port in enumerate(self.peers))
        self.processes[i] = subprocess.Popen(
            [self.PROGRAM, "--name", f"m{i}", "--data-dir", f"{self.folder}/data{i}",
             "--listen-client-urls", self.url(i), "--advertise-client-urls", self.url(i),
             "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
             "--initial-cluster", cluster, "--unsafe-no-fsync"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def start(self):
        """Start the members that do not run, and wait until all answer."""
        for i, process in enumerate(self.processes):
            if process is None:
                self.launch(i)
        end = time.monotonic() + LIMIT
        for i in range(len(self.processes)):
            while not self.is_healthy(i):
                if time.monotonic() > end:
                    raise AssertionError("etcd does not answer")
                time.sleep(0.1)

    def is_healthy(self, i):
        try:
            urllib.request.urlopen(self.url(i) + "/health", timeout=2).read()
            return True
        except OSError:
            return False

    def kill(self):
        for i in range(len(self.processes)):
            self.kill_one(i)

    def kill_one(self, i):
        if self.processes[i] is not None:
            self.processes[i].kill()
            self.processes[i].wait()
            self.processes[i] = None

    def wipe(self):
        """Forget everything; no member runs."""
        for i in range(len(self.processes)):
            shutil.rmtree(f"{self.folder}/data{i}")

    def leader(self):
        """The number of the member that leads."""
        for i in range(len(self.processes)):
            status = self.call("maintenance/status", i)
            if status["leader"] == status["header"]["member_id"]:
                return i
        return 0

    def call(self, path, member=0, **body):
        asked = urllib.request.Request(f"{self.url(member)}/v3/{path}", json.dumps(body).encode())
        return json.loads(urllib.request.urlopen(asked, timeout=LIMIT).read())

    def compact(self):
        """Forget every revision but the last."""
        last = self.call("kv/range", key="AA==")["header"]["revision"]
        self.call("kv/compaction", revision=last, physical=True)

    @property
    def directory(self):
        return "etcd://" + ",".join(f"{self.address}:{port}" for port in self.clients)
