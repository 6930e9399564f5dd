"""What scripts answer to `--help`, and to words that they do not expect.

A script says in its docstring how it is used, in a line that begins with `usage: `. It asks for its
words before it imports what not every machine has, so that `--help` works anywhere.
"""

import argparse
import os
import re
import sys

ANY = 1000000


def _line(document):
    """How the script is used, in short."""
    return re.search(r"^usage: (.*)$", document, re.MULTILINE).group(1)


def fail(document, what):
    """End the program: it was used otherwise than @document says."""
    name = os.path.basename(sys.argv[0])
    print(f"{name}: {what}; usage: {_line(document)}", file=sys.stderr)
    sys.exit(2)


def words(document, least=0, most=None, choices=None, takes_options=False):
    """
    The words behind the name of the script: at least @least and at most @most, which is @least
    unless it is given; the first is one of @choices, if there are any. --help prints @document and
    ends the program.
    """
    most = least if most is None else most
    given = sys.argv[1:]
    if given[:1] in (["-h"], ["--help"]):
        print(document.strip())
        sys.exit(0)
    for word in given[: 1 if takes_options else None]:
        if word.startswith("-"):
            fail(document, f"there is no option {word}")
    if len(given) < least:
        fail(document, f"{len(given)} words are too few")
    if len(given) > most:
        fail(document, f"'{given[most]}' is one word too many")
    if choices and given and given[0] not in choices:
        fail(document, f"there is no '{given[0]}'")
    return given


def parser(document):
    """A parser of options. --help prints @document, and the options below it."""
    return argparse.ArgumentParser(
        usage=_line(document),
        description=re.sub(r"^usage: .*\n+", "", document, flags=re.MULTILINE),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
