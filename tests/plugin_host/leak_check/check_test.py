# SPDX-License-Identifier: BSL-1.0
"""`ration check` is a host as well: the leak check passes all of its probes, and ends the process when one of them breaks a rule of hosts."""
import os
import subprocess
import unittest

PROGRAM, LEAK_CHECK = os.environ["RATION_PROGRAM"], os.environ["RATION_LEAK_CHECK"]


class Probes(unittest.TestCase):
    def test_the_leak_check_sees_nothing_wrong(self) -> None:
        for seed in range(1, 4):
            with self.subTest(seed=seed):
                done = subprocess.run([PROGRAM, "check", LEAK_CHECK, "--seed", str(seed), "--config", "strict"], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main()
