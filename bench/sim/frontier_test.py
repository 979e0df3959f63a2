# SPDX-License-Identifier: BSL-1.0
"""frontier.py on made-up rows."""

import json
import unittest
import xml.etree.ElementTree

import frontier


def row(policy, patience=None, mean_jct=100, p99_jct=1000, makespan=5000, worst_rho=2, workload="w"):
    return {"workload": workload, "policy": policy, "patience": patience, "mean_jct": mean_jct, "p99_jct": p99_jct, "makespan": makespan,
            "worst_rho": worst_rho, "restarts": 1}


OTHERS = [row("pollux", mean_jct=120, makespan=4000), row("srtf", mean_jct=150, p99_jct=900, worst_rho=4)]


class Frontier(unittest.TestCase):
    def test_the_best_other_policy_is_another_one_for_each_figure(self):
        own, others = frontier.relative([*OTHERS, row("good_enough", 3600, mean_jct=60, p99_jct=1800, makespan=8000)])["w"]
        self.assertEqual(own, [(3600, {"mean_jct": 0.5, "p99_jct": 2, "makespan": 2, "worst_rho": 1})])
        self.assertEqual(others["srtf"], {"mean_jct": 1.25, "p99_jct": 1, "makespan": 1.25, "worst_rho": 2})

    def test_a_patience_reaches_the_goal_only_with_all_figures(self):
        good = {"p99_jct": 940, "makespan": 4200, "worst_rho": 2.1}
        for change in ({}, {"mean_jct": 121}, {"p99_jct": 950}, {"makespan": 4201}, {"worst_rho": 2.2}):
            rows = [*OTHERS, row("good_enough", 0, mean_jct=500), row("good_enough", 900, **(good | change))]
            self.assertEqual(frontier.reached(rows), [] if change else [("w", 900)])

    def test_the_picture_has_a_line_for_each_workload_in_each_panel_and_a_point_for_each_patience(self):
        rows = [*OTHERS, *(row("good_enough", patience, mean_jct=90 + patience / 1000) for patience in (450, 3600, 28800))]
        drawn = xml.etree.ElementTree.fromstring(frontier.picture(rows + [one | {"workload": "v"} for one in rows]))
        name = "{http://www.w3.org/2000/svg}"
        self.assertEqual(len(drawn.findall(f"{name}polyline")), 6)
        circles = drawn.findall(f"{name}circle")
        self.assertEqual(len(circles), 18)
        self.assertEqual({circle.find(f"{name}title").text for circle in circles}, {"patience 450 s", "patience 3600 s", "patience 28800 s"})
        across = [float(circle.get("cx")) for circle in circles[:3]]
        self.assertEqual(across, sorted(across))


class Recorded(unittest.TestCase):
    def test_no_patience_brings_all_figures_near_the_best_other_policy(self):
        rows = [json.loads(line) for line in frontier.ROWS.read_text().splitlines()]
        self.assertEqual(len(frontier.relative(rows)), 4)
        self.assertEqual(frontier.reached(rows), [])


if __name__ == "__main__":
    unittest.main()
