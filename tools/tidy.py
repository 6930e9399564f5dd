#!/usr/bin/env python3
"""Check what the compiler and the formatter do not: sizes, banned functions, names, tests.

usage: tidy.py [ROOT]

Prints one line per violation, `path:line: what; use X instead`, and exits 1 if there is any.
A rule is a function from a tree or a file to (line, message) pairs; RULES lists them.
test/lint/test_tidy_rules.py shows for each one violation and one clean file.
"""

import pathlib
import re
import sys

import usage

FOLDERS = ("src", "include", "functions", "test", "bench")
LINES_MAX = {".c": 600, ".h": 250}
FUNCTION_LINES_MAX = 70
PARAMETERS_MAX = 6
NESTING_MAX = 4
COLUMNS_MAX = 100

# A file of nothing but data says so in its first comment, and may be as long as the data.
DATA_TABLE_MARK = "tidy: data table"

# A file that stands in for a library says so in its first comment, and has its parameters.
FOREIGN_MARK = "tidy: foreign interface"

# name: replacement, wherever it is called.
BANNED = {
    "strcpy": "snprintf or memcpy with a size",
    "strcat": "snprintf with a size",
    "sprintf": "snprintf",
    "vsprintf": "vsnprintf",
    "strtok": "strcspn and strspn",
    "gets": "fgets",
    "atoi": "strtol with its end checked",
    "atol": "strtol with its end checked",
    "atof": "strtod with its end checked",
    "rand": "a stream of base/rng.h",
    "srand": "a stream of base/rng.h",
    "random": "a stream of base/rng.h",
    "drand48": "a stream of base/rng.h",
    "assert": "ASSERT of base/assert.h",
}

CLOCKS = ("time", "gettimeofday", "clock_gettime", "clock", "timespec_get")
CLOCK_FOLDERS = (
    "src/runtime", "src/engine", "src/function", "src/onnx", "src/cuda", "src/process",
    "src/console", "src/directory", "src/service", "bench", "test",
)  # fmt: skip

ALLOCATORS = ("malloc", "calloc", "realloc", "free", "strdup", "aligned_alloc")
ALLOCATION_FREE = ("src/policy", "src/node", "src/wire", "src/queueing")
# Baselines plan once, before the first job, and give back what that took.
PLANS_AHEAD = ("src/policy/baselines",)

# Functions of libm whose last bit differs between machines; sqrt, fabs, floor and ceil do not.
INEXACT = re.compile(
    r"(?:exp|exp2|expm1|log|log2|log10|log1p|pow|cbrt|hypot|sin|cos|tan|asin|acos|atan|atan2"
    r"|sinh|cosh|tanh|asinh|acosh|atanh|erf|erfc|tgamma|lgamma)[fl]?"
)
DETERMINISTIC = tuple(
    f"src/{layer}"
    for layer in (
        "base", "model", "profile", "view", "queueing", "mixture", "configs", "policy",
        "wire", "node", "trace", "sim",
    )
)  # fmt: skip
MATH_FOLDERS = ("src/profile", "src/queueing", "src/mixture", "src/policy/baselines")

# A variable defined in the first column and seen by other files.
VARIABLE = re.compile(
    r"(?!static\b|typedef\b|extern\b|(?:struct|enum|union) \w+;)"
    r"[a-z]\w*\s[\w\s*]*?(\w+)(?:\[\w*\])?\s*[=;]"
)

# Parameters that are ids: plain numbers, which a compiler does not tell apart.
IDS = frozenset(
    "node worker device model workflow task job batch queue link slot visit ticket claim grant "
    "run client peer home holder asker from to owner victim fault edge vertex tensor".split()
)

VAGUE_NAME = re.compile(r"util|helper|common|manager")


