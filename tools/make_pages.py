#!/usr/bin/env python3
"""Draw the pages in repositories/demo/inputs, and write down what is known about each.

usage: make_pages.py [FOLDER]

    FOLDER/ocr/NAME.png, .jpg          pages, with their text in NAME.txt
    FOLDER/picture/NAME.png, .jpg      pages on their side or upside down, a report with a table
                                       and a figure, and a picture without words
    FOLDER/picture/NAME.yaml           what is known about these, and about the pages for ocr

Needs the Debian packages python3-pil and fonts-dejavu-core. The pages are part of the tree; use
this to make them again, or others.
"""

import math
import pathlib

import usage

if __name__ == "__main__":
    WORDS = usage.words(__doc__, 0, 1)

from PIL import Image, ImageDraw, ImageFont  # noqa: E402

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

SIGN = "Mind the shuttle: 420 picks per minute"

# name, text, font, size, degrees against the clock, JPEG quality (0: PNG)
PAGES = (
    ("letter.png", LETTER, "DejaVuSerif.ttf", 32, 0, 0),
    ("invoice.png", INVOICE, "DejaVuSans.ttf", 32, 0, 0),
    ("notice.jpg", NOTICE, "DejaVuSans-Bold.ttf", 40, 0, 80),
    ("table.jpg", TABLE, "DejaVuSansMono.ttf", 36, 0, 70),
    ("tilted.png", LETTER, "DejaVuSans.ttf", 32, 4, 0),
    ("photo.jpg", INVOICE, "DejaVuSerif.ttf", 34, -7, 75),
    ("sign.png", SIGN, "DejaVuSans.ttf", 36, 180, 0),
)


# name, page, degrees clockwise
TURNED = (
    ("letter-90.png", "letter.png", 90),
    ("invoice-180.png", "invoice.png", 180),
    ("letter-270.png", "letter.png", 270),
)

REPORT_SIZE = (760, 1000)
REPORT_TITLE = "Humidity and broken yarn"
REPORT = (
    """Dry yarn breaks more often than damp yarn, and every break stops a loom for a minute.
In the winter of last year we held the air of the weaving room at three levels for two
weeks each, and counted the stops of forty looms. The looms, the yarn and the people at
work were the same in all six weeks, and so was the speed of four hundred picks a minute.""",
    """Table 1 has the stops of a shift. From the first level to the last they fall by more than
half, while the cost of water and of heat rises by a tenth. Figure 1 shows the same for
each week. We hold the room at sixty five percent since then, in winter and in summer.""",
)
REPORT_ROWS = (
    ("humidity", "looms", "stops", "water, EUR"),
    ("45 %", "40", "212", "3.10"),
    ("55 %", "40", "147", "3.25"),
    ("65 %", "40", "98", "3.41"),
)
REPORT_BARS = (212, 205, 150, 144, 101, 95)

# A detector of text marks the core of every line: of the box around its letters not less than
# the one, not more than the other.
CORE_MIN, CORE_MAX = 1 / 4, 2 / 3

# The safety of a page of text is known: it is safe. That of colours is not: this is what the
# model said when the picture was made, and shows that it still says the same.
SAFE_MAX = 0.2
DUSK_SIDE = 320
DUSK_RECORDED = (0.15, 0.35)


def face_of(font, size):
    return ImageFont.truetype(FONTS + font, size)


def area_of(box):
    return (box[2] - box[0]) * (box[3] - box[1])


def draw(text, font, size, degrees, dim):
    """(the page, how much of it is boxes of lines)"""
    lines = text.split("\n")
    face = face_of(font, size)
    width = 140 + max(int(face.getlength(line)) for line in lines)
    height = 120 + 2 * size * len(lines)
    page = Image.new("L", (width, height), 245 if dim else 255)
    pen = ImageDraw.Draw(page)
    for number, line in enumerate(lines):
        pen.text((70, 60 + 2 * size * number), line, font=face, fill=40 if dim else 0)
    page = page.rotate(degrees, expand=True, fillcolor=245 if dim else 255, resample=Image.BICUBIC)
    boxes = sum(area_of(face.getbbox(line)) for line in lines)
    return page, boxes / (page.width * page.height)


