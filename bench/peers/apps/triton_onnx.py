"""ONNX Runtime in Triton's Python back end, where its ONNX back end is not at hand."""

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
        self.session = work.session(config["name"])
        self.inputs = [one["name"] for one in config["input"]]
        self.outputs = [one["name"] for one in config["output"]]

    def execute(self, requests):
        answers = []
        for request in requests:
            x = {name: pb.get_input_tensor_by_name(request, name).as_numpy()
                 for name in self.inputs}  # fmt: skip
            made = self.session.run(self.outputs, x)
            tensors = [pb.Tensor(name, array) for name, array in zip(self.outputs, made)]
            answers.append(pb.InferenceResponse(tensors))
        return answers
