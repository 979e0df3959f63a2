# SPDX-License-Identifier: BSL-1.0
# [test]
import unittest

from fastest import Fastest
from ration.policy import RUNNING, WrongParameter
from ration.policy.trial import ask

JOBS = {"jobs/state": [RUNNING, RUNNING], "jobs/speedup": [[0, 1, 1.9, 2.7], [0, 1, 1.1, 1.12]], "nodes/capacity.gpu": [5]}


class Devices(unittest.TestCase):
    def test_they_go_where_they_add_most(self):
        self.assertEqual([g.amount for g in ask(Fastest, JOBS)], [3, 2])

    def test_less_than_the_least_is_left_free(self):
        self.assertEqual([g.amount for g in ask(Fastest, JOBS, parameters={"least": 0.85})], [2, 1])
        with self.assertRaisesRegex(WrongParameter, "least must be from 0 to 1: a device"):
            ask(Fastest, JOBS, parameters={"least": 2})


if __name__ == "__main__":
    unittest.main()
# [test]
