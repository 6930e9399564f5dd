"""KServe's server in Python: kserve_app.py PORT. One process, as it starts by default."""

import sys

from kserve import InferOutput, InferResponse, Model, ModelServer

import work


class Identity(Model):
    def __init__(self):
        super().__init__("identity")
        self.model = work.Model("identity")
        self.ready = True

    async def predict(self, payload, headers=None, response_headers=None):
        y = self.model(payload.inputs[0].as_numpy())
        output = InferOutput(name="y", shape=list(y.shape), datatype="FP32")
        binary = (
            payload.parameters.get("binary_data_output", False) if payload.parameters else False
        )
        output.set_data_from_numpy(y, binary_data=binary)
        return InferResponse(payload.id or "1", "identity", [output])


if __name__ == "__main__":
    port = int(sys.argv[1])
    ModelServer(http_port=port, enable_grpc=False, access_log_format=None).start([Identity()])
