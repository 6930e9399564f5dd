"""The short form of campaign.py: most kinds of faults once, by a fixed seed; splits and a directory
that forgets have tests of their own. Skipped without ONNX Runtime."""

import contextlib
import io
import pathlib
import tempfile
import unittest

import campaign
from operated import LIBRARY


@unittest.skipUnless(LIBRARY.exists(), "there is no ONNX Runtime; see tools/fetch.sh")
class Campaigns(unittest.TestCase):
    def test_every_request_gets_its_answer(self):
        kinds = ("kill,stop,drain,no_directory,cut,loss,delay,clock,compact,full_disk,kill_two,"
                 "version,function,roll")  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            logs = pathlib.Path(folder) / "not/there"
            given = ["--events", "14", "--longest", "1", "--seed", "1", "--only", kinds,
                     "--logs", str(logs)]  # fmt: skip
            self.assertEqual(campaign.main(given), 0)
            self.assertEqual(len(list(logs.glob("h*.log"))), 3)

    def test_an_event_that_does_not_exist_is_refused(self):
        with contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit):
            campaign.main(["--only", "kill,restart"])
        self.assertIn("no event is called restart", said.getvalue())


if __name__ == "__main__":
    unittest.main()
