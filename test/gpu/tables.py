#!/usr/bin/env python3
"""Make tables of what the parts of run.sh printed.

usage: tables.py LOGS

LOGS has PART.log. A part that was not run, or that ended early, leaves out its table, or rows of
it. Where there is an aim, it stands in the heading of its column.
"""

import os
import re
import statistics
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools")]

import usage  # noqa: E402

AIM_ENGINE_US = 20
AIM_SERVER_US = 60
logs = ""


def lines_of(part, pattern):
    """Matches of @pattern in the lines of @part."""
    path = f"{logs}/{part}.log"
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", errors="replace") as file:
        return [found for line in file if (found := re.search(pattern, line))]


def table(title, head, rows, note=""):
    rows = list(rows)
    if not rows:
        return
    print(f"\n**{title}**{note}\n")
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")


HTTP = (r"(\d+) asked +(\d+) good +([\d.]+) % in time +mean +(\d+) p50 +(\d+) p99 +(\d+) "
        r"most +(\d+) us")  # fmt: skip


def ms(us):
    return f"{float(us) / 1000:.1f}"


def outputs():
    rows = []
    for part, pattern in (
        ("check", r"^run .*error ([\d.]+|-?nan)"),
        ("engine", r"^engine .*error ([\d.]+|-?nan)"),
        ("outputs", r"^alone .*error ([\d.]+|-?nan)"),
        ("outputs", r"^loaded .*error ([\d.]+|-?nan)"),
    ):
        found = [m[1] for m in lines_of(part, pattern)]
        if found:
            said = "under load" if "loaded" in pattern else "alone"
            rows.append((part, said, len(found), min(found), max(found)))
    table("Outputs against PyTorch's", ["part", "", "cases", "least", "most off"], rows)
    for part in ("outputs", "overhead", "beside", "cache", "shares", "more_shares", "faults",
                 "mix", "steady", "engine", "check"):  # fmt: skip
        for found in lines_of(part, r"^(WRONG|FAILED).*"):
            print(f"{part}: {found[0][:200]}")


def loads():
    pinned = lines_of("loads", r"^pinned.*: ([\d.]+) GB/s")
    pattern = r"^load +(\d+) MB, (new memory|ahead|of others|again) +([\d.]+) ms, " \
              r"([\d.]+) GB/s, (\d+) %.*memory (\d+) us, copy and map (\d+) \((\d+) %"  # fmt: skip
    rows = [(m[1] + " MB", m[2], m[3] + " ms", m[4] + " GB/s", m[5] + " %", m[6] + " us",
             m[8] + " %") for m in lines_of("loads", pattern)]  # fmt: skip
    table("Loads", ["weights", "memory", "load", "rate", "of pinned copies (aim 95 %)",
                    "to take memory", "copy, of pinned"], rows,
          f", pinned copies {pinned[0][1]} GB/s" if pinned else "")  # fmt: skip
    table("A first load, from the engine", ["model", "load"],
          [(m[1], m[2] + " ms") for m in lines_of("engine", r"^first +(\S+) +load +(\d+) ms")])
    pattern = r"^miss +(\S+) +there for +(\d+) ms; unload +([\d.]+) ms; load again +([\d.]+) ms " \
              r"\( *([\d.]+) GB/s, ([\d.]+) to ([\d.]+) ms\), then a run of +([\d.]+): " \
              r"answered +([\d.]+) ms"  # fmt: skip
    table("A miss, from the engine", ["model", "it was there for, ms", "unload, ms", "load, ms",
                                      "GB/s", "least", "most", "run, ms", "answered, ms"],
          [m.groups() for m in lines_of("engine", pattern)])  # fmt: skip


