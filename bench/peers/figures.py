"""Figures: what a slice of load showed, ratios within cycles, medians and spread."""

import statistics


def quantile(values, share):
    """Of @values, linear between the nearest two."""
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


def summarise(answers, cpu_s, deadline_ms):
    """Figures of an open loop: latencies of good answers, and how many were in time."""
    good = [1000 * answer.latency_s for answer in answers if answer.status == 200]
    found = {
        "requests": len(answers), "answered": len(good),
        "answered_share": len(good) / max(len(answers), 1),
        "latencies_ms": [round(value, 3) for value in good],
    }  # fmt: skip
    if good:
        found |= {
            "mean_ms": statistics.fmean(good), "p50_ms": quantile(good, 0.5),
            "p99_ms": quantile(good, 0.99), "cpu_ms": 1000 * cpu_s / len(good),
        }  # fmt: skip
    if deadline_ms:
        in_time = sum(value <= deadline_ms for value in good)
        found["in_time_share"] = in_time / max(len(answers), 1)
    return found


def goodput(answers, deadline_ms, seconds):
    """Answers in time per second, while requests came for @seconds.

    Not counted are the first moments, as long as a deadline, when queues were not yet what they
    become, and what is left in them at the end, when nothing new comes any more.
    """
    first_s = deadline_ms / 1000
    ends = [one.due_s + one.latency_s for one in answers
            if one.status == 200 and 1000 * one.latency_s <= deadline_ms]  # fmt: skip
    return sum(first_s <= end_s < seconds for end_s in ends) / (seconds - first_s)


def summarise_closed(closed, cpu_s):
    good = max(closed.requests - closed.bad, 0)
    return {
        "requests": closed.requests, "answered": good,
        "answered_share": good / max(closed.requests, 1), "rate": good / closed.seconds,
        "mean_us": closed.mean_us, "p50_us": closed.p50_us, "p99_us": closed.p99_us,
        "cpu_us": 1e6 * cpu_s / max(good, 1),
    }  # fmt: skip


def of(rows, key):
    return [row[key] for row in rows if row.get(key) is not None]


def ratios(rows, reference, key):
    """Of each row's figure to the reference's in the same cycle."""
    base = {row["cycle"]: row[key] for row in reference if row.get(key)}
    return [row[key] / base[row["cycle"]]
            for row in rows if row.get(key) is not None and row["cycle"] in base]  # fmt: skip


def pooled(rows, share):
    """A quantile of the latencies of all cycles together."""
    values = [value for row in rows for value in row.get("latencies_ms", [])]
    return quantile(values, share) if values else None


def number(value):
    """Three digits that count."""
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    return f"{value:.{digits}f}"


def median(values, times=1.0):
    return number(times * statistics.median(values)) if values else "–"


def with_least(values):
    """Median, and behind a slash the least: nearer to what a quiet machine shows."""
    if len(values) < 2:
        return median(values)
    return f"{median(values)} / {number(min(values))}"


def spread(values, times=1.0):
    """Median, and in brackets the smallest and the largest."""
    if not values:
        return "–"
    if len(values) == 1:
        return number(times * values[0])
    ends = f"{number(times * min(values))} to {number(times * max(values))}"
    return f"{median(values, times)} ({ends})"


def ends(counts):
    """Smallest and largest of some counts, or the one that all are."""
    low, high = min(counts, default=0), max(counts, default=0)
    return str(low) if low == high else f"{low} to {high}"
