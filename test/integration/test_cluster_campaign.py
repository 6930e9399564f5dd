"""The short form of campaign.py: most kinds of faults once, by a fixed seed; splits and a directory
that forgets have tests of their own. Skipped without ONNX Runtime."""

import unittest

import campaign
from operated import LIBRARY


@unittest.skipUnless(LIBRARY.exists(), "there is no ONNX Runtime; see tools/fetch.sh")
class Campaigns(unittest.TestCase):
    def test_every_request_gets_its_answer(self):
        kinds = ("kill,stop,drain,no_directory,cut,loss,delay,clock,compact,full_disk,kill_two,"
                 "version,function,roll")  # fmt: skip
        given = ["--events", "14", "--longest", "1", "--seed", "1", "--only", kinds]
        self.assertEqual(campaign.main(given), 0)


if __name__ == "__main__":
    unittest.main()
