#!/usr/bin/env python3
"""Break a cluster at random while clients check every answer, and say what was seen.

Each host is a network namespace with an address of its own, if this user may make some; otherwise
all are on 127.0.0.1, and no links are cut. The seed decides what is broken, when and for how long.

    WEFT=build/weft test/integration/campaign.py --seconds 300 --seed 7
"""

import argparse
import http.client
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import clustered  # noqa: E402
from operated import LIBRARY, LIMIT, Server  # noqa: E402

WHOLE_S = 60  # Until all nodes have to see each other again.


def run(*command):
    subprocess.run(command, check=True, capture_output=True)


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

    def cut(self, i, is_cut):
        run("ip", "link", "set", f"{self.tag}v{i}", "down" if is_cut else "up")

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

    def __init__(self, network, number, folder, arguments, cache):
        self.number = number
        self.network = network
        address = network.address(number)
        self.process = subprocess.Popen(
            [*network.prefix(number), os.path.abspath(os.environ["WEFT"]), "serve", str(folder),
             "--http", f"{address}:0", "--metrics", "none", "--listen-cluster", f"{address}:0",
             "--plain", *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=dict(os.environ, WEFT_ONNXRUNTIME=str(LIBRARY.resolve()), WEFT_CACHE=str(cache)),
        )  # fmt: skip
        self.watch()

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
        self.options = options
        self.holder = Holder()
        self.names = [f"h{i}" for i in range(1, options.hosts + 1)]
        self.hosts = {}
        self.victim = None  # Its clients may see broken connections.
        self.chosen = dict.fromkeys(self.names, 0)  # How often each was one.
        self.counts = {"good": 0, "not answered by a victim": 0}
        self.worst_s = 0.0
        self.wrong = []
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
        clustered.write_repository(
            self.root / "repository",
            clustered.SETTINGS.replace("[a, b, c]", f"[{', '.join(self.names)}]"),
        )
        self.etcd = None
        if clustered.Etcd.PROGRAM:
            address = f"{self.network.base}.254" if self.has_links else "127.0.0.1"
            self.etcd = clustered.Etcd(self.holder, address)
            self.directory = self.etcd.directory
        else:
            self.directory = f"file:{self.root / 'members'}"

    def say(self, text):
        if not self.options.quiet:
            print(f"{time.monotonic() - self.began:7.1f} s  {text}", flush=True)

    def launch(self, name):
        arguments = ["--cluster", self.directory, "--node", name,
                     "--cluster-secret-file", str(self.secret)]  # fmt: skip
        host = Host(self.network, self.names.index(name) + 1, self.root / "repository",
                    arguments, self.root / "cache")  # fmt: skip
        self.hosts[name] = host
        host.wait_until_ready()

    def members(self):
        """Incarnations by name, as the directory says."""
        command = [os.environ["WEFT"], "cluster", self.directory, "--json"]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=LIMIT, check=False
        )
        return dict(re.findall(r'"node": ?"(\w+)",\s*"incarnation": ?(\d+)', done.stdout))

    def wait_until_whole(self):
        """Every node has been told of the present incarnation of every other."""
        end = time.monotonic() + WHOLE_S
        while time.monotonic() < end:
            members = self.members()
            if set(members) == set(self.names) and all(
                self.knows(self.hosts[name], other, members[other])
                for name in self.names for other in self.names if name != other
            ):  # fmt: skip
                return
            time.sleep(0.2)
        logs = "\n".join(f"{name}: {line}" for name in self.names
                         for line in self.hosts[name].log[-12:])  # fmt: skip
        raise AssertionError(f"not whole after {WHOLE_S} s: {self.members()}\n{logs}")

    @staticmethod
    def knows(host, other, incarnation):
        """Whether the last thing that @host logged of @other is that it is a member."""
        last = ""
        for line in list(host.log):
            if re.search(rf'event=(member|"member lost") node={other}\b', line):
                last = line
        return f"event=member node={other} incarnation={incarnation} " in last

    def ask(self, name, value):
        while not self.ends.is_set():
            value = (value + 1) % len(self.expected)
            before, began = self.chosen[name], time.monotonic()
            was_victim = self.victim == name
            try:
                answer = clustered.infer(self.hosts[name].last_address(), value)
            except (AssertionError, IndexError, http.client.HTTPException) as wrong:
                answer = str(wrong)
            took_s = time.monotonic() - began
            is_excused = was_victim or self.chosen[name] != before
            with self.lock:
                if answer == self.expected[value]:
                    self.counts["good"] += 1
                    if not is_excused:
                        self.worst_s = max(self.worst_s, took_s)
                elif is_excused:
                    self.counts["not answered by a victim"] += 1
                else:
                    text = "no answer" if answer is None else str(answer)[:200]
                    self.wrong.append(f"{name} after {took_s:.2f} s: {text}")
            if answer != self.expected[value]:
                time.sleep(0.1)

    def begin(self):
        self.began = time.monotonic()
        for name in self.names:
            self.launch(name)
        self.wait_until_whole()
        address = self.hosts[self.names[0]].address
        self.expected = {value: clustered.infer(address, value) for value in range(4)}
        self.threads = [
            threading.Thread(target=self.ask, args=(name, i), daemon=True)
            for name in self.names for i in range(self.options.clients)
        ]  # fmt: skip
        for thread in self.threads:
            thread.start()

    def choose_victim(self, name):
        with self.lock:
            self.chosen[name] += 1
            self.victim = name

    # What may happen. Each returns when it is over.

    def kill(self, name, for_s):
        self.choose_victim(name)
        self.hosts[name].process.kill()
        self.hosts[name].process.wait()
        time.sleep(for_s)
        self.launch(name)

    def stop(self, name, for_s):
        self.choose_victim(name)
        pid = self.pid_of(name)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(for_s)
        os.kill(pid, signal.SIGCONT)

    def cut(self, name, for_s):
        self.choose_victim(name)
        self.network.cut(self.names.index(name) + 1, True)
        time.sleep(for_s)
        self.network.cut(self.names.index(name) + 1, False)

    def drain(self, name, _):
        self.choose_victim(name)
        run(os.environ["WEFT"], "drain", self.directory, name)
        self.hosts[name].ended()
        self.launch(name)

    def no_directory(self, _, for_s):
        if self.etcd is not None:
            self.etcd.kill()
            time.sleep(for_s)
            self.etcd.start()
        else:
            (self.root / "members").rename(self.root / "away")
            time.sleep(for_s)
            (self.root / "away").rename(self.root / "members")

    def pid_of(self, name):
        return self.hosts[name].process.pid  # `ip netns exec` becomes what it runs.

    def go(self):
        """The number of events."""
        kinds = [self.kill, self.stop, self.drain, self.no_directory]
        kinds += [self.cut] if self.has_links else []
        count = 0
        end = time.monotonic() + self.options.seconds
        while count < self.options.events if self.options.events else time.monotonic() < end:
            kind = kinds[count] if count < len(kinds) else self.draw.choice(kinds)
            name = self.draw.choice(self.names)
            for_s = round(self.draw.uniform(0.2, 6), 1)
            self.say(f"{kind.__name__.replace('_', ' ')} {name} for {for_s} s")
            kind(name, for_s)
            self.wait_until_whole()
            time.sleep(1)  # A client may still wait for what the victim had.
            with self.lock:
                self.victim = None
            count += 1
            self.say(f"whole again; {self.counts}, worst {self.worst_s:.2f} s")
            if self.wrong:
                break
        return count

    def close(self):
        self.ends.set()
        for thread in getattr(self, "threads", ()):
            thread.join(timeout=LIMIT)
        for host in self.hosts.values():
            host.kill()
        self.holder.close()


def main(arguments=None):
    """0 if no answer was wrong, and only hosts that were victims left requests without one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--events", type=int, default=0, help="so many, instead of seconds")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--hosts", type=int, default=3)
    parser.add_argument("--clients", type=int, default=2, help="of each host")
    parser.add_argument("--loopback", action="store_true", help="without namespaces")
    parser.add_argument("--quiet", action="store_true")
    options = parser.parse_args(arguments)
    campaign = Campaign(options)
    print(f"campaign: seed {options.seed}, {options.hosts} hosts "
          f"{'in namespaces' if campaign.has_links else 'on 127.0.0.1'}, "
          f"{campaign.directory.partition(':')[0]}", flush=True)  # fmt: skip
    try:
        campaign.begin()
        count = campaign.go()
    finally:
        campaign.close()
    print(f"campaign: {count} events, {campaign.counts}, {len(campaign.wrong)} wrong; "
          f"slowest answer of a host that was left alone {campaign.worst_s:.2f} s")  # fmt: skip
    for line in campaign.wrong[:10]:
        print(f"  {line}")
    return 1 if campaign.wrong or campaign.counts["good"] == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
