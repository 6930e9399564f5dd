#!/usr/bin/env python3
"""Run the swarm over many seeds: all of them, whatever fails, and list those that do.

usage: soak.py PROGRAM FIRST COUNT [--jobs N] [--seconds S]

PROGRAM is test_swarm. It is given a hundred seeds at a time, ends with the first that fails, and
says which; then it is started again with the next one. The same is done after a seed that takes
more than S seconds of a processor (300). Prints how far it is, at most once in ten seconds, and in
the end every seed that failed, with the first line that it said. Exits 1 if there is any.
"""

import concurrent.futures
import re
import resource
import signal
import subprocess
import sys
import time

import usage

CHUNK = 100
SAID_S = 10


def run(program, first, count, seconds):
    """Run the seeds from first on. Returns those that failed, each with why."""
    failed = []
    end = first + count
    while first < end:
        done = subprocess.run(
            [program, "--seeds", str(end - first), str(first)],
            capture_output=True,
            text=True,
            errors="replace",
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5)),
        )
        if done.returncode == 0:
            break
        named = re.search(r"^seed (\d+)", done.stderr, re.MULTILINE)
        if named is None or not first <= int(named[1]) < end:
            failed.append((first, f"and those up to {end - 1} were not run: {done.stderr.strip()}"))
            break
        seed = int(named[1])
        is_slow = done.returncode == -signal.SIGXCPU
        if is_slow and seed > first:
            first = seed  # It may have had little of the time.
            continue
        why = "took too long" if is_slow else done.stderr.splitlines()[0]
        failed.append((seed, why))
        first = seed + 1
    return failed


def main():
    parser = usage.parser(__doc__)
    parser.add_argument("program")
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=300)
    given = parser.parse_args()
    begun = said = time.monotonic()
    failed = []
    ran = 0
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        parts = {}
        for first in range(given.first, given.first + given.count, CHUNK):
            count = min(CHUNK, given.first + given.count - first)
            parts[pool.submit(run, given.program, first, count, given.seconds)] = count
        for part in concurrent.futures.as_completed(parts):
            ran += parts[part]
            failed += part.result()
            for seed, why in part.result():
                print(f"seed {seed} failed: {why}", flush=True)
            if time.monotonic() - said > SAID_S:
                said = time.monotonic()
                print(f"{ran} of {given.count} seeds in {said - begun:.0f} s, {len(failed)} failed",
                      flush=True)
    print(f"seeds {given.first} to {given.first + given.count - 1}: "
          f"{'passed' if not failed else f'{len(failed)} failed'}")
    for seed, why in sorted(failed):
        print(f"  {seed}: {why}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
