#!/usr/bin/env python3
"""The workflows that ship with Weft, on real models: every sample, wrong inputs, and ends.

Covers: src/service/rehearsal.c, src/service/samples.c, src/cli/samples_report.c

Skipped where the models or ONNX Runtime were not fetched. How right answers are is computed here
once more, beside src/service/edit_distance.c.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
import urllib.request
import zlib

sys.path.insert(0, "tools")
import batchable  # noqa: E402

WEFT = os.environ.get("WEFT", "build/weft")
ROOT = pathlib.Path.cwd()
BUILD = pathlib.Path(WEFT).resolve().parent.parent
LIBRARY = pathlib.Path(
    os.environ.get("WEFT_ONNXRUNTIME", ROOT / "build/deps/onnxruntime/libonnxruntime.so")
)
HAS_MODELS = (ROOT / "build/models/.fetched").exists() and LIBRARY.exists()
HAS_RECORDINGS = pathlib.Path("/usr/share/pocketsphinx/test/data").exists()
TIMEOUT_S = 240
OCR_TASKS = 8
TAKES = {"ocr": "image", "picture": "image", "speech": "audio"}
WEIGHTS = (  # Where an ONNX file has them.
    (batchable.MODEL_GRAPH, batchable.GRAPH_INITIALIZER),
    (
        batchable.MODEL_GRAPH,
        batchable.GRAPH_NODE,
        batchable.NODE_ATTRIBUTE,
        batchable.ATTRIBUTE_TENSOR,
    ),
)
VALUES = (4, batchable.TENSOR_RAW)  # Floats, or bytes.
WEIGHTS_MIN = 1000  # Bytes: what is smaller may be a shape.


def setUpModule():
    if not HAS_MODELS:
        raise unittest.SkipTest("no models, or no ONNX Runtime; tools/setup.sh fetches them")
    if not HAS_RECORDINGS:
        raise unittest.SkipTest("no recordings; tools/setup.sh installs them")
    global WORK, DEMO, ENVIRONMENT
    WORK = pathlib.Path(tempfile.mkdtemp())
    unittest.addModuleCleanup(shutil.rmtree, WORK)
    DEMO = WORK / "demo"
    ENVIRONMENT = dict(os.environ, WEFT_ONNXRUNTIME=str(LIBRARY), WEFT_CACHE=str(WORK / "cache"))
    subprocess.run(
        ["python3", "-B", "tools/demo_repository.py", BUILD, DEMO], check=True, timeout=60
    )


def start(*options, folder=None, level="warn"):
    return subprocess.Popen(
        [WEFT, "serve", folder or DEMO, "--plain", "--metrics", "none", "--log-level", level,
         "--no-admission", *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT,
    )  # fmt: skip


def serve(*options, folder=None, level="warn"):
    """A run to its end: (exit code, stdout, stderr)."""
    process = start(*options, folder=folder, level=level)
    try:
        out, err = process.communicate(timeout=TIMEOUT_S)
    finally:
        process.kill()
    return process.returncode, out, err


def samples(workflow):
    folder = DEMO / "inputs" / workflow
    return sorted(path for path in folder.iterdir() if path.suffix not in (".txt", ".yaml"))


def words(text):
    return re.findall(r"[a-z0-9]+", text.lower())


def edits(got, expected):
    row = list(range(len(expected) + 1))
    for i, left in enumerate(got, 1):
        row, above = [i], row
        for k, right in enumerate(expected, 1):
            row.append(min(row[-1] + 1, above[k] + 1, above[k - 1] + (left != right)))
    return row[-1]


def error_rates(answers):
    """(letters wrong, words wrong) as shares, of {path: text}."""
    wrong, length = [0, 0], [0, 0]
    for path, got in answers.items():
        expected = path.with_suffix(".txt").read_text()
        for i, split in enumerate((lambda text: "".join(words(text)), words)):
            wrong[i] += edits(split(got), split(expected))
            length[i] += len(split(expected))
    return wrong[0] / length[0], wrong[1] / length[1]


def one_pixel():
    def chunk(name, data):
        body = name + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(b"\0\xff\xff\xff"))
        + chunk(b"IEND", b"")
    )


class Answered(unittest.TestCase):
    """One server, for clients: the first to run, so models are measured for it."""

    @classmethod
    def setUpClass(cls):
        cls.process = start("--http", "127.0.0.1:0")
        cls.url = cls.process.stdout.readline().split()[-1]
        [path] = (DEMO / "profiles").iterdir()
        cls.profile = json.loads(path.read_text(encoding="utf-8"))  # Later, it has followed.

    @classmethod
    def tearDownClass(cls):
        cls.process.send_signal(signal.SIGTERM)
        cls.out, cls.err = cls.process.communicate(timeout=TIMEOUT_S)
        assert cls.process.returncode == 0, cls.out
        assert cls.err == "", cls.err

    def infer(self, workflow, path):
        return subprocess.run(
            [WEFT, "infer", workflow, f"{TAKES[workflow]}=@{path}", "--url", self.url, "--json"],
            capture_output=True, text=True, timeout=TIMEOUT_S,
        )  # fmt: skip

    def outputs(self, workflow, path):
        done = self.infer(workflow, path)
        self.assertEqual((done.returncode, done.stderr), (0, ""), path)
        return {one["name"]: one["data"] for one in json.loads(done.stdout)["outputs"]}

    def executions(self):
        with urllib.request.urlopen(f"{self.url}/v2/models/ocr/stats", timeout=30) as answer:
            [stats] = json.load(answer)["model_stats"]
        return stats["inference_stats"]["success"]["count"], stats["execution_count"]

    def test_models_are_known_by_their_samples(self):
        models = self.profile["models"]
        points = {
            name: [point["items"] for one in model["devices"].values() for point in one["points"]]
            for name, model in models.items()
        }
        texts = [path.with_suffix(".txt").read_text() for path in samples("ocr")]
        lines = {len(text.splitlines()) for text in texts}
        self.assertTrue(set(points["ppocr-rec"]) <= lines, points["ppocr-rec"])
        for name in ("ppocr-det", "moonshine-encoder", "document.crop", "speech.transcribe"):
            self.assertEqual(points[name], [1], name)
        self.assertGreater(models["moonshine-decoder"]["resident"], 10 << 20)

    def test_pages_are_read(self):
        answers = {path: self.outputs("ocr", path) for path in samples("ocr")}
        self.assertEqual(len(answers), 7)
        letter = DEMO / "inputs/ocr/letter.png"
        expected = letter.with_suffix(".txt").read_text().splitlines()
        self.assertEqual(answers[letter]["lines"], expected)
        self.assertEqual(answers[letter]["text"], ["\n".join(expected)])
        for path, answer in answers.items():
            count = len(path.with_suffix(".txt").read_text().splitlines())
            self.assertEqual(len(answer["lines"]), count, path)
            self.assertTrue(all(score > 0.8 for score in answer["scores"]), path)
        letters, of_words = error_rates({path: one["text"][0] for path, one in answers.items()})
        print(f"ocr: {100 * letters:.2f} % of letters, {100 * of_words:.2f} % of words wrong")
        self.assertLess(letters, 0.01)
        self.assertLess(of_words, 0.25)  # Spaces: docs/studies/demo.md.

    def test_recordings_are_written_down(self):
        answers = {path: self.outputs("speech", path)["text"][0] for path in samples("speech")}
        self.assertEqual(len(answers), 10)
        self.assertEqual(answers[DEMO / "inputs/speech/001.wav"], "Ten of clubs.")
        letters, of_words = error_rates(answers)
        print(f"speech: {100 * letters:.2f} % of letters, {100 * of_words:.2f} % of words wrong")
        self.assertLess(letters, 0.04)
        self.assertLess(of_words, 0.07)

    def test_pictures_are_described(self):
        turned = {"letter-90.png": 90, "invoice-180.png": 180, "letter-270.png": 270}
        turned["sign.png"] = 180
        answers = {path.name: self.outputs("picture", path) for path in samples("picture")}
        self.assertEqual(len(answers), 12)
        dusk = answers.pop("dusk.jpg")
        self.assertEqual((dusk["words"], dusk["labels"]), ([0], []))
        for name, answer in answers.items():
            with self.subTest(name=name):
                self.assertEqual(answer["degrees"], [turned.get(name, 0)])
                self.assertLess(answer["unsafe"][0], 0.2)
                self.assertTrue(0.03 < answer["words"][0] < 0.2)
        self.check_report(answers["report.png"])

    def check_report(self, answer):
        """Each part is where tools/make_pages.py put it: left, top, right, bottom in pixels."""
        drawn = {"title": (230, 65, 530, 95), "table": (120, 386, 640, 522),
                 "figure": (180, 562, 580, 752)}  # fmt: skip
        parts = answer["parts"]
        found = {label: parts[5 * i : 5 * i + 4] for i, label in enumerate(answer["labels"])}
        for label, box in drawn.items():
            for got, expected in zip(found[label], box):
                self.assertAlmostEqual(got, expected, delta=30, msg=label)

    def test_pages_share_batches(self):
        before = self.executions()
        page = DEMO / "inputs/ocr/notice.jpg"
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            texts = list(pool.map(lambda path: self.outputs("ocr", path)["text"], [page] * 8))
        after = self.executions()
        self.assertEqual(texts, [texts[0]] * 8)
        requests, executions = after[0] - before[0], after[1] - before[1]
        print(f"ocr: {executions} runs for the {requests * OCR_TASKS} tasks of {requests} requests")
        self.assertEqual(requests, 8)
        self.assertLess(executions, requests * OCR_TASKS)

    def test_what_is_wrong_is_said(self):
        photo = (DEMO / "inputs/ocr/photo.jpg").read_bytes()
        letter = (DEMO / "inputs/ocr/letter.png").read_bytes()
        sound = (DEMO / "inputs/speech/001.wav").read_bytes()
        cases = [
            ("ocr", b"no picture\n", "the picture is neither JPEG nor PNG"),
            ("ocr", b"", "the picture is neither JPEG nor PNG"),
            ("picture", b"no picture\n", "the picture is neither JPEG nor PNG"),
            ("picture", photo[: len(photo) // 3], "the JPEG file is broken, or not all there"),
            ("ocr", photo[:200], "the JPEG file is broken"),
            ("ocr", letter[: len(letter) // 2], "the PNG file is broken"),
            ("speech", b"no sound\n", "the file is not a sound that can be read"),
            ("speech", b"", "the file is not a sound that can be read"),
            ("speech", sound[:44], "there is no sound in the file"),
        ]
        path = WORK / "wrong"
        for workflow, data, cause in cases:
            with self.subTest(workflow=workflow, cause=cause, bytes=len(data)):
                path.write_bytes(data)
                done = self.infer(workflow, path)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn(cause, done.stderr)
                self.assertIn("task 'decode'", done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)

    def test_a_single_pixel_is_a_page_without_text(self):
        path = WORK / "pixel.png"
        path.write_bytes(one_pixel())
        self.assertEqual(self.outputs("ocr", path)["text"], [""])
        self.assertEqual(self.outputs("picture", path)["degrees"], [0])

    def test_a_second_server_says_that_the_port_is_taken(self):
        address = self.url.split("//")[1]
        code, out, err = serve("--http", address, "--rate", "1/s", "--seconds", "1")
        self.assertEqual((code, out), (1, ""))
        self.assertEqual(
            err,
            f"weft serve: cannot listen on {address}: address already in use; "
            "'--http' chooses another\n",
        )


class Played(unittest.TestCase):
    """Samples as load."""

    def only(self, *paths):
        """Let these be the only samples, for one test."""
        inputs, aside = DEMO / "inputs", WORK / "aside"
        inputs.rename(aside)
        inputs.mkdir()

        def back():
            shutil.rmtree(inputs)
            aside.rename(inputs)

        self.addCleanup(back)
        for name in paths:
            (inputs / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(aside / name, inputs / name)

    def test_right_answers_end_well(self):
        self.only("speech/001.wav", "speech/001.txt", "picture/letter.png", "picture/letter.yaml")
        code, out, err = serve("--http", "127.0.0.1:0", "--rate", "2/s", "--seconds", "5")
        self.assertEqual((code, err), (0, ""), out)
        self.assertRegex(out, r"served \d+ requests in .*, 0 refused, 0 failed\nlatency p50 ")
        self.assertRegex(out, r"\nSLO met: .* of what was admitted .*, .* of all \(\d+ of \d+\)\n")
        pictures = re.findall(r"\npicture +1 +(\d+) of (\d+) +0 +0 +0 +-\n", out)
        sounds = re.findall(r"\nspeech +1 +(\d+) of (\d+) +0 +0 +0 +0\.00\n", out)
        self.assertIn("\nA text is right if at most a quarter of its letters is wrong.\n", out)
        for [(compared, right)] in (pictures, sounds):
            self.assertEqual(compared, right)
            self.assertGreater(int(right), 0)

    def test_wrong_answers_do_not(self):
        self.only("speech/001.wav")
        (DEMO / "inputs/speech/001.txt").write_text("queen of hearts and of nothing else\n")
        code, out, _ = serve("--http", "127.0.0.1:0", "--rate", "2/s", "--seconds", "3")
        self.assertEqual(code, 1)
        self.assertRegex(out, r"\nspeech +1 +0 of [1-9]\d* +0 +0 +0 ")

    def expect_wrong(self, *workflows):
        """Not one answer of these is right, and the first is told of."""
        code, out, err = serve("--http", "127.0.0.1:0", "--rate", "4/s", "--seconds", "3")
        self.assertEqual((code, err), (1, ""), out)
        for workflow in workflows:
            self.assertRegex(out, rf"\n{workflow} +1 +0 of [1-9]\d* +0 +0 +0 ")
            self.assertRegex(out, rf"\n{workflow} wrong: \S+: ")

    def replace(self, name, data):
        """Other contents for a file of the repository, for one test."""
        path = DEMO / name
        before = path.read_bytes()
        path.write_bytes(data)
        self.addCleanup(path.write_bytes, before)

    ONE_OF_EACH = ("ocr/sign.png", "ocr/sign.txt", "speech/001.wav", "speech/001.txt",
                   "picture/letter-90.png", "picture/letter-90.yaml")  # fmt: skip

    def test_broken_models_are_found(self):
        def wear(tensor):
            fields = batchable.parse(tensor)
            for field in fields:
                number, wire, value = field
                if number in VALUES and wire == batchable.BYTES and len(value) > WEIGHTS_MIN:
                    field[2] = bytes(len(value))
            return batchable.build(fields)

        self.only(*self.ONE_OF_EACH)
        for model in ("ppocr-cls", "moonshine-encoder", "page-orientation"):
            name = f"{model}/1/model.onnx"
            data = (DEMO / name).read_bytes()
            for path in WEIGHTS:
                data = batchable.edit(data, path, wear)
            self.replace(name, data)
        self.expect_wrong("ocr", "speech", "picture")

    def test_broken_functions_are_found(self):
        self.only(*self.ONE_OF_EACH)
        for name in ("document.letters.txt", "speech.tokens.txt"):
            lines = (DEMO / "functions" / name).read_text(encoding="utf-8").splitlines()
            text = "".join(line + "\n" for line in reversed(lines))
            self.replace(f"functions/{name}", text.encode())
        source = WORK / "picture.c"
        right = (ROOT / "functions/picture.c").read_text(encoding="utf-8")
        wrong = right.replace("return best * 90;", "return (best + 1) % DEGREES * 90;")
        self.assertNotEqual(right, wrong)
        source.write_text(wrong, encoding="utf-8")
        others = [ROOT / f"functions/{name}.c" for name in
                  ("exif", "layout", "pixels", "pixels_decode", "texts")]  # fmt: skip
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-O1", "-D_POSIX_C_SOURCE=200809L", "-Iinclude",
             "-Ifunctions", source, *others, "-o", WORK / "picture.so", "-lturbojpeg", "-lspng",
             "-lm"],
            check=True, timeout=TIMEOUT_S,
        )  # fmt: skip
        self.replace("functions/picture.so", (WORK / "picture.so").read_bytes())
        self.expect_wrong("ocr", "speech", "picture")

    def test_samples_that_fail_are_failures(self):
        self.only("speech/001.wav")
        (DEMO / "inputs/speech/001.wav").write_bytes(b"no sound")
        code, out, _ = serve("--http", "127.0.0.1:0", "--rate", "2/s", "--seconds", "3")
        self.assertEqual(code, 1)
        self.assertRegex(out, r"\nspeech +1 +0 of 0 +0 +0 +[1-9]\d* +-\n")

    def test_an_interruption_lets_requests_end(self):
        self.only("speech/001.wav", "speech/001.txt")
        process = start("--http", "127.0.0.1:0", "--rate", "4/s")
        self.addCleanup(process.kill)
        for line in process.stdout:
            if re.search(r" [1-9]\d* running", line):
                break
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual((process.returncode, err), (0, ""), out)
        [(served, completed)] = re.findall(r"served (\d+) requests in .*: (\d+) completed", out)
        self.assertEqual(served, completed)

    def test_folders_of_samples_belong_to_workflows(self):
        self.only("speech/001.wav")
        (DEMO / "inputs/speech").rename(DEMO / "inputs/speach")
        code, _, err = serve("--rate", "1/s", "--seconds", "1")
        self.assertEqual(code, 2)
        self.assertIn("inputs/speach: no workflow has this name", err)

    def test_without_samples_models_are_measured_when_they_run(self):
        lone = WORK / "lone"
        (lone / "moonshine-encoder/1").mkdir(parents=True)
        (lone / "weft.yaml").write_text("weft: lone\n")
        name = "moonshine-encoder/1/model.onnx"
        shutil.copy(DEMO / name, lone / name)
        code, out, err = serve(
            "--http", "127.0.0.1:0", "--seconds", "1", folder=lone, level="info"
        )
        self.assertEqual(code, 0, out)
        self.assertIn('event="model is measured when it first runs" model=moonshine-encoder\n', err)


if __name__ == "__main__":
    unittest.main()
