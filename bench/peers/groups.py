"""What is compared: groups of servers that do the same work, and the loads they get."""

import random
import struct
import typing

import content
import load
from servers import Arm

ADMIT_ALL = ("--no-admission",)
DEADLINE_MS = 1000  # Of `picture`: half of its service level in the demo.
PATIENT_MS = 60000  # Of requests that are not to be late.
ZOO_ROWS = 8
ZIPF = [1 / (k + 1) for k in range(len(content.ZOO))]


class Case(typing.NamedTuple):
    """One load: a closed loop of some connections, or an open loop at a part of the capacity."""

    name: str
    connections: int = 0
    binary: bool = False
    load: float = 0.0


class Group(typing.NamedTuple):
    name: str
    title: str
    about: str
    arms: list  # The first is what the others are compared with.
    cases: list
    deadline_ms: int = 0


CLOSED = [
    Case("JSON, 1 connection", 1), Case("JSON, 16 connections", 16),
    Case("binary, 1 connection", 1, binary=True), Case("binary, 16 connections", 16, binary=True),
]  # fmt: skip
SPEAK_BINARY = ("weft", "triton", "mosec", "kserve")


def loads(*parts):
    return [Case(f"{part:g} of capacity", load=part) for part in parts]


WORKFLOW = (
    "Real models and functions of the demo. Weft accepts every request, as the others do. Triton "
    "runs an ensemble with two instances of each model; mosec runs the whole workflow in two "
    "processes."
)


def workflow(name, about, more):
    title = f"The workflow `{name}`"
    arms = [Arm("weft", name, options=ADMIT_ALL), Arm("triton", name), Arm("mosec", name), *more]
    return Group(name, title, about, arms, loads(0.3, 0.6, 0.9))


GROUPS = [
    Group(
        "identity", "A trivial model",
        "`y = x`, one row of four numbers: what a server itself costs.",
        [Arm(peer, "identity") for peer in
         ("weft", "triton", "mosec", "kserve", "litserve", "bentoml", "mlserver", "ray")],
        CLOSED,
    ),
    Group(
        "chain", "A chain of three trivial models",
        "A workflow, an ensemble of Triton, three stages of mosec, three deployments of Ray Serve, "
        "three services of BentoML.",
        [Arm(peer, "chain") for peer in ("weft", "triton", "mosec", "ray", "bentoml")],
        CLOSED[:2],
    ),
    Group(
        "resident", "Eight models, all resident",
        "Eight products of 1024 by 1024 matrices each, 8 rows per request, binary; models are "
        "drawn by a Zipf law.",
        [Arm("weft", "all", options=ADMIT_ALL), Arm("triton", "all"), Arm("mosec", "all")],
        loads(0.3, 0.6, 0.9),
    ),
    Group(
        "memory", "The same eight models, memory for four",
        "Weft evicts by its policy, mosec has a cache of two models in each of two processes that "
        "drops the one used the longest ago, Ray Serve multiplexes two models in each of two "
        "replicas. Triton loads and unloads only when a client says so: its figure is the table "
        "above.",
        [Arm("weft", "four", options=ADMIT_ALL), Arm("weft", "all", "all resident", ADMIT_ALL),
         Arm("mosec", "four"), Arm("ray", "four")],
        loads(0.3, 0.6),
    ),
    workflow(
        "picture",
        f"{WORKFLOW} So does Ray Serve, in two replicas. Triton, *limited*, lets no more than two "
        "instances run at once, by its rate limiter.",
        [Arm("triton", "picture", "limited", ("--limited",)), Arm("ray", "picture")],
    ),
    workflow("ocr", WORKFLOW, []),
    workflow("speech", WORKFLOW, []),
    Group(
        "overload", "`picture` under overload, with deadlines",
        f"Clients leave after {DEADLINE_MS} ms. Weft is told the deadline with each request; "
        "Triton rejects what has waited that long for an instance, mosec and Ray Serve give up "
        "requests that take longer.",
        [Arm("weft", "picture", deadline_ms=DEADLINE_MS),
         Arm("triton", "picture", deadline_ms=DEADLINE_MS),
         Arm("triton", "picture", "limited", ("--limited",), DEADLINE_MS),
         Arm("mosec", "picture", deadline_ms=DEADLINE_MS),
         Arm("ray", "picture", deadline_ms=DEADLINE_MS)],
        [Case("1.5 times capacity", load=1.5), Case("3 times capacity", load=3.0)],
        DEADLINE_MS,
    ),
]  # fmt: skip


