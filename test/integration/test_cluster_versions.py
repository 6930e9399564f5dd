"""New versions of a model reach all nodes, and every answer is of one.

Skipped without ONNX Runtime. Covers: src/service/rollout.c src/service/rollout_hold.c
        src/service/edition.c src/service/preparation.c
        src/runtime/editions.c src/cli/cluster.c
"""

import http.client
import json
import re
import shutil
import threading
import time
import unittest

import onnx_models
from clustered import Cluster, Etcd
from operated import LIBRARY, LIMIT

WIDTH = 4
TASKS = 3  # In a row, all of one model: an answer of two versions differs from both.
WORKFLOW = f"""workflow: thrice
inputs: {{x: {{dtype: FP32, shape: [-1, {WIDTH}]}}}}
tasks:
  one: {{model: scale, in: {{x: inputs.x}}}}
  two: {{model: scale, in: {{x: one.y}}}}
  three: {{model: scale, in: {{x: two.y}}}}
outputs: {{y: three.y}}
"""
SETTINGS = """weft: versions
members: [a, b, c]
workers: 1
memory: 200MB
device: cpu
policy: {place: hash}
admission: off
"""


def scale(factor, width=WIDTH):
    """y is @factor times x."""
    return onnx_models.model(
        [onnx_models.node("Mul", ["x", "w"], "y")],
        [onnx_models.value_info("x", ["n", width])],
        [onnx_models.value_info("y", ["n", width])],
        [onnx_models.weight("w", [1], [factor])],
    )


def write_version(folder, version, data):
    """A version of the model, whole from the moment that it can be seen."""
    path = folder / "scale" / str(version)
    beside = folder / f".{version}"
    beside.mkdir(parents=True)
    (beside / "model.onnx").write_bytes(data)
    path.parent.mkdir(exist_ok=True)
    beside.rename(path)


class Folders(Cluster):
    """Each node has a repository of its own, with version 1."""

    def __init__(self, test, directory=None):
        super().__init__(test, directory)
        shutil.rmtree(self.folder)
        for name in "abc":
            folder = self.folder_of(name)
            folder.mkdir(parents=True)
            write_version(folder, 1, scale(1))
            (folder / "thrice.workflow.yaml").write_text(WORKFLOW, encoding="utf-8")
            (folder / "weft.yaml").write_text(SETTINGS, encoding="utf-8")

    def folder_of(self, name):
        return self.root / f"repository-{name}"

    def launch(self, name, *more, **options):
        return super().launch(name, *more, folder=self.folder_of(name), **options)


def call(server, path, body=None, method="POST", headers=None):
    connection = http.client.HTTPConnection(*server.address, timeout=LIMIT)
    try:
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def ask(server, headers=None):
    """What three runs make of 1, or the text of a refusal."""
    given = {"name": "x", "datatype": "FP32", "shape": [1, WIDTH], "data": [1] * WIDTH}
    body = json.dumps({"inputs": [given]})
    status, text = call(server, "/v2/models/thrice/infer", body, headers=headers)
    return json.loads(text)["outputs"][0]["data"][0] if status == 200 else f"{status} {text}"


class Clients:
    """Closed loops, two at each node; what each got, in its order."""

    def __init__(self, servers):
        self.ends = threading.Event()
        self.got = [[] for _ in range(2 * len(servers))]
        self.threads = [
            threading.Thread(target=self.run, args=(server, got), daemon=True)
            for server, got in zip(2 * list(servers), self.got)
        ]
        for thread in self.threads:
            thread.start()

    def run(self, server, got):
        while not self.ends.is_set():
            try:
                got.append(ask(server))
            except (OSError, http.client.HTTPException) as error:
                got.append(repr(error))

    def wait_for(self, value, more=5):
        """Until each client has got @value @more times in a row."""
        end = time.monotonic() + LIMIT
        while not all(got[-more:] == [value] * more for got in self.got):
            if time.monotonic() > end:
                raise AssertionError([got[-3:] for got in self.got])
            time.sleep(0.05)

    def stop(self):
        self.ends.set()
        for thread in self.threads:
            thread.join(timeout=LIMIT)
        return self.got


