"""A repository whose models run on a fake GPU, on processors, or on both.

Covers: src/service/measure_gpu.c, src/service/sums.c, src/service/machine.c,
src/service/measure_repository.c, src/service/nursery.c, src/cuda/measure.c,
src/cuda/subject.c, src/cuda/turns.c, src/cuda/find.c, src/service/gpu_watch.c, src/process/spin.c,
src/server/metrics_device.c
"""

import collections
import concurrent.futures
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import unittest

import exported
import onnx_models
from exported import Module
from operated import LIBRARY, WEFT, Server, temporary

SETTINGS = "weft: here\nworkers: 2\nmemory: 1GB\ndevice: box\ngpus: {memory: 1GB}\n"
FAKE = "fake-gpu"
MIXED = """workflow: mixed
inputs: {a: {dtype: FP32, shape: [-1, 4]}}
tasks:
  first: {model: tripled, in: {x: inputs.a}}
  positive: {function: sample.twice, models: [relu], in: {x: first.output}}
  last: {model: halved, in: {x: positive.y}}
outputs: {out: last.output, positive: positive.y}
"""


def scaled(scale, shift):
    """The same as Module in ONNX."""
    shape = ["N", 4]
    return onnx_models.model(
        [
            onnx_models.node("Mul", ["x", "scale"], "m"),
            onnx_models.node("Add", ["m", "shift"], "output"),
        ],
        [onnx_models.value_info("x", shape)],
        [onnx_models.value_info("output", shape)],
        [
            onnx_models.weight("scale", [1], [scale]),
            onnx_models.weight("shift", [1], [shift]),
        ],
    )


