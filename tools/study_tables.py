"""The tables that tools/study.py makes: what is run for each, and how a cell is written."""

import typing

SCENARIOS = "scenarios"


class Row(typing.NamedTuple):
    label: str
    scenario: str
    options: str = ""
    times: float = 1  # How many times the jobs of the table.


class Column(typing.NamedTuple):
    label: str
    policy: str
    options: str = ""


class Table(typing.NamedTuple):
    study: str
    name: str
    corner: str  # The first cell of the head.
    rows: list
    columns: list  # The first policy is the one that others are compared with.
    cell: str  # One of CELLS in tools/study.py, or "prediction".
    seeds: int
    jobs: int
    turned: bool = False  # Policies are rows.

    @property
    def heads(self):
        if self.cell == "prediction":
            return ["predicted, ms", "simulated, ms", "difference"]
        return [column.label for column in self.columns]


def columns(*policies):
    return [Column(*p) if isinstance(p, tuple) else Column(p, p) for p in policies]


def rates(scenario, *values, options=""):
    return [Row(f"{v}/s", scenario, f"--rates {v} {options}") for v in values]


def settings(scenario, key, values, options=""):
    return [Row(v, scenario, f"--set {key}={v} {options}") for v in values]


# Compass.

FIXED = ("without adjustment", "compass:adjust=0")
ORIGINAL = ("original", "compass:original")
OWN = columns("compass", ORIGINAL, "jit", "hash")
BASELINES = columns("compass", FIXED, ORIGINAL, "jit", "heft", "hash")
RATES = ("0.5", "1", "1.5", "2", "2.5", "3", "3.5", "4")


def code(*policies):
    return [Column(f"`{policy}`", policy) for policy in policies]


def compass(name, corner, rows, columns, cell="latency · slow-down", turned=False):
    return Table("compass", name, corner, rows, columns, cell, 16, 3000, turned)


def memories(*cases):
    return [Row(f"{m}, {r}/s", "compass", f"--rates {r} --set memory={m}") for m, r in cases]


def forks(*cases):
    return [Row(f"{w}, {r}/s", "fork", f"--rates {r} --set workers={w}") for w, r in cases]


