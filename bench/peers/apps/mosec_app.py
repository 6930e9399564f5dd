"""mosec: mosec_app.py [options of mosec]. Two workers; a chain has one for each stage.

WORK in the environment names the work: mosec reads the command line itself.
"""

import os

from mosec import Runtime, Server, Worker

import work

WORK = os.environ["WORK"]


class Raw(Worker):
    """Bodies as they are."""

    def deserialize(self, data):
        return data

    def serialize(self, data):
        return data


class Whole(Raw):
    def __init__(self):
        super().__init__()
        self.service = work.Service(WORK)

    def forward(self, data):
        return self.service(data)


class First(Raw):
    def __init__(self):
        super().__init__()
        self.model = work.Model("step1")

    def forward(self, data):
        return self.model(work.read_request(data)[1])


class Second(Raw):
    def __init__(self):
        super().__init__()
        self.model = work.Model("step2")

    def forward(self, data):
        return self.model(data)


class Third(Raw):
    def __init__(self):
        super().__init__()
        self.model = work.Model("step3")

    def forward(self, data):
        return work.write_answer("chain", {"y": self.model(data)})


def main():
    server = Server()
    stages = [First, Second, Third] if WORK == "chain" else [Whole]
    runtimes = [Runtime(stage, num=2 if len(stages) == 1 else 1) for stage in stages]
    server.register_runtime({f"/v2/models/{WORK}/infer": runtimes})
    server.run()


if __name__ == "__main__":
    main()
