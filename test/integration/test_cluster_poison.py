"""A request that kills what runs it does not walk through a cluster. Skipped without ONNX Runtime.

Covers: src/node/keys.c src/node/placing.c src/runtime/causes.c
"""

import http.client
import json
import pathlib
import re
import shutil
import threading
import time
import unittest

from clustered import Cluster
from operated import LIBRARY, LIMIT, WEFT, workflow

NAMES = "abc"
REFUSED = "task 'work': "  # And what the function says.
KILLED_MAX = 6  # Five attempts, and one before a deputy knew of it.


@unittest.skipUnless(LIBRARY.exists(), "there is no ONNX Runtime; see tools/fetch.sh")
class Poison(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(self)
        self.traces = {}
        folder = self.cluster.folder
        settings = (folder / "weft.yaml").read_text(encoding="utf-8")
        (folder / "weft.yaml").write_text(settings.replace("isolate: false\n", ""))
        (folder / "functions").mkdir()
        shutil.copy(
            pathlib.Path(WEFT).parent / "functions/functions_sample.so",
            folder / "functions/sample.so",
        )
        for name in ("crash", "loop", "refuse"):
            (folder / f"{name}.workflow.yaml").write_text(workflow(name), encoding="utf-8")
        for name in NAMES:
            self.launch(name, wait=name == NAMES[0])
        for name in NAMES:
            self.cluster.nodes[name].wait_until_ready()
        self.cluster.wait_until_connected(*NAMES)

    def launch(self, name, wait):
        self.traces[name] = self.cluster.root / f"{name}-{time.monotonic_ns()}.jsonl"
        more = ("--trace", str(self.traces[name]))
        return self.cluster.launch(name, *more, wait=wait)

    def ask(self, name, model, key, attempt):
        """Status and text of one request; None if the connection broke, or the node just starts."""
        address = self.cluster.nodes[name].address
        if address is None:
            return None
        given = {"name": "image", "datatype": "UINT8", "shape": [1], "data": [1]}
        headers = {"Idempotency-Key": key, "weft-attempt": str(attempt)}
        connection = http.client.HTTPConnection(*address, timeout=2 * LIMIT)
        try:
            connection.request(
                "POST", f"/v2/models/{model}/infer", json.dumps({"inputs": [given]}), headers
            )
            response = connection.getresponse()
            return response.status, response.read().decode()
        except (OSError, http.client.HTTPException, AttributeError):
            return None
        finally:
            connection.close()

    def crashes(self):
        """Function processes that have crashed, on all nodes."""
        return sum(
            int((re.search(r"count=(\d+)", line) or [0, "1"])[1])
            for server in self.cluster.nodes.values()
            for line in server.log
            if "function process crashed" in line
        )

    def test_a_request_that_crashes_what_runs_it_runs_on_one_node(self):
        status, text = self.ask("a", "crash", "crash-1", 1)
        self.assertEqual(status, 500)
        self.assertIn("crashed", text)
        end = time.monotonic() + LIMIT
        while self.crashes() == 0 and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(1.5)  # Crashes are logged by the second.
        crashes = self.crashes()
        self.assertGreater(crashes, 0)
        for attempt, name in enumerate("bca", start=2):
            again = self.ask(name, "crash", "crash-1", attempt)
            self.assertEqual(again, (status, text))
        time.sleep(1.5)
        self.assertEqual(self.crashes(), crashes)

    def ran_elsewhere(self, model):
        """Whether a node other than the first has run @model."""
        return any(
            '"started"' in line and f'"{model}"' in line
            for name in NAMES[1:]
            for line in self.traces[name].read_text(encoding="utf-8").splitlines()
        )

    def test_a_client_hears_why_its_task_failed_on_another_node(self):
        """A function says so in its own words, wherever it runs."""
        end = time.monotonic() + LIMIT
        number = 0
        while not self.ran_elsewhere("refuse") and time.monotonic() < end:
            number += 1
            got = []
            threads = [
                threading.Thread(target=lambda i=i: got.append(
                    self.ask("a", "refuse", f"refuse-{number}-{i}", 1)))
                for i in range(12)
            ]  # fmt: skip
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            for status, text in got:
                self.assertEqual(status, 500)
                self.assertIn(REFUSED, text)
        self.assertTrue(self.ran_elsewhere("refuse"))

    def test_the_cause_of_a_failure_outlives_its_owner(self):
        first = self.ask("a", "refuse", "refused-for-good", 1)
        self.assertEqual(first[0], 500)
        self.assertIn(REFUSED, first[1])
        again = [self.ask(name, "refuse", "refused-for-good", 2) for name in "bc"]
        self.assertEqual(again, [first, first])
        time.sleep(1.5)  # The deputy has it, within 50 ms on a quiet machine.
        self.cluster.nodes["a"].kill()
        for name in "bc":
            self.cluster.nodes[name].logged('event="member lost" node=a')
        again = [self.ask(name, "refuse", "refused-for-good", 3) for name in "bc"]
        self.assertEqual(again, [first, first])

    def runner(self):
        """The node that runs the request, if one does."""
        for name, path in self.traces.items():
            lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
            if any('"started"' in line and '"loop"' in line for line in lines):
                return name
        return None

    def test_a_request_that_kills_nodes_is_given_up(self):
        got = []

        def client():
            for attempt in range(1, 200):
                answer = self.ask(NAMES[attempt % 3], "loop", "loop-1", attempt)
                if answer is not None and answer[0] not in (503, 409):
                    got.append(answer)
                    return
                time.sleep(0.3)

        asking = threading.Thread(target=client, daemon=True)
        asking.start()
        killed = 0
        end = time.monotonic() + 2 * LIMIT
        while asking.is_alive() and killed <= KILLED_MAX and time.monotonic() < end:
            victim = self.runner()
            if victim is None:
                time.sleep(0.05)
                continue
            self.cluster.nodes[victim].process.kill()
            self.cluster.nodes[victim].kill()
            killed += 1
            self.launch(victim, wait=False).wait_until_ready()
        asking.join(timeout=LIMIT)
        self.assertLessEqual(killed, KILLED_MAX)
        self.assertGreater(killed, 1)
        self.assertEqual(got[0][0], 500, got)
        self.assertIn("attempts", got[0][1])
        again = [self.ask(name, "loop", "loop-1", 2) for name in NAMES]
        self.assertEqual([one[0] for one in again], [500, 500, 500], again)


if __name__ == "__main__":
    unittest.main()
