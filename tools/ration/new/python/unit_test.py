# SPDX-License-Identifier: BSL-1.0
"""The rule by itself: a snapshot in, grants out; no plugin, no process, no clock."""
import unittest

from policy import MyPolicy
from ration.policy import DONE, RUNNING
from ration.policy.trial import ask


class Rule(unittest.TestCase):
    def test_a_job_below_its_first_tier_gets_twice_as_much(self) -> None:
        grants = ask(MyPolicy, {"jobs/state": [RUNNING, RUNNING, DONE], "jobs/tier": [1, 0, 0], "jobs/min.cpu": [1] * 3,
                                "jobs/max.cpu": [100_000] * 3, "nodes/capacity.cpu": [3000]})
        self.assertEqual({grant.job: grant.amount for grant in grants}, {0: 1000, 1: 2000})


if __name__ == "__main__":
    unittest.main()
