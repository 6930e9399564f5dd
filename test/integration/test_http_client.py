"""`weft infer` and `weft bench` against a server that gives back what it gets.

Covers: src/cli/bench.c src/cli/infer.c src/client/http_call.c src/client/load.c
"""

import json
import os
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest

import signals
from echoing import WEFT, Server

LIMIT = 60


class Client(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.url = "http://{}:{}".format(*cls.server.address)
        cls.folder = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.folder.cleanup()

    def weft(self, *arguments, given=b""):
        done = subprocess.run(
            [WEFT, *arguments], input=given, capture_output=True, timeout=LIMIT, check=False
        )
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def infer(self, *arguments, given=b""):
        return self.weft("infer", *arguments, "--url", self.url, given=given)

    def file(self, name, data):
        path = os.path.join(self.folder.name, name)
        with open(path, "wb") as file:
            file.write(data)
        return path


class Infer(Client):
    def test_values_are_what_the_workflow_declares(self):
        self.assertEqual(
            self.infer("echo", "x=1,2.5,-3"), (0, "x  FP32 [3]  1, 2.5, -3\n", "")
        )
        self.assertEqual(
            self.infer("text", "text=a, b"), (0, 'text  BYTES [1]  "a, b"\n', "")
        )
        many = ",".join(str(number) for number in range(20))
        code, out, _ = self.infer("echo", f"x={many}")
        self.assertEqual(code, 0)
        self.assertTrue(out.endswith("14, 15, ... (20 in all)\n"), out)

    def test_files_are_bytes_texts_or_pixels(self):
        raw = self.file("raw", struct.pack("<2f", 0.5, 7))
        self.assertEqual(self.infer("echo", f"x=@{raw}")[1], "x  FP32 [2]  0.5, 7\n")
        text = self.file("text", "ä\n".encode())
        self.assertEqual(self.infer("text", f"text=@{text}")[1], 'text  BYTES [1]  "ä\\n"\n')
        picture = self.file("picture.ppm", b"P6\n1 2\n255\nABCDEF")
        self.assertEqual(
            self.infer("image", f"pixels=@{picture}")[1],
            "pixels  UINT8 [2,1,3]  65, 66, 67, 68, 69, 70\n",
        )

    def test_pipes_are_read_to_their_end(self):
        data = struct.pack("<2f", 0.5, 7)
        for name in ("-", "/dev/stdin"):
            self.assertEqual(
                self.infer("echo", f"x=@{name}", given=data)[1], "x  FP32 [2]  0.5, 7\n"
            )

    def test_outputs_go_to_files(self):
        path = os.path.join(self.folder.name, "out")
        self.assertEqual(self.infer("hops", "x=1,2", "--out", f"x={path}"), (0, "", ""))
        with open(path, "rb") as file:
            self.assertEqual(struct.unpack("<2f", file.read()), (1, 2))

    def test_json_is_what_the_server_said(self):
        code, out, _ = self.infer("echo", "x=4", "--json")
        self.assertEqual((code, json.loads(out)["outputs"][0]["data"]), (0, [4]))

    def test_what_is_wrong_is_one_line(self):
        picture = self.file("picture.png", b"\x89PNG....")
        for arguments, code, cause in (
            (("echo",), 2, "input 'x' is missing; use x=VALUE"),
            (("echo", "y=1"), 2, "no input is called 'y'; the inputs are 'x'"),
            (("echo", "x"), 2, "'x' is not an input; use NAME=VALUE or NAME=@FILE"),
            (("echo", "x=one"), 2, "element 0 of its data is not a number (FP32)"),
            (("echo", "x=README.md"), 2, "use x=@README.md to send the file"),
            (("echo", "x=@no/such"), 1, "no/such"),
            (("echo", f"x=@{self.file('odd', b'12345')}"), 2, "not a whole number of FP32"),
            (("image", f"pixels=@{picture}"), 2, "do not fit its shape [-1,-1,3]"),
            (("nobody",), 1, "404: there is no model 'nobody'; there are 'echo', "),
            (("ecko",), 1, "404: there is no model 'ecko'; did you mean 'echo'?"),
            (("image", "pixels=flower"), 2, "use pixels=@FILE to send the bytes of a file"),
            (("fail", "x=1"), 1, '500: the job failed: task \'t0\': there is "no face" in it'),
            (("slow", "x=1", "--slo", "20"), 1, "504: late"),
            (("echo", "x=1", "--out", "x"), 2, "--out takes NAME=FILE, not 'x'"),
            (("a/b", "x=1"), 2, "'a/b' is not the name of a workflow"),
        ):
            got, out, err = self.infer(*arguments)
            self.assertEqual((got, out, err.count("\n")), (code, "", 1), (arguments, err))
            self.assertIn(cause, err)
        code, _, err = self.weft("infer", "echo", "x=1", "--url", "http://127.0.0.1:1")
        self.assertEqual((code, err), (1, "weft infer: 127.0.0.1:1: cannot connect: "
                                          "Connection refused\n"))  # fmt: skip
        self.assertEqual(self.weft("infer", "echo", "--url", "ftp://x/y/z")[0], 2)

    def test_answers_are_bounded(self):
        large = self.file("large", bytes(4 * 30000))
        code, out, err = self.infer("echo", f"x=@{large}", "--answer-max", "20KB")
        self.assertEqual((code, out, err.count("\n")), (1, "", 1), err)
        self.assertIn("the answer is longer than 20000 bytes; --answer-max takes another", err)
        self.assertEqual(self.infer("echo", f"x=@{large}", "--answer-max", "2MB")[0], 0)
        for wrong in (("--answer-max", "0"), ("--answer-max", "2TB"), ("--answer-max", "x"),
                      ("--timeout", "0"), ("--timeout", "1000001")):  # fmt: skip
            code, _, err = self.infer("echo", "x=1", *wrong)
            self.assertEqual((code, err.count("\n")), (2, 1), err)

    def test_what_a_server_says_does_not_reach_the_terminal(self):
        code, _, err = self.infer("echo", "x\x1b[2J=1")
        self.assertEqual((code, err.count("\n"), "\x1b" in err), (2, 1, False), err)

    @unittest.skipUnless(shutil.which("openssl"), "openssl, which makes certificates, is missing")
    def test_tls_and_token(self):
        key, certificate = (os.path.join(self.folder.name, name) for name in ("key", "cert"))
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost",
             "-addext", "subjectAltName=DNS:localhost", "-days", "1", "-keyout", key,
             "-out", certificate],
            check=True, capture_output=True, timeout=60,
        )  # fmt: skip
        token = self.file("token", b"sesame\n")
        with Server(f"cert={certificate}", f"key={key}", f"token={token}") as server:
            url = f"https://localhost:{server.address[1]}"
            call = ("infer", "echo", "x=1", "--url", url)
            good = (*call, "--ca", certificate, "--token-file", token)
            self.assertEqual(self.weft(*good), (0, "x  FP32 [1]  1\n", ""))
            self.assertIn("no TLS: certificate verify failed", self.weft(*call)[2])
            self.assertIn("401", self.weft(*call, "--ca", certificate)[2])


