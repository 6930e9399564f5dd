"""Requests with a key survive the node that they came to. Skipped without ONNX Runtime.

Covers: src/server/infer_key.c src/node/keys_peers.c
"""

import http.client
import json
import os
import signal
import subprocess
import threading
import time
import unittest

from clustered import WIDTH, Cluster, ask_once, ask_with_key, infer, request
from operated import LIBRARY, LIMIT, WEFT


@unittest.skipUnless(LIBRARY.exists(), "there is no ONNX Runtime; see tools/fetch.sh")
class Keys(unittest.TestCase):
    def launch(self, *names, more=()):
        cluster = Cluster(self)
        for name in names:
            cluster.launch(name, *more, wait=not cluster.nodes)
        for name in names:
            cluster.nodes[name].wait_until_ready()
        cluster.wait_until_connected(*names)
        return cluster, [cluster.nodes[name].address for name in names]

    def ask(self, address, value, key, attempt=1):
        """Status, headers and body of one request."""
        connection = http.client.HTTPConnection(*address, timeout=LIMIT)
        headers = {"Idempotency-Key": key, "weft-attempt": str(attempt)}
        connection.request("POST", "/v2/models/twice/infer", request(value), headers)
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        return response.status, dict(response.getheaders()), json.loads(text)

    def test_every_node_gives_the_one_answer(self):
        cluster, addresses = self.launch("a", "b", "c")
        right = infer(addresses[0], 2)
        for i in range(6):
            status, headers, body = self.ask(addresses[i % 3], 2, f"one-{i}")
            self.assertEqual((status, body["outputs"][0]["data"]), (200, right))
            self.assertIn(headers["weft-deputy"], set("abc") - {"abc"[i % 3]})
            for address in addresses:
                again = self.ask(address, 2, f"one-{i}", attempt=2)
                self.assertEqual((again[0], again[2]["outputs"]), (200, body["outputs"]))
        status, _, body = self.ask(addresses[0], 3, "one-0")
        self.assertEqual(status, 409)
        self.assertIn("another request had this Idempotency-Key", body["error"])
        status, _, _ = self.ask(addresses[1], 3, "one-0", attempt=2)
        self.assertEqual(status, 409)
        self.assertEqual(self.ask(addresses[0], 3, "x" * 256)[0], 400)

    def test_the_answer_outlives_the_owner(self):
        cluster, addresses = self.launch("a", "b", "c")
        answers = {}
        for i in range(10):
            status, headers, body = self.ask(addresses[0], i % 4, f"kept-{i}")
            self.assertEqual(status, 200)
            answers[i] = (headers["weft-job"], body["outputs"][0]["data"])
        time.sleep(1.5)  # The answers reach the deputies, within 50 ms on a quiet machine.
        cluster.nodes["a"].process.kill()
        for name in "bc":
            cluster.nodes[name].logged("event=\"member lost\" node=a")
        for i, (job, answer) in answers.items():
            got = [ask_with_key([address], i % 4, f"kept-{i}") for address in addresses[1:]]
            self.assertEqual([one[0] for one in got], [answer, answer])
            self.assertIn(job, [one[1]["weft-job"] for one in got])  # It did not run again.

    def test_no_answer_comes_before_a_deputy_knows_of_the_request(self):
        cluster, addresses = self.launch("a", "b", "c")
        right = infer(addresses[0], 2)
        answers = []
        asks = [
            threading.Thread(target=lambda key: answers.append(ask_once(addresses[0], 2, key, 1)),
                             args=(f"w{i}",))
            for i in range(12)
        ]  # Some of them run on the node that is asked.  # fmt: skip
        others = [cluster.nodes[name].process for name in "bc"]
        for other in others:
            other.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        for thread in asks:
            thread.start()
        time.sleep(0.2)
        cluster.nodes["a"].process.kill()
        lasted = time.monotonic() - began
        for other in others:
            other.send_signal(signal.SIGCONT)
        for thread in asks:
            thread.join(timeout=LIMIT)
        if lasted > 0.4:
            self.skipTest("the machine is too busy: the others may have been suspected")
        self.assertEqual([status for status, _ in answers if status is not None], [])
        for i in range(12):
            self.assertEqual(ask_with_key(addresses, 2, f"w{i}")[0], right)

    def test_no_job_is_lost_with_its_owner(self):
        cluster, addresses = self.launch("a", "b", "c")
        expected = {value: infer(addresses[1], value) for value in range(4)}
        ends = threading.Event()
        wrong, retried, good = [], [], []

        def ask(client):
            number = 0
            while not ends.is_set():
                number += 1
                value = (client + number) % 4
                try:
                    answer, _, attempts = ask_with_key(addresses, value, f"{client}-{number}")
                except AssertionError as error:
                    wrong.append(str(error))
                    continue
                if answer != expected[value]:
                    wrong.append(f"{answer[:3]} for {value}")
                good.append(1)
                if attempts > 1:
                    retried.append(f"{client}-{number}")

        threads = [threading.Thread(target=ask, args=(i,), daemon=True) for i in range(8)]
        for thread in threads:
            thread.start()
        while len(good) < 100:
            time.sleep(0.02)
        cluster.nodes["a"].process.kill()  # All clients ask it first.
        cluster.nodes["b"].logged("event=\"member lost\" node=a")
        count = len(good)
        while len(good) < count + 50 and not wrong:
            time.sleep(0.02)
        ends.set()
        for thread in threads:
            thread.join(timeout=LIMIT)
        self.assertEqual(wrong, [])
        self.assertGreater(len(retried), 0)

    def test_without_deputies_keys_mean_nothing(self):
        _, addresses = self.launch("a", "b", more=("--no-deputies",))
        status, headers, _ = self.ask(addresses[0], 1, "nothing")
        self.assertEqual(status, 200)
        self.assertNotIn("weft-deputy", headers)

    def test_a_client_does_not_wait_for_a_node_that_stands_still(self):
        cluster, addresses = self.launch("a", "b", "c")
        urls = ",".join("http://%s:%d" % address for address in addresses)
        given = "x=" + ",".join(["1"] + ["0"] * (WIDTH - 1))
        stopped = cluster.nodes["a"].process
        os.kill(stopped.pid, signal.SIGSTOP)
        try:
            done = subprocess.run(
                [WEFT, "infer", "--url", urls, "twice", given, "--json"],
                capture_output=True, text=True, timeout=2 * LIMIT,
            )  # fmt: skip
        finally:
            os.kill(stopped.pid, signal.SIGCONT)
        self.assertEqual(done.returncode, 0, done.stderr)
        right = infer(addresses[1], 1)
        self.assertEqual(json.loads(done.stdout)["outputs"][0]["data"], right)

    def test_clients_retry_with_their_key(self):
        cluster, addresses = self.launch("a", "b", "c")
        urls = ",".join("http://%s:%d" % address for address in addresses)
        cluster.bench_while_killed("b", urls, "--seconds", "5")


if __name__ == "__main__":
    unittest.main()
