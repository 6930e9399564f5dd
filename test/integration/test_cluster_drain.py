"""A node that leaves does what it has begun for others. Skipped without a compiler or ONNX Runtime.

Covers: src/node/drain.c src/service/service.c
"""

import http.client
import json
import pathlib
import shutil
import signal
import subprocess
import threading
import time
import unittest

from clustered import Cluster, ask_once
from operated import LIBRARY, LIMIT

CODE = """
#include <stdio.h>
#include <time.h>
#include <weft/function.h>

static enum weft_status nap(const struct weft_call *call)
{
    const struct weft_tensor *in = weft_call_input(call, "x");
    const struct timespec moment = {.tv_nsec = 500000000};
    FILE *runs = fopen(RUNS, "a");
    (void)fputs("run\\n", runs);
    (void)fclose(runs);
    (void)nanosleep(&moment, NULL);
    (void)weft_call_output(call, "y", in->dtype, in->rank, in->shape);
    return WEFT_OK;
}

WEFT_FUNCTIONS({"nap", nap});
"""
WORKFLOW = """workflow: nap
inputs: {x: {dtype: FP32, shape: [-1]}}
tasks: {nap: {function: slow.nap, in: {x: inputs.x}}}
outputs: {y: nap.y}
"""


@unittest.skipUnless(LIBRARY.exists(), "there is no ONNX Runtime; see tools/fetch.sh")
@unittest.skipUnless(shutil.which("cc"), "there is no compiler")
class Drains(unittest.TestCase):
    def launch(self, *names):
        self.cluster = Cluster(self)
        self.runs_file = self.cluster.root / "runs"
        source = self.cluster.root / "slow.c"
        source.write_text(CODE, encoding="utf-8")
        (self.cluster.folder / "functions").mkdir()
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-O1", f'-DRUNS="{self.runs_file}"', "-Iinclude",
             str(source), "-o", str(self.cluster.folder / "functions/slow.so")],
            cwd=pathlib.Path(__file__).resolve().parents[2], check=True,
        )  # fmt: skip
        (self.cluster.folder / "nap.workflow.yaml").write_text(WORKFLOW, encoding="utf-8")
        self.cluster.launch_all(*names)
        self.cluster.wait_until_connected(*names)
        self.before = self.runs_ever()
        self.answers = []

    def runs_ever(self):
        return len(self.runs_file.read_text().splitlines()) if self.runs_file.exists() else 0

    def runs(self):
        """How often the function was called for requests."""
        return self.runs_ever() - self.before

    def ask(self, name):
        given = {"name": "x", "datatype": "FP32", "shape": [1], "data": [1]}
        connection = http.client.HTTPConnection(*self.cluster.nodes[name].address, timeout=LIMIT)
        connection.request("POST", "/v2/models/nap/infer", json.dumps({"inputs": [given]}))
        self.answers.append(connection.getresponse().status)
        connection.close()

    def ask_together(self, name, count):
        threads = [threading.Thread(target=self.ask, args=(name,)) for _ in range(count)]
        for thread in threads:
            thread.start()
        return threads

    def wait_for_runs(self, count):
        end = time.monotonic() + LIMIT
        while self.runs() < count and time.monotonic() < end:
            time.sleep(0.01)

    def test_what_it_runs_is_finished_and_what_waits_is_handed_on(self):
        self.launch("a", "b")
        threads = self.ask_together("a", 6)
        self.wait_for_runs(2)
        self.cluster.drain("b")  # It has no client, runs one and has others waiting.
        for thread in threads:
            thread.join(timeout=LIMIT)
        self.assertEqual(self.answers, [200] * 6)
        self.assertEqual(self.runs(), 6)  # None ran twice.
        code, _, log = self.cluster.nodes["b"].ended()
        self.assertEqual(code, 0)
        self.assertFalse([line for line in log if "too long" in line])

    def test_a_client_that_asks_again_meanwhile_is_not_refused(self):
        self.launch("a", "b", "c")
        thread = self.ask_together("b", 1)[0]
        self.wait_for_runs(1)
        leaving = self.cluster.nodes["b"]
        leaving.process.send_signal(signal.SIGTERM)
        leaving.logged("event=draining")
        address = self.cluster.nodes["a"].address
        asked = [ask_once(address, 1, f"again-{i}", 2)[0] for i in range(12)]
        self.assertEqual(asked, [200] * 12)  # One in three has that node as its first in rank.
        thread.join(timeout=LIMIT)
        self.assertEqual(self.answers, [200])


if __name__ == "__main__":
    unittest.main()