COMPASS = [
    compass("rates", "rate", rates("compass", *RATES), BASELINES),
    compass(
        "hits", "rate", rates("compass", "1", "2", "3", "4"),
        columns("compass", ORIGINAL, "jit", "heft", "hash"), "hits",
    ),
    compass("held-out", "rate", rates("held-out", *RATES), BASELINES, "difference"),
    compass(
        "adjustment", "rate", rates("compass", *RATES), columns(FIXED, "compass"), "difference",
    ),
    compass(
        "adjustment-original", "rate", rates("compass", "0.5", "1", "2", "3", "4"),
        columns(("without", "compass:original:adjust=0"), ORIGINAL), "difference",
    ),
    compass(
        "noise", "rate", rates("compass", "1", "2", "3", options="--set noise=99%"),
        columns(FIXED, "compass", ORIGINAL), "difference",
    ),
    compass(
        "slow", "", [Row("slow workers, 2/s", "slow")], columns(FIXED, "compass", ORIGINAL, "jit"),
        "difference",
    ),
    compass(
        "forks", "workers, rate",
        forks((2, 3), (2, 18), (2, 29), (4, 7), (4, 37), (4, 59), (8, 14), (8, 74), (8, 118)),
        columns("compass", FIXED, "heft", "least-work"), "ms (difference)",
    ),
    compass("loss", "", [Row("lost workers, 2/s", "loss")], OWN),
    compass(
        "arrivals", "arrivals",
        [Row("bursts", "burst"), Row("clumps", "gamma"), Row("trace", "trace")], OWN,
    ),
    compass(
        "stale-load", "load rows every",
        settings("compass", "rows.load", ("1ms", "10ms", "50ms", "200ms", "1s"), "--rates 3"),
        columns("compass", ORIGINAL, "jit"),
    ),
    compass(
        "stale-cache", "cache rows every",
        settings("compass", "rows.cache", ("10ms", "100ms", "1s", "10s"), "--rates 3"),
        columns("compass", ORIGINAL, "jit"),
    ),
    compass(
        "crowd", "load rows every",
        settings("compass", "rows.load", ("10ms", "100ms", "500ms"), "--rates 36 --set workers=60"),
        columns("compass", ("without jitter", "compass:jitter=0"), ORIGINAL, "jit"),
    ),
    compass(
        "ablation", "", rates("compass", "2", "4"),
        code(
            "compass", "compass:cache=0", "compass:load=0", "compass:adjust=0", "compass:crowd=0",
            "compass:crowd=0:eviction=0", "compass:spread=0", "compass:jitter=0",
        ),
        "latency, hits (difference)", turned=True,
    ),
    compass(
        "cache", "place, cache",
        settings("compass", "memory", ("8GB", "14GB"), "--rates 2"),
        code(
            "place=hash,cache=compass", "place=hash", "place=hash,cache=lru", "compass",
            "place=compass", "place=compass,cache=lru",
        ),
        "latency, hits", turned=True,
    ),
    compass(
        "memory", "memory, rate",
        memories(("6GB", 2), ("6GB", 4), ("8GB", 2), ("8GB", 4), ("24GB", 2), ("24GB", 4)), OWN,
        "latency, hits",
    ),
    compass(
        "workers", "workers",
        settings("compass", "workers", ("5", "10", "20", "60", "240"), "--rates 4"), OWN,
    ),
    compass(
        "spare", "workers",
        [
            Row(w, "compass", f"--rates 4 --set workers={w} --set memory=24GB", 4)
            for w in ("20", "60", "240")
        ],
        columns("hash", "compass", ("`spread=0`", "compass:spread=0"), ORIGINAL, "jit"),
        "latency (difference)",
    ),
    compass(
        "mixed", "rate", rates("mixed", "2", "4"),
        columns("compass", ORIGINAL, "jit", "heft", "hash"),
    ),
    compass(
        "half", "",
        [
            Row("1/s, 14 GB", "compass", "--rates 1"),
            Row("2/s, 14 GB", "compass", "--rates 2"),
            Row("2/s, 8 GB", "compass", "--rates 2 --set memory=8GB"),
        ],
        [Column("compass on 5", "compass", "--set workers=5")]
        + [
            Column(f"{label} on 10", policy, "--set workers=10")
            for label, policy, _ in columns(ORIGINAL, "jit", "least-work", "hash")
        ],
        "latency",
    ),
]  # fmt: skip

# Models on a GPU.


def first_fit(options):
    return f"place=compass,dispatch=first-fit:{options},cache=compass"


GPU = [
    Table(
        "gpu", "zipf", "exponent, memory",
        [
            Row(f"{skew}, {memory}", f"zipf-{skew}", f"--set memory={memory}")
            for skew in ("0.7", "1", "1.3")
            for memory in ("750MiB", "1302MiB", "2400MiB")
        ],
        columns(("lru", "place=compass,cache=lru"), "compass", "weft"), "ms, hits (difference)",
        8, 8000,
    ),
    Table(
        "gpu", "shares", "policy",
        rates("shares", "3260", "5795", "8692"),
        columns(
            ("one by one", "compass"),
            ("batches on the whole card", first_fit("gpu=0:batch=16")),
            ("eight times 16 processors", first_fit("gpu=2:batch=16")),
            ("four times 32 processors", first_fit("gpu=4:batch=16")),
            ("as much as pays", first_fit("gpu=0:paying:batch=16")),
            "esg", "weft",
        ),
        "in time · p50 · p99", 4, 20000, turned=True,
    ),
    Table(
        "gpu", "streams", "policy",
        rates("streams", "3260", "5795", "8692"),
        columns(
            ("default", first_fit("gpu=4:paying")), ("four streams", first_fit("gpu=4:batch=16")),
            "esg", "weft",
        ),
        "in time · p50 · p99", 4, 20000, turned=True,
    ),
]  # fmt: skip

# ESG.

BINDING = columns("esg", "infless", "fast-gshare", "orion", "aquatope")


def esg(name, corner, rows, columns, cell="met · cost", turned=False):
    return Table("esg", name, corner, rows, columns, cell, 16, 2000, turned)


