"""tools/check_pages.py: for each rule one page that breaks it and one that does not."""

import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import check_pages  # noqa: E402

TREE = {
    "Makefile": "build: setup\n\ttrue\n",
    "src/cli/sim.c": 'static const struct command sim = {\n    .name = "sim",\n};\n',
    "src/base/arena.h": "",
    "bench/bench_events.c": "",
    "docs/OTHER.md": "# Other\n\n## What a function may do\n",
}


def check(files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**TREE, **files}.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return check_pages.check(pathlib.Path(folder))


class PageRules(unittest.TestCase):
    def expect(self, text, what):
        self.assertEqual(check({"docs/PAGE.md": text}), [f"docs/PAGE.md:1: {what}"])

    def expect_clean(self, text):
        self.assertEqual(check({"docs/PAGE.md": text}), [])

    def test_paths_exist(self):
        self.expect("See src/base/pool.h for more.\n", "there is no src/base/pool.h")
        self.expect("`test/sim/` has them.\n", "there is no test/sim/")
        self.expect_clean("See `src/base/arena.h`, src/base and bench/.\n")
        self.expect_clean("`src/policy/<name>.c`, `bench/*.py`, build/src/x.c, my/src/x.c\n")

    def test_files_exist(self):
        self.expect("`base/pool.h`\n", "there is no base/pool.h below src or include")
        self.expect("`pool.h`\n", "no file is called pool.h")
        self.expect_clean("`base/arena.h`, `arena.h`, pool.h in plain text\n")

    def test_examples_of_the_page_itself_count(self):
        self.expect_clean("`quiet.c` and `test/test_quiet.c`\n\n```c file=quiet.c\nint x;\n```\n")

    def test_links_lead_somewhere(self):
        self.expect("[a](GONE.md)\n", "the link GONE.md leads nowhere")
        self.expect("[a](OTHER.md#gone)\n", "OTHER.md has no heading 'gone'")
        self.expect_clean("[a](OTHER.md#what-a-function-may-do), [b](https://example.org/x)\n")

    def test_commands_exist(self):
        self.expect("`make coffee`\n", "the Makefile has no target coffee")
        self.expect("`weft brew`\n", "weft has no command brew")
        self.expect("`bench_tea 5`\n", "there is no program bench_tea")
        self.expect_clean("`make build`, `build/weft sim x.yaml`, `bench_events 80`\n")

    def test_code_blocks_are_left_to_their_tests(self):
        self.expect_clean("```\nweft brew src/x.c\n```\n")

    def test_comments_name_what_exists(self):
        self.assertEqual(
            check({"src/base/arena.c": "/* docs/GONE.md, src/base/arena.h */\n"}),
            ["src/base/arena.c:1: there is no docs/GONE.md"],
        )
        self.assertEqual(check({"test/unit/test_arena.c": "/* src/made/up.c */\n"}), [])


if __name__ == "__main__":
    unittest.main()
