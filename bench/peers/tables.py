"""Tables in Markdown out of rows of figures, and the page of the study."""

import figures
import install
import page
from servers import LABELS

CLOSED_HEAD = [
    "p50, µs", "p50 / Weft", "requests/s", "requests/s / Weft", "CPU, µs", "CPU / Weft",
    "memory, MB", "first answer after, s",
]  # fmt: skip
OPEN_HEAD = [
    "mean, ms", "mean / Weft", "p50, ms", "p50 / Weft", "p99, ms", "p99 / Weft", "answered, %",
    "CPU, ms", "CPU / Weft", "memory, MB",
]  # fmt: skip
OVERLOAD_HEAD = [
    "goodput / capacity", "goodput / Weft", "in time, %", "p50, ms", "p99, ms", "CPU, ms",
    "memory, MB",
]  # fmt: skip


def one(value):
    return "–" if value is None else figures.number(value)


def ratio(rows, reference, key):
    return figures.spread(figures.ratios(rows, reference, key))


def closed_cells(rows, reference):
    return [
        figures.with_least(figures.of(rows, "p50_us")), ratio(rows, reference, "p50_us"),
        figures.median(figures.of(rows, "rate")), ratio(rows, reference, "rate"),
        figures.with_least(figures.of(rows, "cpu_us")), ratio(rows, reference, "cpu_us"),
        figures.median(figures.of(rows, "memory_mb")),
        figures.number(min(figures.of(rows, "ready_s"))),
    ]  # fmt: skip


def open_cells(rows, reference):
    cells = []
    for key in ("mean_ms", "p50_ms", "p99_ms"):
        cells += [figures.with_least(figures.of(rows, key)), ratio(rows, reference, key)]
    return [
        *cells, figures.median(figures.of(rows, "answered_share"), 100),
        figures.with_least(figures.of(rows, "cpu_ms")), ratio(rows, reference, "cpu_ms"),
        figures.median(figures.of(rows, "memory_mb")),
    ]  # fmt: skip


def overload_cells(rows, reference):
    return [
        figures.spread(figures.of(rows, "goodput")), ratio(rows, reference, "goodput"),
        figures.median(figures.of(rows, "in_time_share"), 100),
        one(figures.pooled(rows, 0.5)), one(figures.pooled(rows, 0.99)),
        figures.median(figures.of(rows, "cpu_ms")), figures.median(figures.of(rows, "memory_mb")),
    ]  # fmt: skip


def form(group):
    """The head of a group's tables, and what makes the cells of a row."""
    if group.cases[0].connections:
        return CLOSED_HEAD, closed_cells
    return (OVERLOAD_HEAD, overload_cells) if group.deadline_ms else (OPEN_HEAD, open_cells)


def case_table(group, case, rows, missing):
    """The servers under one load, of @rows of @group; @missing says why others are not there."""
    head, cells = form(group)
    mine = [row for row in rows if row["case"] == case.name]
    reference = [row for row in mine if row["arm"] == group.arms[0].label]
    text = page.head(["server", *head])
    for arm in group.arms:
        own = [row for row in mine if row["arm"] == arm.label]
        if own:
            text += page.line([arm.label, *cells(own, reference)])
        elif arm.label in missing:
            text += page.line([arm.label, f"not measured: {missing[arm.label]}"])
        elif all(row["arm"] != arm.label for row in rows):
            text += page.line([arm.label, "not measured: left out of this run"])
    return text


def rate_of(group, case, rows):
    rates = [row["rate"] for row in rows if row["case"] == case.name and "rate" in row]
    return f", {figures.median(rates)} requests/s" if rates and case.load else ""


def best_hits_line(rows):
    hits = [row for row in rows if "hits" in row]
    if not hits:
        return ""
    own, best = figures.of(hits, "hits"), figures.of(hits, "best_hits")
    part = [a / b for a, b in zip(own, best) if b > 0]
    return (
        f"\nModels that were resident when Weft needed them: {figures.spread(own, 100)} %.\n"
        f"The best possible with room for four, the future known: {figures.spread(best, 100)} %.\n"
        f"Weft's part of that: {figures.spread(part, 100)} %.\n"
    )


def group_text(group, rows, missing):
    mine = [row for row in rows if row["group"] == group.name]
    text = f"## {group.title}\n\n{wrap(group.about)}\n"
    for case in group.cases:
        if any(row["case"] == case.name for row in mine):
            text += f"\n{case.name}{rate_of(group, case, mine)}:\n\n"
            text += case_table(group, case, mine, missing)
    if not mine:
        text += "".join(f"\n{label}: not measured: {why}\n" for label, why in missing.items())
    return text + best_hits_line(mine)


PREDICTION_HEAD = [
    "work", "load", "cycles", "mean, ms", "predicted, ms", "predicted / served", "p99, ms",
    "predicted, ms", "predicted / served",
]  # fmt: skip


def prediction_cells(rows):
    cells = [str(len(rows))]
    for key in ("mean_ms", "p99_ms"):
        pairs = [(row[f"predicted_{key}"], row[key]) for row in rows if row.get(key)]
        cells += [figures.median([served for _, served in pairs]),
                  figures.median([expected for expected, _ in pairs]),
                  figures.spread([expected / served for expected, served in pairs])]  # fmt: skip
    return cells


def compared(rows):
    """Those of cycles in which all servers had their turn."""
    return [row for row in rows if not row.get("is_alone")]