class Source:
    """One C file: its text, and its code with comments and literals blanked out."""

    def __init__(self, name, text):
        self.name = name
        self.text = text
        self.lines = text.split("\n")
        self.code, self.line_comments = blank_out(text)
        self.code_lines = self.code.split("\n")

    def is_under(self, *folders):
        return any(self.name.startswith(folder + "/") for folder in folders)

    def line_of(self, offset):
        return self.code.count("\n", 0, offset) + 1

    def calls(self, names):
        """(line, name) of each call of a function whose name matches the pattern @names."""
        for match in re.finditer(rf"(?<![\w.>])({names})\s*\(", self.code):
            yield self.line_of(match.start()), match.group(1)

    def prototypes(self):
        """(name, [(type, parameter)]) of functions that take two ids of one type side by side."""
        for match in re.finditer(r"^[a-zA-Z][\w *]*?\b(\w+)\(([^()]*)\)\s*[;{]", self.code, re.M):
            split = [part.split() for part in match.group(2).split(",")]
            ids = [
                (parts[-2], parts[-1]) if len(parts) > 1 and parts[-1] in IDS else None
                for parts in split
            ]
            if any(a and b and a[0] == b[0] for a, b in zip(ids, ids[1:])):
                yield match.group(1), [one or ("", "") for one in ids]

    def arguments_of(self, names):
        """(line, name, arguments) of calls of @names; of an argument, its last name alone."""
        for match in re.finditer(r"(?<![\w.>])(\w+)\(", self.code):
            if match.group(1) in names:
                texts = split_arguments(self.code, match.end())
                lasts = [re.fullmatch(r"(?:[\w\]\[]+(?:\.|->))*(\w+)", t) for t in texts]
                arguments = [last.group(1) if last else "" for last in lasts]
                yield self.line_of(match.start()), match.group(1), arguments

    def functions(self):
        """Definitions, found by the layout of .clang-format: braces in the first column."""
        for start, line in enumerate(self.code_lines):
            if line != "{":
                continue
            first = start
            while first > 0 and is_signature(self.code_lines[first - 1]):
                first -= 1
            end = start
            while end + 1 < len(self.code_lines) and not self.code_lines[end].startswith("}"):
                end += 1
            yield Function(self, first, start, end)


class Function:
    """One definition: lines first..start-1 are the signature, start..end the body."""

    def __init__(self, source, first, start, end):
        self.line = first + 1
        self.body_line = start + 1
        self.line_count = end - first + 1
        self.signature = " ".join(line.strip() for line in source.code_lines[first:start])
        self.body = "\n".join(source.code_lines[start : end + 1])
        match = re.search(r"(\w+)\s*\(", self.signature)
        self.name = match.group(1) if match else "?"
        self.is_static = self.signature.startswith("static")

    def parameter_count(self):
        opened = self.signature.find("(")
        depth, count, text = 0, 1, ""
        for char in self.signature[opened:]:
            depth += {"(": 1, ")": -1}.get(char, 0)
            if depth == 0:
                break
            count += char == "," and depth == 1
            text += char
        return 0 if text.strip("( ") in ("", "void") else count

    def nesting(self):
        """(depth, line) of the deepest block; initialisers and the body do not count."""
        stack, deepest, offset = [], 0, 0
        for match in re.finditer(r"[{}]", self.body):
            if match.group() == "}":
                stack.pop()
                continue
            stack.append(is_block(self.body[: match.start()], stack))
            if sum(stack) - 1 > deepest:
                deepest, offset = sum(stack) - 1, match.start()
        return deepest, self.body_line + self.body.count("\n", 0, offset)


def is_signature(line):
    """Whether @line, above the brace of a function, still belongs to its signature."""
    return re.match(r"[\w\s)*]", line) and line.strip() and not line.rstrip().endswith((";", "}"))


def is_block(before, stack):
    """Whether the brace that follows @before opens a block of statements that counts."""
    before = before.rstrip()
    if not before or re.search(r"\b(?:else|do)$", before):
        return True
    if before.endswith(")"):
        depth = 0
        for at in range(len(before) - 1, -1, -1):
            depth += {")": 1, "(": -1}.get(before[at], 0)
            if depth == 0:
                break
        word = re.search(r"(\w+)\s*$", before[:at])
        return word is not None and word.group(1) not in ("return", "sizeof", "case")
    return before[-1] in ";{}" and stack[-1]


def split_arguments(code, at):
    """The arguments of a call whose brace opens before @at."""
    depth, begin, texts = 1, at, []
    while depth > 0 and at < len(code):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(code[at], 0)
        if depth == 0 or (depth == 1 and code[at] == ","):
            texts.append(" ".join(code[begin:at].split()))
            begin = at + 1
        at += 1
    return texts


def blank_out(text):
    """@text with comments and the insides of literals as spaces, and the lines with `//`."""
    token = re.compile(
        r"/\*.*?(?:\*/|\Z)|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL
    )
    line_comments = []

    def blank(match):
        found = match.group()
        if found.startswith("//"):
            line_comments.append(text.count("\n", 0, match.start()) + 1)
        if found[0] in "\"'":
            return found[0] + " " * (len(found) - 2) + found[0]
        return re.sub(r"[^\n]", " ", found)

    return token.sub(blank, text), line_comments


