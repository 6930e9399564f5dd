#!/usr/bin/env python3
"""Print the tables of tools/study_weft.sh in Markdown.

usage: study_weft_table.py <LIST

A line of LIST has, between tabs, the name of a table, a scenario, a rate or `-`, policies between
semicolons, and options of `weft compare`. Runs are kept (tools/kept.py). Figures are means over the
seeds, with half of the 95 % interval; in brackets where less than three quarters of the runs were
stable.
"""

import pathlib
import sys

import kept
import page
import usage
from study import interval, mean_of

ENOUGH = 0.95  # Of the deadlines, at the rate that is said to be carried.


def value(runs, *keys):
    """Mean and half of the interval of one figure; None if no run has it."""
    return mean_of(runs, *keys) if runs and runs[0][keys[0]] is not None else None


def is_stable(runs):
    return 4 * sum(run["stable"] for run in runs) >= 3 * len(runs)


def latency(runs):
    mean, half = value(runs, "latency_ms", "mean")
    return f"{mean:.1f} ± {half:.1f}" if is_stable(runs) else f"(> {mean:.0f})"


def slowdown(runs):
    mean = value(runs, "slowdown", "mean")[0]
    return f"{mean:.2f}" if is_stable(runs) else f"({mean:.1f})"


def met(runs):
    """In per cent; with the interval where a comparison may need it."""
    mean, half = value(runs, "slo_hit_rate")
    return f"{100 * mean:.1f} ± {100 * half:.1f}"


def met_price(runs):
    hits, price = value(runs, "slo_hit_rate")[0], value(runs, "price_per_job")[0]
    return f"{100 * hits:.1f} · {1000 * price:.3f}"


def latency_met(runs):
    hits = value(runs, "slo_hit_rate")
    return latency(runs) + ("" if hits is None else f" · {100 * hits[0]:.1f}")


def latency_tail_met(runs):
    mean, tail = (value(runs, "latency_ms", key)[0] for key in ("mean", "p99"))
    return f"{mean:.1f} · {tail:.1f} · {100 * value(runs, 'slo_hit_rate')[0]:.1f}"


def met_latency_price(runs):
    hits = value(runs, "slo_hit_rate")
    text = "" if hits is None else f"{100 * hits[0]:.1f} · "
    return f"{text}{latency(runs)} · {1000 * value(runs, 'price_per_job')[0]:.4f}"


CELLS = {
    "compass": slowdown,
    "compass-arrivals": slowdown,
    "compass-traces": slowdown,
    "forks": latency,
    "nona": latency,
    "rows": latency,
    "bound": latency,
    "esg": met_price,
    "overload": met,
    "overload-beyond": met,
    "robustness": latency_met,
    "small": latency,
    "cards": latency_tail_met,
    "free": latency_met,
    "haste": met_latency_price,
}


class Row:
    """A line of the list."""

    def __init__(self, line):
        self.name, scenario, self.rate, policies, *self.options = line.rstrip("\n").split("\t")
        self.path = pathlib.Path(scenario)
        self.policies = policies.split(";")

    def runs(self, policy):
        rates = [] if self.rate == "-" else ["--rates", self.rate]
        print(f"{self.name}: {self.title()}, {policy}", file=sys.stderr, flush=True)
        return kept.compare(self.path, policy, *self.options, *rates)

    def title(self):
        told = {"rows": ("rows.load=",), "ablation": ("rows.load=100ms", "memory=")}
        parts = [self.path.stem]
        parts += [] if self.rate == "-" else [f"{self.rate}/s"]
        parts += [each for each in self.options if each.startswith(told.get(self.name, ()))]
        return ", ".join(parts)


def print_plain(name, rows):
    """A column for each scenario and rate."""
    print(page.head([name, *(row.title() for row in rows)]), end="")
    for policy in rows[0].policies:
        runs = [row.runs(policy) for row in rows]
        cells = [CELLS[name](each) if each else "-" for each in runs]
        print(page.line([f"`{policy}`", *cells]), end="", flush=True)


def carried(rates, shares):
    """The rate up to which enough are met, between two that were run; whether it is the last."""
    last = 0.0, 1.0
    for rate, share in zip(rates, shares):
        if share < ENOUGH:
            part = (last[1] - ENOUGH) / max(last[1] - share, 1e-9) if last[1] >= ENOUGH else 0
            return last[0] + part * (rate - last[0]) if last[0] else 0.0, False
        last = rate, share
    return last[0], True


