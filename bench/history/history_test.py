# SPDX-License-Identifier: BSL-1.0
"""measure.py and page.py on made-up rounds and points."""

import unittest

import measure
import page


def rounds(*values, answer=100.0):
    return [{("simulation", "fifo"): (value, answer), ("check", "check/10000"): (10.0, None)} for value in values]


def point(commit, against, ratio):
    rows = [{"group": "check", "row": "a|b", "before_ns": 10, "after_ns": 10, "ratio": ratio, "same_answer": True}]
    return {"commit": commit, "against": against, "date": "2026-01-01", "processor": "one", "rows": rows}


class Compare(unittest.TestCase):
    def test_the_ratio_is_the_median_of_the_rounds_so_that_a_slow_round_does_not_count(self):
        row = measure.compare(rounds(100, 200, 100), rounds(110, 220, 900))[0]
        self.assertEqual((row["before_ns"], row["after_ns"], row["ratio"]), (100, 220, 1.1))

    def test_a_row_that_only_one_tree_has_is_left_out(self):
        before = [{("check", "old"): (1.0, None), ("check", "both"): (1.0, None)}]
        after = [{("check", "new"): (1.0, None), ("check", "both"): (1.0, None)}]
        self.assertEqual([row["row"] for row in measure.compare(before, after)], ["both"])

    def test_repetitions_are_one_row_and_aggregates_none(self):
        rows = [{"run_name": "a", "cpu_time": time, "time_unit": "us"} for time in (1, 2, 9)]
        rows.append({"run_name": "a_mean", "run_type": "aggregate", "cpu_time": 4, "time_unit": "us"})
        self.assertEqual(measure.cpu_times({"benchmarks": rows}), {"a": 2000})


class Faults(unittest.TestCase):
    def test_a_group_five_percent_slower_is_one(self):
        self.assertEqual(list(measure.faults(measure.compare(rounds(100), rounds(104)))), [])
        found = list(measure.faults(measure.compare(rounds(100), rounds(107))))
        self.assertEqual(found, ["simulation: 7.0 % slower; find the change that costs it, or record the point with the reason in its commit"])

    def test_another_answer_is_one_however_fast(self):
        found = list(measure.faults(measure.compare(rounds(100), rounds(50, answer=99.0))))
        self.assertEqual(found, ["simulation, fifo: another answer than before; explain the schedule that has changed"])


class Page(unittest.TestCase):
    points = [point("bbbbbbbbbbbb", "aaaaaaaaaaaa", 0.5), point("cccccccccccc", "bbbbbbbbbbbb", 1.2)]

    def test_the_picture_multiplies_the_steps(self):
        self.assertEqual(page.speeds(self.points), {"check": [1.0, 0.5, 0.6]})
        picture = page.picture(self.points)
        self.assertIn(">check 0.60</text>", picture)
        for commit in ("aaaaaaaa", "bbbbbbbb", "cccccccc"):
            self.assertEqual(picture.count(f">{commit}</text>"), 1)

    def test_the_table_has_a_row_for_each_group_of_a_point(self):
        lines = page.table(self.points).splitlines()
        self.assertEqual(len(lines), 4)
        self.assertEqual(lines[3], "| `cccccccc` | 2026-01-01 | `bbbbbbbb` | check | 1 | 1.20 | `1.20, a/b` | `1.20, a/b` |")

    def test_the_points_follow_each_other(self):
        points = measure.points()
        self.assertGreater(len(points), 0)
        for earlier, later in zip(points, points[1:]):
            self.assertEqual(later["against"], earlier["commit"])


if __name__ == "__main__":
    unittest.main()