@unittest.skipUnless(LIBRARY.exists(), "there is no ONNX Runtime; see tools/fetch.sh")
class Versions(unittest.TestCase):
    def setUp(self):
        self.cluster = Folders(self)
        self.cluster.launch_all("a", "b", "c")
        self.nodes = self.cluster.nodes

    def wait_for_edition(self, number):
        """Until all members say that they serve it, and nothing else."""
        end = time.monotonic() + LIMIT
        said = None
        while said != {(number, number, number)} and time.monotonic() < end:
            members = self.cluster.members().values()
            said = {(one["change"], one["held"], one["edition"]) for one in members}
        self.assertEqual(said, {(number, number, number)})

    def load(self, node):
        return call(self.nodes[node], "/v2/repository/models/scale/load")

    def check_order(self, clients, *values):
        """Each client got @values alone, one after the other, and never an earlier one again."""
        for got in clients.stop():
            changes = [one for i, one in enumerate(got) if i == 0 or got[i - 1] != one]
            self.assertEqual(changes, list(values))

    def test_a_version_on_one_node_comes_to_all_under_load(self):
        clients = Clients(self.nodes.values())
        clients.wait_for(1)
        names = self.cluster.root / "members"
        guests = sorted(path.name for path in names.glob("**/~*"))
        write_version(self.cluster.folder_of("b"), 2, scale(2))
        status, text = self.load("b")
        self.assertEqual(status, 200, text)
        # Members fetch under their own names: none has joined as a guest for it.
        self.assertEqual(sorted(path.name for path in names.glob("**/~*")), guests)
        self.assertEqual(
            json.loads(text),
            {"edition": 1, "members": [{"node": "a", "holds": 1}, {"node": "c", "holds": 1}]},
        )
        clients.wait_for(2**TASKS)
        for name in "ac":
            self.assertEqual(
                (self.cluster.folder_of(name) / "scale/2/model.onnx").read_bytes(), scale(2)
            )
        self.wait_for_edition(1)
        for node in self.nodes.values():
            self.assertIn('"versions":["2"]', call(node, "/v2/models/scale", method="GET")[1])
        # Unloaded, jobs that run end well; the others are refused.
        self.assertEqual(call(self.nodes["c"], "/v2/repository/models/scale/unload")[0], 200)
        end = time.monotonic() + LIMIT
        while not all("unloaded" in str(got[-1]) for got in clients.got):
            self.assertLess(time.monotonic(), end, [got[-1] for got in clients.got])
            time.sleep(0.05)
        for got in clients.stop():
            kinds = [str(one)[:12] for one in got]
            self.assertEqual(
                [kind for i, kind in enumerate(kinds) if i == 0 or kinds[i - 1] != kind],
                ["1", "8", kinds[-1]],
            )

    def test_a_version_that_one_node_cannot_have_is_served_by_none(self):
        clients = Clients(self.nodes.values())
        write_version(self.cluster.folder_of("a"), 2, scale(2))
        write_version(self.cluster.folder_of("c"), 2, scale(5))  # Another one of the same number.
        status, text = self.load("a")
        self.assertEqual(status, 400, text)
        self.assertIn(
            "node 'c': model 'scale': scale/2/model.onnx is another file than in the cluster", text
        )
        self.assertIn("another file", self.cluster.members()["c"]["note"])
        clients.wait_for(1)
        status, text = self.load("c")
        self.assertEqual(status, 400, text)
        shutil.rmtree(self.cluster.folder_of("c") / "scale/2")
        write_version(self.cluster.folder_of("c"), 2, scale(2))
        status, text = self.load("c")  # At once: what was wrong before is not said again.
        self.assertEqual(status, 200, text)
        clients.wait_for(2**TASKS)
        write_version(self.cluster.folder_of("a"), 3, scale(3, width=WIDTH + 1))
        status, text = self.load("a")
        self.assertEqual(status, 400, text)
        self.assertIn("inputs or outputs differ", text)
        shutil.rmtree(self.cluster.folder_of("a") / "scale/3")
        write_version(self.cluster.folder_of("a"), 4, scale(4))
        status, text = self.load("a")
        self.assertEqual(status, 200, text)
        clients.wait_for(4**TASKS)
        self.check_order(clients, 1, 2**TASKS, 4**TASKS)

    def test_nodes_are_restarted_with_a_new_version_one_by_one(self):
        clients = Clients([self.nodes["b"], self.nodes["c"]])
        clients.wait_for(1)
        self.nodes["a"].process.terminate()
        self.nodes["a"].process.wait(timeout=LIMIT)
        write_version(self.cluster.folder_of("a"), 2, scale(2))
        self.cluster.launch("a")
        clients.wait_for(2**TASKS)
        self.check_order(clients, 1, 2**TASKS)
        own = Clients([self.nodes["a"]])  # It may be the last to hear that all have it.
        own.wait_for(2**TASKS)
        self.assertLessEqual(set(own.stop()[0]), {1, 2**TASKS})

    def ask_for_all(self, node, kind, attempt=2):
        """What @node answers for the same requests, each with its key."""
        return {
            ask(self.nodes[node], {"Idempotency-Key": f"{kind}-{i}", "weft-attempt": str(attempt)})
            for i in range(12)
        }

    def test_answers_outlive_the_nodes_that_gave_them(self):
        began = time.monotonic()
        self.cluster.wait_until_connected("a", "b", "c")
        for kind in ("asked", "handed", "kept"):
            self.assertEqual(self.ask_for_all("a", kind, attempt=1), {1})
        write_version(self.cluster.folder_of("b"), 2, scale(2))
        status, text = self.load("b")
        self.assertEqual(status, 200, text)
        self.wait_for_edition(1)
        self.cluster.drain("b")  # The deputy of some. Their owner lets c keep the answers, too.
        for name in "ac":
            self.nodes[name].logged('event="member lost" node=b')
        got = [self.ask_for_all("c", "kept")]
        self.cluster.launch("b")  # Again the first in rank for some, which it knows nothing of.
        for name in "ac":
            self.nodes[name].logged("event=member node=b incarnation=2")
        got += [self.ask_for_all("b", "asked"), self.ask_for_all("c", "asked")]
        self.cluster.drain("a")
        self.nodes["c"].logged('event="member lost" node=a')
        got += [self.ask_for_all(name, kind) for name in "bc" for kind in ("handed", "kept")]
        self.assertEqual(ask(self.nodes["c"]), 2**TASKS)
        if time.monotonic() - began > 50:
            self.skipTest("the machine is too busy: answers are kept for a minute")
        self.assertEqual(got, [{1}] * len(got))