def prediction_text(groups, rows):
    text = page.head(PREDICTION_HEAD)
    found = [row for row in rows if row.get("predicted_mean_ms") and row.get("mean_ms")]
    for group in groups:
        for arm in [arm for arm in group.arms if arm.peer == "weft"]:
            for case in group.cases:
                own = [row for row in found if (row["group"], row["case"], row["arm"])
                       == (group.name, case.name, arm.label)]  # fmt: skip
                if own:
                    name = group.title + (f", {arm.note}" if arm.note else "")
                    text += page.line([name, case.name, *prediction_cells(own)])
    return text if found else ""


# key, what it is, and whether more of it is better
COMPARED = [
    ("p50_us", "p50", False), ("rate", "throughput", True), ("cpu_us", "processor time", False),
    ("mean_ms", "mean", False), ("p50_ms", "p50", False), ("p99_ms", "p99", False),
    ("cpu_ms", "processor time", False), ("goodput", "goodput", True),
]  # fmt: skip


def is_loss(values, more_is_better):
    """Whether the other server is better by more than 2 % in the middle of the cycles."""
    middle = figures.statistics.median(values)
    return middle > 1.02 if more_is_better else middle < 0.98


def losses(groups, rows):
    """A line for each figure in which another server was better than Weft."""
    lines = []
    for group in groups:
        for case in group.cases:
            mine = [row for row in rows if (row["group"], row["case"]) == (group.name, case.name)]
            reference = [row for row in mine if row["arm"] == group.arms[0].label]
            for arm in group.arms[1:]:
                own = [row for row in mine if row["arm"] == arm.label]
                found = []
                for key, name, more_is_better in COMPARED:
                    if key == "rate" and case.load:
                        continue  # It was given.
                    if group.deadline_ms and key != "goodput":
                        continue  # Latencies of the few that were answered say nothing.
                    values = figures.ratios(own, reference, key)
                    if values and is_loss(values, more_is_better):
                        found.append(f"{name} {figures.spread(values)}")
                if found and arm.peer != "weft":
                    lines.append(f"* {group.title}, {case.name}: {arm.label}: {'; '.join(found)}\n")
    return "".join(lines)


def wrap(text, columns=118):
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > columns:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return "\n".join([*lines, line])


HOW = (
    "All servers run on the same machine, on loopback, with the same files of models and ONNX "
    "Runtime {runtime} on one thread per run. The servers of a group are up together and paused "
    "but for the one that is measured; in every cycle each gets every load once, and who begins "
    "changes. Closed loops are `wrk`, open loops a Poisson client with the same seed, so with the "
    "same requests at the same times for every server; latency counts from when a request was due.",
    "Figures are medians over {cycles} cycles; behind a slash is the least, which is nearer to "
    "what a quiet machine shows. A ratio is taken within a cycle, the server's "
    "figure over Weft's, and shown as its median with the smallest and largest in brackets. For "
    "times, above 1 means that Weft is better; for requests/s and goodput, below 1. CPU is the "
    "processor time of the whole process tree per answer. All answers were compared and are equal, "
    "to a thousandth.",
    "Capacity is what Weft sustains: answers per second to 16 clients that ask again as soon as "
    "they are answered, so that there is always work in its queues, for 3 s after the last of them "
    "has begun. That is measured after each server of the group was started and after each cycle, "
    "and loads of a cycle are parts of the median of the last three. Goodput is answers in time "
    "per second in the middle of a slice: from one deadline after it began, when queues are what "
    "they become, to its end, when no more requests come.",
)


def versions_text(triton):
    names = [f"Triton {install.TRITON} (of nvidia-pytriton {install.version('triton')}; {triton})"]
    names += [f"{LABELS[peer]} {install.version(peer)}" for peer in install.VERSIONS
              if peer != "triton"]  # fmt: skip
    return wrap(f"Versions: {', '.join(names)}.") + "\n"


def losses_text(groups, rows):
    found = losses(groups, rows)
    if not found:
        return "## Where Weft loses\n\nIn no figure of this run by more than 2 %.\n"
    intro = wrap("Figures of other servers over Weft's, where theirs are better by more than 2 %:")
    return f"## Where Weft loses\n\n{intro}\n\n{found}"


def page_text(facts, groups, rows, missing, notes=""):
    """The whole page; @missing by group and server. @notes are a person's and kept as they are."""
    text = "# Weft beside other servers\n\n"
    text += f"    {facts['command']}\n\n"
    text += wrap("{date}, {machine}, commit `{commit}`; other processes took {others} cores "
                 "meanwhile.".format(**facts)) + "\n\n"  # fmt: skip
    text += "".join(wrap(part.format(**facts)) + "\n\n" for part in HOW)
    text += versions_text(facts["triton"]) + "\n"
    text += page.BEGIN.format("notes") + notes + page.END + "\n\n"
    both = compared(rows)
    text += losses_text(groups, both) + "\n"
    text += "\n".join(group_text(group, both, missing.get(group.name, {})) for group in groups)
    predicted = prediction_text(groups, rows)
    if predicted:
        text += "\n## Predicted by the simulator\n\n"
        text += wrap("On the same arrivals, from models that Weft measured alone and rehearsals "
                     "of the same process at parts of its capacity, with other arrivals, before "
                     "the first cycle and for a moment after every slice so far. The pace of the "
                     "machine is that of the rehearsals nearest to a slice, of as many as tell "
                     "best how fast it was in each other. Policies know what the server had learnt "
                     "before the slice. What HTTP and the client took in rehearsals is added. In "
                     "some cycles only Weft had its turn: the tables above are without "
                     "them.")  # fmt: skip
        text += f"\n\n{predicted}"
    return text
