"""docs/FUNCTIONS.md from its C to an answer: every command prints what is written beside it."""

import os
import pathlib
import re
import signal
import subprocess
import tempfile
import unittest

from test_workflows import ENVIRONMENT, commands

WEFT = pathlib.Path(os.environ.get("WEFT", "build/weft"))
ROOT = pathlib.Path.cwd()
PAGE = ROOT / "docs/FUNCTIONS.md"


class FunctionsPage(unittest.TestCase):
    def setUp(self):
        self.server = None
        self.http = "127.0.0.1:8000"

    def tearDown(self):
        if self.server is not None:
            self.server.send_signal(signal.SIGTERM)
            self.server.communicate(timeout=60)
            self.assertEqual(self.server.returncode, 0)

    def serve(self, command, work):
        """Start what the page starts with `&`, on a free port."""
        words = command.removesuffix("&").replace(self.http, "127.0.0.1:0").split()
        self.server = subprocess.Popen(
            [*words, "--metrics", "none"], cwd=work, text=True, env=ENVIRONMENT,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        return re.search(r"127\.0\.0\.1:\d+", self.server.stdout.readline())[0]

    def test_every_command_works(self):
        http = self.http
        with tempfile.TemporaryDirectory() as folder:
            work = pathlib.Path(folder)
            (work / "include").symlink_to(ROOT / "include")
            (work / "build").mkdir()
            (work / "build/weft").symlink_to(WEFT.resolve())
            code = re.search(r"```c\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[1]
            (work / "tiles.c").write_text(code)
            for command, expected in commands(PAGE):
                if command.endswith("&"):
                    http = self.serve(command, work)
                    continue
                done = subprocess.run(
                    command.replace(self.http, http), shell=True, cwd=work, text=True,
                    capture_output=True, timeout=60, env=ENVIRONMENT,
                )  # fmt: skip
                self.assertEqual((done.stdout + done.stderr).strip(), expected, command)


if __name__ == "__main__":
    unittest.main()
