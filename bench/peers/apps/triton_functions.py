"""Functions of a workflow as a model of Triton's Python back end."""

import json
import os
import sys

# The back end starts Python without its environment.
sys.path[:0] = os.environ["PYTHONPATH"].split(":")

import triton_python_backend_utils as pb  # noqa: E402

import work  # noqa: E402


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        values = {key: one["string_value"] for key, one in config["parameters"].items()}
        document = work.read_workflow(values["workflow"])
        names = values["tasks"].split(" ")
        tasks = {name: document["tasks"][name] for name in names}
        self.tasks = work.Tasks(tasks, work.references(document))
        self.inputs = [one["name"] for one in config["input"]]
        self.outputs = [one["name"] for one in config["output"]]

    def answer(self, request):
        tensors = {name: pb.get_input_tensor_by_name(request, name).as_numpy()
                   for name in self.inputs}  # fmt: skip
        made = self.tasks(tensors)
        return pb.InferenceResponse([pb.Tensor(name, made[name]) for name in self.outputs])

    def execute(self, requests):
        answers = []
        for request in requests:
            try:
                answers.append(self.answer(request))
            except ValueError as error:
                answers.append(pb.InferenceResponse(error=pb.TritonError(str(error))))
        return answers
