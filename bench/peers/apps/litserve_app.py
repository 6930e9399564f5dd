"""LitServe: litserve_app.py PORT. Two workers; requests in JSON, as it reads them itself."""

import sys

import litserve
import numpy

import work


class Identity(litserve.LitAPI):
    def setup(self, device):
        self.model = work.Model("identity")

    def decode_request(self, request):
        [tensor] = request["inputs"]
        return numpy.array(tensor["data"], "float32").reshape(tensor["shape"])

    def predict(self, x):
        return self.model(x)

    def encode_response(self, y):
        return work.describe("identity", {"y": y})


def main():
    server = litserve.LitServer(
        Identity(api_path="/v2/models/identity/infer"), accelerator="cpu", workers_per_device=2,
        timeout=120,
    )  # fmt: skip
    server.run(host="127.0.0.1", port=int(sys.argv[1]), generate_client_file=False,
               log_level="warning", access_log=False)  # fmt: skip


if __name__ == "__main__":
    main()