def top_comment(text):
    """The first comment of a C file, docstring of a Python file or header of a script."""
    match = re.match(
        r"/\*.*?\*/|(?:#[^\n]*\n)*\s*\"\"\".*?\"\"\"|(?:#[^\n]*\n)+", text.lstrip(), re.DOTALL
    )
    return match.group() if match else ""


def is_policy(source):
    return (
        source.is_under("src/policy")
        and source.name.endswith(".c")
        and not source.has_header
    )


# Rules over one C file.


def rule_file_size(source):
    suffix = pathlib.PurePath(source.name).suffix
    if not source.is_under("src", "include") or DATA_TABLE_MARK in top_comment(source.text):
        return
    limit = LINES_MAX[suffix]
    count = len(source.lines) - 1
    if count > limit:
        yield limit + 1, f"{count} lines, the limit is {limit}; use two files instead"


def rule_function_size(source):
    for function in source.functions():
        # The main of a test is the list of its cases.
        if source.is_under("test") and function.name == "main":
            continue
        if function.line_count > FUNCTION_LINES_MAX:
            yield function.line, (
                f"{function.name} has {function.line_count} lines, the limit is "
                f"{FUNCTION_LINES_MAX}; use two functions instead"
            )


def rule_parameters(source):
    if FOREIGN_MARK in top_comment(source.text):
        return
    for function in source.functions():
        count = function.parameter_count()
        if count > PARAMETERS_MAX:
            yield function.line, (
                f"{function.name} has {count} parameters, the limit is {PARAMETERS_MAX}; "
                "use a struct instead"
            )


def rule_nesting(source):
    for function in source.functions():
        depth, line = function.nesting()
        if depth > NESTING_MAX:
            yield line, (
                f"{function.name} nests {depth} deep, the limit is {NESTING_MAX}; "
                "use another function instead"
            )


def rule_line_comment(source):
    for line in source.line_comments:
        yield line, "`//` marks what must not be committed; use /* */ instead"


def rule_unfinished(source):
    for number, line in enumerate(source.lines, start=1):
        match = re.search(r"\b(TODO|FIXME|XXX)\b", line)
        if match:
            yield number, f"{match.group(1)} in the code; use an issue instead"


def rule_banned(source):
    for line, name in source.calls("|".join(BANNED)):
        yield line, f"{name} is banned; use {BANNED[name]} instead"


def rule_clock(source):
    if source.is_under(*CLOCK_FOLDERS):
        return
    for line, name in source.calls("|".join(CLOCKS)):
        yield line, f"{name} reads a clock; use the time of the event instead"


def rule_allocation(source):
    if not source.is_under(*ALLOCATION_FREE) or source.is_under(*PLANS_AHEAD):
        return
    for line, name in source.calls("|".join(ALLOCATORS)):
        yield line, f"{name} in a layer that does not allocate; use an arena or a pool instead"


def rule_inexact_math(source):
    if not source.is_under(*DETERMINISTIC):
        return
    for line, name in source.calls(INEXACT.pattern):
        yield line, f"{name} differs between machines; use a table or integers instead"


def rule_math_header(source):
    if not source.is_under(*DETERMINISTIC) or source.is_under(*MATH_FOLDERS):
        return
    for number, line in enumerate(source.code_lines, start=1):
        if re.match(r"\s*#\s*include\s*<(?:math|tgmath|complex)\.h>", line):
            allowed = ", ".join(MATH_FOLDERS)
            yield number, f"floating mathematics; use integers, or a function of {allowed} instead"


def rule_policy_symbols(source):
    if not is_policy(source):
        return
    symbols = [(f.line, f.name) for f in source.functions() if not f.is_static]
    for number, line in enumerate(source.code_lines, start=1):
        match = VARIABLE.match(line)
        if match:
            symbols.append((number, match.group(1)))
    for line, name in sorted(symbols)[:-1]:
        yield line, f"{name} is a second symbol of a policy; use static instead"


def rule_guard(source):
    if not source.name.endswith(".h"):
        return
    below = "/".join(source.name.split("/")[1:])
    guard = re.sub(r"\W", "_", below).upper()
    opened = re.search(r"^#ifndef (\w+)\n#define (\w+)$", source.code, re.M)
    if opened is None or opened.groups() != (guard, guard):
        line = source.line_of(opened.start()) if opened else 1
        yield line, f"the include guard is not of the form LAYER_FILE_H; use {guard} instead"


# Rules over one text file, C or not.


def rule_columns(source):
    for number, line in enumerate(source.lines, start=1):
        if len(line) > COLUMNS_MAX:
            yield number, f"{len(line)} columns, the limit is {COLUMNS_MAX}; use two lines instead"


