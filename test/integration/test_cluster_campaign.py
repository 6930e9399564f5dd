"""The short form of campaign.py: each kind of fault once, by a fixed seed. Skipped without ONNX
Runtime."""

import unittest

import campaign
from operated import LIBRARY


@unittest.skipUnless(LIBRARY.exists(), "there is no ONNX Runtime; see tools/fetch.sh")
class Campaigns(unittest.TestCase):
    def test_no_answer_is_wrong_and_none_is_lost_but_with_its_host(self):
        self.assertEqual(campaign.main(["--events", "5", "--seed", "1"]), 0)


if __name__ == "__main__":
    unittest.main()
