"""Models that are loaded and unloaded on one node are so on all. Skipped without ONNX Runtime.

Covers: src/service/local_change.c src/server/cluster.c src/cli/cluster.c
"""

import http.client
import json
import subprocess
import time
import unittest

import onnx_models
from clustered import WIDTH, Cluster, infer
from operated import LIBRARY, LIMIT, WEFT


@unittest.skipUnless(LIBRARY.exists(), "there is no ONNX Runtime; see tools/fetch.sh")
class Models(unittest.TestCase):
    def call(self, node, path, method="POST"):
        connection = http.client.HTTPConnection(*self.cluster.nodes[node].address, timeout=LIMIT)
        connection.request(method, path)
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        self.assertEqual(response.status, 200, text)
        return json.loads(text) if text else None

    def wait_for(self, node, state):
        """Until @node says that the model is in @state."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            entries = self.call(node, "/v2/repository/index")
            if [entry["state"] for entry in entries if entry["name"] == "deep"] == [state]:
                return
            time.sleep(0.1)
        raise AssertionError(f"{node}: {entries}")

    def test_loads_and_unloads_reach_all_nodes_and_those_that_were_away(self):
        self.cluster = Cluster(self)
        self.cluster.launch_all("a", "b")
        before = infer(self.cluster.nodes["b"].address, 1)
        self.call("a", "/v2/repository/models/deep/unload")
        self.wait_for("b", "UNAVAILABLE")
        self.cluster.launch("c")  # It was away.
        self.wait_for("c", "UNAVAILABLE")
        end = time.monotonic() + LIMIT
        changes = []
        while changes != [1, 1, 1] and time.monotonic() < end:
            changes = [member["change"] for member in self.cluster.members().values()]
        self.assertEqual(changes, [1, 1, 1])
        self.call("c", "/v2/repository/models/deep/load")
        for node in "abc":
            self.wait_for(node, "READY")
        self.assertEqual(infer(self.cluster.nodes["b"].address, 1), before)
        other = self.cluster.folder / "other.onnx"
        other.write_bytes(onnx_models.layers(WIDTH, 9))
        other.rename(self.cluster.folder / "deep/1/model.onnx")
        self.call("b", "/v2/repository/models/deep/load")
        end = time.monotonic() + LIMIT
        answers = [before]  # Until one of two tasks ran on a node with the old file.
        while set(map(str, answers)) & {str(before), "None"} or len(set(map(str, answers))) > 1:
            self.assertLess(time.monotonic(), end, "not all nodes have the new file")
            time.sleep(0.1)
            answers = [infer(self.cluster.nodes[node].address, 1) for node in "abcabc"]

    def test_the_command_shows_what_members_say_of_their_workers(self):
        self.cluster = Cluster(self)
        self.cluster.launch_all("a", "b")
        for _ in range(3):
            self.assertIsNotNone(infer(self.cluster.nodes["a"].address, 1))
        members = self.cluster.members()
        self.assertEqual(sorted(members), ["a", "b"])
        for member in members.values():
            self.assertEqual((member["state"], member["queued_items"]), ("ready", 0))
            self.assertLessEqual(member["memory_free_bytes"], 200_000_000)
            self.assertGreaterEqual(member["oldest_row_ms"], 0)
        self.assertGreater(sum(member["models"] for member in members.values()), 0)
        lives = []
        end = time.monotonic() + LIMIT
        while lives != [1, 1, 0] and time.monotonic() < end:  # There is no row of c.
            seen = self.call("a", "/v2/cluster", method="GET")
            lives = [worker["incarnation"] for worker in seen["workers"]]
        self.assertEqual(lives, [1, 1, 0])
        self.assertEqual(seen["node"], 0)
        self.assertEqual([worker["node"] for worker in seen["workers"]], [0, 1, 2])
        table = subprocess.run(
            [WEFT, "cluster", self.cluster.directory], capture_output=True, text=True, timeout=LIMIT
        ).stdout.splitlines()
        self.assertIn("QUEUE, MS", table[0])
        self.assertEqual(len(table), 3)


if __name__ == "__main__":
    unittest.main()
