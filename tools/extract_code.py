#!/usr/bin/env python3
"""Print one code block of a document, so that a test can compile it.

usage: extract_code.py FILE.md NAME [LINES_MAX]

A block is found by its opening comment, whose first words are `NAME - `. Exits 1 if no block
or more than one has that name, or if it has more than LINES_MAX lines.
"""

import re
import sys

import usage

FENCE = re.compile(r"^```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks_named(text, name):
    opening = re.compile(rf"/\*\s*(?:\*\s*)?{re.escape(name)} - ")
    return [block for block in FENCE.findall(text) if opening.match(block)]


def main():
    arguments = usage.words(__doc__, 2, 3)
    path, name = arguments[:2]
    with open(path, encoding="utf-8") as file:
        blocks = blocks_named(file.read(), name)
    if len(blocks) != 1:
        sys.exit(f"{path}: {len(blocks)} blocks are named {name}; there must be one")
    count = blocks[0].count("\n")
    if len(arguments) == 3 and count > int(arguments[2]):
        sys.exit(f"{path}: {name} has {count} lines, the limit is {arguments[2]}")
    sys.stdout.write(blocks[0])


if __name__ == "__main__":
    main()
