"""Compass's four workflows, as mix.py serves them and mix_predicted.py simulates them."""

WORKERS = 5
POLICIES = "weft compass composed compass:original jit"
COMPOSED = "place=compass:pool:keep=16,order=weft,dispatch=first-fit:gpu=4:paying,cache=compass"
RATES = "0.25,0.45,0.6"

# The net that runs instead, GB of Compass's model, rows of a request.
MODELS = {
    "opt": ("bert", 5.72, 16),
    "mt5": ("bert", 2.0, 16),
    "marian": ("bert", 0.8, 16),
    "nli": ("bert", 2.14, 16),
    "vit": ("vit", 1.7, 8),
    "txt2speech": ("bert", 2.7, 8),
    "detr": ("r50", 1.8, 8),
    "depth": ("r50", 3.9, 8),
}

# A first task, those that take what it made, and those that run beside it.
WORKFLOWS = {
    "translation": {
        "rows": 16,
        "root": ("generate", "opt"),
        "next": {"french": "marian", "chinese": "mt5", "japanese": "mt5"},
        "beside": {},
    },
    "question-answer": {
        "rows": 16, "root": ("answer", "opt"), "next": {"judge": "nli"}, "beside": {},
    },
    "image-to-sound": {
        "rows": 8,
        "root": ("caption", "vit"),
        "next": {"judge": "nli", "speak": "txt2speech"},
        "beside": {},
    },
    "detection": {
        "rows": 8, "root": ("objects", "detr"), "next": {}, "beside": {"depth": "depth"},
    },
}  # fmt: skip


def learner(policies):
    """The one of @policies under which hand-offs are learnt, for the predictions of all."""
    return "compass" if "compass" in policies else policies[0]


def run_ms(profile, model, rows=None):
    """What a run of @model takes on all that a worker has."""
    [(_, device)] = profile["models"][model]["devices"].items()
    rows = rows or MODELS[model][2]
    points = {p["items"]: p["ms"] for p in device["points"] if p.get("gpu", 0) == 0}
    return points[min(n for n in points if n >= rows)]


def capacity(profile):
    """Jobs per second that all workers could run, if none disturbed another."""
    ms = 0
    for flow in WORKFLOWS.values():
        tasks = [flow["root"][1], *flow["next"].values(), *flow["beside"].values()]
        ms += sum(run_ms(profile, model, flow["rows"]) for model in tasks)
    return WORKERS * 1000 * len(WORKFLOWS) / ms