LIGHT, NORMAL, HEAVY = "--rates 18.66", "--rates 37.31", "--rates 74.63"
ESG = [
    esg(
        "settings", "setting",
        [
            Row(f"{level}-{load}", level, rate)
            for level in ("strict", "moderate", "relaxed")
            for load, rate in (("light", LIGHT), ("normal", NORMAL), ("heavy", HEAVY))
        ],
        BINDING,
    ),
    esg(
        "parts", "without",
        [
            Row("strict-light", "strict", LIGHT), Row("moderate-normal", "moderate", NORMAL),
            Row("relaxed-heavy", "relaxed", HEAVY),
        ],
        columns(
            ("nothing", "esg"), ("shares (`share=0`)", "esg:share=0"),
            ("batches (`batch=0`)", "esg:batch=0"),
            ("choosing again (`adapt=0`)", "esg:adapt=0"),
            ("budgets by time (`split=0`)", "esg:split=0"),
            ("waiting for a batch (`wait=0`)", "esg:wait=0"),
            ("groups (`group=1`)", "esg:group=1"), ("the margin (`margin=0`)", "esg:margin=0"),
            ("locality (`locality=0`)", "esg:locality=0"), ("alternatives (`k=1`)", "esg:k=1"),
            ("loading ahead (`prewarm=0`)", "esg:prewarm=0"),
        ),
        turned=True,
    ),
    esg(
        "errors", "error", settings("moderate", "profile_error", ("0%", "10%", "30%"), NORMAL),
        BINDING,
    ),
    esg("overload", "rate", rates("moderate", "100", "150", "200"), BINDING, "met"),
    esg(
        "others", "setting",
        [Row("strict-light", "strict", LIGHT), Row("moderate-normal", "moderate", NORMAL)],
        columns(
            "esg", ("compass + esg", "place=compass,order=esg,dispatch=esg,cache=compass"),
            "compass", "least-work", "jit",
        ),
    ),
]  # fmt: skip

# Nona. Rows are told every millisecond, so that policies that look at queues see them as they are.

FRESH = "--set rows.load=1ms"
ALL = columns(
    "nona", "expert", "expert:split=2", "fair", "fifo", "opportunistic", "po2", "least-work",
    "hash", "heft", "compass",
)  # fmt: skip


def times(scenario, jobs, *values):
    rows = rates(scenario, *values, options=FRESH)
    return Table("nona", scenario, scenario, rows, ALL, "latency ± interval", 8, jobs, True)


def predictions(scenario, times, *values):
    """Short runs start empty, and end before a queue at a load of 0.9 is as long as it becomes."""
    return [Row(f"{scenario}, {v}/s", scenario, f"--rate {v}", times) for v in values]


NONA = [
    Table(
        "nona", "prediction", "scenario",
        predictions("sizes", 40, 5833, 7500)
        + predictions("one-link", 10, 364, 600, 1200, 1818, 2545, 3272)
        + predictions("nona", 20, 909, 2121, 2727)
        + predictions("network-bound", 2, 250, 500, 750)
        + predictions("parallel", 2, 500, 1000, 1680, 2112)
        + predictions("racks", 4, 50, 125, 200, 290, 350, 380),
        [], "prediction", 4, 5000,
    ),
    times("nona", 10000, 750, 1500, 2250),
    times("parallel", 10000, 150, 500, 1000, 1500),
    times("network-bound", 4000, 25, 50, 100, 200, 400),
    times("racks", 10000, 50, 75, 100, 125, 150, 200, 300, 350),
    Table(
        "nona", "stale", "rows every",
        settings("nona", "rows.load", ("1ms", "10ms", "100ms"), "--rates 1500"),
        columns("nona", "fair", "fifo", "opportunistic", "po2", "least-work", "compass"),
        "latency or (unstable)", 2, 4000,
    ),
    # At rates near saturation, which are high, a run is short: fewer jobs would not tell.
    Table(
        "nona", "saturation", "",
        [
            Row(name, name, f"--saturation {FRESH}")
            for name in ("nona", "parallel", "network-bound", "racks")
        ],
        ALL, "saturation", 4, 10000,
    ),
    # Policies that send to the worker that is free first settle within a rack after a while.
    Table(
        "nona", "lasting", "racks", rates("racks", 150, 250, 350, options=FRESH),
        columns("nona", "fair", "fifo", "opportunistic", "po2", "least-work", "hash"),
        "latency or (unstable)", 4, 60000, True,
    ),
]  # fmt: skip

TABLES = GPU + COMPASS + ESG + NONA
