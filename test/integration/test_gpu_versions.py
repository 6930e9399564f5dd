"""New versions of models on a fake GPU: they come beside what runs, and every answer is of one.

Skipped without ONNX Runtime. Covers: src/service/rollout.c src/service/rollout_trial.c
        src/service/rollout_answer.c src/service/measured_look.c src/service/local_change.c
        src/cuda/revise.c src/cuda/versions.c src/process/revise.c
"""

import hashlib
import json
import os
import pathlib
import shutil
import signal
import threading
import time
import unittest

import exported
import onnx_models
from exported import Module
from operated import LIBRARY, LIMIT, Server, temporary

SETTINGS = """weft: versions
workers: 2
memory: 1GB
device: box
gpus: {memory: 1GB, count: 1, shares: processors}
admission: off
"""
WIDTH = 4
# In a row, all of one model: an answer of two versions differs from both.
WORKFLOW = f"""workflow: thrice
inputs: {{x: {{dtype: FP32, shape: [-1, {WIDTH}]}}}}
tasks:
  one: {{model: scale, in: {{x: inputs.x}}}}
  two: {{model: scale, in: {{x: one.output}}}}
  three: {{model: scale, in: {{x: two.output}}}}
outputs: {{y: three.output}}
"""


def scaled(factor):
    """The same as Module(factor, 0) in ONNX."""
    shape = ["N", WIDTH]
    return onnx_models.model(
        [onnx_models.node("Mul", ["x", "w"], "output")],
        [onnx_models.value_info("x", shape)],
        [onnx_models.value_info("output", shape)],
        [onnx_models.weight("w", [1], [factor])],
    )


def sum_again(folder):
    """The files of @folder are what was exported, from now on."""
    names = [line.split("  ")[1] for line in (folder / "sha256").read_text().splitlines()]
    lines = [f"{hashlib.sha256((folder / n).read_bytes()).hexdigest()}  {n}\n" for n in names]
    (folder / "sha256").write_text("".join(lines))


def break_object(folder):
    """A package is something else, with the right sum."""
    for path in folder.glob("b4/*.so"):
        shutil.copy(os.path.join(exported.FAKES, "fake_nvml.so"), path)


class Asking(threading.Thread):
    """Asks again and again, until it is told to stop."""

    def __init__(self, test):
        super().__init__()
        self.test = test
        self.seen = []
        self.bad = []
        self.stopped = threading.Event()
        test.addCleanup(self.stop)
        self.start()

    def run(self):
        while not self.stopped.is_set():
            status, answer = self.test.thrice()
            (self.seen if status == 200 else self.bad).append(answer)

    def stop(self):
        self.stopped.set()
        if self.is_alive():
            self.join()


