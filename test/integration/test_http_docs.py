"""The examples of docs/SERVING.md, run against the server that it names."""

import os
import re
import signal
import subprocess
import unittest

WEFT = os.environ.get("WEFT", "build/weft")
DOCUMENT = "docs/SERVING.md"


def examples():
    """(command, expected output) of every `$` line of the console blocks."""
    with open(DOCUMENT, encoding="utf-8") as file:
        blocks = re.findall(r"```console\n(.*?)```", file.read(), re.DOTALL)
    for block in blocks:
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield command, output


class Examples(unittest.TestCase):
    def test_they_print_what_is_written(self):
        process = subprocess.Popen(
            [WEFT, "serve", "--emulated", "scenarios/demo/demo.yaml", "--plain",
             "--http", "127.0.0.1:0", "--metrics", "127.0.0.1:0"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        http, metrics = re.findall(r"127\.0\.0\.1:\d+", process.stdout.readline())
        count = 0
        for command, expected in examples():
            count += 1
            command = command.replace("127.0.0.1:8000", http).replace("127.0.0.1:8002", metrics)
            done = subprocess.run(
                command, shell=True, capture_output=True, text=True, timeout=30, check=False
            )
            pattern = re.escape(expected.strip()).replace(r"\.\.\.", ".*")
            self.assertRegex(done.stdout.strip(), f"^{pattern}$", command)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 0)
        self.assertGreaterEqual(count, 8)


if __name__ == "__main__":
    unittest.main()
