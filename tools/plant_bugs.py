#!/usr/bin/env python3
"""Plant bugs, one at a time, and show which tests find them.

usage: plant_bugs.py [--only NAME]... [--column NAME]... [--all] [--jobs N]
       plant_bugs.py --list [--check]
       plant_bugs.py --write

Works in a copy of the sources, build/planted/tree, and never in the tree itself. The copy and its
build are kept, so a bug costs one compiled file and a few links; the next run repairs them if one
was interrupted. First everything must pass as it is. Then each bug of BUGS replaces one text by
another, and the columns that must find it are run: their programs are linked one by one, those that
name the file first, until one fails. Prints a table in Markdown, with the first test of each column
that fails, or the seed of the swarm; progress goes to stderr.

  --only NAME   plant this one; can be given again
  --column NAME run the programs of this column alone; can be given again
  --all         run the other columns as well
  --jobs N      jobs of the build; one per processor by default
  --list        print what would be planted, and do nothing
  --check       with --list: say which bugs no longer fit the tree
  --write       put the list, with the columns that must find each, into docs/TESTING.md

Exits 0 if every column finds what BUGS says it must; 1 if not, or if an old text does not occur
exactly once; 2 if the tree fails without a bug, or nothing could be tried.
"""

import argparse
import collections
import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import page
from planted_bugs import BUGS

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = pathlib.Path("build", "planted")
PAGE = ROOT / "docs" / "TESTING.md"

# Columns of the table, and the programs of each: tier/name, as test/CMakeLists.txt has them.
COLUMNS = {
    "goldens": ("sim/deputies", "sim/golden", "sim/home"),
    "swarm": ("sim/swarm",),
    "by hand": ("sim/devices", "sim/network"),
    "unit tests": tuple(
        f"unit/{name}"
        for name in (
            "agreement", "artifact", "bank", "batch_failures", "board", "cells", "channel",
            "claims", "cuda_engine", "cuda_graph", "devices", "edition", "editions", "esg",
            "function_isolation", "give_up", "identity", "inbox", "inspect", "keys", "keys_recall",
            "linger", "links_fair", "load_failures", "membership", "message", "need", "node",
            "outbox", "policy_fit", "pools", "ready", "refine", "repository", "reservations",
            "scenario", "states", "steal_near", "tray", "view",
        )
    ),
    "machines": ("conformance/nets", "unit/remote", "unit/rings"),
    "servers": ("integration/cluster_functions",),
}  # fmt: skip
SELDOM = ("machines", "servers")  # Never run for other bugs: they are not linked to them.
PROGRAM_SECONDS_MAX = 120  # Of its processor time: other work of the machine does not count.
NOT_FOUND = "–"
FAILED = r"^(?:\[  (?:FAILED|ERROR ) +\]|FAIL:|ERROR:) (\w+)"  # Of cmocka and unittest.

# A bug may leave something unused.
C_FLAGS = "-Wno-unused-function -Wno-unused-parameter -Wno-unused-variable"
C_FLAGS += " -Wno-unused-but-set-variable"


class Failure(Exception):
    """What a person has to know, in one line."""


def progress(text):
    print(text, file=sys.stderr, flush=True)


def check(root, bugs):
    """One line for each bug that cannot be planted in the tree at @root."""
    for bug in bugs:
        path = root / bug.file
        count = path.read_text().count(bug.old) if path.is_file() else None
        if count is None:
            yield f"{bug.file}: no such file; tools/planted_bugs.py has a bug for it, {bug.name}"
        elif count != 1:
            yield (
                f"{bug.file}: has {count} times what the bug {bug.name} replaces, not once; "
                "adapt tools/planted_bugs.py"
            )
        for column in bug.found_by:
            if column not in COLUMNS:
                yield f"{bug.name}: {column} is not a column"
    for name, count in collections.Counter(bug.name for bug in bugs).items():
        if count > 1:
            yield f"{name}: {count} bugs have this name"


