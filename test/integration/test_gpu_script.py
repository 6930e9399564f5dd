#!/usr/bin/env python3
"""The script that measures on a machine with a GPU, on the fake one: test/gpu/run.sh.

Covers: test/gpu/run.sh, test/gpu/serve.py, test/gpu/tables.py, test/gpu/fake_models.py
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import exported

GPU = pathlib.Path(exported.ROOT) / "test/gpu"


class Script(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="weft-gpu-script-"))
        self.addCleanup(shutil.rmtree, self.folder)
        bundle = self.folder / "bundle"
        (bundle / "bin").mkdir(parents=True)
        (bundle / "test").mkdir()
        (bundle / "test/gpu").symlink_to(GPU)
        for program in [exported.BIN + "/weft", *pathlib.Path(exported.BIN, "gpu").iterdir()]:
            (bundle / "bin" / os.path.basename(program)).symlink_to(program)
        shutil.copy(GPU / "run.sh", bundle)
        (bundle / "vit.tgz").touch()  # There is nothing to compile.
        subprocess.run(
            [sys.executable, GPU / "fake_models.py", exported.FAKES, self.folder / "models"],
            check=True, timeout=100,
        )  # fmt: skip

    def run_script(self, *arguments, call=5000):
        environment = {
            **os.environ,
            **exported.ENVIRONMENT,
            "MODELS": str(self.folder / "models"),
            "KEEP": str(self.folder / "kept"),
            "OUT": str(self.folder / "out"),
            "CALL": str(call),
            "SCALE": "0.02",
            "SHARES": "weft",
            "LOADS": "4",
            "SLOW": "20",  # The machine may be busy.
        }
        (self.folder / "out").mkdir(exist_ok=True)
        return subprocess.run(
            [self.folder / "bundle/run.sh", *arguments], capture_output=True, text=True,
            timeout=280, check=False, env=environment,
        )  # fmt: skip

    def test_parts_leave_tables_and_are_not_run_again(self):
        done = self.run_script("loads", "outputs")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"(?m)^\| 4 MB \| again \| ")
        self.assertRegex(done.stdout, r"(?m)^\| outputs \| alone \| 14 \| 0\.0000 \| 0\.000\d \|$")
        self.assertRegex(done.stdout, r"(?m)^\| outputs \| under load \| 1 \| ")
        out = {path.name for path in (self.folder / "out").iterdir()}
        self.assertEqual(out, {"logs.tgz", "tables.md"})
        planned = self.run_script("plan").stdout
        self.assertNotRegex(planned, r"(?m)^(loads|outputs|compile):")
        self.assertRegex(planned, r"(?m)^overhead: at most")
        self.assertRegex(planned, r"(?m)^steady: what is left")

    def test_shares_say_what_an_answer_holds_of_the_device(self):
        done = self.run_script("shares")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        cell = r"[\d.]+ % · [\d.]+ · [\d.]+ · ([\d.]+)"
        row = re.search(rf"(?m)^\| weft \| {cell} \| {cell} \| {cell} \|$", done.stdout)
        self.assertTrue(row, done.stdout)
        self.assertTrue(all(float(held) > 0 for held in row.groups()), row[0])

    def test_a_part_for_which_no_time_is_left_is_named(self):
        done = self.run_script("cache", "shares", call=9)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("no time was left for: cache shares (run.sh cache shares)", done.stdout)

    def test_a_wrong_answer_fails_its_part_alone(self):
        model = self.folder / "models/r18/1/model.cuda"
        path = model / "check/4.y"
        path.write_bytes(path.read_bytes()[:-4] + b"\0\0\xc0\x7f")  # Not a number.
        exported.weft_export.write_sums(model)
        shutil.rmtree(self.folder / "models/vit/1/model.cuda/b8")  # The server refuses it.
        done = self.run_script("outputs", "loads")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("failed: outputs", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^outputs: WRONG")
        self.assertRegex(done.stdout, r"(?m)^outputs: FAILED \d+ requests: gpu_http: vit: 503")
        self.assertRegex(done.stdout, r"(?m)^\| outputs \| alone \| 14 \| ")
        self.assertRegex(done.stdout, r"(?m)^\| 4 MB \| again \| ")
        self.assertEqual(self.run_script("no-such-part").returncode, 2)


if __name__ == "__main__":
    unittest.main()
