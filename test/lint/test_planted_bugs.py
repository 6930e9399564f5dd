"""tools/planted_bugs.py can be planted in this tree, and docs/TESTING.md shows all of it."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "plant_bugs.py"
sys.path.insert(0, str(ROOT / "tools"))

import page  # noqa: E402
import plant_bugs  # noqa: E402
from planted_bugs import BUGS, Bug  # noqa: E402


def run(*arguments):
    command = [sys.executable, "-B", TOOL, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def check(text, bugs):
    """What the tool says of a tree with the one file src/x.c."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "src", "x.c")
        path.parent.mkdir(parents=True)
        path.write_text(text)
        return list(plant_bugs.check(pathlib.Path(folder), bugs))


def bug(name="one", file="src/x.c", old="a < b", found_by=("swarm",)):
    return Bug(name, file, "it is wrong", "`<`", old, "a <= b", found_by)


class ListTest(unittest.TestCase):
    def test_every_old_text_is_in_the_tree_once(self):
        done = run("--list", "--check")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len(done.stdout.splitlines()), len(BUGS))

    def test_every_bug_changes_its_text_and_is_found(self):
        for planted in BUGS:
            self.assertNotEqual(planted.old, planted.new, planted.name)
            self.assertTrue(planted.found_by, planted.name)

    def test_the_page_has_the_table_that_the_list_makes(self):
        text = page.get(plant_bugs.PAGE.read_text("utf-8"), "planted")
        self.assertEqual(text, plant_bugs.table(BUGS), "use tools/plant_bugs.py --write")


class CheckTest(unittest.TestCase):
    def test_a_text_that_is_there_once_passes(self):
        self.assertEqual(check("if (a < b) {", [bug()]), [])

    def test_a_text_that_is_gone_is_named(self):
        self.assertEqual(
            check("if (b > a) {", [bug()]),
            [
                "src/x.c: has 0 times what the bug one replaces, not once; "
                "adapt tools/planted_bugs.py"
            ],
        )

    def test_a_text_that_is_there_twice_is_named(self):
        self.assertEqual(len(check("a < b, a < b", [bug()])), 1)

    def test_a_file_that_is_gone_is_named(self):
        self.assertEqual(
            check("", [bug(file="src/y.c")]),
            ["src/y.c: no such file; tools/planted_bugs.py has a bug for it, one"],
        )

    def test_names_and_columns_are_checked(self):
        self.assertEqual(check("a < b", [bug(), bug()]), ["one: 2 bugs have this name"])
        self.assertEqual(check("a < b", [bug(found_by=("luck",))]), ["one: luck is not a column"])


class CommandTest(unittest.TestCase):
    def test_an_unknown_bug_is_one_line(self):
        done = run("--only", "nobody", "--list")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr, "plant_bugs.py: nobody: no such bug; --list prints them\n")

    def test_help_says_how_it_is_used(self):
        done = run("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("usage: plant_bugs.py", done.stdout)


if __name__ == "__main__":
    unittest.main()
