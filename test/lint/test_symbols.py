"""No function of ours has the name of one in a library: whoever calls that would get ours."""

import os
import pathlib
import subprocess
import unittest

WEFT = os.environ.get("WEFT", "build/weft")
LAYERS = pathlib.Path(WEFT).parents[1] / "src"


def names(program, *options):
    """Functions that @program gives to others, without their versions."""
    lines = subprocess.run(
        ["nm", "--defined-only", *options, program], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    parts = [line.split() for line in lines]
    return {part[2].split("@")[0] for part in parts if len(part) == 3 and part[1] in "TWi"}


def libraries(program):
    lines = subprocess.run(
        ["ldd", program], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    return [line.split()[2] for line in lines if "=> /" in line]


class Symbols(unittest.TestCase):
    def test_no_name_is_used_twice(self):
        ours = set().union(*(names(layer) for layer in LAYERS.glob("*/lib*.a")))
        found = libraries(WEFT)
        self.assertGreater(len(ours), 1000)
        self.assertTrue(any("jansson" in library for library in found), found)
        for library in found:
            self.assertEqual(sorted(ours & names(library, "-D")), [], library)

    def test_no_namespace_is_entered(self):
        """UCX would see the network devices of the old one."""
        wanted = subprocess.run(
            ["nm", "-D", "--undefined-only", WEFT], check=True, capture_output=True, text=True
        ).stdout.split()
        self.assertIn("dlopen@GLIBC_2.34", wanted)
        self.assertEqual([name for name in wanted if name.startswith("setns")], [])


if __name__ == "__main__":
    unittest.main()
