"""BentoML: `bentoml serve bentoml_app:Identity` or `:Chain`. Two workers; a step has one."""

import bentoml
import numpy

import work

QUIET = {"access": {"enabled": False}}


@bentoml.service(workers=2, traffic={"timeout": 120}, logging=QUIET)
class Identity:
    def __init__(self):
        self.model = work.Model("identity")

    @bentoml.api(route="/v2/models/identity/infer")
    def infer(self, inputs: list[dict]) -> dict:
        return work.describe("identity", {"y": self.model(read(inputs))})


def read(inputs):
    return numpy.array(inputs[0]["data"], "float32").reshape(inputs[0]["shape"])


def step(name):
    class Step:
        def __init__(self):
            self.model = work.Model(name)

        @bentoml.api
        def run(self, x: numpy.ndarray) -> numpy.ndarray:
            return self.model(numpy.asarray(x, "float32"))

    Step.__name__ = Step.__qualname__ = name.capitalize()
    return bentoml.service(workers=1, logging=QUIET)(Step)


Step1, Step2, Step3 = step("step1"), step("step2"), step("step3")


@bentoml.service(workers=1, traffic={"timeout": 120}, logging=QUIET)
class Chain:
    first, second, third = bentoml.depends(Step1), bentoml.depends(Step2), bentoml.depends(Step3)

    @bentoml.api(route="/v2/models/chain/infer")
    async def infer(self, inputs: list[dict]) -> dict:
        y = await self.first.to_async.run(read(inputs))
        y = await self.third.to_async.run(await self.second.to_async.run(y))
        return work.describe("chain", {"y": numpy.asarray(y)})
