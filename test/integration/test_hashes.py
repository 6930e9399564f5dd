"""The same seed gives the same trace under every compiler, optimisation and sanitizer.

Runs `weft sim` of this build and of those named in WEFT_MIRRORS on the same scenarios and
compares the trace hashes.
"""

import json
import os
import pathlib
import subprocess
import unittest

WEFT = pathlib.Path(os.environ.get("WEFT", "build/weft"))
BUILDS = WEFT.parent.parent.parent
MIRRORS = [name for name in os.environ.get("WEFT_MIRRORS", "").split(",") if name]
RUNS = [
    ("scenarios/compass/compass.yaml", policy, seed)
    for policy in ["hash", "heft", "jit", "least-work", "po2", "fifo"]
    for seed in [1, 7]
] + [
    (f"scenarios/nona/{name}.yaml", policy, 1)
    for name in ["one-link", "sizes"]
    for policy in ["nona", "fair", "opportunistic", "expert:split=2"]
] + [("scenarios/demo/demo.yaml", "place=jit,order=edf,cache=lru", seed) for seed in [1, 2, 3]]


def trace_hash(program: pathlib.Path, scenario: str, policy: str, seed: int) -> str:
    command = [program, "sim", scenario, "--policy", policy, "--seed", str(seed)]
    command += ["--jobs", "200", "--set", "noise=20%", "--json"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(output)["trace_hash"]


class Hashes(unittest.TestCase):
    def test_every_build_makes_the_same_trace(self) -> None:
        for scenario, policy, seed in RUNS:
            own = trace_hash(WEFT, scenario, policy, seed)
            for mirror in MIRRORS:
                other = trace_hash(BUILDS / mirror / "bin" / "weft", scenario, policy, seed)
                self.assertEqual(own, other, f"{mirror}: {scenario} {policy} seed {seed}")

    def test_another_seed_makes_another_trace(self) -> None:
        hashes = {trace_hash(WEFT, *RUNS[0][:2], seed) for seed in range(1, 6)}
        self.assertEqual(len(hashes), 5)


if __name__ == "__main__":
    unittest.main()
