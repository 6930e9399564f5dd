#!/usr/bin/env python3
"""Draw the pages in repositories/demo/inputs/ocr, each with its text beside it.

usage: make_pages.py [FOLDER]

Needs the Debian packages python3-pil and fonts-dejavu-core. The pages are part of the tree; this
is how to make them again, or others.
"""

import pathlib
import sys

from PIL import Image, ImageDraw, ImageFont

ROOT = pathlib.Path(__file__).resolve().parent.parent
FONTS = "/usr/share/fonts/truetype/dejavu/"

LETTER = """Dear Mrs. Harper,
thank you for your letter of 12 March.
We have looked at the loom and found
that the shed opens too late by half a turn.
The part was sent to you this morning.
Yours sincerely, J. Weaver"""

INVOICE = """INVOICE 2041
Customer: North Mill Ltd.
12 bobbins, wound: 48.00 EUR
3 shuttles: 1,186.56 EUR
Total amount: 1,234.56 EUR
Contact: ops@example.org"""

NOTICE = """Please keep the doors closed.
The humidity in this room is held at
65 percent, winter and summer.
Dry yarn breaks."""

TABLE = """Machine 17
Speed 420 picks per minute
Stops today 9
Last service 03/11/2026"""

# name, text, font, size, degrees, JPEG quality (0: PNG)
PAGES = (
    ("letter.png", LETTER, "DejaVuSerif.ttf", 32, 0, 0),
    ("invoice.png", INVOICE, "DejaVuSans.ttf", 32, 0, 0),
    ("notice.jpg", NOTICE, "DejaVuSans-Bold.ttf", 40, 0, 80),
    ("table.jpg", TABLE, "DejaVuSansMono.ttf", 36, 0, 70),
    ("tilted.png", LETTER, "DejaVuSans.ttf", 32, 4, 0),
    ("photo.jpg", INVOICE, "DejaVuSerif.ttf", 34, -7, 75),
)


def draw(text, font, size, degrees, dim):
    lines = text.split("\n")
    face = ImageFont.truetype(FONTS + font, size)
    width = 140 + max(int(face.getlength(line)) for line in lines)
    height = 120 + 2 * size * len(lines)
    page = Image.new("L", (width, height), 245 if dim else 255)
    pen = ImageDraw.Draw(page)
    for number, line in enumerate(lines):
        pen.text((70, 60 + 2 * size * number), line, font=face, fill=40 if dim else 0)
    return page.rotate(degrees, expand=True, fillcolor=245 if dim else 255, resample=Image.BICUBIC)


def main():
    if len(sys.argv) > 2 or sys.argv[1:2] in (["-h"], ["--help"]):
        print(__doc__.strip())
        sys.exit(2 if len(sys.argv) > 2 else 0)
    given = sys.argv[1] if len(sys.argv) > 1 else ROOT / "repositories/demo/inputs/ocr"
    folder = pathlib.Path(given)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text, font, size, degrees, quality in PAGES:
        page = draw(text, font, size, degrees, dim=quality > 0)
        path = folder / name
        if quality:
            page.convert("RGB").save(path, quality=quality)
        else:
            page.quantize(16).save(path, optimize=True)
        path.with_suffix(".txt").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