def print_combined(rows):
    """A line for each workload: weft, and the best of all others at each rate."""
    print(
        page.head(
            ["", "rates", "`weft`", "best of the others"]
            + ["95 %, `weft`", "95 %, best alone", "ratio"]
        ),
        end="",
    )
    for name in dict.fromkeys(row.name for row in rows):
        mine = [row for row in rows if row.name == name]
        rates = [float(row.rate) for row in mine]
        shares = {}
        for policy in mine[0].policies:
            figures = [value(row.runs(policy), "slo_hit_rate") for row in mine]
            shares[policy] = [0.0 if each is None else each[0] for each in figures]
        ours = shares.pop("weft")
        best = [max(all) for all in zip(*shares.values())]
        limit, is_open = carried(rates, ours)
        limits = {policy: carried(rates, each) for policy, each in shares.items()}
        other = max(limits, key=lambda policy: limits[policy])
        cells = [
            name.removeprefix("combined-"),
            f"{rates[0]:g} to {rates[-1]:g}",
            " ".join(f"{100 * share:.1f}" for share in ours),
            " ".join(f"{100 * share:.1f}" for share in best),
            f"{'≥ ' if is_open else ''}{limit:.0f}",
            f"{'≥ ' if limits[other][1] else ''}{limits[other][0]:.0f}, `{other}`",
            f"{limit / limits[other][0]:.1f}" if limits[other][0] else "-",
        ]
        print(page.line(cells), end="", flush=True)


def print_best(rows):
    """For each workload and rate: weft, and the best of all others."""
    print(page.head(["", "`weft`", "best of the others"]), end="")
    found = {}
    for row in rows:
        for policy in row.policies:
            hits = value(row.runs(policy), "slo_hit_rate")
            found.setdefault(row.title(), {})[policy] = 0.0 if hits is None else hits[0]
    for title, shares in found.items():
        ours = shares.pop("weft")
        best = max(shares, key=shares.get)
        cells = [title, f"{100 * ours:.1f}", f"{100 * shares[best]:.1f}, `{best}`"]
        print(page.line(cells), end="", flush=True)


def change(runs, first, is_met):
    """Paired: points of what is met, or per cent of the latency."""
    if not runs or not (is_met or is_stable(runs)):
        return "not stable"
    if is_met:
        gaps = [100 * (a["slo_hit_rate"] - b["slo_hit_rate"]) for a, b in zip(runs, first)]
    else:
        means = [(a["latency_ms"]["mean"], b["latency_ms"]["mean"]) for a, b in zip(runs, first)]
        gaps = [100 * (a - b) / b for a, b in means]
    return "0" if not any(gaps) else "{:+.1f} ± {:.1f}".format(*interval(gaps))


def print_changes(rows):
    """The first policy, and the change to it: deadlines where some are missed, else latency."""
    firsts = [row.runs(row.policies[0]) for row in rows]
    hits = [value(first, "slo_hit_rate") for first in firsts]
    is_met = [each is not None and each[0] < 0.9995 for each in hits]
    titles = [row.title() + (", met" if met else "") for row, met in zip(rows, is_met)]
    print(page.head(["ablation", *titles]), end="")
    cells = [met(first) if is_met[i] else latency(first) for i, first in enumerate(firsts)]
    print(page.line(["nothing left out", *cells]), end="", flush=True)
    for policy in rows[0].policies[1:]:
        cells = [
            change(row.runs(policy), first, met) for row, first, met in zip(rows, firsts, is_met)
        ]
        print(page.line([f"`{policy.partition(':')[2]}`", *cells]), end="", flush=True)


def main():
    usage.words(__doc__)
    rows = [Row(line) for line in sys.stdin]
    for name in dict.fromkeys(row.name.partition("-")[0] for row in rows):
        mine = [row for row in rows if row.name.partition("-")[0] == name]
        print(f"\n{name}\n", flush=True)
        if name == "combined":
            print_combined(mine)
        elif name == "compositions":
            print_best(mine)
        elif name == "ablation":
            print_changes(mine)
        else:
            for each in dict.fromkeys(row.name for row in mine):
                for policies in dict.fromkeys(";".join(row.policies) for row in mine):
                    group = [
                        row
                        for row in mine
                        if row.name == each and ";".join(row.policies) == policies
                    ]
                    if group:
                        print_plain(each, group)
                        print()


if __name__ == "__main__":
    main()
