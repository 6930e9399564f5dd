"""Hostile clients beside good ones, for a few seconds: see test/serving/hostile.py.

Against the build with the address sanitizer where it is there. How long answers take is printed,
not judged.

Covers: test/serving/hostile.py
"""

import os
import subprocess
import sys
import unittest

WEFT = os.environ.get("WEFT", "build/weft")
MIRRORS = os.environ.get("WEFT_MIRRORS", "").split(",")
SECONDS = "6"
LIMIT = 110


def build():
    here = os.path.dirname(os.path.dirname(WEFT))
    asan = os.path.join(os.path.dirname(here), "asan")
    is_there = os.path.exists(os.path.join(asan, "bin", "echo_server"))
    return asan if "asan" in MIRRORS and is_there else here


class Hostile(unittest.TestCase):
    def attack(self, *arguments):
        done = subprocess.run(
            [sys.executable, "-B", "test/serving/hostile.py", build(), "--seconds", SECONDS,
             "--hostile", "2", *arguments],
            capture_output=True, text=True, timeout=LIMIT, check=False,
        )  # fmt: skip
        print(done.stdout)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)

    def test_a_server_that_gives_back_what_it_gets(self):
        self.attack("--program", "echo")

    def test_an_emulated_cluster(self):
        self.attack("--program", "weft")


if __name__ == "__main__":
    unittest.main()
