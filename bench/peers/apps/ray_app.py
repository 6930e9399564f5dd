"""Ray Serve: ray_app.py WORK PORT [SECONDS]. Two replicas; a chain is three deployments.

With SECONDS, a request that takes longer gets an error, as Ray's own option makes it.
"""

import signal
import sys
import threading

import ray
from ray import serve
from starlette.requests import Request
from starlette.responses import Response

import work

QUIET = {"enable_access_log": False, "log_level": "ERROR"}
# Replicas are counted by hand: Ray would reserve a core for each.
OPTIONS = {"ray_actor_options": {"num_cpus": 0}, "logging_config": QUIET}
QUEUE_MAX = 256


@serve.deployment(**OPTIONS, num_replicas=2, max_ongoing_requests=1, max_queued_requests=QUEUE_MAX)
class Whole:
    def __init__(self, name):
        self.service = work.Service(name)

    async def __call__(self, request: Request):
        return Response(self.service(await request.body()))


@serve.deployment(**OPTIONS, num_replicas=2, max_ongoing_requests=1, max_queued_requests=QUEUE_MAX)
class Multiplexed:
    """Two models in each replica, kept by Ray."""

    @serve.multiplexed(max_num_models_per_replica=2)
    async def model(self, name):
        return work.Model(name)

    async def __call__(self, request: Request):
        model = await self.model(serve.get_multiplexed_model_id())
        _, x = work.read_request(await request.body())
        return Response(work.write_answer("four", {"y": model(x)}, binary=True))


@serve.deployment(**OPTIONS, max_ongoing_requests=64)
class Step:
    def __init__(self, name):
        self.model = work.Model(name)

    def run(self, x):
        return self.model(x)


@serve.deployment(**OPTIONS, max_ongoing_requests=64)
class Chain:
    def __init__(self, first, second, third):
        self.first, self.second, self.third = first, second, third

    async def __call__(self, request: Request):
        _, x = work.read_request(await request.body())
        y = await self.third.run.remote(self.second.run.remote(self.first.run.remote(x)))
        return Response(work.write_answer("chain", {"y": y}))


def application(name):
    if name == "chain":
        steps = [Step.options(name=step).bind(step) for step in ("step1", "step2", "step3")]
        return Chain.bind(*steps)
    return Multiplexed.bind() if name == "four" else Whole.bind(name)


def main():
    name, port = sys.argv[1], int(sys.argv[2])
    ray.init(
        num_cpus=4, include_dashboard=False, log_to_driver=False, logging_level="ERROR",
        object_store_memory=500_000_000, _node_ip_address="127.0.0.1",
    )  # fmt: skip
    http = {"host": "127.0.0.1", "port": port}
    if len(sys.argv) > 3:
        http["request_timeout_s"] = float(sys.argv[3])
    serve.start(http_options=http, logging_config=QUIET)
    serve.run(application(name), name=name, route_prefix=f"/v2/models/{name}/infer")
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    ended.wait()
    ray.shutdown()


if __name__ == "__main__":
    main()
