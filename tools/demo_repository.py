#!/usr/bin/env python3
"""Assemble the repository of the demo from the tree and from what was fetched and built.

usage: demo_repository.py BUILD FOLDER

BUILD is where Weft was built (its bin/functions is used), FOLDER becomes the repository. Files that
have not changed are left alone, so that profiles stay valid.
"""

import filecmp
import pathlib
import re
import shutil
import sys

import fetch_models
import usage

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEMO = ROOT / "repositories/demo"
MODELS = ROOT / "build/models"
RECORDINGS = pathlib.Path("/usr/share/pocketsphinx/test/data")  # Of the Debian package.
TRANSCRIPTS = ("librivox/transcription", "cards/cards.transcription")


def put(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists() or not filecmp.cmp(source, target, shallow=False):
        shutil.copyfile(source, target)


def write(target, text):
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        target.write_text(text, encoding="utf-8")


def put_recordings(folder):
    """Each line of a transcript: <s> what is said </s> (name of the recording)"""
    for name in TRANSCRIPTS:
        path = RECORDINGS / name
        if not path.exists():
            continue
        for line in path.read_text(encoding="utf-8").splitlines():
            match = re.fullmatch(r"<s>(.*)</s> *\((.*)\)", line.strip())
            sound = match and path.parent / (match[2] + ".wav")
            if sound and sound.exists():
                text = match[1].strip().replace("mister", "mr").replace("missus", "mrs")
                put(sound, folder / sound.name)
                write(folder / (match[2] + ".txt"), text + "\n")


def main():
    build, folder = map(pathlib.Path, usage.words(__doc__, 2))
    absent = [name for package in fetch_models.missing(MODELS) for name in package.files.values()]
    if absent:
        sys.exit(f"demo_repository: without {', '.join(absent)}; run tools/fetch_models.py")
    for source in sorted(DEMO.rglob("*")):
        if source.is_file():
            put(source, folder / source.relative_to(DEMO))
    for source in sorted(MODELS.glob("*/*/model.onnx")) + sorted(MODELS.glob("functions/*.txt")):
        put(source, folder / source.relative_to(MODELS))
    for source in sorted((build / "bin/functions").glob("*.so")):
        put(source, folder / "functions" / source.name)
    put_recordings(folder / "inputs/speech")
    for page in sorted((DEMO / "inputs/ocr").glob("*.*g")):
        put(page, folder / "inputs/picture" / page.name)


if __name__ == "__main__":
    main()
