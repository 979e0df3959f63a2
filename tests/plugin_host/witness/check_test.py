# SPDX-License-Identifier: BSL-1.0
"""`ration check` is a host as well: the witness passes all of its probes, and none of them breaks a rule of hosts on the way."""
import os
import pathlib
import subprocess
import tempfile
import unittest

PROGRAM, WITNESS = os.environ["RATION_PROGRAM"], os.environ["RATION_WITNESS"]


class Probes(unittest.TestCase):
    def test_the_witness_sees_nothing_wrong(self) -> None:
        for seed in range(1, 4):
            with self.subTest(seed=seed), tempfile.TemporaryDirectory() as folder:
                record = pathlib.Path(folder) / "record"
                done = subprocess.run([PROGRAM, "check", WITNESS, "--seed", str(seed), "--config", f"record={record}"], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stdout)
                self.assertEqual(record.read_text(), "")


if __name__ == "__main__":
    unittest.main()
