"""Signals for processes that may be slow to start, and slow to hear of them."""

import pathlib
import re
import time

LIMIT = 60  # Seconds that anything may take.


def has(process, field, number):
    """Whether signal @number is in a set of signals of @process, as /proc names it."""
    text = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    found = re.search(rf"(?m)^{field}:\t(\w+)$", text)
    return bool(int(found[1], 16) >> (number - 1) & 1)


def wait_until_caught(process, number):
    """Until @process handles signal @number: before, it would die of it."""
    end = time.monotonic() + LIMIT
    while not has(process, "SigCgt", number):
        if process.poll() is not None or time.monotonic() > end:
            raise AssertionError(f"it does not wait for signal {number}")
        time.sleep(0.01)


def send(process, number):
    """Send signal @number and wait until it has come: two that have not are one."""
    process.send_signal(number)
    end = time.monotonic() + LIMIT
    while process.poll() is None and has(process, "ShdPnd", number):
        if time.monotonic() > end:
            raise AssertionError(f"signal {number} does not come")
        time.sleep(0.01)