def source_files():
    """What git tracks, and what is new and not ignored."""
    command = ["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True)
    if listed.returncode != 0:
        raise Failure(f"{ROOT}: git cannot list its files: {listed.stderr.decode().strip()}")
    return [name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


def copy_tree(tree):
    """Make @tree equal to the source files, touching only what differs."""
    names = set(source_files())
    for name in sorted(names):
        target = tree / name
        if not target.is_file() or target.read_bytes() != (ROOT / name).read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)
            os.utime(target)  # Newer than what was built from the text before.
    for path in tree.rglob("*"):
        if path.is_file() and str(path.relative_to(tree)) not in names:
            path.unlink()


def run_tool(command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode == 0, done.stdout + done.stderr


def is_script(program):
    return program.startswith("integration/")


def target(program):
    return "program" if is_script(program) else "test_" + program.replace("/", "_")


def source(program):
    """Of @program, in the tree."""
    tier, name = program.split("/")
    return pathlib.Path("test", tier, f"test_{name}.{'py' if is_script(program) else 'c'}")


def built(folder, program):
    tier, name = program.split("/")
    return folder / "bin" / ("weft" if is_script(program) else f"{tier}/test_{name}")


def command(folder, program):
    if is_script(program):
        return [sys.executable, "-B", source(program)]
    return [built(folder, program)]


def build(tree, folder, jobs, wanted):
    """Build the programs @wanted. What the compiler said, if it failed; None if not."""
    if not (folder / "build.ninja").exists():
        good, said = run_tool(
            ["cmake", "-S", tree, "-B", folder, "-G", "Ninja", "-DCMAKE_C_COMPILER=gcc",
             "-DCMAKE_BUILD_TYPE=Debug", f"-DCMAKE_C_FLAGS={C_FLAGS}"]
        )  # fmt: skip
        if not good:
            return said
    targets = [target(program) for program in wanted]
    good, said = run_tool(["ninja", "-C", folder, "-j", str(jobs), "--quiet", *targets])
    return None if good else said


def run_program(tree, folder, program):
    """What @program found: None, or a few words."""
    running = subprocess.Popen(
        command(folder, program),
        cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        env=os.environ | {"WEFT": str(folder / "bin" / "weft")},
    )  # fmt: skip
    said = None
    while said is None:
        try:
            said, _ = running.communicate(timeout=1)
        except subprocess.TimeoutExpired:
            if processor_seconds(running.pid) > PROGRAM_SECONDS_MAX:
                running.send_signal(signal.SIGABRT)  # The swarm says then which seed it was.
    if running.returncode == 0:
        return None
    seed = re.search(r"^seed (\d+)", said, re.MULTILINE)
    failed = re.search(FAILED, said, re.MULTILINE)
    started = re.findall(r"^\[ RUN      \] (\w+)$", said, re.MULTILINE)  # The last one died.
    if seed:
        return f"seed {seed.group(1)}"
    return failed.group(1) if failed else (started or [program])[-1]


def processor_seconds(pid):
    """What process @pid, which may have ended, has used."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def programs(columns):
    return [program for column in columns for program in COLUMNS[column]]


def digest(folder, program):
    return hashlib.sha256(built(folder, program).read_bytes()).digest()


def names(tree, program, bug):
    """Whether the source of @program names the file of @bug."""
    stem = bug.file.removeprefix("src/").rpartition(".")[0]
    return f"{stem}." in (tree / source(program)).read_text()


def run_column(bug, tree, folder, jobs, column, clean):
    """
    What the first program of @column that finds @bug says. Those that are as without it, as @clean
    has them, are not run. Raises Failure if it does not compile.
    """
    for program in sorted(COLUMNS[column], key=lambda program: not names(tree, program, bug)):
        said = build(tree, folder, jobs, [program])
        if said is not None:
            errors = [line for line in said.splitlines() if " error: " in line]
            raise Failure((errors or said.splitlines())[0])
        if digest(folder, program) != clean[program]:
            found = run_program(tree, folder, program)
            if found is not None:
                return found
    return NOT_FOUND


def is_asked(bug, column, is_all):
    """Whether @column is run for @bug."""
    return column in bug.found_by or (is_all and column not in SELDOM)


def try_bug(bug, tree, folder, jobs, columns, clean):
    """What each of @columns says of @bug, which is gone again then; None if it does not compile."""
    path = tree / bug.file
    text = path.read_text()
    path.write_text(text.replace(bug.old, bug.new))
    try:
        return {column: run_column(bug, tree, folder, jobs, column, clean) for column in columns}
    except Failure as failure:
        progress(str(failure))
        return None
    finally:
        path.write_text(text)


def expect_clean(tree, folder, jobs, columns):
    """Build and run all programs of @columns. Returns the digest of each."""
    said = build(tree, folder, jobs, programs(columns))
    if said is not None:
        sys.stderr.write(said)
        raise Failure("the tree does not build")
    failing = [program for program in programs(columns)
               if run_program(tree, folder, program) is not None]  # fmt: skip
    if failing:
        raise Failure(f"without a bug, {', '.join(failing)} fails already")
    return {program: digest(folder, program) for program in programs(columns)}


def title(bug):
    return f"`{bug.file.removeprefix('src/')}`: {bug.says}"


def head(columns):
    return page.head(["planted", "how", *columns])


def table(bugs):
    """The table of the page: which columns must find each bug."""
    rows = ""
    for bug in bugs:
        found = ("yes" if column in bug.found_by else NOT_FOUND for column in COLUMNS)
        rows += page.line([title(bug), bug.how, *found])
    return head(COLUMNS) + rows


def missed(bug, results):
    """The columns that should have found @bug and did not."""
    return [column for column in bug.found_by if results.get(column) == NOT_FOUND]


def campaign(bugs, jobs, columns, is_all):
    """Print the table. Returns how many bugs were not found by all that should have."""
    folder = ROOT / FOLDER
    tree, build_folder = folder / "tree", folder / "build"
    tree.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Failure(f"{FOLDER}: another campaign works there") from None
        copy_tree(tree)
        began = time.monotonic()
        progress("no bug: building and running everything")
        clean = expect_clean(tree, build_folder, jobs, columns)
        rows, bad = [], []
        for number, bug in enumerate(bugs, start=1):
            asked = [column for column in columns if is_asked(bug, column, is_all)]
            results = try_bug(bug, tree, build_folder, jobs, asked, clean)
            if results is None:
                bad.append(f"{bug.name}: does not compile")
                continue
            said = ", ".join(f"{column} {words}" for column, words in results.items())
            progress(f"{number}/{len(bugs)} {bug.name}: {said}")
            said = (results.get(column, NOT_FOUND) for column in columns)
            rows.append(page.line([title(bug), bug.how, *said]))
            bad += [f"{bug.name}: not found by {column}" for column in missed(bug, results)]
        print(head(columns) + "".join(rows), flush=True)
        for line in bad:
            progress(line)
        progress(f"{len(bugs)} planted, {len(bad)} not found, {time.monotonic() - began:.0f} s")
    return len(bad)


def choose(names):
    known = {bug.name: bug for bug in BUGS}
    for name in names:
        if name not in known:
            raise Failure(f"{name}: no such bug; --list prints them")
    return [known[name] for name in names] or BUGS


def parse(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, usage=argparse.SUPPRESS, add_help=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--help", "-h", action="store_true")
    parser.add_argument("--only", metavar="NAME", action="append", default=[])
    parser.add_argument("--column", action="append", choices=COLUMNS)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--jobs", metavar="N", type=int, default=os.cpu_count())
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", action="store_true")
    return parser.parse_args(arguments)


def main(arguments):
    options = parse(arguments)
    if options.help:
        print(__doc__.strip())
        return 0
    if options.write:
        PAGE.write_text(page.put(PAGE.read_text("utf-8"), "planted", table(BUGS)), "utf-8")
        return 0
    bugs = choose(options.only)
    problems = list(check(ROOT, bugs)) if options.check or not options.list else []
    if options.list:
        for bug in bugs:
            print(f"{bug.name:<24} {bug.file}: {bug.says}")
    for problem in problems:
        progress(problem)
    if options.list or problems:
        return 1 if problems else 0
    columns = options.column or list(COLUMNS)
    return 1 if campaign(bugs, options.jobs, columns, options.all) > 0 else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Failure as failure:
        progress(f"plant_bugs.py: {failure}")
        sys.exit(2)
    except KeyboardInterrupt:
        progress("plant_bugs.py: interrupted; the next run starts from a clean copy")
        sys.exit(130)
