#!/usr/bin/env python3
"""Break a cluster at random while clients check every answer, and say what was seen.

Each host is a network namespace with an address of its own, if this user may make some; otherwise
all are on 127.0.0.1, and links stay as they are. The seed decides what is broken, when and for how
long. Clients give their requests keys and ask again, at the next host, until they have an answer.
Packets are lost and delayed by spoiled_link.py; the real-time clock of one host steps by
test/fakes/stepped_clock.c, since namespaces share the machine's.

usage: campaign.py [--seconds N] [--seed N] [...]

Settings, in the environment: WEFT (build/weft).
"""

import http.client
import json
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tools")]

import clustered  # noqa: E402
import onnx_models  # noqa: E402
import test_cluster_functions as functions  # noqa: E402
import usage  # noqa: E402
from operated import LIBRARY, LIMIT, WEFT, Server  # noqa: E402

WHOLE_S = 60  # Until all nodes have to see each other again, and clients have their answers.
ANSWER_S = 4  # How long a client waits for a host before it asks the next, too: as `weft infer`.
LATE_S = 5  # A lease and a second run hardly take so long: something may have been lost.
HEARD_S = 0.2  # A line of a log may be read so much later than it was written.
AFTER_S = 2  # After a verdict latencies are looked at for so long.
AGAIN = 7  # Every so many requests are asked for twice.
SLOW = 4  # An answer is slow if it takes so many times the 99th percentile while all is well.

# Kinds of events: methods of Campaign, in the order in which each comes once, with what it needs.
KINDS = {
    "kill": lambda campaign: True,
    "stop": lambda campaign: True,
    "drain": lambda campaign: True,
    "no_directory": lambda campaign: True,
    "cut": lambda campaign: campaign.has_links,
    "split": lambda campaign: campaign.has_links,
    "loss": lambda campaign: campaign.has_links and campaign.network.can_spoil(),
    "delay": lambda campaign: campaign.has_links and campaign.network.can_spoil(),
    "clock": lambda campaign: CLOCK.exists(),
    "compact": lambda campaign: campaign.etcd is not None,
    "wipe": lambda campaign: campaign.etcd is not None,
    "full_disk": lambda campaign: campaign.has_disk,
    "kill_two": lambda campaign: len(campaign.names) > 2,
    "version": lambda campaign: len(campaign.names) > 1,
    "function": lambda campaign: len(campaign.names) > 1 and campaign.has_function,
    "roll": lambda campaign: True,
    "lead": lambda campaign: campaign.etcd is not None and campaign.options.etcds > 2,
}

WORKFLOW = clustered.WORKFLOW.replace(
    "outputs: {y: second.y}",
    "  third: {function: scale.times, in: {x: second.y}}\noutputs: {y: third.y}",
)
SPOILED_LINK = str(pathlib.Path(__file__).resolve().parent / "spoiled_link.py")


