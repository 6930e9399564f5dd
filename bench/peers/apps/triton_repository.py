"""Writes a repository of models for Triton: triton_repository.py WORK FOLDER [--option...].

WORK is `identity` (with the chain of three as an ensemble), `all`, or the name of a workflow, which
becomes an ensemble: models are models of the ONNX back end, functions of the Python back end.

  --python       serve models with ONNX Runtime in the Python back end as well
  --limited      let no more than two instances run at once, by Triton's rate limiter
  --queue US     reject what has waited that many microseconds for an instance
  --sample FILE  run the workflow on FILE, to find the types of what its tasks make
"""

import argparse
import os
import pathlib
import shutil
import typing

import work

HERE = pathlib.Path(__file__).resolve().parent
THREADS = "".join(
    f'parameters {{key: "{key}_thread_count" value: {{string_value: "1"}}}}\n'
    for key in ("intra_op", "inter_op")
)


class Tensor(typing.NamedTuple):
    name: str
    kind: str  # As the Open Inference Protocol writes it.
    shape: list

    def text(self):
        kind = "STRING" if self.kind == "BYTES" else self.kind
        return f'{{name: "{self.name}" data_type: TYPE_{kind} dims: {self.shape}}}'


def listed(key, tensors):
    return f"{key} [{', '.join(tensor.text() for tensor in tensors)}]\n"


def step(model, inputs, outputs):
    """A step of an ensemble; both maps go from the model's names to the ensemble's."""
    maps = [f'input_map {{key: "{key}" value: "{value}"}}' for key, value in inputs.items()]
    maps += [f'output_map {{key: "{key}" value: "{value}"}}' for key, value in outputs.items()]
    return f'{{model_name: "{model}" model_version: -1 {" ".join(maps)}}}'


class Repository:
    def __init__(self, folder, options):
        self.folder, self.options = pathlib.Path(folder), options

    def write(self, name, head, inputs, outputs, tail=""):
        text = f'name: "{name}"\nmax_batch_size: 0\n{head}'
        text += listed("input", inputs) + listed("output", outputs) + tail
        (self.folder / name / "1").mkdir(parents=True, exist_ok=True)
        (self.folder / name / "config.pbtxt").write_text(text, encoding="utf-8")

    def instances(self, count):
        limit = (
            ' rate_limiter {resources [{name: "core" count: 1}]}' if self.options.limited else ""
        )
        text = f"instance_group [{{kind: KIND_CPU count: {count}{limit}}}]\n"
        if self.options.queue:
            text += "dynamic_batching {default_queue_policy {timeout_action: REJECT "
            text += f"default_timeout_microseconds: {self.options.queue}}}}}\n"
        return text

    def model(self, name, count=2, wanted=None):
        """A model of ONNX, with the outputs that are @wanted."""
        session = work.session(name)
        kinds = {"tensor(float)": "FP32", "tensor(int64)": "INT64", "tensor(int32)": "INT32"}

        def tensors(found):
            return [
                Tensor(one.name, kinds[one.type],
                       [extent if isinstance(extent, int) else -1 for extent in one.shape])
                for one in found
            ]  # fmt: skip

        outputs = [one for one in session.get_outputs() if wanted is None or one.name in wanted]
        backend = "python" if self.options.python else "onnxruntime"
        tail = self.instances(count) + ("" if self.options.python else THREADS)
        self.write(name, f'backend: "{backend}"\n', tensors(session.get_inputs()),
                   tensors(outputs), tail)  # fmt: skip
        target = self.folder / name / "1"
        if self.options.python:
            shutil.copyfile(HERE / "triton_onnx.py", target / "model.py")
        else:
            source = pathlib.Path(os.environ["MODELS"]) / name / "1/model.onnx"
            shutil.copyfile(source, target / "model.onnx")

    def ensemble(self, name, inputs, outputs, steps):
        tail = f"ensemble_scheduling {{step [{', '.join(steps)}]}}\n"
        self.write(name, 'platform: "ensemble"\n', inputs, outputs, tail)


