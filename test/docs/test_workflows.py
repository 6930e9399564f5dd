#!/usr/bin/env python3
"""docs/workflows: documents are those of the tree, commands print what is written beside them."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

WEFT = os.environ.get("WEFT", "build/weft")
ROOT = pathlib.Path.cwd()
PAGES = sorted(ROOT.glob("docs/workflows/*.md"))
BUILD = pathlib.Path(WEFT).parent.parent
LIBRARY = ROOT / "build/deps/onnxruntime/libonnxruntime.so"
HAS_MODELS = (ROOT / "build/models/.fetched").exists() and LIBRARY.exists()
ENVIRONMENT = dict(os.environ, WEFT_ONNXRUNTIME=str(LIBRARY))


def commands(page):
    """(command, expected output) of every `$` line; lines after it with `>` belong to it."""
    for block in re.findall(r"```console\n(.*?)```", page.read_text(), re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            lines = part.splitlines()
            more = [line[2:] for line in lines[1:] if line.startswith("> ")]
            output = [line for line in lines[1:] if not line.startswith("> ")]
            yield "\n".join(lines[:1] + more), "\n".join(output).strip()


def make_patient(repository):
    """Give its workflows SLOs that a busy machine meets, too: the pages are about answers."""
    for path in repository.glob("*.workflow.yaml"):
        text = path.read_text()
        path.write_text(re.sub(r"^slo: .*", "slo: 60s", text, flags=re.MULTILINE))


class Workflows(unittest.TestCase):
    def test_documents_are_those_that_are_served(self):
        count = 0
        for page in PAGES:
            found = re.findall(r"```yaml file=(\S+)\n(.*?)```", page.read_text(), re.DOTALL)
            for name, text in found:
                count += 1
                tree = [line for line in (ROOT / name).read_text().splitlines() if line[:1] != "#"]
                shown = text.splitlines()
                self.assertEqual(shown, tree[: len(shown)], page)
        self.assertEqual(count, len(PAGES))

    @unittest.skipUnless(HAS_MODELS, "no models; tools/setup.sh fetches them")
    def test_commands_print_what_is_written(self):
        with tempfile.TemporaryDirectory() as folder:
            demo = pathlib.Path(folder) / "demo"
            subprocess.run(
                ["python3", "-B", "tools/demo_repository.py", BUILD, demo], check=True, timeout=60
            )
            make_patient(demo)
            process = subprocess.Popen(
                [WEFT, "serve", demo, "--plain", "--http", "127.0.0.1:0", "--metrics", "none"],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT,
            )  # fmt: skip
            try:
                http = re.search(r"127\.0\.0\.1:\d+", process.stdout.readline())[0]
                for page in PAGES:
                    with self.subTest(page=page.name):
                        self.run_page(page, demo, http, pathlib.Path(folder) / page.stem)
            finally:
                process.send_signal(signal.SIGTERM)
                process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0)

    def run_page(self, page, demo, http, work):
        work.mkdir()
        for name in ("repositories", "include", "tools", "build"):
            (work / name).symlink_to(ROOT / name)
        for name, text in re.findall(r"```c file=(\S+)\n(.*?)```", page.read_text(), re.DOTALL):
            (work / name).write_text(text)
        path = f"{pathlib.Path(WEFT).parent}:{os.environ['PATH']}"
        for command, expected in commands(page):
            if command.startswith("weft serve"):
                make_patient(work / command.split()[2])
            done = subprocess.run(
                command.replace("127.0.0.1:8000", http), shell=True, cwd=work, text=True,
                capture_output=True, timeout=60, env=dict(ENVIRONMENT, DEMO=str(demo), PATH=path),
            )  # fmt: skip
            pattern = re.escape(expected).replace(r"\.\.\.", ".*")
            said = (done.stdout + done.stderr).strip()
            self.assertIsNotNone(re.fullmatch(pattern, said, re.DOTALL), f"{command}\n{said}")
        shutil.rmtree(work)


if __name__ == "__main__":
    unittest.main()
