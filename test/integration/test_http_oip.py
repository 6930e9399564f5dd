"""The Open Inference Protocol as clients meet it: contents, deadlines, ends, TLS, tokens.

Covers: src/server/http_clients.c
"""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from echoing import WEFT, Server, ask, binary, fp32, texts, trusting
from ports import free_ports

DEMO = "scenarios/demo/demo.yaml"
RUNNING = 'nv_inference_pending_request_count{model="slow",version="1"} 1'

# type, values, struct format
TYPES = [
    ("BOOL", [True, False], "?"),
    ("UINT8", [0, 255], "B"),
    ("UINT16", [0, 65535], "H"),
    ("UINT32", [0, 4294967295], "I"),
    ("UINT64", [0, 18446744073709551615], "Q"),
    ("INT8", [-128, 127], "b"),
    ("INT16", [-32768, 32767], "h"),
    ("INT32", [-2147483648, 2147483647], "i"),
    ("INT64", [-9223372036854775808, 9223372036854775807], "q"),
    ("FP16", [0.5, -65504.0], "e"),
    ("BF16", [0.5, -96.0], "bf"),
    ("FP32", [0.25, -1e10], "f"),
    ("FP64", [0.1, -1e300], "d"),
]


class Contents(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def test_every_type_comes_back_from_json(self):
        inputs = [
            {"name": name, "shape": [2], "datatype": name, "data": values}
            for name, values, _ in TYPES
        ]
        inputs.append(
            {"name": "BYTES", "shape": [3], "datatype": "BYTES", "data": ["", "ä\n\"", "😀"]}
        )
        status, headers, body = self.server.infer("types", {"id": "me", "inputs": inputs})
        self.assertEqual(status, 200, body)
        reply = json.loads(body)
        self.assertEqual((reply["model_name"], reply["model_version"]), ("types", "1"))
        self.assertEqual(reply["id"], "me")
        outputs = {output["name"]: output for output in reply["outputs"]}
        for given in inputs:
            self.assertEqual(outputs[given["name"]]["data"], given["data"])
            self.assertEqual(outputs[given["name"]]["datatype"], given["name"])
        timing = dict(part.split("=") for part in headers["weft-timing"].split(","))
        parts = sum(int(timing[part]) for part in ("queue_us", "run_us", "other_us"))
        self.assertLessEqual(abs(parts - int(timing["total_us"])), 3)

    def test_every_type_comes_back_from_bytes(self):
        tensors = {
            name: struct.pack(f"<2{form}", *values) for name, values, form in TYPES if form != "bf"
        }
        tensors["BF16"] = struct.pack("<2H", 0x3F00, 0xC2C0)
        tensors["BYTES"] = texts(b"", b"\xff\x00")
        inputs = [
            {"name": name, "shape": [2], "datatype": name,
             "parameters": {"binary_data_size": len(data)}}
            for name, data in tensors.items()
        ]  # fmt: skip
        names = ["BYTES", "FP16", "INT64"]
        request = {
            "inputs": inputs,
            "outputs": [{"name": name, "parameters": {"binary_data": True}} for name in names]
            + [{"name": "UINT8"}],
        }
        body, headers = binary(request, *tensors.values())
        status, headers, reply = self.server.ask("POST", "/v2/models/types/infer", body, headers)
        self.assertEqual(status, 200, reply)
        length = int(headers["Inference-Header-Content-Length"])
        outputs = json.loads(reply[:length])["outputs"]
        self.assertEqual([output["name"] for output in outputs], [*names, "UINT8"])
        for output in outputs[:3]:
            size = output["parameters"]["binary_data_size"]
            self.assertEqual(reply[length : length + size], tensors[output["name"]])
            length += size
        self.assertEqual(length, len(reply))
        self.assertEqual(outputs[3]["data"], [0, 255])

    def test_large_tensors_in_both_forms(self):
        values = [number / 4 for number in range(300000)]
        data = struct.pack(f"<{len(values)}f", *values)
        request = {
            "inputs": [
                {"name": "x", "shape": [len(values)], "datatype": "FP32",
                 "parameters": {"binary_data_size": len(data)}}
            ]
        }  # fmt: skip
        body, headers = binary(request, data)
        status, _, reply = self.server.ask("POST", "/v2/models/hops/infer", body, headers)
        self.assertEqual(status, 200)
        self.assertEqual(json.loads(reply)["outputs"][0]["data"], values)
        request = {"parameters": {"binary_data_output": True}, "inputs": [fp32("x", values)]}
        status, headers, reply = self.server.infer("hops", request)
        self.assertEqual(reply[int(headers["Inference-Header-Content-Length"]) :], data)

    def test_nested_data_fits_its_shape(self):
        pixels = {"name": "pixels", "shape": [2, 1, 3], "datatype": "UINT8"}
        nested = dict(pixels, data=[[[1, 2, 3]], [[4, 5, 6]]])
        status, _, body = self.server.infer("image", {"inputs": [nested]})
        self.assertEqual(status, 200)
        self.assertEqual(json.loads(body)["outputs"][0]["data"], [1, 2, 3, 4, 5, 6])
        self.assertEqual(json.loads(body)["outputs"][0]["shape"], [2, 1, 3])
        for data in ([[1, 2, 3], [4, 5, 6]], [[[1, 2, 3]], [[4, 5]]], [1, 2, 3, 4, 5]):
            status, _, body = self.server.infer("image", {"inputs": [dict(pixels, data=data)]})
            self.assertEqual(status, 400)
            self.assertIn("input 'pixels'", json.loads(body)["error"])

    def test_what_a_client_gets_wrong_is_said(self):
        for request, cause in (
            ({"inputs": [fp32("y", [1])]}, "'echo' has no input 'y'; it has x"),
            ({"inputs": [dict(fp32("x", [1]), datatype="INT32")]}, "is FP32, not INT32"),
            ({"inputs": [fp32("x", [1], [1, 1])]}, "has shape [-1], not [1,1]"),
            ({"inputs": [fp32("x", [1], [2])]}, "data has"),
            ({"inputs": []}, "input 'x' of 'echo' is missing"),
            ({"inputs": [fp32("x", [1])], "outputs": [{"name": "z"}]}, "no output 'z'"),
        ):
            status, _, body = self.server.infer("echo", request)
            self.assertEqual(status, 400)
            self.assertIn(cause, json.loads(body)["error"])

    def test_a_job_that_fails_says_why(self):
        status, _, body = self.server.infer("fail", {"inputs": [fp32("x", [1])]})
        self.assertEqual(status, 500)
        self.assertIn('there is "no face" in it', json.loads(body)["error"])

    def test_deadlines(self):
        request = {"inputs": [fp32("x", [1])]}
        with Server("until=/dev/null/never") as server:
            for headers, parameters in (({"x-slo-ms": "40"}, {}), ({}, {"timeout": 40000})):
                status, _, body = server.infer(
                    "slow", dict(request, parameters=parameters), headers=headers
                )
                self.assertEqual(status, 504)
                self.assertIn("late: not done within its deadline of 40.000 ms", body.decode())
        status, _, _ = self.server.infer("slow", request, headers={"x-slo-ms": "20000"})
        self.assertEqual(status, 200)

    def test_metadata_names_inputs_and_outputs(self):
        self.assertTrue(self.server.is_well())
        status, _, body = self.server.ask("GET", "/v2/models/echo")
        self.assertEqual(
            (status, json.loads(body)),
            (200, {
                "name": "echo", "versions": ["1"], "platform": "weft_workflow",
                "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1]}],
                "outputs": [{"name": "x", "datatype": "FP32", "shape": [-1]}],
            }),
        )  # fmt: skip
        self.assertEqual(
            self.server.infer("echo", {"inputs": [fp32("x", [1, 2, 3])]})[0], 200
        )  # The next answer is longer; nothing that was said is wrong.
        self.assertEqual(self.server.ask("GET", "/v2/models/echo")[2], body)
        before = time.time() * 1000 - 60000
        stats = json.loads(self.server.ask("GET", "/v2/models/echo/versions/1/stats")[2])
        self.assertGreater(stats["model_stats"][0]["inference_stats"]["success"]["count"], 0)
        self.assertGreater(stats["model_stats"][0]["last_inference"], before)  # Since 1970.

    def test_the_repository_behind_the_server_is_asked(self):
        def state():
            return json.loads(self.server.ask("POST", "/v2/repository/index", "{}")[2])

        self.assertEqual(state()[0]["state"], "UNAVAILABLE")
        ready = self.server.ask("POST", "/v2/repository/index", '{"ready":true}')
        self.assertEqual(json.loads(ready[2]), [])
        path = "/v2/repository/models/spare/"
        self.assertEqual(self.server.ask("POST", path + "load", "{}")[0], 200)
        self.assertEqual(state()[0]["state"], "READY")
        self.assertEqual(self.server.ask("POST", path + "unload", "")[0], 200)
        self.assertEqual(state()[0]["state"], "UNAVAILABLE")
        status, _, body = self.server.ask("POST", "/v2/repository/models/x/load", "")
        self.assertEqual((status, json.loads(body)["error"]), (404, "no model 'x'"))
        self.assertEqual(self.server.ask("POST", path + "load", "{" + " " * 70000)[0], 413)

    def test_metrics_are_of_the_form_that_prometheus_reads(self):
        self.assertTrue(self.server.is_well())
        label = '[a-z]+="[^"]*"'
        sample = re.compile(
            rf"[a-z0-9_]+(?:{{{label}(?:,{label})*}})? [0-9.e+-]+$|# (HELP|TYPE) [a-z0-9_]+ .+$"
        )
        text = self.server.metrics()
        for line in text.splitlines():
            self.assertRegex(line, sample)
        self.assertRegex(text, r'\nnv_inference_request_success{model="echo",version="1"} [1-9]')
        self.assertRegex(text, r'\nweft_request_latency_seconds_count{model="echo"} [1-9]')
        self.assertRegex(text, r"\nweft_scheduler_decisions_total [1-9]")

    def test_deadlines_are_told_from_clients_that_leave(self):
        with Server("until=/dev/null/never") as server:
            request = json.dumps({"inputs": [fp32("x", [1])]})
            path = "/v2/models/slow/infer"
            self.assertEqual(server.ask("POST", path, request, {"x-slo-ms": "20"})[0], 504)
            leaving = server.connect()
            leaving.request("POST", path, request)
            server.until(RUNNING)
            leaving.close()
            server.until('weft_requests_cancelled_total{model="slow",version="1"} 1')
            text = server.metrics()
            self.assertIn('\nweft_requests_late_total{model="slow",version="1"} 1\n', text)
            self.assertIn('\nnv_inference_request_failure{model="slow",version="1"} 2\n', text)
            server.infer("fail", {"inputs": [fp32("x", [1])]})
            failed = 'weft_request_failures_total{model="fail",reason="batch failed"} 1'
            server.until(failed)

    def test_tritonclient(self):
        try:
            import numpy
            import tritonclient.http
        except ImportError:
            self.skipTest("tritonclient is not installed")
        host, port = self.server.address
        client = tritonclient.http.InferenceServerClient(f"{host}:{port}")
        self.assertTrue(client.is_server_live() and client.is_server_ready())
        self.assertTrue(client.is_model_ready("echo"))
        self.assertEqual(client.get_server_metadata()["name"], "weft")
        self.assertEqual(client.get_model_metadata("echo")["inputs"][0]["name"], "x")
        self.assertEqual(client.get_model_config("echo")["max_batch_size"], 0)
        self.assertEqual(len(client.get_model_repository_index()), 1)
        client.load_model("spare")
        client.unload_model("spare")
        values = numpy.arange(1000, dtype=numpy.float32)
        words = numpy.array(["ä", "", "b"], dtype=object)
        for as_binary in (True, False):
            given = tritonclient.http.InferInput("x", [1000], "FP32")
            given.set_data_from_numpy(values, binary_data=as_binary)
            asked = tritonclient.http.InferRequestedOutput("x", binary_data=not as_binary)
            result = client.infer("echo", [given], outputs=[asked], request_id="7", timeout=9000000)
            self.assertTrue((result.as_numpy("x") == values).all())
            self.assertEqual(result.get_response()["id"], "7")
            text = tritonclient.http.InferInput("text", [3], "BYTES")
            text.set_data_from_numpy(words, binary_data=as_binary)
            result = client.infer("text", [text]).as_numpy("text")
            self.assertEqual([word.decode() for word in result], list(words))
        with self.assertRaisesRegex(Exception, "there is no model"):
            client.get_model_metadata("nobody")
        self.assertIn("model_stats", client.get_inference_statistics("echo"))
        client.close()


    def test_kserve(self):
        try:
            import asyncio

            import kserve
        except ImportError:
            self.skipTest("kserve is not installed")
        url = "http://{}:{}".format(*self.server.address)

        async def ask():
            client = kserve.InferenceRESTClient(kserve.RESTConfig(protocol="v2", retries=1))
            self.assertTrue(await client.is_server_live(url))
            self.assertTrue(await client.is_server_ready(url))
            self.assertTrue(await client.is_model_ready(url, "echo"))
            given = kserve.InferInput("x", [2], "FP32", data=[1.5, -2])
            asked = kserve.InferRequest("echo", [given])
            answer = await client.infer(url, asked, model_name="echo")
            self.assertEqual(list(answer.outputs[0].data), [1.5, -2])

        asyncio.run(ask())


class Ends(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.until = pathlib.Path(folder.name) / "until"

    def test_a_drain_answers_what_is_in_flight(self):
        server = Server(f"until={self.until}")
        answers = []

        def wait():
            answers.append(server.infer("slow", {"inputs": [fp32("x", [1])]}))

        waiting = threading.Thread(target=wait)
        keeping = server.connect()
        self.assertEqual(ask(keeping, "GET", "/v2/health/ready")[0], 200)
        waiting.start()
        server.until(RUNNING)
        server.process.send_signal(signal.SIGTERM)
        while (answer := ask(keeping, "GET", "/v2/health/ready"))[0] == 200:
            time.sleep(0.01)
        status, headers, body = answer
        self.assertEqual((status, headers["Connection"]), (503, "close"), body)
        self.assertEqual(json.loads(body), {"ready": False, "error": "draining"})
        status, headers, _ = server.infer("echo", {"inputs": [fp32("x", [1])]})
        self.assertEqual((status, headers["Retry-After"]), (503, "1"))
        self.assertEqual(json.loads(server.ask("GET", "/v2/health/live")[2]), {"live": True})
        status, _, body = server.ask("GET", "/v2/models/echo/ready")
        self.assertEqual((status, json.loads(body)["ready"]), (503, False))
        self.until.touch()
        waiting.join()
        self.assertEqual(answers[0][0], 200)
        self.assertIn("open 0 tensors 0", server.stop(is_told=True))

    def test_who_is_one_too_many_is_refused(self):
        with Server("jobs=1", f"until={self.until}") as server:
            request = json.dumps({"inputs": [fp32("x", [1])]})
            first = server.connect()
            first.request("POST", "/v2/models/slow/infer", request)
            server.until(RUNNING)
            status, headers, body = server.ask("POST", "/v2/models/slow/infer", request)
            self.assertEqual((status, headers["Retry-After"]), (503, "1"))
            self.assertEqual(json.loads(body)["error"], "refused: full")
            self.until.touch()
            self.assertEqual(first.getresponse().status, 200)
            first.close()
            text = server.metrics()
            self.assertIn('weft_requests_refused_total{model="slow",version="1"} 1\n', text)

    def test_killed_and_started_again_on_the_same_port(self):
        [port] = free_ports(1)
        for _ in range(2):
            process = self.serve("--http", f"127.0.0.1:{port}", "--metrics", "none")
            with socket.create_connection(("127.0.0.1", port), timeout=30) as sock:
                sock.sendall(b"GET /v2/health/live HTTP/1.0\r\n\r\n")
                self.assertIn(b"200 OK", sock.recv(1000))
                process.kill()
                process.communicate(timeout=30)

    def serve(self, *arguments):
        process = subprocess.Popen(
            [WEFT, "serve", "--emulated", DEMO, "--plain", *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.line = process.stdout.readline()
        return process

    def test_weft_serve_answers_without_outputs(self):
        process = self.serve("--http", "127.0.0.1:0", "--metrics", "127.0.0.1:0")
        self.assertRegex(self.line, r"^listening on http://127.0.0.1:\d+, metrics on http://")
        url = re.search(r"http://(\S+),", self.line).group(1)
        done = subprocess.run(
            ["curl", "-sS", f"http://{url}/v2/models/image/infer", "-d", '{"inputs":[]}'],
            capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        reply = json.loads(done.stdout)
        self.assertEqual(reply["outputs"], [])
        self.assertEqual(reply["parameters"], {"emulated": True})
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 0)
        events = re.findall(r"^time=\S+ level=info event=(.*)$", err, re.MULTILINE)
        self.assertEqual(events, ["ready", "draining", "ended"], err)
        self.assertNotIn("predicted", out)  # The simulator does not know the clients.

    def test_a_busy_port_is_one_line(self):
        with socket.socket() as sock:
            sock.bind(("127.0.0.1", 0))
            sock.listen()
            port = sock.getsockname()[1]
            process = self.serve("--http", f"127.0.0.1:{port}")
            out, err = process.communicate(timeout=30)
        self.assertEqual((process.returncode, self.line, out), (1, "", ""))
        self.assertEqual(
            err,
            f"weft serve: cannot listen on 127.0.0.1:{port}: address already in use; "
            "'--http' chooses another\n",
        )

    def test_a_busy_port_of_metrics_names_its_option(self):
        with socket.socket() as sock:
            sock.bind(("127.0.0.1", 0))
            sock.listen()
            port = sock.getsockname()[1]
            process = self.serve("--http", "127.0.0.1:0", "--metrics", f"127.0.0.1:{port}")
            _, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 1)
        self.assertTrue(err.endswith(f":{port}: address already in use; "
                                     "'--metrics' chooses another\n"), err)  # fmt: skip


class Secrets(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.token = os.path.join(self.folder.name, "token")
        with open(self.token, "w", encoding="utf-8") as file:
            file.write("sesame\n")

    def tearDown(self):
        self.folder.cleanup()

    def test_a_token_is_asked_for(self):
        with Server(f"token={self.token}") as server:
            for value, status in (
                (None, 401), ("Bearer sesame", 200), ("bearer sesame", 200), ("Bearer sesam", 401),
                ("Bearer sesame2", 401), ("Bearer sesamE", 401), ("Basic sesame", 401), ("", 401),
            ):  # fmt: skip
                headers = {} if value is None else {"Authorization": value}
                self.assertEqual(server.ask("GET", "/v2", headers=headers)[0], status, value)
            self.assertEqual(server.ask("GET", "/v2/health/ready")[0], 200)

    def test_models_are_changed_with_a_token_of_their_own(self):
        admin = os.path.join(self.folder.name, "admin")
        with open(admin, "w", encoding="utf-8") as file:
            file.write("rosebud\n")
        path = "/v2/repository/models/spare/load"
        with Server(f"token={self.token}", f"admin={admin}") as server:
            for token, status in ((None, 401), ("sesame", 401), ("rosebud", 200)):
                headers = {} if token is None else {"Authorization": f"Bearer {token}"}
                self.assertEqual(server.ask("POST", path, "", headers)[0], status, token)
                told = 404 if status == 200 else status
                self.assertEqual(server.ask("GET", "/v2/jobs/0.1", "", headers)[0], told, token)
                known = 401 if token is None else 200
                self.assertEqual(server.ask("GET", "/v2", headers=headers)[0], known)

    def test_models_are_changed_from_this_machine_alone(self):
        path = "/v2/repository/models/spare/"
        with Server() as server:
            self.assertEqual(server.ask("POST", path + "load", "")[0], 200)
            forwarded = {"X-Forwarded-For": "10.0.0.1"}
            for verb in ("load", "unload"):
                status, _, body = server.ask("POST", path + verb, "", forwarded)
                self.assertEqual(status, 403)
                self.assertIn("own machine", json.loads(body)["error"])
            self.assertEqual(
                server.ask("POST", "/v2/repository/index", "", forwarded)[0], 200
            )
            self.assertEqual(server.ask("GET", "/v2/jobs/0.1", "", forwarded)[0], 403)
        with Server("management=1") as server:
            self.assertEqual(server.ask("POST", path + "load", "")[0], 403)
        with Server("management=2") as server:
            self.assertEqual(server.ask("POST", path + "load", "", forwarded)[0], 200)

    def test_jobs_are_told_as_lines_of_json(self):
        with Server() as server:
            for name in ("", "x", "0", "0.", "0.1x", "0.1.2", "-1.1", "0." + "9" * 100):
                status, _, body = server.ask("GET", "/v2/jobs/" + name)
                self.assertEqual(status, 400, name)
                self.assertIn("such as 0.14", json.loads(body)["error"])
            self.assertEqual(server.ask("POST", "/v2/jobs/0.1", "")[0], 405)
            self.assertEqual(server.ask("GET", "/v2/jobs/0.1")[0], 404)
            _, headers, _ = server.infer("echo", {"inputs": [fp32("x", [1.5])]})
            status, kind, body = server.ask("GET", "/v2/jobs/" + headers["weft-job"])
            self.assertEqual((status, kind["Content-Type"]), (200, "application/x-ndjson"))
            records = [json.loads(line) for line in body.splitlines()]
            self.assertEqual(records[0]["kind"], "arrived")
            self.assertEqual(records[-1]["kind"], "answered")

    @unittest.skipUnless(shutil.which("openssl"), "openssl, which makes certificates, is missing")
    def test_tls(self):
        key, certificate = (os.path.join(self.folder.name, name) for name in ("key", "cert"))
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost",
             "-days", "1", "-keyout", key, "-out", certificate],
            check=True, capture_output=True, timeout=60,
        )  # fmt: skip
        context = trusting(certificate)
        with Server(f"cert={certificate}", f"key={key}") as server:
            connection = server.connect(context)
            values = list(range(60000))
            for count in (1, 60000, 3):
                request = json.dumps({"inputs": [fp32("x", values[:count])]})
                status, _, reply = ask(connection, "POST", "/v2/models/echo/infer", request)
                self.assertEqual(status, 200)
                self.assertEqual(json.loads(reply)["outputs"][0]["data"], values[:count])
            connection.close()
            data = os.urandom(3000000)
            request = {
                "parameters": {"binary_data_output": True},
                "inputs": [{"name": "pixels", "shape": [1000, 1000, 3], "datatype": "UINT8",
                            "parameters": {"binary_data_size": len(data)}}],
            }  # fmt: skip
            body, headers = binary(request, data)
            status, headers, reply = server.ask(
                "POST", "/v2/models/image/infer", body, headers, context
            )
            self.assertEqual(status, 200)
            self.assertEqual(reply[int(headers["Inference-Header-Content-Length"]) :], data)
            with server.raw() as sock:  # No TLS at all.
                sock.sendall(b"GET /v2 HTTP/1.1\r\nHost: h\r\n\r\n")
                self.assertNotIn(b"200 OK", sock.recv(1000))
            self.assertEqual(server.ask("GET", "/v2", context=context)[0], 200)


if __name__ == "__main__":
    sys.exit(unittest.main())
