"""A folder of models, functions and workflows as people meet it: checked and served.

Covers: src/cli/serve_repository.c, src/service/served_repository.c,
src/service/service.c, src/cli/serve_report.c, src/document/repository_profile.c
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import unittest

WEFT = os.environ.get("WEFT", "build/weft")

GRAPH = ":\x02\x08\x01"  # Hardly a model: a field 7, the graph, with one number in it.

WORKFLOW = """workflow: ocr
slo: 300ms
inputs: {image: {dtype: UINT8, shape: [-1, -1, 3]}}
tasks:
  resize: {function: img.resize, in: {image: inputs.image}}
  detect: {model: det, in: {x: resize.out}}
  crop: {function: img.crop, in: {image: inputs.image, map: detect.y}}
outputs: {text: crop.out, map: detect.y}
"""

PROFILE = {
    "weft_profile": 1,
    "figures": "assumed",
    "models": {
        "det": {"load": "10MB", "devices": {"slow": {"ms": 20}, "fast": {"ms": 2}}},
        "rec": {"load": "10MB", "devices": {"slow": {"ms": 10}, "fast": {"ms": 1}}},
        "img.resize": {"devices": {"slow": {"ms": 1}, "fast": {"ms": 1}}},
        "img.crop": {"devices": {"slow": {"ms": 2}, "fast": {"ms": 1}}},
    },
}


class Repository(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.put("det/1/model.onnx", GRAPH)
        self.put("det/2/model.onnx", GRAPH)
        self.put("rec/1/model.onnx", GRAPH)
        self.put("functions/img.so", "")
        self.put("ocr.workflow.yaml", WORKFLOW)
        self.put("weft.yaml", "weft: here\nworkers: 2\nmemory: 1GB\n")

    def put(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def weft(self, *arguments):
        return subprocess.run(
            [WEFT, *arguments], capture_output=True, text=True, timeout=60, check=False
        )

    def test_what_is_not_a_repository_is_told_apart(self):
        done = self.weft("serve", str(self.folder / "nothere"))
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr, f"weft serve: {self.folder}/nothere: no such folder\n")
        for command in ("check", "serve"):
            done = self.weft(command, str(self.folder / "rec"))
            self.assertEqual(done.returncode, 2)
            self.assertEqual(
                done.stderr,
                f"{self.folder}/rec: this is a single model, with version 1; "
                f"serve the folder around it: {self.folder}\n",
            )

    def test_every_bad_file_is_named(self):
        self.put("a.workflow.yaml", WORKFLOW.replace(": det,", ": dett,").replace(": ocr", ": a"))
        self.put("weft.yaml", "weft: here\ncolour: red\n")
        for command in (["check"], ["serve"], ["serve", "--emulated"]):
            done = self.weft(*command, str(self.folder))
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            lines = done.stderr.splitlines()
            self.assertIn(f"{self.folder}/weft.yaml:2: unknown key 'colour'", lines)
            self.assertIn(
                f"{self.folder}/a.workflow.yaml:6: model 'dett' is not in the repository; "
                "did you mean 'det'?",
                lines,
            )
            self.assertEqual(len(lines), 2)

    def test_without_a_profile_nothing_can_be_pretended(self):
        done = self.weft("serve", "--emulated", str(self.folder))
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"{self.folder}/profiles: no profile; ", done.stderr)
        self.put("profiles/a.profile.json", json.dumps(PROFILE))
        self.put("weft.yaml", "weft: here\ndevice: none\n")
        done = self.weft("serve", "--emulated", str(self.folder))
        self.assertEqual(done.returncode, 2)
        self.assertIn("no profile of device none; ", done.stderr)
        del PROFILE_WITHOUT["models"]["img.crop"]
        self.put("profiles/a.profile.json", json.dumps(PROFILE_WITHOUT))
        self.put("weft.yaml", "weft: here\n")
        done = self.weft("serve", "--emulated", str(self.folder))
        self.assertEqual(done.returncode, 2)
        self.assertIn("no run time of 'img.crop' on device 'slow'", done.stderr)

    def test_made_up_requests_are_served_as_predicted(self):
        self.put("profiles/a.profile.json", json.dumps(PROFILE))
        done = self.weft(
            "serve", "--emulated", str(self.folder), "--rate", "50/s", "--seconds", "2", "--json",
            "--no-admission",  # A busy machine is late, and would rightly refuse some.
        )  # fmt: skip
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        both = json.loads(done.stdout)
        self.assertEqual(both["served"]["scenario"], "here")
        self.assertGreater(both["served"]["jobs"], 50)
        self.assertEqual(both["served"]["completed"], both["served"]["jobs"])
        self.assertEqual(both["served"]["loads"], both["predicted"]["loads"])
        # On the other device everything is faster.
        self.put("weft.yaml", "weft: here\nworkers: 2\nmemory: 1GB\ndevice: fast\n")
        done = self.weft(
            "serve", "--emulated", str(self.folder), "--rate", "50/s", "--seconds", "1", "--json"
        )
        fast = json.loads(done.stdout)
        self.assertLess(
            fast["predicted"]["latency_ms"]["mean"], both["predicted"]["latency_ms"]["mean"] / 2
        )

    def test_it_waits_for_requests_and_drains(self):
        self.put("profiles/a.profile.json", json.dumps(PROFILE))
        for number in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen(
                [WEFT, "serve", "--emulated", str(self.folder), "--plain"],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
            self.assertIn(" arrived, ", process.stdout.readline())
            self.assertIsNone(process.poll())
            process.send_signal(number)
            out, err = process.communicate(timeout=30)
            self.assertEqual((process.returncode, err), (0, ""), out)

    def test_it_ends_by_itself(self):
        self.put("profiles/a.profile.json", json.dumps(PROFILE))
        started = time.monotonic()
        done = self.weft("serve", "--emulated", str(self.folder), "--seconds", "1", "--plain")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertGreater(time.monotonic() - started, 0.9)
        self.assertRegex(done.stdout, r"(?m)^served no requests in \d+\.\d s$")

    def test_a_server_is_there_until_its_time_is_over(self):
        self.put("profiles/a.profile.json", json.dumps(PROFILE))
        done = self.weft(
            "serve", "--emulated", str(self.folder), "--http", "127.0.0.1:0", "--metrics", "none",
            "--rate", "2/s", "--seconds", "2", "--plain", "--no-admission", "--log-level", "info",
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        events = re.findall(r"^time=\S+ level=info event=(\S*)", done.stderr, re.M)
        # It takes leave of clients, even if all made-up requests were answered long before.
        self.assertEqual(events[-3:], ["ready", "draining", "ended"], done.stderr)

    def test_settings_of_scenarios_are_not_for_repositories(self):
        done = self.weft("serve", "--emulated", str(self.folder), "--set", "jobs=3")
        self.assertEqual(done.returncode, 2)
        self.assertIn("'--set' changes a scenario", done.stderr)
        self.put("profiles/a.profile.json", json.dumps(PROFILE))
        done = self.weft("serve", "--emulated", str(self.folder), "--rate", "fast")
        self.assertEqual(done.returncode, 2)
        self.assertIn("'--rate' is 'fast'; it must be between 0.001/s and", done.stderr)
        for share in ("0%", "60 %", "%", "20000%"):
            done = self.weft("serve", "--emulated", str(self.folder), "--rate", share)
            self.assertEqual(done.returncode, 2, share)

    def test_the_rate_may_be_a_share_of_what_can_be_carried(self):
        self.put("profiles/a.profile.json", json.dumps(PROFILE))
        done = self.weft(
            "serve", "--emulated", str(self.folder), "--rate", "50%", "--seconds", "1", "--plain",
            "--no-admission",
        )  # fmt: skip
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        said = r"^asking ([\d.]+)/s: 50 % of the ([\d.]+)/s that it can carry$"
        [(rate, capacity)] = re.findall(said, done.stdout, re.M)
        self.assertAlmostEqual(float(rate), float(capacity) / 2, delta=0.06 * float(capacity))
        done = self.weft(
            "serve", "--emulated", str(self.folder), "--rate", "50", "--seconds", "1", "--plain"
        )
        self.assertIn("asking 50/s\n", done.stdout)


PROFILE_WITHOUT = json.loads(json.dumps(PROFILE))

if __name__ == "__main__":
    unittest.main()
