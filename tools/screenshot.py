#!/usr/bin/env python3
"""Draw the live screen of a running server as an SVG file.

usage: screenshot.py FILE.svg COLUMNS ROWS SECONDS COMMAND...

Runs COMMAND on a terminal of that size, keeps what it shows after SECONDS, and ends it with SIGINT.
The picture in the README was made by

    tools/screenshot.py docs/images/demo.svg 120 36 60 build/weft serve build/demo \\
        --http 127.0.0.1:8000 --rate 200%
"""

import fcntl
import html
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import usage

WIDTH, HEIGHT, MARGIN = 8.4, 18, 12  # Of a character, and around all of them.
END_S = 60  # For the command to end by itself.
STYLES = {  # By the number of the escape sequence.
    "0": "",
    "1": ' font-weight="bold" fill="#ffffff"',
    "2": ' fill="#8b949e"',
    "31": ' fill="#ff7b72"',
    "33": ' fill="#e3b341"',
}


def read_until(terminal, end):
    """What comes until then, or until nothing more can come."""
    shown = b""
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                shown += os.read(terminal, 65536)
            except OSError:  # Linux says so when the other side is closed.
                break
    return shown


def watch(columns, rows, seconds, command):
    """All that @command writes to its terminal in that time."""
    terminal, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", "NO_COLOR": ""}
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=end, stderr=end, env=environment
    )
    os.close(end)
    shown = read_until(terminal, time.monotonic() + seconds)
    process.send_signal(signal.SIGINT)
    read_until(terminal, time.monotonic() + END_S)
    process.kill()
    process.wait()
    return shown.decode(errors="replace")


def last_picture(text):
    """The lines of the last picture that is complete."""
    pictures = [part.split("\033[J")[0] for part in text.split("\033[H")[1:] if "\033[J" in part]
    if not pictures:
        sys.exit(f"screenshot: no picture was drawn:\n{text[-2000:]}")
    return pictures[-1].replace("\r", "").rstrip("\n").split("\n")


def draw_line(line, row):
    column, style, drawn = 0, "", []
    for piece in re.split(r"(\033\[[\d?]*[a-zA-Z])", line):
        escape = re.fullmatch(r"\033\[(\d*)m", piece)
        if escape:
            style = STYLES.get(escape[1] or "0", "")
        elif piece and not piece.startswith("\033"):
            drawn.append(
                f'<text x="{MARGIN + column * WIDTH:.1f}" y="{MARGIN + (row + 0.8) * HEIGHT:.1f}"'
                f' textLength="{len(piece) * WIDTH:.1f}"{style}>{html.escape(piece)}</text>'
            )
            column += len(piece)
    return drawn


def draw(lines, columns):
    width, height = 2 * MARGIN + columns * WIDTH, 2 * MARGIN + len(lines) * HEIGHT
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}">',
        '<rect width="100%" height="100%" rx="6" fill="#0d1117"/>',
        '<g font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14"'
        ' fill="#c9d1d9" xml:space="preserve">',
    ]
    for row, line in enumerate(lines):
        drawn += draw_line(line, row)
    return "\n".join([*drawn, "</g>", "</svg>", ""])


def main():
    given = usage.words(__doc__, 5, usage.ANY, takes_options=True)
    path, *numbers = given[:4]
    columns, rows, seconds = map(int, numbers)
    lines = last_picture(watch(columns, rows, seconds, given[4:]))
    with open(path, "w", encoding="utf-8") as file:
        file.write(draw(lines, columns))


if __name__ == "__main__":
    main()