@unittest.skipUnless(LIBRARY.exists(), "there is no ONNX Runtime; see tools/fetch.sh")
@unittest.skipUnless(Etcd.PROGRAM, "there is no etcd; see tools/setup.sh")
class LostNames(unittest.TestCase):
    def test_a_cluster_whose_directory_forgets_it_serves_what_it_did(self):
        etcd = Etcd(self)
        cluster = Folders(self, etcd.directory)
        cluster.launch_all("a", "b", "c")
        nodes = [cluster.nodes[name] for name in "abc"]
        write_version(cluster.folder_of("a"), 2, scale(2))
        status, text = call(nodes[0], "/v2/repository/models/scale/load")
        self.assertEqual(status, 200, text)
        etcd.kill()
        etcd.wipe()
        etcd.start()
        for node in nodes:
            node.logged('event="name lost"')
        for node in nodes:
            end = time.monotonic() + LIMIT
            got = ask_again(node)
            while isinstance(got, str) and time.monotonic() < end:
                time.sleep(0.05)
                got = ask_again(node)
            self.assertEqual(got, 2**TASKS)


def ask_again(node):
    """The same of a node that may just join again, perhaps at another address."""
    found = [re.search(r"^listening on http://(\S+):(\d+)", line) for line in list(node.out)]
    last = [match for match in found if match][-1]
    node.address = (last[1], int(last[2]))
    try:
        return ask(node)
    except OSError as cause:
        return str(cause)


if __name__ == "__main__":
    unittest.main()