def engine():
    bare = {(m[1], m[2], m[3]): float(m[4]) for m in
            lines_of("check", r"^run +(\S+) +rows +(\d+) units +(\d+) .*p50 +(\d+) us")}
    again = {}
    for m in lines_of("check", r"^again +(\S+) +rows +(\d+) units +(\d+) p50 +(\d+) us.*; units +"
                               r"(\d+) p50 +(\d+) us"):  # fmt: skip
        again[m[1], m[2], m[3]] = float(m[4])
        again[m[1], m[2], m[5]] = float(m[6])
    rows = []
    for m in lines_of("engine", r"^engine +(\S+) +rows +(\d+) units +(\d+) .*answered p50 +(\d+) "
                                r"p99 +(\d+) us.*engine p50 +(\d+)"):  # fmt: skip
        key = (m[1], m[2], m[3])
        graphs = [f"{known[key]:.0f}" if key in known else "?" for known in (bare, again)]
        more = [f"{float(m[4]) - known[key]:+.0f}" if key in known else "?"
                for known in (bare, again)]  # fmt: skip
        rows.append((f"{m[1]}, {m[2]}", m[3], *graphs, m[6], m[4], m[5], *more))
    table("Engine, us", ["model, rows", "units", "graph", "after a third stream", "launch to end",
                         "engine", "p99", f"engine - graph (aim {AIM_ENGINE_US})",
                         "engine - graph after a third stream"], rows)  # fmt: skip


def server():
    pattern = r"^overhead (\S+) +rows (\d+): graph +(\S+) +sockets +(\d+) late +(\d+) +server " \
              r"p50 +(\d+) p99 +(\d+) us: \+?\S+, beyond sockets \+?(\S+), late ones \+?(\S+); " \
              r"run (\d+) us, rest (\d+)"  # fmt: skip
    table("Server, us", ["model, rows", "graph", "sockets", "answered after the graph's time",
                         "server", "p99", f"beyond graph and sockets (aim {AIM_SERVER_US})",
                         "beyond late sockets", "it says: run", "rest"],
          [(f"{m[1]}, {m[2]}", *m.groups()[2:])
           for m in lines_of("overhead", pattern)])  # fmt: skip
    table("Learnt while serving", ["model", "us"],
          [(m[1], m[2]) for m in lines_of("overhead", r"^learnt (\S+) +us: (.*)")])  # fmt: skip


def beside():
    rows = [("engine: " + m[1], "4 shares", m[5] if int(m[6]) else "nothing", m[2], m[3], m[4],
             m[7] + " GB/s")
            for m in lines_of("engine", r"^shares (\S+) +rows +4 .*: (\d+) rows/s, p50 (\d+) p99 "
                              r"(\d+) most \d+ us; (.*?),? (\d+) loads, ([\d.]+)")]  # fmt: skip
    answers = {"all there": [], "loads": []}
    for m in lines_of("beside", r"^beside (all there|loads) +(\d): (\d+)/s.*" + HTTP):
        others = lines_of("beside", rf"^beside {m[1]} +{m[2]}: loads (\d+)")
        answers[m[1]].append(int(m[3]))
        rows.append(("server", f"turn {m[2]}", m[1], m[3], m[8], m[9],
                     f"{others[0][1]}/s" if others else ""))  # fmt: skip
    kept = [100 * beside / alone for alone, beside in zip(answers["all there"], answers["loads"])]
    if kept:
        rows.append(("server", "of all turns", "loads",
                     f"{100 * sum(answers['loads']) / sum(answers['all there']):.1f} %",
                     f"median {statistics.median(kept):.1f} %", "", ""))  # fmt: skip
    table("Hits beside loads (aim 95 % of answers, 1.3 times the p99)",
          ["where", "", "beside", "answers/s", "p50 us", "p99 us", "loads"], rows)  # fmt: skip
    pattern = r"^beside (\S+) +rows .*alone p50 (\d+) p99 (\d+) us; while weights come p50 (\d+) " \
              r"p99 (\d+) .*weights ([\d.]+)"  # fmt: skip
    table("Graphs beside copies, us", ["model", "alone", "p99", "beside", "p99", "GB/s"],
          [tuple(m.groups()) for m in lines_of("check", pattern)])  # fmt: skip


def cache():
    rows = []
    for m in lines_of("cache", r"^cache (.{12}) http all .*" + HTTP):
        hits = lines_of("cache", rf"^cache {re.escape(m[1])} needed \d+, hits ([\d.]+) %, loads "
                                 r"(\d+)")  # fmt: skip
        rows.append((m[1].strip(), hits[0][1] + " %" if hits else "?", hits[0][2] if hits else "?",
                     ms(m[6]), ms(m[7]), m[4] + " %"))  # fmt: skip
    table("40 models, memory for 10, ms", ["", "hits", "loads", "p50", "p99", "in 50 ms"], rows)


