"""The short form of campaign.py: each kind of fault once, by a fixed seed. Skipped without ONNX
Runtime."""

import unittest

import campaign
from operated import LIBRARY


@unittest.skipUnless(LIBRARY.exists(), "there is no ONNX Runtime; see tools/fetch.sh")
class Campaigns(unittest.TestCase):
    def test_every_request_gets_its_answer(self):
        self.assertEqual(campaign.main(["--events", "15", "--longest", "1", "--seed", "1"]), 0)


if __name__ == "__main__":
    unittest.main()
