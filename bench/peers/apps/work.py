"""What every server in Python runs: ONNX Runtime on one thread, and the workflows of Weft's demo.

MODELS in the environment names the folder of the models, FUNCTIONS that of the shared objects, and
WORKFLOWS that of the documents.
"""

import collections
import json
import os
import pathlib

import numpy
import onnxruntime
import yaml

from functions import Functions

OIP_TYPES = {
    "float32": "FP32", "int32": "INT32", "int64": "INT64", "uint8": "UINT8", "object": "BYTES",
}  # fmt: skip
NUMPY_TYPES = {name: kind for kind, name in OIP_TYPES.items()}


def folder(name):
    return pathlib.Path(os.environ[name])


def session(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    path = folder("MODELS") / model / "1/model.onnx"
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


class Model:
    """A model that is resident for good."""

    def __init__(self, name):
        self.session = session(name)

    def __call__(self, x):
        return self.session.run(None, {"x": x})[0]


class Cache:
    """At most @room models in memory; the one that was used the longest ago leaves."""

    def __init__(self, room):
        self.room = room
        self.sessions = collections.OrderedDict()

    def __call__(self, name, x):
        """The model that the request names; a client of these servers says it by `id`."""
        if name not in self.sessions:
            while len(self.sessions) >= self.room:
                self.sessions.popitem(last=False)
            self.sessions[name] = session(name)
        self.sessions.move_to_end(name)
        return self.sessions[name].run(None, {"x": x})[0]


class Tasks:
    """Runs tasks of a workflow, one after the other; tensors are known as `task.output`."""

    def __init__(self, tasks, outputs):
        """@tasks of a document; @outputs are the references that anything needs."""
        self.tasks, self.outputs = tasks, outputs
        self.libraries, self.sessions = {}, {}
        for task in tasks.values():
            for model in [*task.get("models", []), *([task["model"]] if "model" in task else [])]:
                self.sessions.setdefault(model, session(model))
            if "function" in task:
                name = task["function"].partition(".")[0]
                if name not in self.libraries:
                    self.libraries[name] = Functions(folder("FUNCTIONS") / f"{name}.so")

    def run_model(self, name, inputs, wanted=None):
        one = self.sessions[name]
        names = wanted or [output.name for output in one.get_outputs()]
        return dict(zip(names, one.run(names, inputs)))

    def run_task(self, name, tensors):
        task = self.tasks[name]
        inputs = {port: tensors[reference] for port, reference in task["in"].items()}
        if "model" in task:
            prefix = f"{name}."
            wanted = [o[len(prefix) :] for o in self.outputs if o.startswith(prefix)]
            return self.run_model(task["model"], inputs, wanted)
        library, _, function = task["function"].partition(".")
        return self.libraries[library].call(function, inputs, self.run_model)

    def __call__(self, tensors):
        """@tensors by reference, with all that the tasks make."""
        tensors = dict(tensors)
        for name in self.tasks:
            for output, array in self.run_task(name, tensors).items():
                tensors[f"{name}.{output}"] = array
        return tensors


def read_workflow(name):
    path = folder("WORKFLOWS") / f"{name}.workflow.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def references(document):
    """All `task.output` that tasks or the answer need, each once."""
    found = [reference for task in document["tasks"].values() for reference in task["in"].values()]
    found += [output["from"] for output in document["outputs"].values()]
    return list(dict.fromkeys(found))


class Workflow:
    """All of a workflow in this process."""

    def __init__(self, name):
        self.document = read_workflow(name)
        self.tasks = Tasks(self.document["tasks"], references(self.document))
        [self.input] = self.document["inputs"]

    def run(self, file):
        return self.tasks({f"inputs.{self.input}": numpy.frombuffer(file, "uint8")})

    def __call__(self, file):
        tensors = self.run(file)
        outputs = self.document["outputs"]
        return {name: tensors[output["from"]] for name, output in outputs.items()}


# The Open Inference Protocol, as far as the clients of this comparison use it.


def read_head(body):
    """The JSON that @body begins with, and where it ends; servers do not all show headers."""
    decoder = json.JSONDecoder()
    try:
        return decoder.raw_decode(body[:1024].decode("latin-1"))
    except ValueError:
        return decoder.raw_decode(body.decode("latin-1"))


def read_request(body):
    """The head of a request, and its only tensor: from JSON, or from the bytes behind the JSON."""
    head, end = read_head(body)
    [tensor] = head["inputs"]
    kind = NUMPY_TYPES[tensor["datatype"]]
    if "data" in tensor:
        array = numpy.array(tensor["data"], kind)
    else:
        array = numpy.frombuffer(body, kind, offset=end)
    return head, array.reshape(tensor["shape"])


def plain(array):
    values = array.reshape(-1).tolist()
    return [value.decode() for value in values] if array.dtype == object else values


def describe(model, outputs, binary=False):
    """The answer as an object; without the data of tensors that are sent behind it."""
    described = []
    for name, array in outputs.items():
        one = {"name": name, "datatype": OIP_TYPES[str(array.dtype)], "shape": list(array.shape)}
        if binary:
            one["parameters"] = {"binary_data_size": array.nbytes}
        else:
            one["data"] = plain(array)
        described.append(one)
    return {"model_name": model, "model_version": "1", "outputs": described}


def write_answer(model, outputs, binary=False):
    """The answer as bytes: JSON, or JSON with the tensors behind it."""
    head = json.dumps(describe(model, outputs, binary)).encode()
    return head + b"".join(array.tobytes() for array in outputs.values()) if binary else head


class Service:
    """Answers requests for one kind of work: a trivial model, one of many models, or a workflow.

    @work is `identity`, `all`, `four` or the name of a workflow.
    """

    def __init__(self, work):
        self.work = work
        if work == "identity":
            model = Model("identity")
            self.run = lambda head, x: {"y": model(x)}
        elif work in ("all", "four"):
            cache = Cache(8 if work == "all" else 2)  # Two processes have four together.
            self.run = lambda head, x: {"y": cache(head["id"], x)}
        else:
            workflow = Workflow(work)
            self.run = lambda head, x: workflow(x)

    def __call__(self, body):
        head, x = read_request(body)
        binary = head.get("parameters", {}).get("binary_data_output", False)
        return write_answer(head.get("id", self.work), self.run(head, x), binary)
