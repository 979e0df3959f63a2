#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""tests/gpu/run.sh on the fake driver: that it runs to its end, sees what is wrong, and leaves nothing behind. What a GPU really does only a GPU can show."""

import os
import pathlib
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).parent
UUID = "GPU-{0}{0}{0}{0}{0}{0}{0}{0}-0000-4000-8000-00000000000{0}".format
TWO = f"gpu uuid={UUID(0)} pci=0000:17:00.0\ngpu uuid={UUID(1)} pci=0000:31:00.0 mode=exclusive\n"


class Run(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def start(self, script: str, mps: str | None, **more: str) -> tuple[int, str]:
        (self.folder / "script").write_text(script)
        (self.folder / "bin").mkdir()
        (self.folder / "tmp").mkdir()
        if mps is not None:
            (self.folder / "bin" / "nvidia-cuda-mps-control").write_text(mps)
            (self.folder / "bin" / "nvidia-cuda-mps-control").chmod(0o755)
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("CUDA_", "RATION_PROGRAM"))}
        environment |= {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "LD_LIBRARY_PATH": os.environ["RATION_FAKE_DRIVER"], "TMPDIR": str(self.folder / "tmp"),
                        "RATION_STAND_IN_GPUS": str(self.folder / "script"), "RATION_GPU_SECONDS": "0.05", **more}
        done = subprocess.run([HERE / "run.sh", self.folder / "out"], env=environment, cwd=self.folder, capture_output=True, text=True, timeout=120)
        self.assertEqual(os.listdir(self.folder / "tmp"), [], "a daemon's folder is left")
        self.assertEqual((self.folder / "out" / "transcript.txt").read_text(), done.stdout)
        return done.returncode, done.stdout

    def rows(self, said: str, name: str) -> list[list[str]]:
        """share, SMs shown, SMs granted of each row of that name."""
        return [line[len(name) + 2:].split()[:3] for line in said.splitlines() if line.startswith(f"  {name} ") and len(line.split()) >= 5]

    def test_shares_and_masks(self) -> None:
        code, said = self.start(TWO, (HERE.parent / "cuda" / "fake_driver" / "nvidia-cuda-mps-control").read_text())
        self.assertEqual(code, 0, said)
        self.assertEqual(said.count("\nok     CUDA_VISIBLE_DEVICES="), 4)
        self.assertIn(f"CUDA_VISIBLE_DEVICES={UUID(1)},{UUID(0)}: a process sees {UUID(1)} {UUID(0)}\n", said)
        self.assertEqual(self.rows(said, "green context"), [["250", "132", "32"], ["500", "132", "64"], ["750", "132", "96"]])
        self.assertEqual(self.rows(said, "MPS")[:4], [["250", "32", "-"], ["500", "66", "-"], ["750", "98", "-"], ["1000", "132", "-"]])
        self.assertIn("  left out: RATION_PROGRAM names no built ration\n", said)
        self.assertIn("\nAll checks passed.", said)

    def test_training_on_shares(self) -> None:
        python = self.folder / "python"
        python.write_text('#!/bin/sh\n[ "$1" = -c ] || echo "$CUDA_VISIBLE_DEVICES ${CUDA_MPS_PIPE_DIRECTORY-no daemon} $*"\n')
        python.chmod(0o755)
        mps = (HERE.parent / "cuda" / "fake_driver" / "nvidia-cuda-mps-control").read_text()
        code, said = self.start(TWO, mps, RATION_PROGRAM="/bin/true", RATION_GPU_PYTHON=str(python), RATION_GPU_STEPS="7")
        self.assertEqual(code, 0, said)
        self.assertRegex(said, rf"\n{UUID(0)} no daemon \S+/examples/elastic/three_to_one.py /bin/true --devices gpu .*--steps 7 ")

    def test_without_a_pytorch_that_finds_the_gpu(self) -> None:
        mps = (HERE.parent / "cuda" / "fake_driver" / "nvidia-cuda-mps-control").read_text()
        code, said = self.start(TWO, mps, RATION_PROGRAM="/bin/true", RATION_GPU_PYTHON="/bin/false")
        self.assertEqual(code, 0, said)
        self.assertIn("  left out: /bin/false has no PyTorch that finds a GPU\n", said)

    def test_a_daemon_that_starts_and_is_gone(self) -> None:
        code, said = self.start(TWO, '#!/bin/sh\n[ "$1" = -d ] || echo "Cannot find MPS control daemon process"\n')
        self.assertEqual(code, 1)
        self.assertIn("not a client of MPS", said)
        self.assertIn("\nA check FAILED.", said)

    def test_a_driver_that_shows_other_gpus(self) -> None:
        code, said = self.start("cuinit 100\n" + TWO, None)
        self.assertEqual(code, 1)
        self.assertEqual(said.count("\nWRONG  CUDA_VISIBLE_DEVICES=GPU"), 3)

    def test_without_a_gpu_one_sentence(self) -> None:
        code, said = self.start("init 9\n", None)
        self.assertEqual((code, said.count("\n")), (77, 1))
        self.assertTrue(said.startswith("skipped: no GPU can be handed out on this machine: load the driver's kernel module"))


if __name__ == "__main__":
    unittest.main()