class Bench(Client):
    def test_every_request_that_is_due_is_accounted_for(self):
        code, out, err = self.weft(
            "bench", self.url, "echo", "x=1,2", "--rate", "300", "--seconds", "1", "--warmup", "0",
            "--slo", "10000", "--json",
        )  # fmt: skip
        self.assertEqual((code, err), (0, ""))
        report = json.loads(out)
        requests = report["requests"]
        self.assertGreater(requests["due"], 200)
        ends = ("good", "refused", "late", "failed", "broken", "open")
        self.assertEqual(requests["due"], sum(requests[end] for end in ends))
        self.assertEqual((report["in_slo"], requests["good"]), (requests["due"],) * 2)
        parts = sum(report[part]["mean"] for part in ("queue_ms", "run_ms", "other_ms"))
        whole = parts + report["network_ms"]["mean"]
        self.assertAlmostEqual(whole, report["latency_ms"]["mean"], delta=0.05)

    def test_waiting_for_a_connection_counts(self):
        code, out, _ = self.weft(
            "bench", self.url, "slow", "--arrivals", "constant", "--rate", "20", "--seconds", "1",
            "--warmup", "0", "--connections", "1", "--json",
        )  # fmt: skip
        report = json.loads(out)
        self.assertEqual((code, report["requests"]["good"]), (0, 20))
        # One connection, 300 ms each: the last one waits for all the others.
        self.assertGreater(report["latency_ms"]["max"], 4500)
        self.assertGreater(report["requests"]["behind"], 15)

    def test_a_trace_says_when(self):
        path = self.file("trace.csv", b"t_ms,workflow\n0,echo\n5,echo\n300,echo\n")
        code, out, _ = self.weft(
            "bench", self.url, "echo", "--trace", path, "--seconds", "1", "--warmup", "0", "--json"
        )
        self.assertEqual((code, json.loads(out)["requests"]["due"]), (0, 3))

    def answers(self):
        """How many the server has given for "echo"."""
        success = r'nv_inference_request_success{model="echo",version="1"} (\d+)'
        return int(re.search(success, self.server.metrics())[1])

    def test_an_interrupt_prints_what_was_measured(self):
        process = subprocess.Popen(
            [WEFT, "bench", self.url, "echo", "--seconds", "60", "--warmup", "0"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        signals.wait_until_caught(process, signal.SIGINT)
        wanted, end = self.answers() + 10, time.monotonic() + LIMIT
        while self.answers() < wanted and time.monotonic() < end:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=LIMIT)
        self.assertEqual((process.returncode, err), (0, ""))
        self.assertRegex(out, r"echo: \d+ requests were due in ")
        self.assertRegex(out, r"(?m)^  latency +\d")

    def test_what_is_wrong_is_one_line(self):
        for arguments, code, cause in (
            (("http://127.0.0.1:1", "echo"), 1, "cannot connect"),
            ((self.url, "nobody"), 1, "404"),
            ((self.url, "echo", "--rate", "0"), 2, "'0' is not a rate above 0"),
            ((self.url, "echo", "--arrivals", "never"), 2, "not 'never'"),
            ((self.url, "echo", "--connections", "0"), 2, "from 1 to 10000"),
            (("https://127.0.0.1:1", "echo"), 2, "only plain HTTP"),
        ):
            got, out, err = self.weft("bench", *arguments)
            self.assertEqual((got, out, err.count("\n")), (code, "", 1), (arguments, err))
            self.assertIn(cause, err)


del Client  # It has no tests of its own.

if __name__ == "__main__":
    unittest.main()
