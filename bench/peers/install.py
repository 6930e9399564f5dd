"""Environments for the peers: one virtual environment each, at the versions of versions.txt."""

import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TIME_MAX_S = 900
TRITON = "2.51.0"  # The server inside the package of versions.txt.


class Missing(Exception):
    """Why a peer cannot be measured, in one line."""


def read_versions(text):
    """The packages of each peer."""
    lines = [line.split() for line in text.splitlines() if not line.startswith("#")]
    return {words[0]: words[1:] for words in lines if words}


VERSIONS = read_versions((HERE / "versions.txt").read_text(encoding="ascii"))


def version(peer):
    """Of the package that a peer is called by, the first of its line."""
    return VERSIONS[peer][0].partition("==")[2]


def python(folder, peer):
    return folder / peer / "bin/python"


def site_packages(folder, peer):
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return folder / peer / "lib" / name / "site-packages"


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no reason given"


def run(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_MAX_S)
    except subprocess.TimeoutExpired as error:
        raise Missing(f"installing took more than {TIME_MAX_S} s") from error
    if done.returncode != 0:
        raise Missing(last_line(done.stderr))


def install(folder, peer):
    """Install @peer under @folder, unless it is there; the versions are noted when all is done."""
    note = folder / peer / "installed.txt"
    wanted = " ".join(VERSIONS[peer])
    if note.exists() and note.read_text(encoding="ascii") == wanted:
        return
    print(f"install: {peer}", file=sys.stderr, flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    run([sys.executable, "-m", "venv", "--clear", folder / peer])
    pip = [python(folder, peer), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([*pip, *VERSIONS[peer]])
    note.write_text(wanted, encoding="ascii")
