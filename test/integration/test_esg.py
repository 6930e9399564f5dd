"""The scenarios of ESG: every policy that binds keeps the invariants, and esg its deadlines."""

import json
import os
import subprocess
import unittest

WEFT = os.environ.get("WEFT", "build/weft")


def simulate(level, policy, *options):
    """The report of a short run in which every invariant is looked at after every event."""
    done = subprocess.run(
        [WEFT, "sim", f"scenarios/esg/{level}.yaml", "--policy", policy, "--json", *options],
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise AssertionError(f"{policy}: {done.stderr}")
    return json.loads(done.stdout)


class EsgTest(unittest.TestCase):
    def test_every_policy_that_binds_keeps_the_invariants(self):
        own = "place=compass,order=esg,dispatch=esg,cache=compass"
        for policy in ("esg", "infless", "fast-gshare", "orion", "aquatope:rounds=2", own):
            report = simulate("moderate", policy, "--jobs", "120", "--check")
            self.assertEqual(report["completed"], 120, policy)

    def test_esg_meets_deadlines_for_less(self):
        ours = simulate("moderate", "esg", "--jobs", "800")
        others = simulate("moderate", "infless", "--jobs", "800")
        self.assertGreater(ours["slo_hit_rate"], 0.97)
        self.assertGreater(ours["slo_hit_rate"], others["slo_hit_rate"])
        self.assertLess(ours["cost_per_job"], 0.8 * others["cost_per_job"])

    def test_what_esg_does_can_be_switched_off(self):
        whole = simulate("moderate", "esg", "--jobs", "400")
        for option in ("share=0", "batch=0", "wait=0"):
            part = simulate("moderate", f"esg:{option}", "--jobs", "400")
            self.assertGreater(part["cost_per_job"], 1.05 * whole["cost_per_job"], option)

    def test_a_wrong_profile_costs_deadlines(self):
        right = simulate("strict", "esg", "--jobs", "400")
        wrong = simulate("strict", "esg", "--jobs", "400", "--set", "profile_error=30%")
        self.assertLess(wrong["slo_hit_rate"], right["slo_hit_rate"])


if __name__ == "__main__":
    unittest.main()