def percentile(values, share):
    return sorted(values)[len(values) * share // 100] if values else 0.0


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: {done.stderr}")


CLOCK = pathlib.Path(WEFT).resolve().parent / "stepped_clock.so"


class Network:
    """Namespaces on one bridge; hosts are numbered from 1, this process is the gateway."""

    def __init__(self, count):
        self.tag = f"wc{os.getpid() % 100000}"
        self.base = f"10.{100 + os.getpid() % 100}.{os.getpid() // 100 % 250}"
        self.names = []
        try:
            run("ip", "link", "add", self.tag, "type", "bridge")
            run("ip", "addr", "add", f"{self.base}.254/24", "dev", self.tag)
            run("ip", "link", "set", self.tag, "up")
            for i in range(1, count + 1):
                self.add(i)
        except Exception:
            self.close()
            raise

    def add(self, i):
        name, link = f"{self.tag}n{i}", f"{self.tag}v{i}"
        run("ip", "netns", "add", name)
        self.names.append(name)
        run("ip", "link", "add", link, "type", "veth", "peer", "name", "e0", "netns", name)
        run("ip", "link", "set", link, "master", self.tag, "up")
        run("ip", "-n", name, "addr", "add", f"{self.base}.{i}/24", "dev", "e0")
        run("ip", "-n", name, "link", "set", "e0", "up")
        run("ip", "-n", name, "link", "set", "lo", "up")
        if self.can_spoil():
            run(*self.prefix(i), sys.executable, SPOILED_LINK, "--plain", "e0")
            ignore = pathlib.Path(f"/proc/sys/net/ipv4/conf/{link}/arp_ignore")
            ignore.write_text("1", encoding="utf-8")  # Only the bridge answers for this process.

    @staticmethod
    def is_possible():
        if os.geteuid() != 0 or shutil.which("ip") is None:
            return False
        name = f"wcprobe{os.getpid()}"
        made = subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False)
        if made.returncode == 0:
            run("ip", "netns", "del", name)
        return made.returncode == 0

    def address(self, i):
        return f"{self.base}.{i}"

    def prefix(self, i):
        return ["ip", "netns", "exec", self.names[i - 1]]

    def spoil(self, i, for_s, how):
        """Carry what host @i sends and is sent by hand, with the options @how."""
        link, tap = f"{self.tag}v{i}", f"{self.tag}t{i}"
        with subprocess.Popen(
            [sys.executable, SPOILED_LINK, link, tap, *how],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        ) as carrier:  # fmt: skip
            if carrier.stdout.readline() != "ready\n":
                raise AssertionError("no packets can be carried")
            run("ip", "link", "set", tap, "master", self.tag, "up")
            run("ip", "link", "set", link, "nomaster")
            time.sleep(for_s)
            run("ip", "link", "set", link, "master", self.tag)
            carrier.stdin.close()  # It ends, and its interface with it.

    @staticmethod
    def can_spoil():
        return os.path.exists("/dev/net/tun")

    def cut(self, i, is_cut):
        run("ip", "link", "set", f"{self.tag}v{i}", "down" if is_cut else "up")

    def split(self, side, is_split):
        """What hosts of @side and the others send each other is lost; this process, and a
        directory here, reach all."""
        others = [i for i in range(1, len(self.names) + 1) if i not in side]
        change = ["replace"] if is_split else ["del"]
        nowhere = ["lladdr", "02:00:00:00:00:00", "nud", "permanent"] if is_split else []
        for host, peer in [(a, b) for a in side for b in others]:
            for at, to in ((host, peer), (peer, host)):
                run("ip", "-n", self.names[at - 1], "neigh", *change, self.address(to), *nowhere,
                    "dev", "e0")  # fmt: skip

    def close(self):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
        subprocess.run(["ip", "link", "del", self.tag], capture_output=True, check=False)


class Alone:
    """The same without namespaces."""

    def address(self, _):
        return "127.0.0.1"

    def prefix(self, _):
        return []

    def close(self):
        pass


class Watch:
    """The time in which this process ran. Something may stop all processes of a campaign together,
    such as a control group that is frozen: that says nothing about any of them."""

    LATE_S = 3  # On a machine that is only busy, no process waits so long for its turn.

    def __init__(self):
        self.lock = threading.Lock()
        self.last = time.monotonic()
        self.stood_s = 0.0
        self.stops = 0
        threading.Thread(target=self.tick, daemon=True).start()

    def tick(self):
        while True:
            self.now()
            time.sleep(0.1)

    def now(self):
        with self.lock:
            now = time.monotonic()
            if now - self.last > self.LATE_S:
                self.stood_s += now - self.last
                self.stops += 1
            self.last = now
            return now - self.stood_s


class Holder:
    """What Cluster and Etcd want of a test."""

    def __init__(self):
        self.cleanups = []

    def addCleanup(self, call, *arguments):  # noqa: N802
        self.cleanups.append((call, arguments))

    def close(self):
        for call, arguments in reversed(self.cleanups):
            call(*arguments)


