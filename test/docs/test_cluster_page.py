"""docs/CLUSTER.md can be followed as it stands, with other ports. Skipped without ONNX Runtime."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))

import clustered  # noqa: E402
from operated import LIBRARY, LIMIT, WEFT  # noqa: E402
from ports import free_ports  # noqa: E402

TEXT = pathlib.Path("docs/CLUSTER.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


def ready(port):
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/v2/health/ready", timeout=5).read()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"nothing is ready on port {port}")


@unittest.skipUnless(shutil.which("systemd-analyze"), "there is no systemd")
class Unit(unittest.TestCase):
    def test_systemd_understands_it(self):
        (text,) = blocks("ini")
        text = text.replace("/usr/local/bin/weft", os.path.abspath(WEFT))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "weft@.service"
            path.write_text(text, encoding="utf-8")
            done = subprocess.run(
                ["systemd-analyze", "verify", str(path)], capture_output=True, text=True,
                timeout=LIMIT, check=False,
            )  # fmt: skip
        about = [line for line in done.stderr.splitlines() if "weft@" in line]
        self.assertEqual((done.returncode, about), (0, []), done.stderr)


@unittest.skipUnless(LIBRARY.exists(), "there is no ONNX Runtime; see tools/fetch.sh")
class Page(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.root = pathlib.Path(holder.name)
        ports = free_ports(3)
        self.ports = {f"127.0.0.1:{8000 + i}": f"127.0.0.1:{port}" for i, port in enumerate(ports)}
        self.environment = dict(
            os.environ,
            WEFT_ONNXRUNTIME=str(LIBRARY.resolve()),
            WEFT_CACHE=str(self.root / "cache"),
        )
        settings, self.slots = blocks("yaml")
        clustered.write_repository(self.root / "models", settings)

    def words(self, command):
        for old, new in self.ports.items():
            command = command.replace(old, new)
        return command.replace("weft ", os.path.abspath(WEFT) + " ", 1)

    def run_command(self, command, pattern):
        """It prints what the page says; what is known of the cluster, a little later perhaps."""
        end = time.monotonic() + (LIMIT if command.startswith("weft cluster") else 0)
        while True:
            done = subprocess.run(
                self.words(command), shell=True, cwd=self.root, env=self.environment,
                capture_output=True, text=True, timeout=LIMIT, check=False,
            )  # fmt: skip
            self.assertEqual(done.returncode, 0, (command, done.stderr))
            for old, new in self.ports.items():
                done.stdout = done.stdout.replace(new, old)
            if re.search(pattern, done.stdout.strip()) or time.monotonic() > end:
                break
            time.sleep(0.1)
        self.assertRegex(done.stdout.strip(), pattern, command)

    def test_it_can_be_followed(self):
        for command in blocks("sh"):
            subprocess.run(command, shell=True, cwd=self.root, check=True, timeout=LIMIT)
        (lines,) = blocks("serve")
        for line, port in zip(lines.splitlines(), self.ports.values()):
            process = subprocess.Popen(
                shlex.split(self.words(line)), cwd=self.root, env=self.environment,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            self.addCleanup(process.wait, LIMIT)
            self.addCleanup(process.terminate)
            ready(port.partition(":")[2])
        count = 0
        for block in blocks("console"):
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, expected = part.partition("\n")
                pattern = re.escape(expected.strip()).replace(r"\.\.\.", ".*")
                pattern = re.sub(r"(\\ )+", " +", pattern).replace("\\\n", "\n")
                self.run_command(command, f"(?s)^{pattern}$")
                count += 1
        self.assertGreaterEqual(count, 5)

    def test_a_machine_of_its_own_starts_with_the_other_settings(self):
        clustered.write_repository(self.root / "own", self.slots)
        secret = self.root / "secret"
        secret.write_text("a secret that nobody else knows")
        process = subprocess.Popen(
            [os.path.abspath(WEFT), "serve", "own", "--cluster", "file:own-nodes", "--node", "x",
             "--cluster-secret-file", "secret", "--http", next(iter(self.ports.values())),
             "--metrics", "none", "--workers", "2"],
            cwd=self.root, env=self.environment,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.addCleanup(process.wait, LIMIT)
        self.addCleanup(process.terminate)
        ready(next(iter(self.ports.values())).partition(":")[2])


if __name__ == "__main__":
    unittest.main()
