#!/usr/bin/env python3
"""NOTICE names everything of others that is fetched, linked or installed."""

import pathlib
import re
import sys
import unittest

sys.path.insert(0, "tools")
import fetch_models  # noqa: E402

NOTICE = pathlib.Path("NOTICE").read_text(encoding="utf-8")

# What a Debian package for building is called in NOTICE.
NAMES = {
    "libuv1-dev": "libuv",
    "libyaml-dev": "libyaml",
    "libturbojpeg0-dev": "libjpeg-turbo",
    "libspng-dev": "libspng",
    "libsndfile1-dev": "libsndfile",
    "libsamplerate0-dev": "libsamplerate",
    "libjansson-dev": "jansson",
    "libssl-dev": "OpenSSL",
    "libcmocka-dev": "cmocka",
    "libclang-rt-14-dev": None,  # Of tests with sanitizers alone.
}


def entry(name):
    """The lines about @name, as one."""
    found = re.search(rf"(?m)^  {re.escape(name)} +(.*(?:\n {{20,}}.*)*)", NOTICE)
    return None if found is None else re.sub(r"\s+", " ", found[1])


class Notice(unittest.TestCase):
    def test_packages_of_models_are_named_with_their_licences(self):
        for package in [*fetch_models.PACKAGES, fetch_models.NODE]:
            name = re.split(r"==|(?<!^)@", package.name)[0]
            text = entry(name)
            self.assertIsNotNone(text, name)
            self.assertIn(package.licence.split(",")[0].split(";")[0], text)
            for model in package.files.values():
                self.assertIn(model, text)

    def test_libraries_are_named(self):
        setup = pathlib.Path("tools/setup.sh").read_text(encoding="utf-8")
        packages = re.findall(r"(?m)^(lib\S+-dev) ", setup)
        self.assertGreater(len(packages), 5)
        for package in packages:
            name = NAMES[package]
            self.assertTrue(name is None or entry(name), package)

    def test_what_is_fetched_is_named_at_its_version(self):
        fetch = pathlib.Path("tools/fetch.sh").read_text(encoding="utf-8")
        [version] = set(re.findall(r"provide onnxruntime==(\S+) ", fetch))
        self.assertIn("MIT", entry(f"ONNX Runtime {version}"))

    def test_it_is_installed_with_what_it_covers(self):
        cmake = pathlib.Path("CMakeLists.txt").read_text(encoding="utf-8")
        installed = "".join(re.findall(r"(?s)install\(.*?\)\n", cmake))
        for name in ("NOTICE", "LICENSE.onnxruntime", "ThirdPartyNotices.txt"):
            self.assertIn(name, installed)
            self.assertIn(name, NOTICE + "NOTICE")


if __name__ == "__main__":
    unittest.main()