@unittest.skipUnless(LIBRARY.exists(), "there is no ONNX Runtime; see tools/fetch.sh")
class GpuServe(unittest.TestCase):
    def setUp(self):
        self.folder = temporary(self)
        self.put("relu/1/model.onnx", onnx_models.relu())
        self.put("weft.yaml", SETTINGS.encode())
        self.export("tripled", Module(3, -1)) # On GPUs alone.
        self.export("halved", Module(0.5, 0)) # On both.
        self.put("halved/1/model.onnx", scaled(0.5, 0))

    def put(self, name, data):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def export(self, name, module, extent=4):
        folder = self.folder / name / "1" / "model.cuda"
        folder.parent.mkdir(parents=True, exist_ok=True)
        exported.write(str(folder), module, extent)

    def add_mixed(self):
        self.put("mixed.workflow.yaml", MIXED.encode())
        (self.folder / "functions").mkdir()
        shutil.copy(
            os.path.join(exported.BIN, "functions/functions_sample.so"),
            self.folder / "functions/sample.so",
        )

    def weft(self, *arguments, **more):
        environment = {
            **os.environ,
            **exported.ENVIRONMENT,
            **more,
            "WEFT_ONNXRUNTIME": str(LIBRARY),
            "WEFT_CACHE": str(self.folder.parent / "cache"),
        }
        return subprocess.run(
            [WEFT, *arguments], capture_output=True, text=True, timeout=100, check=False,
            env=environment,
        )  # fmt: skip

    def serve(self, *arguments):
        server = Server(self.folder, *arguments, environment=exported.ENVIRONMENT)
        self.addCleanup(server.kill)
        return server

    def infer(self, server, name, rows, output="output", given="x"):
        """(status, rows of @output, or the body)."""
        flat = [value for row in rows for value in row]
        inputs = {"name": given, "datatype": "FP32", "shape": [len(rows), 4], "data": flat}
        status, _, body = server.ask("POST", f"/v2/models/{name}/infer", {"inputs": [inputs]})
        if status != 200:
            return status, body
        [found] = [one for one in json.loads(body)["outputs"] if one["name"] == output]
        return status, [found["data"][i : i + 4] for i in range(0, len(found["data"]), 4)]

    def profiles(self):
        return {
            path.name: json.loads(path.read_text(encoding="utf-8"))
            for path in (self.folder / "profiles").iterdir()
        }

    def test_each_form_runs_where_it_can(self):
        self.add_mixed()
        server = self.serve()
        rows = [[1, -2, 3, 4], [0, 0.5, -8, 2], [1, 1, 1, 1], [2, 2, 2, 2], [5, 6, 7, 8]]
        tripled = [[3 * v - 1 for v in row] for row in rows]
        positive = [[max(v, 0) for v in row] for row in tripled]
        self.assertEqual(self.infer(server, "tripled", rows), (200, tripled))
        self.assertEqual(self.infer(server, "relu", rows, "y")[0], 200)
        self.assertEqual(
            self.infer(server, "halved", rows), (200, [[v / 2 for v in row] for row in rows])
        )
        for _ in range(20):
            self.assertEqual(
                self.infer(server, "mixed", rows, "out", "a"),
                (200, [[v / 2 for v in row] for row in positive]),
            )
        status, _, body = server.ask("GET", "/v2/models/tripled")
        self.assertEqual(status, 200)
        about = json.loads(body)
        self.assertEqual(about["platform"], "torch_aoti")
        self.assertEqual(about["inputs"][0]["shape"], [-1, 4])
        code, _, log = server.end()
        self.assertEqual(code, 0, log)

    def test_functions_that_were_never_measured_stay_on_processors(self):
        self.add_mixed()
        self.put("weft.yaml", SETTINGS.replace("workers: 2", "workers: 1").encode())
        server = self.serve("--policy", "po2", "--no-admission")
        with concurrent.futures.ThreadPoolExecutor(12) as pool:  # Drawn at random.
            rows = [[1, -2, 3, 4]]
            asked = [pool.submit(self.infer, server, "mixed", rows, "out", "a") for _ in range(36)]
            for answer in asked:
                self.assertEqual(answer.result(), (200, [[1, 0, 4, 5.5]]))
        _, _, log = server.end()
        self.assertEqual([line for line in log if "level=info" not in line], [])

    def test_what_was_measured_is_kept_by_kind_of_device(self):
        done = self.weft("profile", str(self.folder))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("box, onnxruntime-", done.stdout)
        self.assertIn(f"{FAKE}, cuda-13.0\n", done.stdout)
        self.assertIn("16 units; beside others", done.stdout)
        kept = self.profiles()
        [box] = [name for name in kept if name.startswith("box_onnxruntime-")]
        gpu = f"{FAKE}_cuda-13.0.profile.json"
        self.assertEqual(sorted(kept), sorted([box, gpu]))
        self.assertEqual(sorted(kept[box]["models"]), ["halved", "relu"])
        self.assertEqual(sorted(kept[gpu]["models"]), ["halved", "tripled"])
        measured = kept[gpu]["models"]["tripled"]["devices"]
        self.assertEqual(list(measured), [FAKE])
        self.assertGreater(measured[FAKE]["load_ms"], 0)
        points = {(p.get("gpu", 0), p["items"]) for p in measured[FAKE]["points"]}
        # One row, and two to four: on a quarter, on half and on the whole of 16 units.
        shares = (0, 4, 8)
        self.assertEqual(points, {(g, n) for g in shares for n in (1, 2, 4)})
        done = self.weft("profile", str(self.folder))
        self.assertIn(": 0 models measured now", done.stdout)
        self.assertEqual(self.profiles(), kept)
        self.assertEqual(self.weft("check", str(self.folder)).returncode, 0)
        # Shares with processors of their own take other times.
        self.put("weft.yaml", SETTINGS.replace("1GB}", "1GB, shares: processors}").encode())
        done = self.weft("profile", str(self.folder))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(f"{FAKE}, cuda-13.0-processors\n", done.stdout)
        apart = f"{FAKE}_cuda-13.0-processors.profile.json"
        self.assertEqual(sorted(self.profiles()), sorted([box, gpu, apart]))
        self.assertEqual(self.profiles()[gpu], kept[gpu])
        measured = self.profiles()[apart]["models"]["tripled"]["devices"][FAKE]["points"]
        self.assertEqual({p.get("gpu", 0) for p in measured}, {0, 1, 2, 4, 8})

    def test_what_others_do_to_a_batch_is_measured_by_share(self):
        slow = {"WEFT_FAKE_RUN_US": "500", "WEFT_FAKE_BESIDE_US": "5000"}
        done = self.weft("profile", str(self.folder), **slow)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        measured = self.profiles()[f"{FAKE}_cuda-13.0.profile.json"]["models"]["tripled"]
        device = measured["devices"][FAKE]
        found = {(p.get("gpu", 0), p["items"]): p.get("interference") for p in device["points"]}
        for items in (1, 2, 4):
            self.assertIsNone(found[0, items])  # Nothing is beside the whole device.
            self.assertGreater(found[4, items], 0)
            self.assertGreater(found[8, items], 0)
        self.assertEqual(device["interference"], found[4, 4])

    def cut(self, workers, shares="streams"):
        cut = f"1GB, count: 1, workers: {workers}, shares: {shares}}}"
        self.put("weft.yaml", SETTINGS.replace("1GB}", cut).encode())

    def test_others_have_weights_of_their_own(self):
        def copies(workers):
            self.cut(workers)
            path = self.folder / f"copies-{workers}"
            done = self.weft("profile", str(self.folder), WEFT_FAKE_COPIES=str(path))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            return len(path.read_text().splitlines())

        # Of both models, for each of the four other workers, and of the other model for the first
        # one as well; but not for streams of one.
        self.assertEqual(copies(5) - copies(1), 2 * (2 * 4 + 1))

    def test_workers_are_measured_beside_other_models(self):
        def packages(workers):
            self.cut(workers)
            path = self.folder / f"packages-{workers}"
            done = self.weft("profile", str(self.folder), WEFT_FAKE_PACKAGES=str(path))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            opened = path.read_text(encoding="utf-8").splitlines()
            return collections.Counter(pathlib.Path(line).parts[-4] for line in opened)

        whole = packages(1)
        self.assertEqual(set(whole), {"halved", "tripled"})
        # On each worker, while either is measured.
        self.assertEqual(packages(5), {name: 2 * 5 * count for name, count in whole.items()})

    def test_a_worker_is_measured_once_others_have_graphs(self):
        self.cut(5, "processors")
        path = self.folder / "runs"
        self.assertEqual(
            self.weft("profile", str(self.folder), WEFT_FAKE_RUNS=str(path)).returncode, 0
        )
        lines = path.read_text(encoding="utf-8").splitlines()
        first = next(i for i, line in enumerate(lines) if line.isdigit())
        # Two models on a share of each worker.
        made = collections.Counter(line for line in lines[:first] if line[0] == "+")
        self.assertEqual(list(made.values()), 5 * [2])

    def test_what_others_do_to_a_worker_is_measured(self):
        self.cut(5)
        slow = {"WEFT_FAKE_RUN_US": "1000", "WEFT_FAKE_BESIDE_US": "1000"}
        done = self.weft("profile", str(self.folder), **slow)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        measured = self.profiles()[f"{FAKE}_cuda-13.0-5.profile.json"]["models"]["tripled"]
        points = measured["devices"][FAKE]["points"]
        # Alone a run takes 1 ms, beside four others 5 ms; on a busy machine some come out wrong.
        # If what is alone were timed beside others, or nothing ran beside it, all would be near 0.
        self.assertGreater(statistics.median(point.get("interference", 0) for point in points), 0.5)

    def test_a_model_that_fails_beside_another_does_not_fail_it(self):
        self.cut(5)
        shutil.rmtree(self.folder / "tripled/1/model.cuda/b1")
        done = self.weft("profile", str(self.folder))
        self.assertIn("tripled", done.stderr)
        measured = self.profiles()[f"{FAKE}_cuda-13.0-5.profile.json"]["models"]
        self.assertEqual(list(measured), ["halved"])

    def test_run_times_are_learnt_while_models_are_served(self):
        gpu = f"{FAKE}_cuda-13.0.profile.json"
        self.assertEqual(self.weft("profile", str(self.folder)).returncode, 0)

        def times():
            device = self.profiles()[gpu]["models"]["tripled"]["devices"][FAKE]
            return {(p.get("gpu", 0), p["items"]): p["ms"] for p in device["points"]}

        before = times()
        server = self.serve()
        for _ in range(40):  # One at a time: each has the GPU to itself.
            self.assertEqual(self.infer(server, "tripled", [[1, 2, 3, 4]])[0], 200)
        server.end()
        after = times()
        self.assertEqual(before.keys(), after.keys())
        self.assertNotEqual(
            {p: ms for p, ms in before.items() if p[1] == 1},
            {p: ms for p, ms in after.items() if p[1] == 1},
        )
        self.assertEqual(before[(0, 4)], after[(0, 4)])

    def test_without_a_gpu_models_for_processors_are_served(self):
        server = self.serve("--gpus", "0")
        self.assertEqual(self.infer(server, "halved", [[2, 4, 6, 8]]), (200, [[1, 2, 3, 4]]))
        status, body = self.infer(server, "tripled", [[2, 4, 6, 8]])
        self.assertIn("runs on GPUs only", body)
        self.assertGreaterEqual(status, 400)
        server.logged("model unavailable.*runs on GPUs only")

    def test_a_damaged_model_is_not_run(self):
        weights = self.folder / "tripled/1/model.cuda/weights.bin"
        data = bytearray(weights.read_bytes())
        data[0] ^= 1
        weights.write_bytes(data)
        checked = self.weft("check", str(self.folder))
        self.assertEqual(checked.returncode, 2)
        self.assertIn("weights.bin: its contents differ from what was exported", checked.stderr)
        server = self.serve()
        status, body = self.infer(server, "tripled", [[1, 1, 1, 1]])
        self.assertGreaterEqual(status, 400)
        self.assertIn("contents differ", body)
        self.assertEqual(self.infer(server, "halved", [[2, 4, 6, 8]]), (200, [[1, 2, 3, 4]]))

    def test_a_form_that_takes_something_else_is_not_used(self):
        shutil.rmtree(self.folder / "halved/1/model.cuda")
        self.export("halved", Module(0.5, 0), extent=5)
        server = self.serve()
        server.logged("it takes or gives something else than the ONNX file")
        self.assertEqual(self.infer(server, "halved", [[2, 4, 6, 8]]), (200, [[1, 2, 3, 4]]))

    def test_metrics_tell_of_gpus(self):
        server = self.serve()
        text = server.metrics()
        # Two workers are on processors.
        self.assertIn('weft_gpu_memory_used_bytes{worker="2"} 1000\n', text)
        self.assertIn('weft_gpu_memory_used_bytes{worker="3"} 1001\n', text)
        self.assertIn('weft_gpu_utilisation{worker="2"} 0.25\n', text)
        self.assertIn('weft_gpu_sm_clock_hertz{worker="2"} 1980000000\n', text)
        self.assertIn('weft_gpu_power_watts{worker="2"} 123.5\n', text)
        self.assertNotIn('weft_gpu_power_watts{worker="3"}', text)
        self.assertIn('weft_gpu_temperature_celsius{worker="3"} 41\n', text)

    def test_a_card_can_be_cut_into_workers(self):
        self.put(
            "weft.yaml", SETTINGS.replace("1GB}", "1GB, count: 1, workers: 5}").encode()
        )
        done = self.weft("profile", str(self.folder))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("3 units; beside others", done.stdout)
        measured = self.profiles()[f"{FAKE}_cuda-13.0-5.profile.json"]["models"]["tripled"]
        points = {(p.get("gpu", 0), p["items"]) for p in measured["devices"][FAKE]["points"]}
        self.assertEqual(points, {(g, n) for g in (0, 1, 2) for n in (1, 2, 4)})
        server = self.serve("--policy", "po2", "--no-admission")  # Workers drawn at random.
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            asked = [pool.submit(self.infer, server, "tripled", [[i, 1, 1, 1]]) for i in range(60)]
            for i, answer in enumerate(asked):
                self.assertEqual(answer.result(), (200, [[3 * i - 1, 2, 2, 2]]))
        text = server.metrics()
        self.assertIn('weft_gpu_memory_used_bytes{worker="2"} 1000\n', text)
        self.assertNotIn('weft_gpu_memory_used_bytes{worker="3"}', text)  # One card.
        code, _, log = server.end()
        self.assertEqual(code, 0, log)

    def test_what_a_card_cannot_do_is_said(self):
        environment = {**exported.ENVIRONMENT, "FAKE_CUDA_WHOLE": "1"}
        server = Server(self.folder, environment=environment)
        self.addCleanup(server.kill)
        server.logged("GPU 0, Fake GPU: it cannot be shared")
        self.assertEqual(self.infer(server, "tripled", [[1, 1, 1, 1]]), (200, [[2, 2, 2, 2]]))

    def test_batches_of_esg_take_shares(self):
        self.put("weft.yaml", (SETTINGS + "slo: 50ms\n").encode())
        for policy in ("esg", "place=compass,order=esg,dispatch=esg,cache=compass"):
            server = self.serve("--policy", policy, "--no-admission")
            for i in range(20):
                self.assertEqual(
                    self.infer(server, "tripled", [[i, 1, 1, 1]] * 3),
                    (200, [[3 * i - 1, 2, 2, 2]] * 3),
                )
            server.end()

    def test_a_request_that_breaks_the_device_fails_alone(self):
        server = self.serve()
        self.assertEqual(self.infer(server, "tripled", [[1, 1, 1, 1]]), (200, [[2, 2, 2, 2]]))
        status, _ = self.infer(server, "tripled", [[666, 1, 1, 1]])
        self.assertEqual(status, 500)
        server.logged("engine process ended.*lost its GPU")
        self.assertEqual(self.infer(server, "tripled", [[1, 1, 1, 1]]), (200, [[2, 2, 2, 2]]))


if __name__ == "__main__":
    unittest.main()
