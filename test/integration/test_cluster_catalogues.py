"""Nodes are restarted one by one with other models and workflows, and serve on meanwhile.

Skipped without ONNX Runtime. Covers: src/directory/membership.c src/model/agreement.c
        src/service/rollout.c src/client/attempts.c
"""

import json
import subprocess
import unittest

from operated import LIBRARY, LIMIT, WEFT
from test_cluster_versions import WIDTH, WORKFLOW, Clients, Folders, ask, call, scale, write_version

TWICE = f"""workflow: twice
inputs: {{x: {{dtype: FP32, shape: [-1, {WIDTH}]}}}}
tasks:
  one: {{model: scale, in: {{x: inputs.x}}}}
  two: {{model: scale, in: {{x: one.y}}}}
outputs: {{y: two.y}}
"""
# The same name, and another graph: it makes 16 of what was 8.
FOUR_TIMES = WORKFLOW.replace(
    "outputs: {y: three.y}", "  four: {model: scale, in: {x: three.y}}\noutputs: {y: four.y}"
)


@unittest.skipUnless(LIBRARY.exists(), "there is no ONNX Runtime; see tools/fetch.sh")
class Catalogues(unittest.TestCase):
    def setUp(self):
        self.cluster = Folders(self)
        for name in "abc":
            write_version(self.cluster.folder_of(name), 2, scale(2))
        self.cluster.launch_all("a", "b", "c")
        self.nodes = self.cluster.nodes

    def restart(self, name, files, *more):
        """Restart @name with @files, of which None are removed."""
        self.nodes[name].process.terminate()
        self.assertEqual(self.nodes[name].process.wait(timeout=LIMIT), 0)
        for file, text in files.items():
            path = self.cluster.folder_of(name) / file
            if text is None:
                path.unlink()
            else:
                path.write_text(text, encoding="utf-8")
        self.cluster.launch(name, *more)

    def serving(self):
        """Which members have the same catalogue."""
        groups = {}
        for name, member in self.cluster.members().items():
            groups.setdefault(member["serves"], []).append(name)
        return sorted(groups.values())

    def has_twice(self, name):
        return call(self.nodes[name], "/v2/models/twice", method="GET")[0] == 200

    def test_workflows_come_change_and_go_by_restarts(self):
        new = {"twice.workflow.yaml": TWICE, "thrice.workflow.yaml": FOUR_TIMES}
        clients = Clients([self.nodes["c"]])
        clients.wait_for(8)
        self.restart("a", new)
        self.assertEqual(self.serving(), [["a"], ["b", "c"]])
        self.nodes["b"].logged(
            'event="member serves something else" node=a .*cause="other models or workflows"'
        )
        self.assertEqual([ask(self.nodes[name]) for name in "abc"], [16, 8, 8])
        self.assertEqual([self.has_twice(name) for name in "abc"], [True, False, False])
        urls = ",".join(f"http://{host}:{port}" for host, port in
                        (self.nodes[name].address for name in "ba"))  # fmt: skip
        inferred = subprocess.run(
            [WEFT, "infer", "--url", urls, "--json", "twice", "x=1,1,1,1"],
            check=False, capture_output=True, text=True, timeout=LIMIT,
        )  # fmt: skip
        self.assertEqual(inferred.returncode, 0, inferred.stderr)
        self.assertEqual(json.loads(inferred.stdout)["outputs"][0]["data"], [4] * WIDTH)
        self.restart("b", new)
        self.assertEqual(self.serving(), [["a", "b"], ["c"]])
        self.cluster.wait_until_connected("a", "b")  # They work for each other again.
        clients.wait_for(8)
        self.assertEqual({answer for got in clients.stop() for answer in got}, {8})
        self.restart("c", new)
        self.assertEqual(self.serving(), [["a", "b", "c"]])
        self.cluster.wait_until_connected("a", "b", "c")
        self.assertEqual([ask(self.nodes[name]) for name in "abc"], [16, 16, 16])
        self.assertEqual([self.has_twice(name) for name in "abc"], [True] * 3)
        self.restart("a", {"twice.workflow.yaml": None}, "--fetch", "none")
        self.assertEqual([self.has_twice(name) for name in "abc"], [False, True, True])
        self.assertEqual([ask(self.nodes[name]) for name in "abc"], [16, 16, 16])

    def test_a_node_that_speaks_another_version_is_left_alone(self):
        own = self.cluster.members()["a"]
        self.nodes["b"].process.terminate()
        self.assertEqual(self.nodes["b"].process.wait(timeout=LIMIT), 0)
        self.cluster.pretend(
            "b",
            incarnation=2,
            address="127.0.0.1:1",
            version="0.0.9/1.1",
            agreement=f"{int(own['serves'], 16) ^ 1:016x}",  # Of the same cluster.
        )
        self.assertRegex(own["version"], r"^\d+\.\d+\.\d+/\d+\.\d+$")
        cause = f"it is Weft 0.0.9/1.1, this is {own['version']}"
        for name in "ac":
            self.nodes[name].logged(
                f'event="member serves something else" node=b .*cause="{cause}"'
            )
        self.cluster.wait_until_connected("a", "c")
        self.assertEqual([ask(self.nodes[name]) for name in "ac"], [8, 8])


if __name__ == "__main__":
    unittest.main()
