# SPDX-License-Identifier: BSL-1.0
"""Benchmarks that run PyTorch jobs under `ration run`, in short forms. RATION_PROGRAM names the program."""
import os
import subprocess
import sys
import unittest

import support


def run(script: str, *words: str) -> str:
    """Runs the script to its successful end, and returns the text that it prints."""
    environment = {**os.environ, "RATION_TORCH_PYTHON": sys.executable}
    done = subprocess.run([sys.executable, "-B", str(support.ROOT / "bench" / script), *words], env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stdout)
    return done.stdout


class Live(unittest.TestCase):
    def test_exchange_is_the_bottleneck_of_large_gradients_and_not_of_small_ones(self) -> None:
        printed = run("published/cm_dare_live.py", "--sizes", "1,2", "--steps", "24")
        self.assertRegex(printed, r"\n\| 50\.0 MB \| 2 \| \d+\.\d\d \| 0\.\d\d \| exchange \|\n")
        self.assertRegex(printed, r"\n\| 0\.1 MB \| 2 \| \d+\.\d\d \| \d\.\d\d \| none \|\n")

    def test_elastic_jobs_run_under_policies_that_share_devices_and_under_none(self) -> None:
        words = ("--jobs", "elastic", "--short", "--repetitions", "1", "--policies", "none,good_enough")
        printed = run("run/policies.py", "--ration", os.environ["RATION_PROGRAM"], *words)
        self.assertIn("| policy | first | second | third | mean | all ended | resizes |", printed)
        for policy in ("none", "good_enough"):
            self.assertRegex(printed, rf"\n\| `{policy}` (\| \d+\.\d ){{6}}\|\n")


support.run_tests()
