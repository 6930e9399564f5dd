"""Every script says how it is used, anywhere, and in one line what was wrong with a call.

Covers: tools/usage.py
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("tools", "bench", "test", "scenarios")

# They run in an environment that the server they belong to brings along.
APPS = "bench/peers/apps/"


def is_script(path):
    with path.open(encoding="utf-8") as file:
        return file.readline().startswith("#!")


def listed():
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.[ps][yh]")]
    names = [str(path.relative_to(ROOT)) for path in sorted(found) if is_script(path)]
    return [name for name in names if not name.startswith(APPS) and "/test_" not in name]


class Usage(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def call(self, name, *arguments):
        """Run a script of the tree in another folder, with nothing in the environment."""
        interpreter = [sys.executable, "-B"] if name.endswith(".py") else ["bash"]
        return subprocess.run(
            [*interpreter, ROOT / name, *arguments],
            capture_output=True, text=True, timeout=60, check=False, cwd=self.folder.name,
            env={"PATH": os.environ["PATH"]}, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def test_scripts_can_be_called_by_name(self):
        self.assertGreater(len(listed()), 30)
        for name in listed():
            with self.subTest(name):
                self.assertTrue(os.access(ROOT / name, os.X_OK))

    def test_they_say_how_they_are_used(self):
        for name in listed():
            with self.subTest(name):
                done = self.call(name, "--help")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                text = (ROOT / name).read_text(encoding="utf-8")
                first = re.search(r'^(?:"""|# )(.*)$', text, re.MULTILINE).group(1)
                self.assertIn(first, done.stdout)

    def test_an_option_that_is_none_is_refused_in_a_line(self):
        for name in listed():
            with self.subTest(name):
                done = self.call(name, "--no-such-option")
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                said = re.sub(r"^usage: (.*\n)+(?=\S+\.py: )", "", done.stderr, flags=re.MULTILINE)
                self.assertRegex(said, r"^[\w.]+: .*\n$")

    def test_words_are_counted(self):
        for name, arguments, what in (
            ("tools/batchable.py", ["one"], "1 words are too few"),
            ("tools/batchable.py", ["a", "b", "c"], "'c' is one word too many"),
            ("test/gpu/serve.py", ["nap", "BIN", "HERE"], "there is no 'nap'"),
            ("tools/weft_export.py", ["model.pt", "out"], "'model.pt' is neither"),
            ("tools/study_weft_bound.py", ["esg", "egs"], "there is no table 'egs'"),
            ("tools/study_weft_learn.py", ["wrng"], "there is no workload 'wrng'"),
            ("scenarios/combined/generate.py", ["out", "x"], "'x' is not a seed"),
        ):
            with self.subTest(name):
                done = self.call(name, *arguments)
                self.assertEqual(done.returncode, 2)
                self.assertEqual(done.stderr.count("\n"), 1)
                self.assertIn(what, done.stderr)
                self.assertIn(f"usage: {pathlib.Path(name).name} ", done.stderr)


if __name__ == "__main__":
    unittest.main()