def rule_tabs(source):
    for number, line in enumerate(source.lines, start=1):
        if "\t" in line:
            yield number, "a tab; use spaces instead"


def rule_trailing_space(source):
    for number, line in enumerate(source.lines, start=1):
        if line != line.rstrip():
            yield number, "space at the end of the line; use none instead"


def rule_last_newline(source):
    if source.text and not source.text.endswith("\n"):
        yield len(source.lines), "no newline at the end; use one instead"


# Rules over the tree: they give (path, line, message).


def rule_swapped_arguments(tree):
    """Ids are plain numbers: a call must not pass one under the name of another parameter."""
    known = {}  # name: parameters, or None where two files disagree.
    for source in tree.sources:
        for name, parameters in source.prototypes():
            known[name] = parameters if known.get(name, parameters) == parameters else None
    swappable = {name for name, parameters in known.items() if parameters}
    for source in (source for source in tree.sources if source.is_under("src", "bench")):
        for line, name, arguments in source.arguments_of(swappable):
            parameters = known[name]
            if len(arguments) != len(parameters):
                continue
            for argument, (kind, parameter) in zip(arguments, parameters):
                others = {n for k, n in parameters if kind and k == kind and n != parameter}
                if argument in others:
                    yield source.name, line, (
                        f"{argument} is passed to {name} as its {parameter}; use the arguments in "
                        "their order, or a variable with the name of its parameter, instead"
                    )


def rule_tested(tree):
    for source in tree.sources:
        path = pathlib.PurePath(source.name)
        if path.suffix != ".c" or path.parts[0] != "src":
            continue
        names = {f"test_{path.stem}", f"test_{path.parts[1]}_{path.stem}"}
        if names & tree.test_stems or source.name in tree.covered:
            continue
        yield source.name, 1, (
            f"no test names this file; use test_{path.stem}.c, or a `Covers: {source.name}` line "
            "in the first comment of a test instead"
        )


def rule_file_name(tree):
    for name in tree.names:
        match = VAGUE_NAME.search(name.split("/")[-1])
        if match:
            yield name, 1, f"'{match.group()}' says nothing; use what the file owns instead"


C_RULES = (
    rule_file_size,
    rule_function_size,
    rule_parameters,
    rule_nesting,
    rule_line_comment,
    rule_unfinished,
    rule_banned,
    rule_clock,
    rule_allocation,
    rule_inexact_math,
    rule_math_header,
    rule_policy_symbols,
    rule_guard,
)
TEXT_RULES = (rule_columns, rule_tabs, rule_trailing_space, rule_last_newline)
TREE_RULES = (rule_swapped_arguments, rule_tested, rule_file_name)
RULES = C_RULES + TEXT_RULES + TREE_RULES


class Tree:
    """The files that the rules read. A fuzz corpus is input and is left out."""

    def __init__(self, root):
        paths = []
        for folder in FOLDERS + ("tools",):
            paths += [path for path in sorted((root / folder).rglob("*")) if path.is_file()]
        named = [(path.relative_to(root).as_posix(), path) for path in paths]
        named = [(n, p) for n, p in named if "/corpus/" not in n and "__pycache__" not in n]
        self.names = [name for name, _ in named]
        self.sources, self.scripts = [], []
        self.test_stems, self.covered = set(), set()
        for name, path in named:
            if path.suffix in (".c", ".h", ".py", ".sh") or path.name == "CMakeLists.txt":
                self.add(name, path)

    def add(self, name, path):
        source = Source(name, path.read_text(encoding="utf-8", errors="replace"))
        source.has_header = path.with_suffix(".h").exists()
        is_c = path.suffix in (".c", ".h") and not name.startswith("tools/")
        (self.sources if is_c else self.scripts).append(source)
        if name.startswith("test/") and path.suffix in (".c", ".py", ".sh"):
            self.test_stems.add(path.stem)
            self.covered |= set(re.findall(r"src/[\w/]+\.c", top_comment(source.text)))


def check(root):
    """All errors of the tree at @root."""
    tree = Tree(root)
    errors = []
    for sources, rules in ((tree.sources, C_RULES + TEXT_RULES), (tree.scripts, TEXT_RULES)):
        for source in sources:
            for rule in rules:
                errors += [(source.name, line, what) for line, what in rule(source)]
    for rule in TREE_RULES:
        errors += list(rule(tree))
    return [f"{name}:{line}: {what}" for name, line, what in sorted(errors)]


def main():
    errors = check(pathlib.Path(*usage.words(__doc__, 0, 1)))
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
