"""Tables in pages that scripts write: Markdown between two markers.

    <!-- table: NAME -->
    | ... |
    <!-- end -->
"""

BEGIN = "<!-- table: {} -->\n"
END = "<!-- end -->"


class Missing(Exception):
    """A page has no place for a table."""


def line(cells):
    return "| " + " | ".join(cells) + " |\n"


def head(cells):
    return line(cells) + "|---" * len(cells) + "|\n"


def _split(page, name):
    before, found, rest = page.partition(BEGIN.format(name))
    table, closed, after = rest.partition(END)
    if not found or not closed:
        raise Missing(f"the page has no place for the table '{name}'")
    return before, table, after


def get(page, name):
    """The text of table @name in @page."""
    return _split(page, name)[1]


def put(page, name, text):
    """@page with @text as its table @name."""
    before, _, after = _split(page, name)
    return before + BEGIN.format(name) + text + END + after
