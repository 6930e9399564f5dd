"""Runs commands of weft in a folder of their own, for tests of what they print.

WEFT is the program under test.
"""

import os
import subprocess
import tempfile
import unittest

WEFT = os.environ.get("WEFT", "build/weft")


def weft(*arguments, **options):
    return subprocess.run(
        [WEFT, *arguments], capture_output=True, text=True, timeout=100, check=False, **options
    )


class Commands(unittest.TestCase):
    """Each test has an empty folder."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def files(self):
        return sorted(os.listdir(self.folder.name))

    def good(self, *arguments):
        """The output of a command that says nothing on stderr."""
        done = weft(*arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def wrong(self, line, *arguments, code=2):
        """The command prints nothing but one line on stderr, and exits with @code."""
        done = weft(*arguments)
        self.assertEqual(done.stderr, line + "\n")
        self.assertEqual((done.returncode, done.stdout), (code, ""))
