#!/usr/bin/env python3
"""Check that what pages and comments name exists: files, links, headings, commands, targets.

usage: check_pages.py [ROOT]

Prints one line per violation, `path:line: what`, and exits 1 if there is any. Names with a
placeholder in them (`<name>`, NAME, *, ...) are not looked up. test/lint/test_page_rules.py shows
one violation and one clean page for each rule.
"""

import pathlib
import re
import sys

import usage

FOLDERS = "src|include|functions|test|bench|tools|docs|scenarios|repositories"
FILE = r"[\w.-]+\.(?:c|h|cpp|py|sh|md|yaml|csv|txt)"

# A path from the root of the tree, in text, code or comments.
PATH = re.compile(rf"(?<![\w./$}}-])(?:{FOLDERS})/[\w./*<>-]*[\w*>/-]")
# In code: a header of a layer as it is included, and a file by its name alone.
INCLUDED = re.compile(r"[a-z_]+/[\w/]+\.[ch]")
CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
LINK = re.compile(r"\]\(([^)\s]+)\)")
MAKE = re.compile(r"(?:^|\s)make ([a-z-]+)")
WEFT = re.compile(r"(?:^|\s|/)weft ([a-z]+)\b")
BENCH = re.compile(r"\bbench_\w+")
PLACEHOLDER = re.compile(r"[*<>{}]|\b[A-Z]{3,}\b(?!\.md)|\.\.\.")


class Tree:
    """What there is to be named."""

    def __init__(self, root):
        self.root = root
        self.pages = sorted([*root.glob("*.md"), *root.glob("docs/**/*.md")])
        self.names = set()
        for folder in FOLDERS.split("|"):
            self.names |= {path.name for path in (root / folder).rglob("*")}
        self.names |= {path.name for path in root.iterdir()}
        makefile = root / "Makefile"
        text = makefile.read_text("utf-8") if makefile.exists() else ""
        self.targets = set(re.findall(r"(?m)^([a-z-]+):", text))
        self.commands = {"help"}
        for path in (root / "src" / "cli").glob("*.c"):
            self.commands |= set(re.findall(r"\.name = \"(\w+)\"", path.read_text("utf-8")))

    def has(self, name):
        return (self.root / name).exists()

    def sources(self):
        """Files whose comments name pages and files."""
        for folder in ("src", "include", "functions", "test", "bench", "tools"):
            for path in sorted((self.root / folder).rglob("*")):
                is_text = path.suffix in (".c", ".h", ".py", ".sh") or path.name == "CMakeLists.txt"
                if is_text and "/corpus/" not in str(path):
                    yield path
        yield from self.root.glob("CMakeLists.txt")


def slug(heading):
    """The anchor of a heading, as renderers of Markdown make it."""
    text = re.sub(r"[`*]", "", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def headings(text):
    return {slug(match) for match in re.findall(r"(?m)^#+ (.*)$", text)}


def prose(text):
    """(line, text) of everything outside of code blocks."""
    inside = False
    for number, line in enumerate(text.split("\n"), start=1):
        if line.startswith("```"):
            inside = not inside
        elif not inside:
            yield number, line


def is_shown(text, name):
    """Whether @name is an example that a code block of the page itself holds."""
    blocks = "".join(re.findall(r"(?ms)^```.*?^```", text))
    return pathlib.PurePath(name).name.removeprefix("test_") in blocks


def rule_paths(tree, page, text):
    for number, line in prose(text):
        for match in PATH.finditer(LINK.sub("", line)):
            name = match.group()
            if PLACEHOLDER.search(name) or tree.has(name) or is_shown(text, name):
                continue
            yield number, f"there is no {name}"


def rule_files(tree, page, text):
    for number, line in prose(text):
        for code in CODE.findall(line):
            if INCLUDED.fullmatch(code) and not re.match(FOLDERS, code):
                if not tree.has(f"src/{code}") and not tree.has(f"include/{code}"):
                    yield number, f"there is no {code} below src or include"
            elif re.fullmatch(FILE.replace("|md|yaml|csv|txt", ""), code):
                if code not in tree.names and not is_shown(text, code):
                    yield number, f"no file is called {code}"


def rule_links(tree, page, text):
    for number, line in prose(text):
        for link in LINK.findall(line):
            if re.match(r"\w+:", link):
                continue
            name, _, anchor = link.partition("#")
            target = page.parent / name if name else page
            if not target.exists():
                yield number, f"the link {link} leads nowhere"
            elif anchor and anchor not in headings(target.read_text("utf-8")):
                yield number, f"{name or page.name} has no heading '{anchor}'"


def rule_commands(tree, page, text):
    for number, line in prose(text):
        for code in CODE.findall(line):
            for name in MAKE.findall(code):
                if name not in tree.targets:
                    yield number, f"the Makefile has no target {name}"
            for name in WEFT.findall(code):
                if name not in tree.commands:
                    yield number, f"weft has no command {name}"
            for name in BENCH.findall(code):
                if not list((tree.root / "bench").glob(f"{name}.*")):
                    yield number, f"there is no program {name}"


RULES = (rule_paths, rule_files, rule_links, rule_commands)


def check_sources(tree):
    """What comments and messages name: any path in what is built, only pages in tests and tools."""
    for path in tree.sources():
        folders = path.relative_to(tree.root).parts
        if folders[:2] == ("test", "lint"):
            continue
        in_tests = folders[0] in ("test", "tools")
        pattern = re.compile(r"(?<![\w/])docs/[\w/]+\.md") if in_tests else PATH
        for number, line in enumerate(path.read_text("utf-8", "replace").split("\n"), start=1):
            for match in pattern.finditer(line):
                if not PLACEHOLDER.search(match.group()) and not tree.has(match.group()):
                    yield path, number, f"there is no {match.group()}"


def check(root):
    tree = Tree(root)
    errors = []
    for page in tree.pages:
        text = page.read_text("utf-8")
        for rule in RULES:
            errors += [(page, line, what) for line, what in rule(tree, page, text)]
    errors += check_sources(tree)
    return [f"{path.relative_to(root)}:{line}: {what}" for path, line, what in sorted(errors)]


def main():
    errors = check(pathlib.Path(*usage.words(__doc__, 0, 1)))
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