class Host(Server):
    """`weft serve` on host @number."""

    def __init__(self, timer, network, number, folder, arguments, cache, clock):
        self.timer = timer
        self.number = number
        self.network = network
        self.verdicts = []  # When it said of which node that it is lost.
        address = network.address(number)
        self.process = subprocess.Popen(
            [*network.prefix(number), os.path.abspath(WEFT), "serve", str(folder),
             "--http", f"{address}:0", "--metrics", "none", "--listen-cluster", f"{address}:0",
             "--plain", *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=dict(os.environ, WEFT_ONNXRUNTIME=str(LIBRARY.resolve()), WEFT_CACHE=str(cache),
                     **clock),
        )  # fmt: skip
        self.watch()

    def gather(self, stream, lines):
        super().gather(self.timed(stream), lines)

    def timed(self, stream):
        """The lines of @stream, and when losses are heard of."""
        for line in stream:
            lost = re.search(r'event="member lost" node=(\w+)', line)
            if lost:
                self.verdicts.append((self.timer.now(), lost[1]))
            yield line

    def wait_for(self, lines, pattern):
        while True:
            stops = self.timer.stops
            try:
                return super().wait_for(lines, pattern)
            except AssertionError:
                if self.timer.stops == stops or self.open_streams == 0:
                    raise

    def wait_until_ready(self):
        line = self.wait_for(self.out, r"^listening on http://(\S+):(\d+)")
        self.address = (line[1], int(line[2]))

    def last_address(self):
        """Where it listens: after a second life, somewhere else."""
        found = [re.search(r"^listening on http://(\S+):(\d+)", line) for line in list(self.out)]
        found = [match for match in found if match]
        return (found[-1][1], int(found[-1][2]))


class Campaign:
    def __init__(self, options):
        self.draw = random.Random(options.seed)
        self.watch = Watch()
        self.now = self.watch.now
        self.options = options
        self.holder = Holder()
        self.names = [f"h{i}" for i in range(1, options.hosts + 1)]
        self.hosts = {}
        self.former_logs = {}
        self.broken = 0  # How often something was broken so far.
        self.is_whole = True
        self.is_changing = False
        self.counts = {"good": 0, "asked again": 0, "asked twice": 0, "run again": 0}
        self.worst_s = 0.0
        self.worst_calm_s = 0.0  # Of those that nothing was broken for.
        self.answers = []  # When each came, and how long the attempt took.
        self.calm_s = []  # How long attempts took while all was well.
        self.recoveries = []  # Of each event with a verdict.
        self.wrong = []
        self.versions = []  # The right answers by value, for each that all have had.
        self.files = {"deep": 1, "scale": 1}  # The newest version of the model and of the function.
        self.early = []  # Answers that may be of the version that comes, with their values.
        self.lock = threading.Lock()
        self.ends = threading.Event()
        self.has_links = Network.is_possible() and not options.loopback
        self.network = Network(options.hosts) if self.has_links else Alone()
        self.holder.addCleanup(self.network.close)
        folder = tempfile.TemporaryDirectory()
        self.holder.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.secret = self.root / "secret"
        self.secret.write_text("what only these hosts know")
        self.cache = self.root / "cache"
        self.cache.mkdir()
        self.has_disk = self.has_links and self.mount_cache()
        clustered.write_repository(
            self.root / "repository",
            clustered.SETTINGS.replace("[a, b, c]", f"[{', '.join(self.names)}]"),
        )
        self.has_function = shutil.which("cc") is not None
        if self.has_function:
            self.put_function()
            (self.root / "repository/twice.workflow.yaml").write_text(WORKFLOW, encoding="utf-8")
        self.etcd = None
        if clustered.Etcd.PROGRAM:
            address = f"{self.network.base}.254" if self.has_links else "127.0.0.1"
            self.etcd = clustered.Etcd(self.holder, address, options.etcds)
            self.directory = self.etcd.directory
        else:
            self.directory = f"file:{self.root / 'members'}"

    def mount_cache(self):
        """Give the hosts a disk that can be full."""
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m", "none", str(self.cache)],
                              capture_output=True, check=False)  # fmt: skip
        if done.returncode == 0:
            self.holder.addCleanup(run, "umount", "-l", str(self.cache))
        return done.returncode == 0

    def say(self, text):
        if not self.options.quiet:
            print(f"{self.now() - self.began:7.1f} s  {text}", flush=True)

    def trust_of(self, name):
        """A secret, or a certificate of its own."""
        if not self.options.tls:
            return ["--cluster-secret-file", str(self.secret)]
        if not (self.root / "ca.pem").exists():
            clustered.make_authority(self.root, "ca")
        if not (self.root / f"{name}.pem").exists():
            clustered.sign(self.root, "ca", name)
        return ["--cluster-cert", str(self.root / f"{name}.pem"), "--cluster-key",
                str(self.root / f"{name}.key"), "--cluster-ca",
                str(self.root / "ca.pem")]  # fmt: skip

    def clock_of(self, name):
        """What makes the real-time clock of a host its own, if that was built."""
        if not CLOCK.exists():
            return {}
        file = self.root / f"{name}.clock"
        if not file.exists():
            file.write_bytes(struct.pack("q", 0))
        return {"LD_PRELOAD": str(CLOCK), "STEPPED_CLOCK": str(file)}

    def launch(self, name):
        if name in self.hosts:
            self.former_logs.setdefault(name, []).extend(self.hosts[name].log)
        arguments = ["--cluster", self.directory, "--node", name, "--cluster-net",
                     self.options.net, *self.trust_of(name)]  # fmt: skip
        if self.options.traces:
            folder = pathlib.Path(self.options.traces)
            folder.mkdir(parents=True, exist_ok=True)
            life = len(list(folder.glob(f"{name}-*.jsonl"))) + 1
            arguments += ["--trace", str(folder / f"{name}-{life}.jsonl")]
        host = Host(self.watch, self.network, self.names.index(name) + 1, self.root / "repository",
                    arguments, self.cache, self.clock_of(name))  # fmt: skip
        self.hosts[name] = host
        host.wait_until_ready()

    def listed(self):
        """All members, as the directory and they themselves say; none if it is away."""
        command = [WEFT, "cluster", self.directory, "--json"]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=LIMIT, check=False
        )
        return json.loads(done.stdout or '{"members": []}')["members"]

    def members(self):
        """Incarnations by name."""
        return {member["node"]: str(member["incarnation"]) for member in self.listed()}

    def wait_until_whole(self):
        """Every node has been told of the present incarnation of every other."""
        end = self.now() + WHOLE_S
        while self.now() < end:
            members = self.members()
            if set(members) == set(self.names) and all(
                self.heard_by(name) == members for name in self.names
            ):
                return
            time.sleep(0.2)
        logs = "\n".join(f"{name}: {line}" for name in self.names
                         for line in self.hosts[name].log[-12:])  # fmt: skip
        raise AssertionError(f"not whole after {WHOLE_S} s: {self.members()}\n{logs}")

    def heard_by(self, name):
        """Whose rows host @name has, with the incarnations that they are of. Not by its log, which
        cuts short what comes at once."""
        try:
            workers = self.asked(name)
        except (OSError, IndexError, http.client.HTTPException):
            return {}  # It is not ready.
        return {self.names[worker["node"]]: str(worker["incarnation"]) for worker in workers}

    def asked(self, name):
        """The workers that host @name knows of."""
        host, port = self.hosts[name].last_address()
        text = urllib.request.urlopen(f"http://{host}:{port}/v2/cluster", timeout=5).read()
        return json.loads(text)["workers"]

    def addresses(self, first):
        """Where all hosts listen now, the one with number @first before the others."""
        order = self.names[first:] + self.names[:first]
        found = []
        for name in order:
            try:
                found.append(self.hosts[name].last_address())
            except IndexError:  # It has not said so yet.
                pass
        return found

    def ask(self, first, client):
        """A client that prefers the host with number @first."""
        number = 0
        while not self.ends.is_set():
            number += 1
            version = len(self.versions) - 1
            value = (client + number) % len(self.versions[0])
            before, was_whole, began = self.broken, self.is_whole, self.now()
            attempts, took_s = 0, 0.0
            try:
                key = f"{first}-{client}-{number}"
                answer, attempts = self.ask_until_answered(first, value, key)
                took_s = self.now() - began
                if number % AGAIN == 0:
                    self.ask_for_the_same(first + 1, value, key, answer)
            except (AssertionError, http.client.HTTPException) as wrong:
                answer, took_s = str(wrong), self.now() - began
            with self.lock:
                self.counts["asked again"] += attempts > 1
                self.worst_s = max(self.worst_s, took_s)
                if was_whole and self.broken == before:
                    self.worst_calm_s = max(self.worst_calm_s, took_s)
                if answer in [expected[value] for expected in self.versions[version:]]:
                    self.counts["good"] += 1
                elif self.is_changing and isinstance(answer, list):
                    self.early.append((value, answer))
                else:
                    self.wrong.append(f"{first} after {took_s:.2f} s: {str(answer)[:1000]}")

    def ask_for_the_same(self, first, value, key, answer):
        """Another host gives the same answer. If owner or deputy have gone it may run again, by
        another version if that comes at the same time; it is right all the same."""
        broken, was_whole = self.broken, self.is_whole
        again, _ = self.ask_until_answered(first % len(self.names), value, key, attempt=1)
        with self.lock:
            self.counts["asked twice"] += 1
            self.counts["run again"] += again != answer
            if again != answer and was_whole and broken == self.broken:
                self.wrong.append(f"{key}: {str(answer)[:80]}, and later {str(again)[:80]}")

    def ask_until_answered(self, first, value, key, attempt=0):
        """The answer and the number of attempts; the hosts' addresses may change meanwhile."""
        silent = []
        try:
            return self.ask_in_turn(first, value, key, attempt, silent)
        finally:
            for connection in silent:
                connection.close()

    def ask_in_turn(self, first, value, key, attempt, silent):
        """The host with number @first is asked first, as attempt @attempt, from 0."""
        end = self.now() + WHOLE_S
        before = attempt
        trail = []
        while self.now() < end:
            addresses = self.addresses(first)
            is_calm, began = self.is_whole, self.now()
            address = addresses[(attempt - before) % len(addresses)]
            status, data = clustered.ask_once(
                address, value, key, attempt + 1, ANSWER_S, silent
            )
            attempt += 1
            trail.append(f"{address[0]}:{address[1]} {status} {self.now() - began:.1f} s")
            if status == 200:
                self.note(began, is_calm)
                if end - self.now() < WHOLE_S - LATE_S:
                    self.say(f"    late: {key}: {', '.join(trail[:9])}")
                return data, attempt - before
            if status not in (None, 503):
                raise AssertionError(f"{status}: {data}")
            time.sleep(0.05)
        raise AssertionError(f"no answer to {key}: {', '.join(trail)}")

    def note(self, began, was_calm):
        now = self.now()
        with self.lock:
            self.answers.append((now, now - began))
            if was_calm and self.is_whole:
                self.calm_s.append(now - began)

    def recovery(self, since):
        """Of what was broken at @since, in seconds after the last verdict: when the first answer
        came to what had waited for it, when the last; and of the answers to what was asked in
        AFTER_S from then on, the share that was slow. None: no node was lost."""
        first = {}
        for host in list(self.hosts.values()):
            for at, node in list(host.verdicts):
                if at > since:
                    first[node] = min(at, first.get(node, at))
        if not first:
            return None
        verdict = max(first.values())
        with self.lock:
            slow_s = SLOW * percentile(self.calm_s, 99)
            came = [(at - verdict, took_s) for at, took_s in self.answers]
        waited = [max(at, 0.0) for at, took_s in came
                  if at - took_s < 0 and at > -HEARD_S and took_s > slow_s]  # fmt: skip
        asked = [took_s > slow_s for at, took_s in came if 0 <= at - took_s < AFTER_S]
        share = sum(asked) / len(asked) if asked else 0.0
        return (min(waited, default=0.0), max(waited, default=0.0), share)

    def begin(self):
        self.began = self.now()
        for name in self.names:
            self.launch(name)
        self.wait_until_whole()
        self.versions.append(self.outputs(self.names[0]))
        self.threads = [
            threading.Thread(target=self.ask, args=(first, i), daemon=True)
            for first in range(len(self.names)) for i in range(self.options.clients)
        ]  # fmt: skip
        for thread in self.threads:
            thread.start()

    def outputs(self, name):
        """What host @name answers, by value; it may be about to join."""
        found = {}
        end = self.now() + WHOLE_S
        while len(found) < 4 and self.now() < end:
            value = len(found)
            answer = clustered.infer(self.hosts[name].last_address(), value)
            if answer is not None:
                found[value] = answer
        return found

    # What may happen. Each returns when it is over.

    def kill(self, name, for_s):
        self.hosts[name].process.kill()
        self.hosts[name].process.wait()
        time.sleep(for_s)
        self.launch(name)

    def stop(self, name, for_s):
        pid = self.pid_of(name)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(for_s)
        os.kill(pid, signal.SIGCONT)

    def cut(self, name, for_s):
        self.network.cut(self.names.index(name) + 1, True)
        time.sleep(for_s)
        self.network.cut(self.names.index(name) + 1, False)

    def split(self, name, for_s):
        """Hosts on two sides do not hear each other, and stay members: each keeps its lease."""
        others = [i for i in range(1, len(self.names) + 1) if self.names[i - 1] != name]
        more = self.draw.sample(others, self.draw.randrange(len(self.names) - 1))
        side = [self.names.index(name) + 1, *more]
        self.say(f"    {', '.join(self.names[i - 1] for i in side)} from the others")
        self.network.split(side, True)
        time.sleep(for_s)
        self.network.split(side, False)

    def loss(self, name, for_s):
        """Of packets of one host, in both directions."""
        share = self.draw.choice((1, 5, 20))
        self.spoil(name, for_s, "--loss", str(share), "--delay", "0.5")

    def delay(self, name, for_s):
        """Likewise; some overtake others."""
        late_ms = self.draw.choice((5, 20, 100))
        self.spoil(name, for_s, "--delay", str(late_ms), "--jitter", str(late_ms / 2))

    def spoil(self, name, for_s, *how):
        seed = str(self.draw.randrange(1 << 30))
        self.say(f"    {' '.join(how)}")
        self.network.spoil(self.names.index(name) + 1, for_s, [*how, "--seed", seed])

    def clock(self, name, for_s):
        """The real-time clock of one host steps, and later back."""
        by_s = self.draw.choice((-86400, -60, 60, 86400))
        self.say(f"    by {by_s} s")
        self.set_clock(name, by_s)
        time.sleep(for_s)
        self.set_clock(name, 0)

    def set_clock(self, name, by_s):
        with open(self.root / f"{name}.clock", "r+b") as file:
            file.write(struct.pack("q", by_s * 10**9))

    def full_disk(self, name, for_s):
        """Nothing can be written, and a host starts all the same."""
        filler = self.cache / "filler"
        with open(filler, "wb") as file:
            try:
                while True:
                    file.write(bytes(1 << 20))
                    file.flush()
            except OSError:
                pass
        self.kill(name, for_s)
        filler.unlink()

    def kill_two(self, name, for_s):
        """One that goes, and another when it is no longer a member."""
        other = self.names[(self.names.index(name) + 1) % len(self.names)]
        self.hosts[name].process.kill()
        self.hosts[name].process.wait()
        self.hosts[other].logged(f'event="member lost" node={name}')
        time.sleep(1)
        self.kill(other, for_s)
        self.launch(name)

    def drain(self, name, _):
        run(WEFT, "drain", self.directory, name)
        self.hosts[name].ended()
        self.launch(name)

    def roll(self, _, __):
        """All hosts are restarted, one after the other."""
        for name in self.names:
            self.drain(name, 0)
            self.wait_until_whole()

    def put_model(self):
        """The next version of the model: one more layer."""
        number = self.files["deep"]
        beside = self.root / "beside"
        beside.mkdir()
        (beside / "model.onnx").write_bytes(onnx_models.layers(clustered.WIDTH, 7 + number))
        beside.rename(self.root / "repository/deep" / str(number))

    def put_function(self):
        """The next version of the function: it multiplies by its number."""
        number = self.files["scale"]
        folder = self.root / "repository/functions" / (str(number) if number > 1 else "")
        functions.put(functions.build(self.root, number, named=1), folder / "scale.so")

    def version(self, name, _):
        """A new version of the model is loaded while another host is restarted."""
        self.renew(name, "deep", self.put_model)

    def function(self, name, _):
        """The same with the function."""
        self.renew(name, "scale", self.put_function)

    def renew(self, name, what, put):
        """Host @name loads a new version of @what, which @put makes, while another is restarted: no
        answer is of both, and in the end all are of the new one."""
        self.files[what] += 1
        self.is_changing = True
        put()
        before, stops = max(change for change, _, _ in self.served()), self.watch.stops
        os.kill(self.pid_of(name), signal.SIGHUP)
        self.drain(self.draw.choice([other for other in self.names if other != name]), 0)
        self.wait_until_served(name, before, stops)
        answers = [self.outputs(host) for host in self.names]
        with self.lock:
            self.versions.append(answers[0])
            self.is_changing = False
            mixed = [one for one in self.early if one[1] != answers[0][one[0]]]
            self.counts["good"] += len(self.early) - len(mixed)
            self.early.clear()
        if mixed or any(other != answers[0] for other in answers) or answers[0] in (
            self.versions[:-1]
        ):
            self.wrong.append(f"{self.files}: {str(mixed)[:200]} {str(answers)[:200]}")

    def served(self):
        """Of each member: the change it has heard of, the one it serves, and its state."""
        return [(one["change"], one["edition"], one["state"]) for one in self.listed()]

    def wait_until_served(self, name, before, stops):
        """Every member serves the newest edition, and no other; it is later than @before. If all
        stood still since @stops, all have joined again, and host @name is told of it once more."""
        end = self.now() + WHOLE_S
        said = []
        while self.now() < end:
            if self.watch.stops > stops:
                stops = self.watch.stops
                self.wait_until_whole()
                before = max(change for change, _, _ in self.served())
                os.kill(self.pid_of(name), signal.SIGHUP)
            said = self.served()
            if len(said) == len(self.names) and all(
                change == edition == said[0][0] > before and state == "ready"
                for change, edition, state in said
            ):
                return
            time.sleep(0.2)
        raise AssertionError(f"not all serve one edition after {WHOLE_S} s: {said}")

    def compact(self, name, for_s):
        """etcd forgets what was while a host does not look."""
        pid = self.pid_of(name)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(for_s)
        self.etcd.compact()
        os.kill(pid, signal.SIGCONT)

    def no_directory(self, _, for_s):
        if self.etcd is not None:
            self.etcd.kill()
            time.sleep(for_s)
            self.etcd.start()
        else:
            (self.root / "members").rename(self.root / "away")
            time.sleep(for_s)
            (self.root / "away").rename(self.root / "members")

    def wipe(self, _, for_s):
        """The directory is killed and starts again without anything that it knew."""
        self.etcd.kill()
        time.sleep(for_s)
        self.etcd.wipe()
        self.etcd.start()

    def lead(self, _, for_s):
        """The leader of the directory is killed; the others choose another."""
        leader = self.etcd.leader()
        self.etcd.kill_one(leader)
        time.sleep(for_s)
        self.etcd.start()

    def pid_of(self, name):
        return self.hosts[name].process.pid  # `ip netns exec` becomes what it runs.

    def go(self):
        """How often each kind of event came."""
        chosen = self.options.only.split(",") if self.options.only else KINDS
        kinds = [getattr(self, name) for name, is_possible in KINDS.items()
                 if name in chosen and is_possible(self)]  # fmt: skip
        tally = dict.fromkeys((kind.__name__ for kind in kinds), 0)
        count = 0
        end = self.now() + self.options.seconds
        while count < self.options.events if self.options.events else self.now() < end:
            kind = kinds[count] if count < len(kinds) else self.draw.choice(kinds)
            name = self.draw.choice(self.names)
            for_s = round(self.draw.uniform(0.2, self.options.longest), 1)
            self.say(f"{kind.__name__.replace('_', ' ')} {name} for {for_s} s")
            with self.lock:
                self.broken += 1
                self.is_whole = False
                self.answers.clear()
            since, stops = self.now(), self.watch.stops
            kind(name, for_s)
            self.wait_until_whole()
            time.sleep(1)  # A client may still wait for what was lost.
            self.is_whole = True
            time.sleep(0.5)
            has_stood = self.watch.stops > stops  # Then no time says anything.
            recovery = None if has_stood else self.recovery(since)
            if recovery is not None:
                self.recoveries.append((kind.__name__, *recovery))
                self.say("    what had waited was answered {:.2f} to {:.2f} s after the verdict, "
                         "of the next {:.0%} slowly".format(*recovery))  # fmt: skip
            tally[kind.__name__] += 1
            count += 1
            self.say(f"whole again; {self.counts}, worst {self.worst_s:.2f} s")
            if self.wrong:
                break
        return tally

    def rest(self):
        """Without clients no host has anything to do. Returns after how many seconds all say so:
        what was lost is found by an audit every ten."""
        self.stop_clients()
        began = self.now()
        while self.now() < began + WHOLE_S:
            work_ms = {name: self.work_ms(name) for name in self.names}
            if not any(work_ms.values()):
                return self.now() - began
            time.sleep(0.2)
        self.wrong.append(f"there is work left without clients: {work_ms} ms")
        return self.now() - began

    def work_ms(self, name):
        """The work that host @name says it has."""
        own = self.names.index(name)
        return sum(worker["queued_ms"] for worker in self.asked(name) if worker["node"] == own)

    def stop_clients(self):
        self.ends.set()
        for thread in getattr(self, "threads", ()):
            thread.join(timeout=LIMIT)

    def close(self):
        try:
            self.stop_clients()
            for host in self.hosts.values():
                host.kill()
            if self.options.logs:
                self.write_logs(pathlib.Path(self.options.logs))
        finally:
            self.holder.close()

    def write_logs(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, host in self.hosts.items():
            text = "\n".join(self.former_logs.get(name, []) + host.log)
            (folder / f"{name}.log").write_text(text + "\n", encoding="utf-8")


def report_recoveries(campaign):
    """How soon after verdicts latencies were as they had been."""
    print(f"campaign: {len(campaign.recoveries)} events with a verdict; while all was well "
          f"{percentile(campaign.calm_s, 50) * 1e3:.0f} ms, 99 % within "
          f"{percentile(campaign.calm_s, 99) * 1e3:.0f}; slow is {SLOW} times as much")  # fmt: skip
    for name in sorted({recovery[0] for recovery in campaign.recoveries}):
        of = [recovery for recovery in campaign.recoveries if recovery[0] == name]
        firsts, lasts, shares = zip(*(recovery[1:] for recovery in of))
        print(f"  {name}: {len(of)}; what had waited was answered {percentile(firsts, 50):.2f} to "
              f"{percentile(lasts, 50):.2f} s after the verdict, {max(lasts):.2f} at most; of what "
              f"was asked in the next {AFTER_S} s {percentile(shares, 50):.1%} slowly, "
              f"{max(shares):.1%} at most")  # fmt: skip


def main(arguments=None):
    """0 if every request got its answer, and none was wrong."""
    parser = usage.parser(__doc__)
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--events", type=int, default=0, help="so many, instead of seconds")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--longest", type=float, default=6, help="seconds of one event")
    parser.add_argument("--only", default="", help="kinds of events, with commas between them")
    parser.add_argument("--hosts", type=int, default=3)
    parser.add_argument("--clients", type=int, default=2, help="of each host")
    parser.add_argument("--net", default="auto", help="as --cluster-net: auto, tcp, shm or ucx")
    parser.add_argument("--tls", action="store_true", help="certificates instead of a secret")
    parser.add_argument("--etcds", type=int, default=1, help="members of the directory")
    parser.add_argument("--loopback", action="store_true", help="without namespaces")
    parser.add_argument("--logs", default="", help="folder for what the hosts have logged")
    parser.add_argument("--traces", default="", help="folder for traces, a file for each life")
    parser.add_argument("--quiet", action="store_true")
    options = parser.parse_args(arguments)
    unknown = sorted(set(filter(None, options.only.split(","))) - KINDS.keys())
    if unknown:
        parser.error(f"--only: no event is called {', '.join(unknown)}: {', '.join(sorted(KINDS))}")
    campaign = Campaign(options)
    print(f"campaign: seed {options.seed}, {options.hosts} hosts "
          f"{'in namespaces' if campaign.has_links else 'on 127.0.0.1'}, "
          f"net {options.net}{' with TLS' if options.tls else ''}, "
          f"{campaign.directory.partition(':')[0]}"
          f"{f' of {options.etcds}' if campaign.etcd is not None else ''}", flush=True)  # fmt: skip
    try:
        campaign.begin()
        tally = campaign.go()
        rest_s = campaign.rest()
    finally:
        campaign.close()
    print(f"campaign: {sum(tally.values())} events {tally}, {campaign.counts}, "
          f"{len(campaign.wrong)} wrong; slowest answer {campaign.worst_s:.2f} s, "
          f"while all was well {campaign.worst_calm_s:.2f} s, "
          f"no work left {rest_s:.1f} s after the last")  # fmt: skip
    report_recoveries(campaign)
    if campaign.watch.stops > 0:
        print(f"campaign: everything stood still {campaign.watch.stops} times, for "
              f"{campaign.watch.stood_s:.0f} s in all, which no time above counts")  # fmt: skip
    for line in campaign.wrong[:10]:
        print(f"  {line}")
    return 1 if campaign.wrong or campaign.counts["good"] == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