def shares():
    cells, rates, labels = {}, [], []
    for part in ("shares", "more_shares"):
        for m in lines_of(part, r"^shares (.{12}) (\d+)/s http all .*" + HTTP):
            label, rate = m[1].strip(), int(m[2])
            labels += [] if label in labels else [label]
            rates += [] if rate in rates else [rate]
            cost = lines_of(part, rf"^shares {re.escape(m[1])} {rate}/s cost ([\d.]+) ms")
            cells[label, rate] = f"{m[5]} % · {ms(m[7])} · {ms(m[8])}" + (
                f" · {float(cost[0][1]):.2f}" if cost else "")  # fmt: skip
    rates.sort()
    table("Shares: in 5 ms · p50 · p99 · held of the device for each, ms",
          ["", *(f"{rate}/s" for rate in rates)],
          [(label, *(cells.get((label, rate), "–") for rate in rates)) for label in labels])


def mix():
    rows = []
    for m in lines_of("mix", r"^mix (\S+) (\d+)/s http all " + HTTP):
        hits = lines_of("mix", rf"^mix {re.escape(m[1])} {m[2]}/s hits ([\d.]+) %, loads (\d+)")
        rows.append((m[1], m[2] + "/s", ms(m[6]), ms(m[8]), m[5] + " %",
                     hits[0][1] + " %" if hits else "?"))  # fmt: skip
    table("Compass's workflows on five workers, ms (predictions: mix_predicted.py)",
          ["policy", "rate", "mean", "p99", "in 50 ms", "hits"], rows)  # fmt: skip


def faults():
    rows = []
    for m in lines_of("faults", r"^fault (.{14}) http all +" + HTTP):
        gap = lines_of("faults", rf"^fault {re.escape(m[1])} http failed (\d+), wrong (\d+), "
                                 r"longest without an answer (\d+) ms")  # fmt: skip
        rows.append((m[1].strip(), f"{m[3]} of {m[2]}", *(gap[0].groups() if gap else ("?",) * 3)))
    table("Faults", ["what happened", "answered well", "failed", "wrong",
                     "longest without an answer, ms"], rows)  # fmt: skip
    rows = []
    for m in lines_of("revise", r"^revise (.{8}) http all +" + HTTP):
        gap = lines_of("revise", rf"^revise {re.escape(m[1])} http failed (\d+), wrong (\d+), "
                                 r"longest without an answer (\d+) ms")  # fmt: skip
        took = lines_of("revise", rf"^revised {re.escape(m[1].strip())} .* after (\d+) ms")
        rows.append((m[1].strip(), took[0][1] if took else "", f"{m[3]} of {m[2]}", ms(m[6]),
                     ms(m[7]), *(gap[0].groups() if gap else ("?",) * 3)))  # fmt: skip
    table("New versions, ms", ["of", "it took", "answered well", "p50", "p99", "failed", "wrong",
                               "longest without an answer"], rows)  # fmt: skip


def steady():
    rows = []
    seen = lines_of("steady", r"^steady +(\d+) s hits ([\d.]+) %, loads (\d+); MiB: (.*)")
    for m, more in zip(lines_of("steady", r"^steady +(\d+) s http all " + HTTP), seen):
        used = dict(re.findall(r"(GPU|server|weft-gpu|weft-keeper) (\d+)", more[4]))
        rows.append((m[1] + " s", f"{m[3]} of {m[2]}", more[2] + " %", more[3], ms(m[6]),
                     ms(m[7]), m[4] + " %",
                     *(used.get(name, "?") for name in ("GPU", "server", "weft-gpu",
                                                        "weft-keeper"))))  # fmt: skip
    if len(rows) > 6:  # The first, the last, and those between that are most of interest.
        rows = [*rows[:2], rows[len(rows) // 2], *rows[-2:]]
    table("Steady, ms and MiB", ["until", "answered", "hits", "loads", "p50", "p99", "in 50 ms",
                                 "GPU", "server", "engine", "keeper"], rows)  # fmt: skip


def graphs():
    found = lines_of("graphs", r"^graphs (\S+) +(.{24}) (.*)")
    table("Graphs, us", ["model", "case", ""], [(m[1], m[2].strip(), m[3][:220]) for m in found])


def main():
    global logs
    [logs] = usage.words(__doc__, 1)
    for each in (graphs, steady, mix, faults, shares, cache, beside, loads, engine, server,
                 outputs):  # fmt: skip
        each()
    return 0


if __name__ == "__main__":
    sys.exit(main())
