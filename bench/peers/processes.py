"""A process and all of its children: processor time, memory, pause and end, read from /proc."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import typing

TICKS = os.sysconf("SC_CLK_TCK")
STOP_S = 20  # How long a server may take to end by itself.


class Stat(typing.NamedTuple):
    parent: int
    cpu_s: float
    began: int  # With the id, this tells processes apart.


def read_stat(pid):
    text = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    fields = text.rpartition(")")[2].split()
    return Stat(int(fields[1]), (int(fields[11]) + int(fields[12])) / TICKS, int(fields[19]))


def all_stats():
    stats = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                stats[int(name)] = read_stat(name)
            except (OSError, IndexError, ValueError):
                pass  # It has ended.
    return stats


def descendants(stats, root):
    """@root and what it started, parents first."""
    found = [root]
    for pid in found:
        found.extend(child for child, stat in stats.items() if stat.parent == pid)
    return found


def busy_s():
    """Processor time of the whole machine; time that another machine took counts."""
    with open("/proc/stat", encoding="ascii") as file:
        fields = [int(field) for field in file.readline().split()[1:]]
    return (sum(fields[:3]) + sum(fields[5:8])) / TICKS


GUARD = """
import sys
sys.path.insert(0, sys.argv[1])
import processes
processes.guard(sys.stdin)
"""


def end_family(pid, began, stats):
    """Kill @pid, if it is still the process that began then, and all that it started."""
    if pid in stats and stats[pid].began == began:
        for one in reversed(descendants(stats, pid)):
            try:
                os.kill(one, signal.SIGKILL)
            except ProcessLookupError:
                pass


def guard(lines):
    """Read which processes were started, until whoever writes that has ended; then end them."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    started = [tuple(map(int, line.split())) for line in lines]
    stats = all_stats()
    for pid, began in started:
        end_family(pid, began, stats)


class Guard:
    """A process that ends servers if this one is killed before it could."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-c", GUARD, str(pathlib.Path(__file__).parent)], text=True,
            stdin=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip

    def add(self, pid):
        """@pid was just started."""
        self.process.stdin.write(f"{pid} {read_stat(pid).began}\n")
        self.process.stdin.flush()


GUARDS = []  # The only one, once there is a server.


def share_weight(pid):
    """Give the session of @pid the weight of this one, where the system weighs sessions.

    There `nice` counts only within a session, and a server has one of its own.
    """
    try:
        own = pathlib.Path("/proc/self/autogroup").read_text(encoding="ascii").split()[-1]
        pathlib.Path(f"/proc/{pid}/autogroup").write_text(own, encoding="ascii")
    except (OSError, IndexError):
        pass  # It does not weigh them, or does not let us.


class Tree:
    """A server that was started here."""

    def __init__(self, command, environment, log):
        self.log = pathlib.Path(log)
        self.seen = {}  # Processor time by process, so that what has ended stays counted.
        with open(log, "wb") as file:
            self.process = subprocess.Popen(
                [str(word) for word in command], env=environment, stdin=subprocess.DEVNULL,
                stdout=file, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        if not GUARDS:
            GUARDS.append(Guard())
        GUARDS[0].add(self.process.pid)
        share_weight(self.process.pid)

    def has_ended(self):
        return self.process.poll() is not None

    def pids(self):
        return descendants(all_stats(), self.process.pid)

    def cpu_s(self):
        stats = all_stats()
        for pid in descendants(stats, self.process.pid):
            if pid in stats:
                self.seen[pid] = stats[pid].cpu_s
        return sum(self.seen.values())

    def memory_mb(self):
        """The share of each process in the pages that it uses."""
        total = 0
        for pid in self.pids():
            try:
                text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
                total += int(re.search(r"(?m)^Pss:\s+(\d+)", text).group(1))
            except (OSError, AttributeError):
                pass
        return total / 1024

    def signal(self, number):
        for pid in self.pids():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def pause(self):
        self.signal(signal.SIGSTOP)

    def resume(self):
        self.signal(signal.SIGCONT)

    def settle(self, seconds=15):
        """Wait until it does nothing any more: what clients gave up may still be worked on."""
        end = time.monotonic() + seconds
        before = self.cpu_s()
        while time.monotonic() < end:
            time.sleep(0.5)
            now = self.cpu_s()
            if now - before < 0.1:
                return
            before = now

    def stop(self):
        """End it and all that it started, each by its id."""
        self.resume()
        stats = all_stats()
        family = {pid: stats[pid] for pid in self.pids() if pid in stats}
        if not self.has_ended():
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            pass
        left = all_stats()
        for pid, stat in family.items():
            if pid in left and left[pid].began == stat.began:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        self.process.wait()


class Meter:
    """Processor time of a server, and of everything else but the client, during a slice."""

    def __init__(self, server):
        self.server = server

    def __enter__(self):
        self.began, self.busy_s = time.monotonic(), busy_s()
        self.own_s, self.before_s = sum(os.times()[:4]), self.server.tree.cpu_s()
        return self

    def __exit__(self, *_):
        self.cpu_s = self.server.tree.cpu_s() - self.before_s
        seconds, own_s = time.monotonic() - self.began, sum(os.times()[:4]) - self.own_s
        others_s = busy_s() - self.busy_s - self.cpu_s - own_s
        self.others_cores = max(0.0, others_s / seconds)