# Requests.


def closed_request(arm, case):
    described, values = load.tensor("x", "FP32", [1, 4]), [1.0, -2.0, 3.0, -4.0]
    if not case.binary:
        return load.request_json(arm.work, described, values)
    more = {"parameters": {"binary_data_output": True}}
    return load.request_binary(arm.work, described, struct.pack("<4f", *values), **more)


def zoo_request(arm, name):
    """Servers in Python find the model in `id`, or for Ray in a header; the path is one for all."""
    model = name if arm.peer in ("weft", "triton") else arm.work
    values = struct.pack("<1024f", *[1.0] * 1024) * ZOO_ROWS
    parameters = {"binary_data_output": True, "items": ZOO_ROWS}
    described = load.tensor("x", "FP32", [ZOO_ROWS, 1024])
    request = load.request_binary(model, described, values, id=name, parameters=parameters)
    request.headers["serve_multiplexed_model_id"] = name
    return request


def workflow_request(arm, group, path):
    data = path.read_bytes()
    name = "audio" if arm.work == "speech" else "image"
    described = load.tensor(name, "UINT8", [len(data)])
    request = load.request_binary(arm.work, described, data)
    if group.deadline_ms and arm.peer == "weft":
        request.headers["x-slo-ms"] = str(group.deadline_ms)
    return request


class Requests:
    """The requests of a slice: the same for all servers of a group, but for their form."""

    def __init__(self, place, group, arm):
        self.arm = arm
        if arm.work in ("identity", "chain"):
            self.kinds = {arm.work: closed_request(arm, CLOSED[0])}
        elif arm.work in ("all", "four"):
            self.kinds = {name: zoo_request(arm, name) for name in content.ZOO}
        else:
            self.kinds = {path.name: workflow_request(arm, group, path)
                          for path in content.samples(place.demo, arm.work)}  # fmt: skip

    def names(self, count, seed):
        """Which kinds of request are asked for: models by Zipf's law, samples in turn."""
        names = list(self.kinds)
        if self.arm.work in ("all", "four"):
            return random.Random(seed).choices(names, ZIPF, k=count)
        return [names[(seed + i) % len(names)] for i in range(count)]

    def patient(self):
        """All kinds of request by name, without a deadline that could be missed."""
        if "x-slo-ms" not in self.first().headers:
            return self.kinds
        late = {"x-slo-ms": str(PATIENT_MS)}
        return {name: kind._replace(headers={**kind.headers, **late})
                for name, kind in self.kinds.items()}  # fmt: skip

    def first(self):
        return next(iter(self.kinds.values()))

    def first_patient(self):
        """What a server is asked for first: late by a cold start, it would be careful for long."""
        return next(iter(self.patient().values()))


def best_hits(names, room):
    """The largest share of requests that find their model, with the future known (Belady).

    What is held before the first request is free to choose.
    """
    uses = {name: [i for i, other in enumerate(names) if other == name] for name in set(names)}
    held, hits = [], 0
    for name in names:
        uses[name].pop(0)
        if name in held or len(held) < room:
            hits += 1
        else:
            held.remove(max(held, key=lambda one: uses[one][0] if uses[one] else len(names)))
        if name not in held:
            held.append(name)
    return hits / max(len(names), 1)
