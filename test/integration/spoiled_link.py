#!/usr/bin/env python3
"""Carry the packets of one link by hand: late, not in order, and not all of them.

Between LINK, an interface of this namespace whose other end is a host's, and TAP, which is made
here and removed at the end. What comes to one leaves by the other after --delay and up to --jitter
ms, unless it is lost. The kernel's own netem does the same, where it was built.

usage: spoiled_link.py LINK TAP [--delay MS] [...]    says "ready", ends with its input
       spoiled_link.py --plain LINK                   on the host: no work is left to devices
"""

import ctypes
import fcntl
import heapq
import itertools
import os
import random
import select
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools"))

import usage  # noqa: E402

TUNSETIFF = 0x400454CA
IFF_TAP, IFF_NO_PI = 0x2, 0x1000
SIOCETHTOOL = 0x8946
OFF = {"transmit checksums": 0x17, "segments": 0x1F, "generic segments": 0x24}
PACKET_OUTGOING = 4
FRAME_BYTES = 65536
ALL_PROTOCOLS = 0x0003


def make_plain(name):
    """Let @name send whole packets of the size of the wire, as they are when they are carried."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for command in OFF.values():
            value = ctypes.create_string_buffer(struct.pack("II", command, 0))
            request = struct.pack("16sP16x", name.encode(), ctypes.addressof(value))
            fcntl.ioctl(any_socket, SIOCETHTOOL, request)


def open_tap(name):
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH14x", name.encode(), IFF_TAP | IFF_NO_PI))
    return tap


def carry(options):
    draw = random.Random(options.seed)
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS))
    link.bind((options.link, 0))
    link.setblocking(False)
    tap = open_tap(options.tap)
    print("ready", flush=True)
    waiting = []
    numbers = itertools.count()

    def take(send, frame):
        if draw.uniform(0, 100) >= options.loss:
            late_s = (options.delay + draw.uniform(0, options.jitter)) / 1e3
            heapq.heappush(waiting, (time.monotonic() + late_s, next(numbers), send, frame))

    def send_quietly(send, frame):
        try:
            send(frame)
        except OSError:
            pass  # A full queue, or a link that is down, loses packets too.

    while True:
        left_s = max(0, waiting[0][0] - time.monotonic()) if waiting else None
        ready, _, _ = select.select([link, tap, sys.stdin], [], [], left_s)
        if sys.stdin in ready:
            return
        if link in ready:
            frame, address = link.recvfrom(FRAME_BYTES)
            if address[2] != PACKET_OUTGOING:
                take(lambda bytes_: os.write(tap, bytes_), frame)
        if tap in ready:
            take(link.send, os.read(tap, FRAME_BYTES))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, send, frame = heapq.heappop(waiting)
            send_quietly(send, frame)


def main():
    parser = usage.parser(__doc__)
    parser.add_argument("link", nargs="?")
    parser.add_argument("tap", nargs="?")
    parser.add_argument("--plain", metavar="LINK")
    parser.add_argument("--delay", type=float, default=0)
    parser.add_argument("--jitter", type=float, default=0)
    parser.add_argument("--loss", type=float, default=0, help="per cent")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.plain:
        make_plain(options.plain)
    else:
        carry(options)


if __name__ == "__main__":
    main()
