# SPDX-License-Identifier: BSL-1.0
"""The benchmark of threads on tiny sizes: its table is complete, and a job that computes something else is an error. Speed is not compared."""
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import types
import unittest
from unittest import mock

PROJECT = pathlib.Path(__file__).resolve().parents[2]
BENCHMARK = PROJECT / "bench" / "threads" / "threads.py"


def benchmark() -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("threads", BENCHMARK)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Threads(unittest.TestCase):
    def test_the_table_has_all_settings_of_each_case(self) -> None:
        done = subprocess.run([sys.executable, str(BENCHMARK), "--program", os.environ["RATION_PROGRAM"], "--models", "lstm", "--jobs", "1",
                               "--seconds", "0.1", "--rounds", "1"], capture_output=True, text=True, check=False)
        if done.returncode == 77:
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        _, head, *rows = done.stdout.splitlines()
        self.assertEqual([name for name in benchmark().SETTINGS if name not in head], [])
        self.assertEqual([row.split()[:2] for row in rows], [["lstm", "1"], ["lstm", "limited"]])
        for row in rows:
            *rates, ratio = map(float, row.split()[2:])
            self.assertEqual(len(rates), len(benchmark().SETTINGS), row)
            self.assertTrue(all(rate > 0 for rate in rates), row)
            self.assertAlmostEqual(ratio, rates[0] / max(rates[1:]), delta=0.01 + 0.2 * ratio / max(rates[1:]))

    def test_a_setting_with_another_loss_is_an_error(self) -> None:
        module = benchmark()
        options = types.SimpleNamespace(rounds=1)
        answers = iter([(10.0, 2.5)] * 3 + [(10.0, 2.4)])
        with mock.patch.object(module, "measure", lambda *_: next(answers)), self.assertRaisesRegex(module.WrongAnswer, "different losses"):
            module.row(options, "lstm", 1, "none")
        with mock.patch.object(module, "measure", lambda *_: (10.0, 2.5)):
            self.assertEqual(set(module.row(options, "lstm", 1, "none")), set(module.SETTINGS))


if __name__ == "__main__":
    program = unittest.main(exit=False)
    sys.exit(77 if program.result.skipped and program.result.wasSuccessful() else not program.result.wasSuccessful())