def write_identity(repository):
    for name in ("identity", "step1", "step2", "step3"):
        repository.model(name)
    steps = [
        step("step1", {"x": "x"}, {"y": "p"}), step("step2", {"x": "p"}, {"y": "q"}),
        step("step3", {"x": "q"}, {"y": "y"}),
    ]  # fmt: skip
    x, y = Tensor("x", "FP32", [-1, 4]), Tensor("y", "FP32", [-1, 4])
    repository.ensemble("chain", [x], [y], steps)


def group_functions(tasks):
    """Functions that only follow one another become one model: (names of tasks) by the first."""
    groups = {}
    for name, task in tasks.items():
        if "function" not in task:
            continue
        producers = {reference.partition(".")[0] for reference in task["in"].values()} - {"inputs"}
        for group in groups.values():
            if producers and producers <= set(group):
                group.append(name)
                break
        else:
            groups[name] = [name]
    return groups


class Ensemble:
    """A workflow of Weft as an ensemble of Triton."""

    def __init__(self, repository, name, sample):
        self.repository, self.name = repository, name
        self.workflow = work.Workflow(name)
        self.document = self.workflow.document
        self.tasks = self.document["tasks"]
        self.made = self.workflow.run(pathlib.Path(sample).read_bytes())
        # Answers are called by their own names, everything else by its reference.
        self.names = {one["from"]: key for key, one in self.document["outputs"].items()}

    def tensor(self, reference):
        array = self.made[reference]
        return Tensor(reference, work.OIP_TYPES[str(array.dtype)], [-1] * array.ndim)

    def called(self, reference):
        if reference.startswith("inputs."):
            return reference.partition(".")[2]
        return self.names.get(reference, reference)

    def model_step(self, name):
        task = self.tasks[name]
        wanted = [r.partition(".")[2] for r in work.references(self.document)
                  if r.partition(".")[0] == name]  # fmt: skip
        self.repository.model(task["model"], wanted=wanted)
        inputs = {port: self.called(reference) for port, reference in task["in"].items()}
        return step(task["model"], inputs, {out: self.called(f"{name}.{out}") for out in wanted})

    def needed(self, group):
        """What the tasks of @group take from outside, and what others take from them."""
        taken = [r for name in group for r in self.tasks[name]["in"].values()]
        inputs = [r for r in dict.fromkeys(taken) if r.partition(".")[0] not in group]
        others = {name: task for name, task in self.tasks.items() if name not in group}
        rest = work.references({"tasks": others, "outputs": self.document["outputs"]})
        return inputs, [r for r in rest if r.partition(".")[0] in group]

    def function_step(self, group):
        inputs, outputs = self.needed(group)
        name = f"{self.name}-{group[0]}"
        values = {"workflow": self.name, "tasks": " ".join(group)}
        tail = self.repository.instances(2) + "".join(
            f'parameters {{key: "{key}" value: {{string_value: "{value}"}}}}\n'
            for key, value in values.items()
        )
        self.repository.write(
            name, 'backend: "python"\n', [self.tensor(r) for r in inputs],
            [self.tensor(r) for r in outputs], tail,
        )  # fmt: skip
        target = self.repository.folder / name / "1/model.py"
        shutil.copyfile(HERE / "triton_functions.py", target)
        return step(name, {r: self.called(r) for r in inputs}, {r: self.called(r) for r in outputs})

    def write(self):
        groups = group_functions(self.tasks)
        steps = [self.model_step(name) for name, task in self.tasks.items() if "model" in task]
        steps += [self.function_step(group) for group in groups.values()]
        inputs = [Tensor(key, one["dtype"], one["shape"])
                  for key, one in self.document["inputs"].items()]  # fmt: skip
        outputs = [self.tensor(one["from"])._replace(name=key)
                   for key, one in self.document["outputs"].items()]  # fmt: skip
        self.repository.ensemble(self.name, inputs, outputs, steps)


def parse():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("work")
    parser.add_argument("folder")
    parser.add_argument("--python", action="store_true")
    parser.add_argument("--limited", action="store_true")
    parser.add_argument("--queue", type=int, default=0)
    parser.add_argument("--sample")
    return parser.parse_args()


def main():
    options = parse()
    repository = Repository(options.folder, options)
    if options.work == "identity":
        write_identity(repository)
    elif options.work == "all":
        for k in range(8):
            repository.model(f"zoo{k}", count=1)
    else:
        Ensemble(repository, options.work, options.sample).write()


if __name__ == "__main__":
    main()
