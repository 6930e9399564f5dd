#!/usr/bin/env python3
"""Check that includes and links point only downwards. The tables below are the architecture.

usage: check_layers.py [ROOT]

Prints one line per violation, `path:line: what; use X instead`, and exits 1 if there is any.
An edge added to MAY_USE changes the architecture and needs a separate commit.
"""

import pathlib
import re
import sys

import usage

TO_WIRE = ["base", "model", "profile", "view", "queueing", "mixture", "configs", "policy", "wire"]
TO_TRACE = TO_WIRE + ["node", "trace"]

MAY_USE = {
    "base": [],
    "model": ["base"],
    "profile": ["base", "model"],
    "view": ["base", "model"],
    "queueing": ["base", "model"],
    "mixture": ["base", "model", "profile", "queueing"],
    "configs": ["base", "model", "profile"],
    "policy": ["base", "model", "profile", "view", "queueing", "mixture", "configs"],
    "wire": ["base", "model", "view"],
    "node": TO_WIRE,
    "trace": ["base", "model", "profile", "node"],
    "document": ["base", "model", "profile", "view", "mixture", "policy"],
    "sim": TO_TRACE,
    "console": ["base", "model"],
    "lab": TO_TRACE + ["document", "sim", "console"],
    "fabric": ["base", "model", "view", "wire"],
    "engine": ["base", "model", "profile"],
    "function": ["base", "engine"],
    "onnx": ["base", "model", "engine", "function"],
    "cuda": ["base", "model", "profile", "engine"],
    "process": ["base", "model", "engine", "function", "onnx", "cuda"],
    "runtime": TO_TRACE + ["fabric", "engine"],
    "protocol": ["base", "model", "engine"],
    "server": TO_TRACE + ["fabric", "engine", "runtime", "protocol"],
    "client": ["base", "model", "document", "engine", "runtime", "protocol"],
    "directory": ["base", "model", "fabric", "engine", "runtime", "client"],
    "service": TO_TRACE
    + [
        "document", "console", "fabric", "engine", "function", "onnx", "cuda", "process", "runtime",
        "protocol", "server", "client", "directory",
    ],
    "cli": [
        "base", "model", "mixture", "policy", "trace", "document", "console", "lab", "client",
        "directory", "service",
    ],
}  # fmt: skip

# The core owns no thread, socket, file descriptor or clock: ISO C and a little memory.
CORE = set(TO_TRACE) | {"sim"}
CORE_HEADERS = {
    "assert.h", "complex.h", "ctype.h", "errno.h", "fenv.h", "float.h", "inttypes.h",
    "iso646.h", "limits.h", "locale.h", "math.h", "setjmp.h", "stdalign.h", "stdarg.h",
    "stdatomic.h", "stdbool.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h",
    "stdnoreturn.h", "string.h", "strings.h", "sys/mman.h", "sys/types.h", "tgmath.h",
    "time.h", "uchar.h", "unistd.h", "wchar.h", "wctype.h",
}  # fmt: skip

# Libraries at the edges, and the layers that may see them.
LIBRARY_USERS = {
    "yaml.h": ["document"],
    "jansson.h": ["document", "server", "client", "directory", "cli"],
    "uv.h": ["fabric", "onnx", "process", "runtime", "server", "client", "directory"],
    "dlfcn.h": ["function", "onnx", "cuda", "fabric"],
    "openssl/ssl.h": ["fabric", "server", "client"],
}

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
LAYER_CALL = re.compile(r"^\s*weft_layer\s*\(([^)]*)\)", re.MULTILINE)
KEYWORDS = ("USES", "SOURCES", "LIBRARIES")


def quoted_include(layer, name):
    """A header of the tree: its folder must be this layer or one that it may use."""
    used = name.split("/")[0]
    if "/" not in name:
        return f'"{name}" names no layer; use "{layer}/{name}" instead'
    if used in (layer, "weft") or used in MAY_USE[layer]:
        return None
    if used not in MAY_USE:
        return f'"{name}" is of no layer; use a layer named in tools/check_layers.py instead'
    allowed = ", ".join(MAY_USE[layer]) or "nothing else"
    return f'{layer} must not include "{name}"; use {allowed} instead'


def system_include(layer, name):
    """A header of the system or of a library."""
    if name.startswith("weft/"):
        return None
    if layer in CORE and name not in CORE_HEADERS:
        return f"{layer} must not include <{name}>; use ISO C, or move the code to a host instead"
    users = LIBRARY_USERS.get(name)
    if users is not None and layer not in users:
        return f"{layer} must not include <{name}>; use it through {', '.join(users)} instead"
    return None


def public_include(quoted, system):
    """A public header sees only ISO C and other public headers."""
    if quoted is not None:
        return f'a public header must not include "{quoted}"; use <weft/...> instead'
    if system not in CORE_HEADERS and not system.startswith("weft/"):
        return f"a public header must not include <{system}>; use ISO C headers instead"
    return None


def check_file(path, name, judge):
    """Errors of one file, with @judge(quoted, system) deciding on each include."""
    errors = []
    text = path.read_text(encoding="utf-8", errors="replace")
    for number, line in enumerate(text.splitlines(), start=1):
        match = INCLUDE.match(line)
        what = judge(*match.groups()) if match else None
        if what:
            errors.append(f"{name}:{number}: {what}")
    return errors


def check_links(path, name, layer):
    """The USES of a layer's CMakeLists.txt keep to the same table."""
    errors = []
    text = re.sub(r"#.*", "", path.read_text(encoding="utf-8"))
    for match in LAYER_CALL.finditer(text):
        line = text.count("\n", 0, match.start(1)) + 1
        declared, *words = match.group(1).split()
        if declared != layer:
            errors.append(f"{name}:{line}: weft_layer({declared}); use weft_layer({layer}) instead")
        keyword = None
        for word in words:
            if word in KEYWORDS:
                keyword = word
            elif keyword == "USES" and word not in MAY_USE[layer]:
                allowed = ", ".join(MAY_USE[layer]) or "nothing"
                errors.append(f"{name}:{line}: {layer} links to {word}; use {allowed} instead")
    return errors


def check_layer(root, folder):
    """Errors of one folder of src."""
    layer = folder.name
    if layer not in MAY_USE:
        return [f"src/{layer}:1: no such layer; use a layer named in tools/check_layers.py instead"]

    def judge(quoted, system):
        if quoted is not None:
            return quoted_include(layer, quoted)
        return system_include(layer, system)

    errors = []
    for path in sorted(folder.rglob("*.[ch]")):
        errors += check_file(path, path.relative_to(root), judge)
    lists = folder / "CMakeLists.txt"
    if lists.exists():
        errors += check_links(lists, lists.relative_to(root), layer)
    return errors


def check(root):
    """All errors of the tree at @root."""
    errors = []
    for folder in sorted(path for path in (root / "src").glob("*") if path.is_dir()):
        errors += check_layer(root, folder)
    for path in sorted((root / "include").rglob("*.h")):
        errors += check_file(path, path.relative_to(root), public_include)
    return errors


def main():
    errors = check(pathlib.Path(*usage.words(__doc__, 0, 1)))
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
