"""What an operator of a server meets: starts, ends, signals, logs, repositories that
cannot be written. Skipped without ONNX Runtime.

Covers: src/service/journal.c src/service/local_notes.c src/service/serve_log.c
Covers: src/console/interrupt.c src/server/http_end.c
"""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
import unittest

import onnx_models
from operated import LIBRARY, LIMIT, WEFT, Server, temporary, workflow, write_repository


@unittest.skipUnless(LIBRARY.exists(), "there is no ONNX Runtime; see tools/fetch.sh")
class Operating(unittest.TestCase):
    def setUp(self):
        self.folder = temporary(self)

    def serve(self, *arguments, **options):
        server = Server(self.folder, *arguments, **options)
        self.addCleanup(server.kill)
        return server

    def test_a_repository_that_cannot_be_written_is_served(self):
        write_repository(self.folder, "invert")
        (self.folder / "profiles").write_text("a file where a folder should be")
        (self.folder.parent / "cache").write_text("the same")
        server = self.serve()
        server.logged(r"level=warn event=\"models are not cached\" .*cause=\"Not a directory\"")
        server.logged(r"level=warn event=\"measurements are not kept\" cause=\".*profiles")
        self.assertEqual(server.infer("invert")[0], 200)
        code, _, log = server.end()
        self.assertEqual(code, 0)
        self.assertEqual(sum("not kept" in line for line in log), 1, log)

    @unittest.skipIf(os.getuid() == 0, "root may write everywhere")
    def test_a_folder_of_another_user_is_served(self):
        write_repository(self.folder, "invert")
        self.folder.chmod(0o555)
        server = self.serve()
        server.logged(r"\"measurements are not kept\" cause=\".*Permission denied\"")
        self.assertEqual(server.end()[0], 0)
        self.folder.chmod(0o755)

    def test_profiling_what_cannot_be_written_is_a_failure(self):
        write_repository(self.folder)
        (self.folder / "profiles").write_text("a file where a folder should be")
        done = subprocess.run(
            [WEFT, "profile", str(self.folder)], capture_output=True, text=True, timeout=LIMIT,
            env=dict(os.environ, WEFT_ONNXRUNTIME=str(LIBRARY)), check=False,
        )  # fmt: skip
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("profiles", done.stderr)

    def ask_in_vain(self, server, name):
        """A request of a client that waits; what it was answered comes in the list."""
        answers = []

        def ask():
            try:
                answers.append(server.infer(name))
            except (http.client.HTTPException, OSError) as error:
                answers.append(error)

        thread = threading.Thread(target=ask)
        thread.start()
        pending = f'nv_inference_pending_request_count{{model="{name}",version="1"}} 1'
        end = time.monotonic() + LIMIT
        while pending not in server.metrics() and time.monotonic() < end:
            time.sleep(0.01)
        return thread, answers

    def test_an_endless_job_does_not_hold_the_end(self):
        write_repository(self.folder, "loop")
        server = self.serve("--drain", "1")
        thread, answers = self.ask_in_vain(server, "loop")
        code, _, log = server.end()
        thread.join(timeout=LIMIT)
        status, headers, body = answers[0]
        self.assertEqual((status, headers["Retry-After"]), (503, "1"), body)
        self.assertIn("the server ended first", body)
        self.assertEqual(code, 1)
        self.assertTrue(any("drain took too long" in line for line in log), log)
        self.assertTrue(any("without waiting for 1 request" in line for line in log), log)

    def test_a_second_signal_ends_at_once(self):
        write_repository(self.folder, "loop")
        server = self.serve("--drain", "3600")
        thread, _ = self.ask_in_vain(server, "loop")
        server.signal(signal.SIGTERM)
        server.logged("event=draining")
        server.signal(signal.SIGTERM)
        self.assertEqual(server.ended()[0], 1)
        thread.join(timeout=LIMIT)

    def test_half_a_body_does_not_hold_the_end(self):
        write_repository(self.folder, "invert")
        server = self.serve("--drain", "1")
        with socket.create_connection(server.address, timeout=LIMIT) as half:
            half.sendall(
                b"POST /v2/models/invert/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"
            )
            end = time.monotonic() + LIMIT
            while "\nweft_infer_open 1\n" not in server.metrics() and time.monotonic() < end:
                time.sleep(0.01)
            server.signal(signal.SIGTERM)
            self.assertTrue(half.recv(4096).startswith(b"HTTP/1.1 503 "))
            self.assertEqual(server.ended()[0], 1)

    def test_a_hang_up_reads_changed_models_again(self):
        write_repository(self.folder)
        server = self.serve()
        path = self.folder / "relu/3/model.onnx"
        beside = path.with_suffix(".new")
        beside.write_bytes(
            onnx_models.model(
                [onnx_models.node("Neg", ["x"], "y")],
                [onnx_models.value_info("x", ["N", 4])], [onnx_models.value_info("y", ["N", 4])],
            )  # fmt: skip
        )
        beside.rename(path)
        (self.folder / "add/1/model.onnx").write_bytes(b"no model any more")
        server.signal(signal.SIGHUP)
        server.logged("level=info event=reload changed=2")
        server.logged('level=info event="model reloaded" model=relu')
        server.logged('level=error event="model not reloaded" model=add cause=')
        given = {"name": "x", "shape": [1, 4], "datatype": "FP32", "data": [1, -2, 3, -4]}
        status, _, body = server.ask("POST", "/v2/models/relu/infer", {"inputs": [given]})
        self.assertEqual((status, json.loads(body)["outputs"][0]["data"]), (200, [-1, 2, -3, 4]))
        self.assertEqual(server.ask("GET", "/v2/models/add/ready")[0], 200)  # As it was.
        server.signal(signal.SIGHUP)
        server.wait_for(server.log, "event=reload changed=1")  # The good one has not changed.
        self.assertEqual(server.end()[0], 0)

    def poll(self, server, address, seen):
        """Ask again and again whether it is ready, until it is; every client is answered."""
        end = time.monotonic() + LIMIT
        while 200 not in seen and time.monotonic() < end:
            try:
                seen.append(server.ask("GET", "/v2/health/ready", address=address)[0])
            except (http.client.HTTPException, OSError) as error:
                seen.append(error)

    def test_it_listens_while_models_are_measured(self):
        write_repository(self.folder, "invert")
        for i in range(6):
            path = self.folder / f"m{i}/1/model.onnx"
            path.parent.mkdir(parents=True)
            path.write_bytes(onnx_models.layers(64, 2, seed=i))
        server = self.serve(wait=False)
        started = server.logged(r"event=starting http=(\S+):(\d+) metrics=(\S+):(\d+)")
        address = (started[1], int(started[2]))
        seen = []
        polling = threading.Thread(target=self.poll, args=(server, address, seen))
        polling.start()
        status, _, body = server.ask("GET", "/v2/health/live", address=address)
        self.assertEqual((status, json.loads(body)), (200, {"live": True}))
        status, headers, body = server.ask(
            "POST", "/v2/models/m0/infer", {"inputs": []}, address=address
        )
        self.assertEqual((status, headers["Retry-After"]), (503, "1"), body)
        self.assertIn("starting", json.loads(body)["error"])
        metrics = server.ask("GET", "/metrics", address=(started[3], int(started[4])))[2]
        self.assertIn("\nweft_ready 0\n", metrics)
        server.wait_until_ready()
        polling.join(timeout=LIMIT)
        self.assertEqual(server.address, address)
        self.assertEqual(set(seen), {503, 200})
        self.assertIn("\nweft_ready 1\n", server.metrics())
        self.assertEqual(server.infer("invert")[0], 200)
        self.assertEqual(server.end()[0], 0)

    def test_a_port_that_is_taken_is_found_before_anything_is_measured(self):
        write_repository(self.folder)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            address = "127.0.0.1:{}".format(taken.getsockname()[1])
            done = subprocess.run(
                [WEFT, "serve", str(self.folder), "--http", address, "--metrics", "none"],
                capture_output=True, text=True, timeout=LIMIT, check=False,
                env=dict(os.environ, WEFT_ONNXRUNTIME=str(LIBRARY)),
            )  # fmt: skip
        self.assertEqual(done.returncode, 1)
        self.assertEqual(
            done.stderr,
            f"weft serve: cannot listen on {address}: address already in use; "
            "'--http' chooses another\n",
        )
        self.assertFalse((self.folder / "profiles").exists())

    def test_what_fails_is_logged_and_what_is_wrong_is_counted(self):
        write_repository(self.folder, "crash", "refuse", "invert")
        server = self.serve("--log-format", "json")
        self.assertEqual(server.infer("crash")[0], 500)
        metrics = server.metrics()
        self.assertRegex(metrics, r'\nweft_process_crashes_total{kind="function"} [1-9]')
        self.assertRegex(metrics, r'\nweft_process_starts_total{kind="function"} [1-9]')
        self.assertRegex(metrics, r'\nweft_request_failures_total{model="crash",reason=".*"} 1\n')
        code, _, log = server.end()
        self.assertEqual(code, 0)
        lines = [json.loads(line) for line in log]
        events = [line["event"] for line in lines]
        for event in ("measuring", "ready", "draining", "ended"):
            self.assertIn(event, events)
        [failed] = [line for line in lines if line["event"] == "job failed"]
        self.assertEqual(failed["level"], "warn")
        self.assertEqual((failed["workflow"], failed["task"]), ("crash", "work"))
        self.assertIn("crashed (SIGSEGV)", failed["cause"])
        crashed = [line for line in lines if line["event"] == "function process crashed"]
        self.assertGreater(sum(line["count"] for line in crashed), 0)

    def test_metrics_tell_of_workers_and_models(self):
        write_repository(self.folder)
        server = self.serve()
        given = {"name": "x", "shape": [1, 4], "datatype": "FP32", "data": [1, -2, 3, -4]}
        self.assertEqual(
            server.ask("POST", "/v2/models/relu/infer", {"inputs": [given]})[0], 200
        )
        metrics = server.metrics()
        self.assertRegex(metrics, r'\nweft_model_resident_bytes{model="relu"} [1-9]')
        self.assertRegex(metrics, r'\nweft_worker_memory_used_bytes{worker="\d"} [1-9]')
        self.assertIn('\nweft_worker_memory_limit_bytes{worker="0"} ', metrics)
        busy = re.findall(r'\nweft_worker_busy_seconds_total{worker="\d"} (\S+)', metrics)
        self.assertGreater(sum(map(float, busy)), 0)
        families = re.findall(r"^# TYPE (\S+) (\S+)$", metrics, re.MULTILINE)
        self.assertEqual(len(dict(families)), len(families))
        for name, kind in families:
            if not name.startswith("nv_"):  # Triton's own.
                self.assertEqual(name.endswith("_total"), kind == "counter", name)
        self.assertEqual(server.end()[0], 0)

    def outputs(self, server, name):
        metadata = json.loads(server.ask("GET", f"/v2/models/{name}")[2])["outputs"]
        config = json.loads(server.ask("GET", f"/v2/models/{name}/config")[2])["output"]
        return [
            (one["datatype"], one["shape"], other["data_type"], other["dims"])
            for one, other in zip(metadata, config, strict=True)
        ]

    def test_outputs_are_known_before_the_first_answer(self):
        write_repository(self.folder, "invert", "where")
        declared = workflow("where", "{from: work.out, dtype: BYTES, shape: [1]}")
        (self.folder / "where.workflow.yaml").write_text(declared, encoding="utf-8")
        (self.folder / "inputs/invert").mkdir(parents=True)
        (self.folder / "inputs/invert/some.bin").write_bytes(b"abc")
        for _ in range(2):  # At the second start there is nothing to measure.
            server = self.serve()
            self.assertEqual(
                self.outputs(server, "where"), [("BYTES", [1], "TYPE_STRING", [1])]
            )
            self.assertEqual(
                self.outputs(server, "invert"), [("UINT8", [-1], "TYPE_UINT8", [-1])]
            )
            self.assertEqual(
                self.outputs(server, "sum")[0], ("FP32", [-1, 4], "TYPE_FP32", [-1, 4])
            )
            self.assertEqual(server.infer("invert", (1, 2))[0], 200)
            self.assertEqual(
                self.outputs(server, "invert"), [("UINT8", [-1], "TYPE_UINT8", [-1])]
            )
            self.assertEqual(server.end()[0], 0)
        done = subprocess.run(
            [WEFT, "check", str(self.folder)], capture_output=True, text=True, timeout=LIMIT,
            check=True,
        )  # fmt: skip
        self.assertIn("gives out BYTES[1]\n", done.stdout)

    def test_failures_do_not_flood_the_log(self):
        write_repository(self.folder, "crash")
        server = self.serve()
        for _ in range(30):
            self.assertEqual(server.infer("crash")[0], 500)
        _, _, log = server.end()
        lines = [line for line in log if 'event="job failed"' in line]
        said = sum("cause=" in line for line in lines)
        more = [int(line.split("more=")[1]) for line in lines if "more=" in line]
        self.assertEqual(said + sum(more), 30, log)
        self.assertLess(said, 30)

    def test_json_at_the_end_whatever_came(self):
        write_repository(self.folder, "invert")
        server = self.serve("--json", wait=False)
        server.logged("event=ready")
        code, out, _ = server.end()
        self.assertEqual(code, 0)
        served = json.loads("\n".join(out))["served"]
        self.assertEqual((served["jobs"], served["scenario"]), (0, "here"))

    def test_nothing_is_printed_while_nothing_happens(self):
        write_repository(self.folder, "invert")
        server = self.serve()
        server.wait_for(server.out, " arrived, ")
        time.sleep(2.5)  # Two more lines, were they printed.
        self.assertEqual(sum(" arrived, " in line for line in server.out), 1)
        self.assertEqual(server.infer("invert")[0], 200)
        server.wait_for(server.out, " 1 arrived, 0 refused, 1 done")
        self.assertEqual(server.end()[0], 0)

    def test_levels_and_formats_must_be_known(self):
        for arguments, cause in (
            (("--log-format", "xml"), "'--log-format' is 'text' or 'json', not 'xml'"),
            (("--log-level", "all"), "'--log-level' is 'error', 'warn' or 'info', not 'all'"),
        ):
            done = subprocess.run(
                [WEFT, "serve", "nowhere", *arguments], capture_output=True, text=True,
                timeout=LIMIT, check=False,
            )  # fmt: skip
            self.assertEqual((done.returncode, done.stderr), (2, f"weft serve: {cause}\n"))


if __name__ == "__main__":
    unittest.main()