@unittest.skipUnless(LIBRARY.exists(), "there is no ONNX Runtime; see tools/fetch.sh")
class GpuVersions(unittest.TestCase):
    def setUp(self):
        self.folder = temporary(self)
        self.folder.mkdir(exist_ok=True)
        (self.folder / "weft.yaml").write_text(SETTINGS)
        (self.folder / "thrice.workflow.yaml").write_text(WORKFLOW)
        self.gate = self.folder.parent / "gate"
        self.write(1, 2)

    def serve(self):
        environment = {**exported.ENVIRONMENT, "WEFT_FAKE_GATE": str(self.gate)}
        self.server = Server(self.folder, environment=environment)
        self.addCleanup(self.server.kill)

    def write(self, version, factor, has_onnx=False, spoil=None):
        """A version of the model, whole from the moment that it can be seen."""
        beside = self.folder / f".{version}"
        beside.mkdir()
        exported.write(str(beside / "model.cuda"), Module(factor, 0), WIDTH)
        if has_onnx:
            (beside / "model.onnx").write_bytes(scaled(factor))
        if spoil is not None:
            spoil(beside / "model.cuda")
            sum_again(beside / "model.cuda")
        path = self.folder / "scale" / str(version)
        path.parent.mkdir(exist_ok=True)
        beside.rename(path)

    def load(self, model="scale"):
        status, _, body = self.server.ask("POST", f"/v2/repository/models/{model}/load")
        return status, body

    def thrice(self, name="thrice", output="y"):
        inputs = {"name": "x", "datatype": "FP32", "shape": [1, WIDTH], "data": [1, 2, 3, 4]}
        status, _, body = self.server.ask("POST", f"/v2/models/{name}/infer", {"inputs": [inputs]})
        if status != 200:
            return status, body
        [found] = [one for one in json.loads(body)["outputs"] if one["name"] == output]
        return status, found["data"][0]

    def version(self):
        return json.loads(self.server.ask("GET", "/v2/models/scale")[2])["versions"]

    def engine(self):
        """The process on the GPU."""
        for path in pathlib.Path("/proc").iterdir():
            try:
                if (path / "comm").read_text() == "weft-gpu\n" and self.is_ours(path):
                    return path
            except OSError:
                pass  # It has ended.
        return None

    def is_ours(self, path):
        """Whether the process at @path descends from the server."""
        while path.name not in ("0", "1"):
            if int(path.name) == self.server.process.pid:
                return True
            fields = (path / "stat").read_text().rsplit(")", 1)[1].split()
            path = pathlib.Path("/proc") / fields[1]
        return False

    def has_mapped(self, version):
        maps = (self.engine() / "maps").read_text()
        return str(self.folder / "scale" / str(version) / "model.cuda/weights.bin") in maps

    def wait_for(self, is_so):
        until = time.monotonic() + LIMIT
        while not is_so():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.02)

    def test_versions_come_and_go_on_streams(self):
        (self.folder / "weft.yaml").write_text(SETTINGS.replace(", shares: processors", ""))
        self.test_versions_come_and_go_while_requests_are_answered()

    def test_versions_come_and_go_while_requests_are_answered(self):
        self.serve()
        self.assertEqual(self.thrice(), (200, 8))
        self.assertTrue(self.has_mapped(1))
        asking = Asking(self)
        for version, factor in ((2, 3), (3, 5), (4, 7), (5, 2)):
            self.write(version, factor)
            self.assertEqual(self.load()[0], 200)
            self.assertEqual(self.thrice(), (200, factor**3))
            self.assertEqual(self.version(), [str(version)])
            self.wait_for(lambda: not self.has_mapped(version - 1))
            self.assertTrue(self.has_mapped(version))
        self.assertEqual(self.load()[0], 200)  # As it is.
        asking.stop()
        self.assertEqual(asking.bad, [])
        self.assertLessEqual(set(asking.seen), {8, 27, 125, 343})
        self.assertEqual(asking.seen[-1], 8)
        code, _, log = self.server.end()
        self.assertEqual((code, [line for line in log if "level=info" not in line]), (0, []))

    def begin_to_load(self):
        """Serve, and load a second version, whose recording waits for the gate."""
        self.serve()
        self.assertEqual(self.thrice(), (200, 8))
        self.write(2, 3)
        self.gate.touch()
        done = []
        loading = threading.Thread(target=lambda: done.append(self.load()))
        loading.start()
        self.wait_for(lambda: self.has_mapped(2))
        return loading, done

    def test_the_old_version_answers_while_the_new_one_is_recorded(self):
        loading, done = self.begin_to_load()
        for _ in range(20):
            self.assertEqual(self.thrice(), (200, 8))
        self.assertEqual(done, [])
        self.gate.unlink()
        loading.join()
        self.assertEqual(done[0][0], 200)
        self.assertEqual(self.thrice(), (200, 27))

    def test_a_process_that_dies_meanwhile_is_replaced(self):
        loading, done = self.begin_to_load()
        os.kill(int(self.engine().name), signal.SIGKILL)
        self.server.logged("engine process ended")
        self.assertEqual(done, [])
        self.gate.unlink()
        self.assertIn(self.thrice(), [(200, 8), (200, 27)])
        loading.join()
        self.assertEqual(done[0][0], 200)
        os.kill(int(self.engine().name), signal.SIGKILL)
        self.assertEqual(self.thrice(), (200, 27))

    def test_a_version_that_cannot_run_is_refused(self):
        self.serve()
        self.write(2, 3, spoil=break_object)
        status, body = self.load()
        self.assertEqual(status, 400)
        self.assertIn("model 'scale', version 2 on a GPU: ", body)
        self.assertIn("is not a package of AOTInductor", body)
        self.assertEqual(self.version(), ["1"])
        self.assertEqual(self.thrice(), (200, 8))
        self.wait_for(lambda: not self.has_mapped(2))
        self.server.signal(signal.SIGHUP)
        self.server.logged("model not reloaded.*version 2 on a GPU")
        shutil.rmtree(self.folder / "scale/2")
        self.assertEqual(self.load()[0], 200)  # What was served.
        self.write(3, 3)
        self.assertEqual(self.load()[0], 200)
        self.assertEqual(self.thrice(), (200, 27))

    def test_what_comes_on_top_of_a_refused_change_is_answered_with_it(self):
        shutil.copytree(self.folder / "scale", self.folder / "other")
        self.serve()
        self.assertEqual(self.thrice(), (200, 8))
        self.write(2, 3, spoil=break_object)
        shutil.copytree(self.folder / "scale/1", self.folder / "other/2")
        self.gate.touch()
        done = {}
        threads = []
        for name in ("scale", "other"):
            threads.append(
                threading.Thread(target=lambda n=name: done.update({n: self.load(n)}))
            )
            threads[-1].start()
            self.wait_for(lambda: self.has_mapped(2))
        time.sleep(0.3)  # Mostly the second has come by then; if not, it is taken alone.
        self.gate.unlink()
        for thread in threads:
            thread.join()
        self.assertEqual(done["scale"][0], 400)
        self.assertIn("model 'scale', version 2 on a GPU: ", done["scale"][1])
        self.assertIn(done["other"][0], (200, 400))
        self.assertEqual(self.load("other")[0], 200)
        self.assertEqual(self.thrice(), (200, 8))

    def test_both_versions_must_fit(self):
        tight = SETTINGS.replace("{memory: 1GB, count", "{memory: 7MB, count")  # 4.2 for runs.
        (self.folder / "weft.yaml").write_text(tight)
        self.serve()
        self.assertEqual(self.thrice(), (200, 8))
        self.write(2, 3)
        status, body = self.load()
        self.assertEqual(status, 400)
        self.assertIn("version 2 on a GPU: its memory has no room for the old version and it", body)
        self.assertEqual(self.thrice(), (200, 8))

    def test_files_are_compared_with_their_sums(self):
        self.serve()
        self.assertEqual(self.thrice(), (200, 8))
        self.write(2, 3)
        (self.folder / "scale/2/model.cuda/weights.bin").write_bytes(bytes(4096))
        status, body = self.load()
        self.assertEqual(status, 400)
        self.assertIn("weights.bin: its contents differ from what was exported", body)
        self.assertEqual(self.thrice(), (200, 8))
        # What GPUs run is not replaced in its folder, either.
        exported.write(str(self.folder / ".1"), Module(9, 0), WIDTH)
        shutil.rmtree(self.folder / "scale/2")
        shutil.rmtree(self.folder / "scale/1/model.cuda")
        (self.folder / ".1").rename(self.folder / "scale/1/model.cuda")
        status, body = self.load()
        self.assertEqual(status, 400)
        self.assertIn("give them a version of their own", body)
        self.assertEqual(self.thrice(), (200, 8))

    def test_a_version_has_both_forms(self):
        shutil.rmtree(self.folder / "scale")
        self.write(1, 2, has_onnx=True)
        self.serve()
        self.assertEqual(self.thrice(), (200, 8))
        self.write(2, 3, has_onnx=True)
        self.assertEqual(self.load()[0], 200)
        for _ in range(10):
            self.assertEqual(self.thrice(), (200, 27))
        self.write(3, 5, has_onnx=True)
        shutil.rmtree(self.folder / "scale/3/model.cuda")
        status, body = self.load()
        self.assertEqual(status, 400)
        self.assertIn("model 'scale': version 3 has no model.cuda", body)
        self.assertEqual(self.thrice(), (200, 27))
        code, _, log = self.server.end()
        self.assertEqual(code, 0, log)

    def test_models_are_unloaded_and_come_again(self):
        self.serve()
        self.assertEqual(self.thrice(), (200, 8))
        status, _, _ = self.server.ask("POST", "/v2/repository/models/scale/unload")
        self.assertEqual(status, 200)
        self.assertEqual(self.thrice()[0], 503)
        self.write(2, 3)
        self.assertEqual(self.load()[0], 200)
        self.assertEqual(self.thrice(), (200, 27))

    def test_a_signal_brings_newer_versions(self):
        self.serve()
        self.write(2, 3)
        self.server.signal(signal.SIGHUP)
        self.server.logged("model reloaded.*scale")
        self.assertEqual(self.thrice(), (200, 27))


if __name__ == "__main__":
    unittest.main()
