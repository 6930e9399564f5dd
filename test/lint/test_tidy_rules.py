"""Each rule of tools/tidy.py finds its violation and lets a clean file pass."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIDY = ROOT / "tools" / "tidy.py"
sys.path.insert(0, str(ROOT / "tools"))

import tidy  # noqa: E402


def check(files):
    """What tidy says of a tree with @files, a map from path to text."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tidy.check(pathlib.Path(folder))


def function(body, signature="void work(void)"):
    return f"{signature}\n{{\n{body}}}\n"


class RulesTest(unittest.TestCase):
    def expect(self, name, text, expected):
        """The file @name, in a tree where it has a test, gives exactly one error: @expected."""
        files = {"test/unit/test_all.c": f"/* Covers: {name} */\n", name: text}
        self.assertEqual(check(files), [f"{name}:{expected}"])

    def expect_clean(self, name, text):
        files = {"test/unit/test_all.c": f"/* Covers: {name} */\n", name: text}
        self.assertEqual(check(files), [])

    def test_every_rule_has_a_test_of_its_name(self):
        for rule in tidy.RULES:
            self.assertTrue(hasattr(self, "test_" + rule.__name__), rule.__name__)

    def test_rule_file_size(self):
        self.expect(
            "src/base/x.c", "\n" * 601, "601: 601 lines, the limit is 600; use two files instead"
        )
        self.expect_clean("src/base/x.c", "\n" * 600)
        self.expect_clean("test/unit/test_x.c", "\n" * 601)
        self.expect_clean("src/base/x.c", "/* tidy: data table */\n" + "\n" * 601)

    def test_rule_file_size_of_a_header(self):
        guard = "#ifndef BASE_X_H\n#define BASE_X_H\n#endif\n"
        self.expect(
            "src/base/x.h",
            guard + "\n" * 248,
            "251: 251 lines, the limit is 250; use two files instead",
        )
        self.expect_clean("src/base/x.h", guard + "\n" * 247)

    def test_rule_function_size(self):
        self.expect(
            "src/base/x.c",
            "\n" + function("    go();\n" * 68),
            "2: work has 71 lines, the limit is 70; use two functions instead",
        )
        self.expect_clean("src/base/x.c", function("    go();\n" * 67))
        self.expect_clean("src/base/x.c", (function("    go();\n" * 60) + "\n") * 3)
        self.expect_clean("test/unit/test_x.c", function("    go();\n" * 68, "int main(void)"))

    def test_rule_parameters(self):
        six = "static int six(\n    int a, int b, void (*c)(int, int), int d, int e, int f)"
        self.expect_clean("src/base/x.c", function("", six))
        self.expect(
            "src/base/x.c",
            function("", six.replace("int f", "int f, int g")),
            "1: six has 7 parameters, the limit is 6; use a struct instead",
        )
        self.expect_clean(
            "test/fakes/x.c",
            "/* tidy: foreign interface */\n"
            + function("", six.replace("int f", "int f, int g")),
        )

    def test_rule_nesting(self):
        def nested(depth):
            head = "if (a) {\n" * (depth - 1) + "for (;;) {\n"
            return function(head + "}\n" * depth)

        self.expect_clean("src/base/x.c", nested(4))
        self.expect(
            "src/base/x.c",
            nested(5),
            "7: work nests 5 deep, the limit is 4; use another function instead",
        )

    def test_rule_nesting_ignores_initialisers(self):
        literal = "x = (struct a){.b = {{{{1}}}}, .c = {{2}}};\n"
        table = "static const int t[][1] = {{1}, {2}};\n"
        self.expect_clean("src/base/x.c", function("do {\nif (a) {\n" + literal + table + "}\n}\n"))

    def test_rule_line_comment(self):
        self.expect(
            "src/base/x.c",
            "int a; // why\n",
            "1: `//` marks what must not be committed; use /* */ instead",
        )
        self.expect_clean("src/base/x.c", '/* see a//b */ char *a = "//", b = \'"\', *c = "//";\n')

    def test_rule_unfinished(self):
        for word in ("TO" "DO", "FIX" "ME", "X" "XX"):
            self.expect(
                "src/base/x.c", f"\n/* {word} */\n", f"2: {word} in the code; use an issue instead"
            )
        self.expect_clean("src/base/x.c", "/* MASTODON */\n")

    def test_rule_banned(self):
        for name, instead in tidy.BANNED.items():
            self.expect(
                "src/base/x.c",
                function(f"    {name} (a);\n"),
                f"3: {name} is banned; use {instead} instead",
            )
        self.expect_clean(
            "src/base/x.c", function('    a->rand(1);\n    say("atoi(1)");\n    my_strcpy(a);\n')
        )

    def test_rule_clock(self):
        for name in tidy.CLOCKS:
            self.expect(
                "src/node/x.c",
                function(f"    {name}(NULL);\n"),
                f"3: {name} reads a clock; use the time of the event instead",
            )
            self.expect_clean("src/runtime/x.c", function(f"    {name}(NULL);\n"))
        self.expect_clean("src/node/x.c", function("    run_time(1);\n"))

    def test_rule_allocation(self):
        for name in tidy.ALLOCATORS:
            self.expect(
                "src/wire/x.c",
                function(f"    {name}(a);\n"),
                f"3: {name} in a layer that does not allocate; use an arena or a pool instead",
            )
            self.expect_clean("src/base/x.c", function(f"    {name}(a);\n"))
        self.expect_clean("src/wire/x.c", function("    pool_free(a);\n"))

    def test_rule_inexact_math(self):
        for name in ("exp", "log2", "powf", "sin"):
            self.expect(
                "src/sim/x.c",
                function(f"    a = {name}(a);\n"),
                f"3: {name} differs between machines; use a table or integers instead",
            )
            self.expect_clean("src/engine/x.c", function(f"    a = {name}(a);\n"))
        self.expect_clean("src/sim/x.c", function("    a = sqrt(fabs(floor(ceil(a))));\n"))

    def test_rule_math_header(self):
        self.expect(
            "src/node/x.c",
            "#include <math.h>\n",
            "1: floating mathematics; use integers, "
            "or a function of src/profile, src/queueing, src/mixture, src/policy/baselines instead",
        )
        self.expect_clean("src/mixture/x.c", "#include <math.h>\n")

    def test_rule_policy_symbols(self):
        table = "const struct policy policy_x = {\n    .place = place,\n};\n"
        private = function("", "static int place(void)") + "static int a[2] = {1};\nstruct view;\n"
        self.expect_clean("src/policy/x.c", private + table)
        self.expect(
            "src/policy/x.c",
            function("", "int place(void)") + table,
            "1: place is a second symbol of a policy; use static instead",
        )
        self.expect(
            "src/policy/x.c",
            "int counter;\n" + table,
            "1: counter is a second symbol of a policy; use static instead",
        )

    def test_rule_policy_symbols_leaves_out_files_with_a_header(self):
        header = "#ifndef POLICY_X_H\n#define POLICY_X_H\n#endif\n"
        files = {
            "test/unit/test_x.c": "",
            "src/policy/x.h": header,
            "src/policy/x.c": function("", "int a(void)") + "\n" + function("", "int b(void)"),
        }
        self.assertEqual(check(files), [])

    def test_rule_guard(self):
        good = "/* x.h */\n#ifndef BASE_X_H\n#define BASE_X_H\n#endif /* BASE_X_H */\n"
        self.expect_clean("src/base/x.h", good)
        self.expect_clean("include/weft/x.h", good.replace("BASE", "WEFT"))
        says = "the include guard is not of the form LAYER_FILE_H; use BASE_X_H instead"
        self.expect("src/base/x.h", good.replace("BASE_X_H", "X_H"), f"2: {says}")
        self.expect("src/base/x.h", "#pragma once\n", f"1: {says}")

    def test_rule_columns(self):
        self.expect(
            "test/unit/test_x.c",
            "/* " + "a" * 95 + " */\n",
            "1: 101 columns, the limit is 100; use two lines instead",
        )
        self.expect_clean("test/unit/test_x.c", "/* " + "é" * 94 + " */\n")

    def test_rule_tabs(self):
        self.expect("src/base/x.c", "\tint a;\n", "1: a tab; use spaces instead")
        self.expect_clean("src/base/x.c", "    int a;\n")

    def test_rule_trailing_space(self):
        self.expect(
            "src/base/x.c", "int a; \n", "1: space at the end of the line; use none instead"
        )
        self.expect_clean("src/base/x.c", "int a;\n")

    def test_rule_last_newline(self):
        self.expect("src/base/x.c", "int a;", "1: no newline at the end; use one instead")
        self.expect_clean("src/base/x.c", "int a;\n")

    def test_rule_swapped_arguments(self):
        header = "void load(struct engine *engine, uint32_t worker, uint32_t model);\n"
        for call, what in (
            ("load(engine, model, 3)", "model is passed to load as its worker"),
            ("load(engine, 3, effect->load.worker)", "worker is passed to load as its model"),
        ):
            self.expect(
                "src/base/x.c",
                header + function(f"    {call};\n", "static void work(struct engine *engine)"),
                f"4: {what}; use the arguments in their order, or a variable with the name of its "
                "parameter, instead",
            )
        for call in ("load(engine, worker, effect->load.model)", "load(engine, first, count)"):
            self.expect_clean("src/base/x.c", header + function(f"    {call};\n"))

    def test_rule_tested(self):
        says = (
            "src/sim/x.c:1: no test names this file; use test_x.c, or a `Covers: src/sim/x.c` "
            "line in the first comment of a test instead"
        )
        self.assertEqual(check({"src/sim/x.c": ""}), [says])
        for test, text in (
            ("test/unit/test_x.c", ""),
            ("test/unit/test_sim_x.c", ""),
            ("test/sim/test_y.c", "/*\n * Covers: src/sim/z.c, src/sim/x.c\n */\n"),
            ("test/sim/test_y.py", '"""Does it.\n\nCovers: src/sim/x.c\n"""\n'),
        ):
            self.assertEqual(check({"src/sim/x.c": "", test: text}), [], test)
        late = "/* One. */\n/* Covers: src/sim/x.c */\n"
        self.assertEqual(check({"src/sim/x.c": "", "test/sim/test_y.c": late}), [says])

    def test_rule_file_name(self):
        self.expect(
            "src/base/string_utils.c", "", "1: 'util' says nothing; use what the file owns instead"
        )
        self.expect_clean("src/base/text.c", "")


class CommandTest(unittest.TestCase):
    def test_prints_each_error_and_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            bench = pathlib.Path(folder, "bench")
            bench.mkdir()
            (bench / "bench_x.c").write_text("int a;")
            run = subprocess.run(
                [sys.executable, "-B", TIDY, folder], capture_output=True, text=True
            )
            expected = "bench/bench_x.c:1: no newline at the end; use one instead\n"
            self.assertEqual(run.stdout, expected)
            self.assertEqual(run.returncode, 1)

    def test_an_empty_tree_passes(self):
        with tempfile.TemporaryDirectory() as folder:
            run = subprocess.run([sys.executable, "-B", TIDY, folder], capture_output=True)
            self.assertEqual((run.stdout, run.returncode), (b"", 0))


if __name__ == "__main__":
    unittest.main()
