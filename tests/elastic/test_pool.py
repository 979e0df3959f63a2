# SPDX-License-Identifier: BSL-1.0
"""The pool that chooses its own size: what its hook is called with, what it requests, and what it refuses. Without PyTorch."""
import os
import unittest
import unittest.mock
import warnings

import support
from ration import elastic_pool

SCRIPT = """
import ration
pool = ration.pool(min=2, max=3, interval=1e-9, change=lambda load: 100)
while pool.poll() is None:
    pass
"""


class Pools(unittest.TestCase):
    def setUp(self):
        self.now, self.wants, self.loads, self.answer = 0.0, [], [], 0

    def pool(self, least=2, most=12, size=4, change=None):
        def record(load):
            self.loads.append(load)
            return self.answer

        with unittest.mock.patch.dict(os.environ, {"WORLD_SIZE": str(size)}):
            return elastic_pool.Pool(least, most, 60, change or record, self.wants.append, 1.0, clock=lambda: self.now)

    def after(self, pool, seconds, answer=0):
        self.now += seconds
        self.answer = answer
        return pool.poll()

    def test_the_hook_is_called_once_an_interval_with_the_load_since_the_last_call(self):
        pool = self.pool()
        pool.arrived(300)
        pool.served(240)
        self.assertIsNone(self.after(pool, 59))
        self.assertEqual(self.after(pool, 1, answer=1), 5)
        pool.arrived(60)
        self.assertIsNone(self.after(pool, 59))
        self.assertEqual(self.after(pool, 61, answer=-1), 3)
        self.assertEqual([(load.size, load.queue, load.arrivals, load.served) for load in self.loads], [(4, 60, 5, 4), (4, 120, 0.5, 0)])
        self.assertEqual(self.wants, [5, 3])
        self.assertGreater(self.loads[0].memory, 1 << 20)

    def test_a_request_is_clamped_to_the_bounds(self):
        pool = self.pool(2, 6, size=4)
        self.assertEqual([self.after(pool, 60, answer) for answer in (100, -100, 2, -2)], [6, 2, 6, 2])

    def test_nonsense_is_refused_with_one_warning_and_the_last_request_holds(self):
        pool = self.pool()
        self.assertEqual(self.after(pool, 60, 2), 6)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for nonsense in (None, "many", float("nan"), float("inf"), 0.5, []):
                self.assertIsNone(self.after(pool, 60, nonsense), nonsense)
        self.assertEqual(self.wants, [6])
        self.assertEqual(len(caught), 1)
        self.assertIn("return the number of devices to add, such as 1, 0 or -1", str(caught[0].message))
        self.assertEqual(self.after(pool, 60, 1), 5)  # and the pool continues

    def test_a_hook_that_fails_does_not_end_the_service(self):
        def fail(load):
            raise ZeroDivisionError("of " + str(load.size))

        pool = self.pool(change=fail)
        with self.assertWarnsRegex(UserWarning, "the hook of a pool: of 4; return"):
            self.assertIsNone(self.after(pool, 60))

    def test_the_thresholds_add_one_above_90_percent_and_remove_one_below_60(self):
        of = elastic_pool.Load(4, 0, 0, 0, 0.9, 0)
        self.assertEqual([elastic_pool.thresholds(of._replace(cpu=cpu)) for cpu in (0.91, 0.9, 0.6, 0.59)], [1, 0, 0, -1])

    def test_agility_has_two_parts(self):
        self.assertEqual(elastic_pool.agility([4, 4, 2, 2], [1, 4, 3, 6]), (0.75, 1.25))
        for provided, needed in (([], []), ([1], [1, 2])):
            with self.assertRaisesRegex(ValueError, "give the same number of both"):
                elastic_pool.agility(provided, needed)

    def test_bounds_that_cannot_be_are_refused(self):
        for bounds in ((0, 2), (3, 2)):
            with self.assertRaisesRegex(ValueError, "write 1 <= min <= max"):
                self.pool(*bounds)

    def test_ration_receives_the_request(self):
        ration = support.Ration(self)
        ration.launch(["-c", SCRIPT])
        status, _, errors = ration.outcome()
        self.assertEqual((status, errors), (0, ""))
        self.assertEqual([said["n"] for said in ration.of("want")], ["3"])


if __name__ == "__main__":
    unittest.main()