class Report:
    """A page with a title, two paragraphs, a table and a figure, from the top downwards."""

    def __init__(self):
        self.page = Image.new("L", REPORT_SIZE, 255)
        self.pen = ImageDraw.Draw(self.page)
        self.boxes = 0
        self.y = 60

    def put(self, x, y, text, face):
        self.pen.text((x, y), text, font=face, fill=0)
        self.boxes += area_of(face.getbbox(text))

    def centre(self, text, face, step):
        self.put((self.page.width - face.getlength(text)) / 2, self.y, text, face)
        self.y += step

    def paragraph(self, text):
        for line in text.split("\n"):
            self.put(60, self.y, line, face_of("DejaVuSerif.ttf", 15))
            self.y += 24
        self.y += 20

    def table(self, left, right, row):
        column = (right - left) / len(REPORT_ROWS[0])
        top = self.y
        for number, cells in enumerate(REPORT_ROWS):
            self.pen.line((left, self.y, right, self.y), fill=0, width=2 if number < 2 else 1)
            for i, cell in enumerate(cells):
                x = left + i * column + 14
                self.put(x, self.y + 8, cell, face_of("DejaVuSans.ttf", 14))
            self.y += row
        self.pen.line((left, self.y, right, self.y), fill=0, width=2)
        for i in range(len(REPORT_ROWS[0]) + 1):
            self.pen.line((left + i * column, top, left + i * column, self.y), fill=0)
        self.y += 40

    def figure(self, left, right, height):
        base = self.y + height
        self.pen.line((left, self.y, left, base), fill=0, width=2)
        self.pen.line((left, base, right, base), fill=0, width=2)
        for i, bar in enumerate(REPORT_BARS):
            x = left + 25 + i * 62
            self.pen.rectangle((x, base - bar * 0.8, x + 40, base - 1), fill=60 * (1 + i // 2))
        self.y = base + 16

    def draw(self):
        small = face_of("DejaVuSans.ttf", 14)
        self.centre(REPORT_TITLE, face_of("DejaVuSerif-Bold.ttf", 30), step=80)
        for text in REPORT:
            self.paragraph(text)
        self.y += 10
        self.centre("Table 1: stops of a shift, by humidity", small, step=30)
        self.table(120, 640, row=34)
        self.figure(180, 580, height=190)
        self.centre("Figure 1: stops of a shift in each week", small, step=0)
        return self.page, self.boxes / (self.page.width * self.page.height)


def dusk():
    """Light in the middle of warm colours: no word, no part, no way up."""
    page = Image.new("RGB", (DUSK_SIDE, DUSK_SIDE))
    half = DUSK_SIDE / 2
    for y in range(DUSK_SIDE):
        for x in range(DUSK_SIDE):
            far = math.hypot(x - half, y - half) / half
            page.putpixel((x, y), (int(225 - 30 * far), int(172 - 45 * far), int(145 - 50 * far)))
    return page


def save(page, path, quality=0):
    if quality:
        page.convert("RGB").save(path, quality=quality)
    else:
        page.quantize(16).save(path, optimize=True)


def expect(folder, name, boxes, **others):
    """What is known of picture @name, of which boxes of lines take the share @boxes."""
    lines = [f"{key}: {value}" for key, value in others.items()]
    lines.append(f"words: {{at_least: {boxes * CORE_MIN:.3f}, at_most: {boxes * CORE_MAX:.3f}}}")
    text = "".join(line + "\n" for line in lines)
    (folder / name).with_suffix(".yaml").write_text(text, encoding="utf-8")


def make_ocr(folder):
    """{name: (page, share of boxes)}"""
    pages = {}
    for name, text, font, size, degrees, quality in PAGES:
        pages[name] = draw(text, font, size, degrees, dim=quality > 0)
        save(pages[name][0], folder / name, quality)
        (folder / name).with_suffix(".txt").write_text(text + "\n", encoding="utf-8")
    return pages


def make_picture(folder, pages):
    safe = f"{{at_most: {SAFE_MAX}}}"
    for name, _, _, _, degrees, _ in PAGES:
        upright = -round(degrees / 90) * 90 % 360
        expect(folder, name, pages[name][1], degrees=upright, unsafe=safe)
    for name, page, degrees in TURNED:
        save(pages[page][0].rotate(-degrees, expand=True), folder / name)
        expect(folder, name, pages[page][1], degrees=degrees, unsafe=safe)
    report, boxes = Report().draw()
    save(report, folder / "report.png")
    labels = "{has: [title, text, table caption, table, figure]}"
    expect(folder, "report.png", boxes, degrees=0, unsafe=safe, labels=labels)
    save(dusk(), folder / "dusk.jpg", quality=80)
    recorded = f"{{at_least: {DUSK_RECORDED[0]}, at_most: {DUSK_RECORDED[1]}}}"
    expect(folder, "dusk.jpg", 0, unsafe=f"{recorded}    # Recorded, not known.")


def main():
    folder = pathlib.Path(*WORDS) if WORDS else ROOT / "repositories/demo/inputs"
    for name in ("ocr", "picture"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    make_picture(folder / "picture", make_ocr(folder / "ocr"))


if __name__ == "__main__":
    main()
