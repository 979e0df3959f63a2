# SPDX-License-Identifier: BSL-1.0
# [test]
import unittest

from half import Half
from ration.policy import CPU, DONE, RUNNING
from ration.policy.trial import Grant, ask


class Shares(unittest.TestCase):
    def test_the_others_share_the_second_half(self):
        grants = ask(Half, {"jobs/state": [DONE, RUNNING, RUNNING, RUNNING], "nodes/capacity.cpu": [4000]})
        self.assertEqual(grants, [Grant(1, 0, CPU, 2000, 1), Grant(2, 0, CPU, 1000, 2), Grant(3, 0, CPU, 1000, 2)])
# [test]


if __name__ == "__main__":
    unittest.main()
