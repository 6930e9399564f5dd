"""MLServer's own run-time for one model; the folder that it serves is made by content.py."""

from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceResponse

import work


class Identity(MLModel):
    async def load(self):
        self.model = work.Model("identity")
        return True

    async def predict(self, payload):
        y = self.model(NumpyCodec.decode_input(payload.inputs[0]))
        output = NumpyCodec.encode_output("y", y)
        return InferenceResponse(model_name="identity", outputs=[output])
