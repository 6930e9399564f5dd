"""Nodes join a running cluster under names that nobody knew. Skipped without ONNX Runtime.

Covers: src/directory/membership.c src/service/clustered.c src/document/settings.c
"""

import time
import unittest

from clustered import SETTINGS, Cluster, Load, ask_once, busy_seconds, infer, make_authority, sign
from operated import LIBRARY, LIMIT


@unittest.skipUnless(LIBRARY.exists(), "there is no ONNX Runtime; see tools/fetch.sh")
class Open(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(self)
        settings = SETTINGS.replace("members: [a, b, c]", "members: 3")
        (self.cluster.folder / "weft.yaml").write_text(settings, encoding="utf-8")
        self.empty = self.cluster.root / "empty"
        self.empty.mkdir()

    def members(self):
        return {name: member["state"] for name, member in self.cluster.members().items()}

    def wait_for_work(self, server):
        """Until @server has run something."""
        end = time.monotonic() + LIMIT
        while sum(busy_seconds(server).values()) == 0:
            self.assertLess(time.monotonic(), end, "it is given nothing to do")
            time.sleep(0.1)

    def test_a_machine_that_was_never_named_joins_under_load(self):
        self.cluster.launch_all("first", "second")
        nodes = self.cluster.nodes
        load = Load(list(nodes.values()))
        late = self.cluster.launch("late-comer", folder=self.empty)  # It fetches everything.
        for name in ("first", "second"):
            nodes[name].logged("event=member node=late-comer ")
        self.wait_for_work(late)
        self.assertEqual(set(self.members()), {"first", "second", "late-comer"})
        status, got = ask_once(late.address, 1, "a-key", 1)
        self.assertEqual((status, got), (200, load.expected[1]))
        late.kill()
        for name in ("first", "second"):
            nodes[name].logged('event="member lost" node=late-comer')
        other = self.cluster.launch("another", folder=self.empty)
        self.wait_for_work(other)
        load.stop()
        self.assertEqual(load.wrong, [])
        self.assertEqual(infer(other.address, 2), load.expected[2])
        self.cluster.drain("another")
        self.assertEqual(set(self.members()), {"first", "second"})

    def test_there_is_room_for_so_many_alone(self):
        self.cluster.launch_all("x", "y", "z")
        fourth = self.cluster.launch("fourth", wait=False)
        fourth.logged("the cluster has all 3 members that it has room for")
        self.assertNotEqual(fourth.process.wait(timeout=LIMIT), 0)

    def test_certificates_are_for_what_a_node_calls_itself(self):
        root = self.cluster.root
        make_authority(root, "ca")
        for name in ("x", "y"):
            sign(root, "ca", name)
        self.cluster.has_certificates = True
        self.cluster.net = "tcp"
        self.cluster.launch_all("x", "y")
        for name, other in (("x", "y"), ("y", "x")):
            self.cluster.nodes[name].logged('event="peer reached"')
            self.assertIsNotNone(infer(self.cluster.nodes[other].address, 1))
        impostor = "not-x"  # With the certificate of x.
        for end in ("pem", "key"):
            (root / f"{impostor}.{end}").write_bytes((root / f"x.{end}").read_bytes())
        self.cluster.launch(impostor, wait=False)
        self.cluster.nodes["y"].logged('event="peer not trusted"')
        self.cluster.nodes[impostor].logged('event="certificate of another node" node=not-x')


if __name__ == "__main__":
    unittest.main()
