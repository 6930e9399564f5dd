"""What the README shows is what works: its commands run, its scenario is good."""

import os
import pathlib
import re
import shlex
import subprocess
import tempfile
import unittest

WEFT = os.environ.get("WEFT", "build/weft")
TEXT = pathlib.Path("README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


class Readme(unittest.TestCase):
    def run_weft(self, arguments: list[str]) -> str:
        done = subprocess.run([WEFT, *arguments], capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, f"weft {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def test_every_command_runs(self) -> None:
        lines = [line for block in blocks("sh") for line in block.splitlines()]
        commands = [line for line in lines if line.startswith("build/weft ")]
        self.assertGreaterEqual(len(commands), 4)
        for command in commands:
            self.assertNotEqual(self.run_weft(shlex.split(command)[1:]), "")

    def test_make_targets_exist(self) -> None:
        makefile = pathlib.Path("Makefile").read_text(encoding="utf-8")
        for target in re.findall(r"make ([a-z]+)", TEXT):
            self.assertRegex(makefile, rf"(?m)^{target}:")

    def test_the_scenario_is_good_and_runs(self) -> None:
        for text in blocks("yaml"):
            with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                file.write(text)
                file.flush()
                self.run_weft(["check", file.name])
                self.assertIn("500 completed", self.run_weft(["sim", file.name]))

    def test_every_page_it_names_is_there(self) -> None:
        for page in re.findall(r"\]\(([^)#]+)\)", TEXT):
            self.assertTrue(pathlib.Path(page).exists(), page)


if __name__ == "__main__":
    unittest.main()
