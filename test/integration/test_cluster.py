"""Three processes are one cluster: any of them answers, and any may die. Skipped without ONNX
Runtime; what needs etcd also without that.

Covers: src/service/clustered.c src/cli/cluster.c src/cli/drain.c
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
import unittest

from clustered import WIDTH, Cluster, Etcd, Load, busy_seconds, infer, make_authority, sign
from operated import LIBRARY, LIMIT, WEFT

UCX = LIBRARY.resolve().parents[1] / "ucx/libucp.so.0"


@unittest.skipUnless(LIBRARY.exists(), "there is no ONNX Runtime; see tools/fetch.sh")
class Clusters(unittest.TestCase):
    def check(self, load):
        load.stop()
        self.assertEqual(load.wrong, [])

    def test_any_node_answers_and_all_of_them_work(self):
        cluster = Cluster(self)
        cluster.launch_all("a", "b", "c")
        a = cluster.nodes["a"]
        load = Load([a])
        load.wait_for(a, 30)
        for name, number in (("b", 1), ("c", 2)):
            end = time.monotonic() + 30
            while busy_seconds(cluster.nodes[name])[number] == 0 and time.monotonic() < end:
                time.sleep(0.05)  # It works for another, and has no client.
            self.assertEqual(list(busy_seconds(cluster.nodes[name])), [number])
            self.assertGreater(busy_seconds(cluster.nodes[name])[number], 0)
            self.assertIn("\nweft_members 3\n", cluster.nodes[name].metrics())
        self.assertEqual(infer(cluster.nodes["c"].address, 1), load.expected[1])
        self.check(load)
        self.assertEqual(load.broken[id(a)], 0)
        for name in ("b", "c", "a"):
            self.assertEqual(cluster.nodes[name].end()[0], 0)

    def carry(self, net, carrier):
        cluster = Cluster(self)
        cluster.net = net
        cluster.launch_all("a", "b")
        a, b = cluster.nodes["a"], cluster.nodes["b"]
        a.logged(f"event=\"peer reached\" node=1 by={carrier}")
        b.logged(f"event=\"peer reached\" node=0 by={carrier}")
        load = Load([a])
        end = time.monotonic() + 30
        while busy_seconds(b)[1] == 0 and time.monotonic() < end:
            time.sleep(0.05)
        self.assertGreater(busy_seconds(b)[1], 0)
        self.check(load)
        self.assertEqual(load.broken[id(a)], 0)
        for node in (a, b):
            self.assertEqual(node.end()[0], 0)

    def test_processes_of_one_machine_share_memory(self):
        self.carry("auto", "shm")

    def test_tcp_can_be_asked_for(self):
        self.carry("tcp", "tcp")

    @unittest.skipUnless(UCX.exists(), "there is no UCX; see tools/fetch.sh")
    def test_ucx_can_be_asked_for(self):
        self.carry("ucx", "ucx")

    @unittest.skipUnless(UCX.exists(), "there is no UCX; see tools/fetch.sh")
    def test_the_dead_whom_nobody_has_buried_are_lost_by_ucx(self):
        cluster = Cluster(self)  # For UCX's own keepalive a zombie is alive.
        cluster.net = "ucx"
        cluster.launch_all("a", "b")
        a, b = cluster.nodes["a"], cluster.nodes["b"]
        a.logged('event="peer reached" node=1 by=ucx')
        load = Load([a])
        load.wait_for(a, 10)
        os.kill(b.process.pid, signal.SIGKILL)
        a.logged('event="member lost" node=b')
        stat = pathlib.Path(f"/proc/{b.process.pid}/stat").read_text(encoding="utf-8")
        self.assertEqual(stat.rpartition(") ")[2][0], "Z", stat)
        load.wait_for(a, 30)
        self.check(load)

    def test_certificates_say_who_a_node_is(self):
        cluster = Cluster(self)
        cluster.has_certificates = True
        cluster.net = "tcp"
        make_authority(cluster.root, "ca")
        make_authority(cluster.root, "other")
        sign(cluster.root, "ca", "a")
        sign(cluster.root, "ca", "b")
        sign(cluster.root, "other", "c")
        cluster.launch_all("a", "b")
        a, b = cluster.nodes["a"], cluster.nodes["b"]
        load = Load([a])
        load.wait_for(a, 10)
        end = time.monotonic() + 30
        while busy_seconds(b)[1] == 0 and time.monotonic() < end:
            time.sleep(0.05)
        self.assertGreater(busy_seconds(b)[1], 0)
        refusal = self.refused(cluster, "c")
        self.assertRegex(refusal, "c.pem: not signed by an authority in .*ca.pem")
        shutil.copy(cluster.root / "other.pem", cluster.root / "ca.pem")
        c = cluster.launch("c")  # Of another cluster: it stays alone.
        c.logged("event=member node=a ")
        c.logged('event="peer not reached" node=a .* cause="its certificate: ')
        load.wait_for(a, 20)
        self.assertEqual(infer(c.address, 1), load.expected[1])
        self.check(load)
        self.assertEqual(busy_seconds(a).keys(), {0})
        self.assertEqual(load.broken[id(a)], 0)

    def test_a_machine_that_dies_comes_back_as_another(self):
        cluster = Cluster(self)
        cluster.launch_all("a", "b", "c")
        a, b, c = (cluster.nodes[name] for name in "abc")
        load = Load([a, b])
        load.wait_for(a, 10)
        c.process.kill()
        a.logged("event=\"member lost\" node=c")
        self.assertIn("\nweft_members 2\n", a.metrics())
        load.wait_for(a, 20)
        load.wait_for(b, 20)
        again = cluster.launch("c")
        again.logged("event=joined node=c incarnation=2")
        a.logged("event=member node=c incarnation=2")
        load.wait_for(a, 20)
        end = time.monotonic() + 30
        while busy_seconds(again)[2] == 0 and time.monotonic() < end:
            time.sleep(0.05)
        self.assertGreater(busy_seconds(again)[2], 0)
        self.check(load)
        self.assertEqual(load.broken[id(a)] + load.broken[id(b)], 0)

    def test_a_machine_that_stood_still_comes_back_as_another(self):
        cluster = Cluster(self)
        cluster.launch_all("a", "b", "c")
        a, c = cluster.nodes["a"], cluster.nodes["c"]
        load = Load([a])
        load.wait_for(a, 10)
        c.signal(signal.SIGSTOP)
        a.logged("event=\"member lost\" node=c")
        load.wait_for(a, 20)
        c.signal(signal.SIGCONT)
        c.logged("level=error event=\"name lost\"")
        c.logged("event=joined node=c incarnation=2")
        a.logged("event=member node=c incarnation=2")
        load.wait_for(a, 20)
        self.check(load)
        self.assertEqual(load.broken[id(a)], 0)
        self.assertEqual(c.end()[0], 0)

    @unittest.skipUnless(Etcd.PROGRAM, "there is no etcd; see tools/setup.sh")
    def test_a_cluster_goes_on_while_etcd_is_away(self):
        etcd = Etcd(self)
        cluster = Cluster(self, etcd.directory)
        cluster.launch_all("a", "b", "c")
        a = cluster.nodes["a"]
        load = Load([a])
        load.wait_for(a, 10)
        etcd.kill()
        for name in "abc":
            cluster.nodes[name].logged("event=\"directory away")
        time.sleep(4)  # Longer than a lease.
        load.wait_for(a, 20)
        etcd.start()
        for name in "abc":
            cluster.nodes[name].logged("event=\"directory is back\"")
        load.wait_for(a, 20)
        self.check(load)
        self.assertEqual(load.broken[id(a)], 0)
        for name in "abc":
            log = "\n".join(cluster.nodes[name].end()[2])
            self.assertNotIn("name lost", log)
            self.assertEqual(log.count("event=joined"), 1)

    def test_a_folder_that_is_away_changes_nothing(self):
        cluster = Cluster(self)
        cluster.launch_all("a", "b")
        members = cluster.root / "members"
        members.rename(cluster.root / "away")
        for name in "ab":
            cluster.nodes[name].logged("event=\"directory away")
        time.sleep(4)  # Longer than a lease.
        self.assertIsNotNone(infer(cluster.nodes["a"].address, 1))
        (cluster.root / "away").rename(members)
        for name in "ab":
            cluster.nodes[name].logged("event=\"directory is back\"")
        time.sleep(1)
        for name in "ab":
            self.assertNotRegex("\n".join(cluster.nodes[name].log), "(member|name) lost")

    def weft(self, *arguments):
        done = subprocess.run([WEFT, *arguments], capture_output=True, text=True, timeout=LIMIT)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_a_node_is_drained_by_name(self):
        cluster = Cluster(self)
        cluster.launch_all("a", "b")
        a, b = cluster.nodes["a"], cluster.nodes["b"]
        shown = json.loads(self.weft("cluster", cluster.directory, "--json"))["members"]
        self.assertEqual([one["node"] for one in shown], ["a", "b"])
        self.assertEqual([one["state"] for one in shown], ["ready", "ready"])
        self.assertEqual(shown[0]["clients"], "http://%s:%d" % a.address)
        self.assertEqual(shown[0]["serves"], shown[1]["serves"])
        self.assertRegex(self.weft("cluster", cluster.directory), r"(?m)^a +1 +ready +http://")
        load = Load([b])
        load.wait_for(b, 10)
        self.assertEqual(self.weft("drain", cluster.directory, "b"), "b has left\n")
        self.check(load)
        self.assertEqual(b.ended()[0], 0)
        a.logged("event=\"member lost\" node=b")
        self.assertNotIn("b ", self.weft("cluster", cluster.directory).split("\n")[1:])
        done = subprocess.run([WEFT, "drain", cluster.directory, "b"], capture_output=True,
                              text=True, timeout=LIMIT)  # fmt: skip
        self.assertEqual((done.returncode, done.stderr),
                         (2, "weft drain: no member is called 'b'\n"))  # fmt: skip

    def test_clients_with_several_addresses_survive_a_node(self):
        cluster = Cluster(self)
        cluster.launch_all("a", "b")
        a, b = ("http://%s:%d" % cluster.nodes[name].address for name in "ab")
        counts = cluster.bench_while_killed("b", f"{a},{b}", "--seconds", "4")
        self.assertEqual(counts["broken"], 0)
        values = "x=" + ",".join(["1"] * WIDTH)
        self.assertIn("FP32 [1,", self.weft("infer", "twice", values, "--url", f"{b},{a}"))

    def refused(self, cluster, name, *more, folder=None):
        """What the one line of error says."""
        server = cluster.launch(name, *more, folder=folder, wait=False)
        code, _, log = server.ended()
        said = [line for line in log if line.startswith("weft serve: ")]
        self.assertEqual(len(said), 1, log)
        self.assertNotEqual(code, 0)
        return said[0]

    def test_what_does_not_fit_is_said_in_a_line(self):
        cluster = Cluster(self)
        nobody = subprocess.run(
            [WEFT, "cluster", cluster.directory], check=True, capture_output=True, text=True
        )
        self.assertEqual(nobody.stderr, "weft cluster: there is no member\n")
        cluster.launch_all("a")
        self.assertIn("the name 'a' is held by another process", self.refused(cluster, "a"))
        self.assertIn("no member in weft.yaml is called 'x'", self.refused(cluster, "x"))
        self.assertIn("name the address by which other nodes reach",
                      self.refused(cluster, "b", "--listen-cluster", "0.0.0.0:0"))  # fmt: skip
        self.assertIn("/no/file", self.refused(cluster, "b", "--cluster-secret-file", "/no/file"))
        self.assertIn("'pigeon' is not a net; use auto, tcp, shm or ucx",
                      self.refused(cluster, "b", "--cluster-net", "pigeon"))  # fmt: skip
        self.assertIn("needs '--cluster-secret-file', or",
                      self.refused(cluster, "b", "--cluster-cert", "/no/file"))  # fmt: skip
        self.assertIn("127.0.0.1:1: cannot connect",
                      self.refused(cluster, "b", "--cluster", "etcd://127.0.0.1:1"))  # fmt: skip
        other = cluster.root / "other"
        shutil.copytree(cluster.folder, other)
        settings = (cluster.folder / "weft.yaml").read_text()
        (other / "weft.yaml").write_text(settings.replace("[a, b, c]", "[b, a, c]"))
        self.assertIn("node 'a' is of another cluster", self.refused(cluster, "b", folder=other))
        (other / "weft.yaml").write_text(settings.replace("memory: 200MB\n", ""))
        self.assertIn("needs 'members', 'workers' and 'memory' in weft.yaml",
                      self.refused(cluster, "b", folder=other))  # fmt: skip

    def test_a_wrong_secret_is_noticed(self):
        cluster = Cluster(self)
        cluster.launch_all("a")
        wrong = cluster.root / "wrong"
        wrong.write_text("another secret of other people")
        b = cluster.launch("b", "--cluster-secret-file", str(wrong))
        b.logged("event=\"peer not trusted\" node=0 cause=\"it does not know the secret\"")
        b.logged("event=\"peer not reached\" node=a .*cause=\"it does not know the secret")
        self.assertIsNotNone(infer(b.address, 1))  # Alone.
        self.assertIsNotNone(infer(cluster.nodes["a"].address, 1))


if __name__ == "__main__":
    unittest.main()
