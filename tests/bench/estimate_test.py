# SPDX-License-Identifier: BSL-1.0
"""`estimate_test.py PROGRAM`: each benchmark of the estimators runs to its end, and no estimator allocates in a tick."""
import json
import subprocess
import sys
import unittest


def output_of(*words: str) -> str:
    return subprocess.run([PROGRAM, *words], stdout=subprocess.PIPE, text=True, check=True).stdout


class Estimate(unittest.TestCase):
    def test_no_estimator_allocates(self) -> None:
        rows = json.loads(output_of("--benchmark_min_time=0.001", "--benchmark_format=json"))["benchmarks"]
        names = output_of("--benchmark_list_tests").split()
        self.assertIn("remaining/10000", names)
        self.assertEqual({row["name"]: row["allocations"] for row in rows}, dict.fromkeys(names, 0))


if __name__ == "__main__":
    PROGRAM = sys.argv.pop()
    unittest.main(verbosity=2)
