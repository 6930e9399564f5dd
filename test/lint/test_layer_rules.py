"""tools/check_layers.py finds includes and links in the wrong direction, and only those."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHECK = ROOT / "tools" / "check_layers.py"
sys.path.insert(0, str(ROOT / "tools"))

import check_layers  # noqa: E402


def check(name, text):
    """What the tool says of a tree with one file."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, name)
        path.parent.mkdir(parents=True)
        path.write_text(text)
        return check_layers.check(pathlib.Path(folder))


class TableTest(unittest.TestCase):
    def test_no_layer_reaches_itself(self):
        def reach(layer, seen):
            for used in check_layers.MAY_USE[layer]:
                if used not in seen:
                    reach(used, seen | {used})
                self.assertNotEqual(used, layer)

        for layer in check_layers.MAY_USE:
            reach(layer, set())

    def test_the_two_hosts_do_not_know_each_other(self):
        self.assertNotIn("sim", check_layers.MAY_USE["runtime"])
        self.assertNotIn("runtime", check_layers.MAY_USE["sim"])

    def test_the_page_has_the_same_table(self):
        page = (ROOT / "docs/ARCHITECTURE.md").read_text("utf-8")
        table = page.split("| layer | owns | may use |\n|---|---|---|\n")[1].split("\n\n")[0]
        rows = [[cell.strip() for cell in row.split(" | ")] for row in table.split("\n")]
        layers = [row[0].strip("|` ") for row in rows]
        self.assertEqual(layers, list(check_layers.MAY_USE))
        for place, (layer, row) in enumerate(zip(layers, rows)):
            names = row[2].rstrip(" |").split(";")[0]
            names = names.replace("base to trace", ", ".join(check_layers.TO_TRACE))
            names = names.replace("all above", ", ".join(layers[:place])).replace("–", "")
            used = [name for name in names.split(", ") if name]
            self.assertEqual(used, check_layers.MAY_USE[layer], layer)

    def test_the_build_lists_the_same_layers(self):
        text = (ROOT / "CMakeLists.txt").read_text()
        block = text.split("set(WEFT_LAYERS\n")[1].split("\n)")[0]
        layers = [line.split()[0] for line in block.splitlines()]
        self.assertEqual(layers, list(check_layers.MAY_USE))


class IncludeTest(unittest.TestCase):
    def test_upward_include_is_found(self):
        self.assertEqual(
            check("src/model/x.c", '#include "model/x.h"\n#include "view/view.h"\n'),
            ['src/model/x.c:2: model must not include "view/view.h"; use base instead'],
        )

    def test_downward_include_passes(self):
        text = '#include "policy/policy.h"\n#include "view/view.h"\n#include <weft/status.h>\n'
        self.assertEqual(check("src/policy/x.c", text), [])

    def test_hosts_are_kept_apart(self):
        self.assertEqual(len(check("src/runtime/x.c", '#include "sim/sim.h"\n')), 1)
        self.assertEqual(len(check("src/runtime/x.c", '#include "document/scenario.h"\n')), 1)
        self.assertEqual(len(check("src/server/x.c", '#include "sim/sim.h"\n')), 1)
        self.assertEqual(len(check("src/sim/x.c", '#include "engine/engine.h"\n')), 1)
        self.assertEqual(check("src/lab/x.c", '#include "sim/sim.h"\n'), [])

    def test_an_include_without_a_layer_is_found(self):
        self.assertEqual(
            check("src/base/x.c", '#include "x.h"\n'),
            ['src/base/x.c:1: "x.h" names no layer; use "base/x.h" instead'],
        )

    def test_an_unknown_layer_is_found(self):
        self.assertEqual(len(check("src/misc/x.c", "")), 1)
        self.assertEqual(len(check("src/cli/x.c", '#include "misc/x.h"\n')), 1)

    def test_the_core_uses_libc_only(self):
        for header in ("uv.h", "yaml.h", "jansson.h", "pthread.h", "sys/socket.h", "curl/curl.h"):
            found = check("src/sim/x.c", f"#include <{header}>\n")
            self.assertEqual(
                found,
                [
                    f"src/sim/x.c:1: sim must not include <{header}>; "
                    "use ISO C, or move the code to a host instead"
                ],
            )
        self.assertEqual(check("src/sim/x.c", "#include <stdint.h>\n#include <string.h>\n"), [])

    def test_libraries_stay_in_their_layers(self):
        self.assertEqual(
            check("src/runtime/x.c", "#include <yaml.h>\n"),
            [
                "src/runtime/x.c:1: runtime must not include <yaml.h>; "
                "use it through document instead"
            ],
        )
        self.assertEqual(len(check("src/runtime/x.c", "#include <jansson.h>\n")), 1)
        self.assertEqual(len(check("src/document/x.c", "#include <uv.h>\n")), 1)
        self.assertEqual(check("src/document/x.c", "#include <yaml.h>\n#include <jansson.h>\n"), [])
        self.assertEqual(check("src/cli/x.c", "#include <jansson.h>\n"), [])
        for layer in ("fabric", "process", "runtime", "server"):
            self.assertEqual(check(f"src/{layer}/x.c", "#include <uv.h>\n"), [])

    def test_public_headers_are_self_contained(self):
        self.assertEqual(
            check("include/weft/x.h", '#include "base/error.h"\n'),
            [
                'include/weft/x.h:1: a public header must not include "base/error.h"; '
                "use <weft/...> instead"
            ],
        )
        self.assertEqual(len(check("include/weft/x.h", "#include <uv.h>\n")), 1)
        text = "#include <stdint.h>\n#include <weft/y.h>\n"
        self.assertEqual(check("include/weft/x.h", text), [])


class LinkTest(unittest.TestCase):
    def test_upward_link_is_found(self):
        text = "weft_layer(wire\n    USES base model node # why\n    SOURCES decode.c)\n"
        self.assertEqual(
            check("src/wire/CMakeLists.txt", text),
            ["src/wire/CMakeLists.txt:1: wire links to node; use base, model, view instead"],
        )

    def test_downward_link_passes(self):
        text = "weft_layer(wire USES base view SOURCES node.c LIBRARIES m)\n"
        self.assertEqual(check("src/wire/CMakeLists.txt", text), [])

    def test_a_layer_of_another_name_is_found(self):
        self.assertEqual(len(check("src/wire/CMakeLists.txt", "weft_layer(node SOURCES a.c)\n")), 1)


class CommandTest(unittest.TestCase):
    def test_prints_each_error_and_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            base = pathlib.Path(folder, "src", "base")
            base.mkdir(parents=True)
            (base / "x.c").write_text("#include <uv.h>\n")
            run = subprocess.run([sys.executable, "-B", CHECK, folder], capture_output=True)
            self.assertEqual(run.returncode, 1)
            self.assertTrue(run.stdout.startswith(b"src/base/x.c:1: "))

    def test_an_empty_tree_passes(self):
        with tempfile.TemporaryDirectory() as folder:
            run = subprocess.run([sys.executable, "-B", CHECK, folder], capture_output=True)
            self.assertEqual((run.stdout, run.returncode), (b"", 0))


if __name__ == "__main__":
    unittest.main()
