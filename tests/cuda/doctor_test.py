#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""The output of `ration doctor` on GPUs: on a machine without a driver, and on fakes with good and broken ones."""

import ctypes
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

RATION = os.path.abspath(os.environ["RATION_PROGRAM"])
FAKE_DRIVER = os.environ["RATION_FAKE_DRIVER"]
MPS = pathlib.Path(__file__).parent / "fake_driver"
UUID = "GPU-{0}{0}{0}{0}{0}{0}{0}{0}-0000-4000-8000-00000000000{0}".format

EIGHT = f"""driver 12080
runtime 12040 12080 0
gpu uuid={UUID(0)} pci=0000:17:00.0 model=H200 links=0000:31:00.0 users=4711,4712
gpu uuid={UUID(1)} pci=0000:31:00.0 mode=exclusive links=0000:17:00.0,0000:17:00.0 users=4711
gpu uuid={UUID(2)} pci=0000:4b:00.0 broken=15
gpu uuid=GPU-what pci=0000:5c:00.0
gpu uuid={UUID(4)} pci=0000:98:00.0
mig uuid=MIG-00000000-0000-4000-8000-00000000000a
mig uuid=MIG-00000000-0000-4000-8000-00000000000b
gpu uuid={UUID(5)} pci=0000:b1:00.0
gpu uuid={UUID(6)} pci=0000:ca:00.0
gpu uuid={UUID(7)} pci=0000:d8:00.0
"""


def has_driver() -> bool:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


class Doctor(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def ask(self, *arguments: str, script: str | None, **more: str) -> str:
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("CUDA_", "LD_LIBRARY_PATH"))}
        environment["CUDA_MPS_PIPE_DIRECTORY"] = str(self.folder)
        if script is not None:
            (self.folder / "script").write_text(script)
            environment |= {"LD_LIBRARY_PATH": FAKE_DRIVER, "RATION_STAND_IN_GPUS": str(self.folder / "script")}
        done = subprocess.run([RATION, "doctor", *arguments], env=environment | more, capture_output=True, text=True, timeout=50)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def gpus(self, script: str, **more: str) -> dict:
        return json.loads(self.ask("--json", script=script, **more))["gpus"]

    def level(self, script: str, what: str, **more: str) -> dict:
        return next(row for row in self.gpus(script, **more)["levels"] if row["what"] == what)

    @unittest.skipIf(has_driver(), "this machine has a driver")
    def test_without_a_driver_one_calm_sentence(self) -> None:
        said = self.ask(script=None)
        self.assertIn("\nGPUs: none, and no NVIDIA driver. Jobs that need no GPU lack nothing.\n", said)
        self.assertNotIn("which GPUs", said)
        machine = json.loads(self.ask("--json", script=None))["gpus"]
        self.assertEqual((machine["devices"], machine["levels"]), ([], []))
        self.assertIn("install the NVIDIA driver", machine["driver"]["remedy"])

    def test_a_driver_without_gpus(self) -> None:
        self.assertIn("GPUs: none that NVIDIA's driver shows here.\n  driver     CUDA 12.2\n", self.ask(script="driver 12020\n"))

    def test_eight_gpus_of_every_kind(self) -> None:
        said = self.ask(script=EIGHT)
        for line in (f"  0000:17:00.0  {UUID(0)}  H200, 80 GiB, 1 NVLink, 2 processes compute on it\n",
                     f"  0000:31:00.0  {UUID(1)}  Fake, 80 GiB, one process at a time, 2 NVLinks, 1 process computes on it\n",
                     f"  0000:98:00.0  {UUID(4)}  Fake, 80 GiB, MIG, 2 instances\n",
                     "not handed out: ask NVML about GPU 2: gone; the GPU fell off the bus",
                     "not handed out: read the name of a GPU GPU-what: invalid value;",
                     "  driver     CUDA 12.8\n", "  runtime    12.4 (libcudart.so.13)\n",
                     "  yes  which GPUs, advisory       mask       CUDA_VISIBLE_DEVICES, read once by each process at its start\n",
                     "  yes  which GPUs, verified       driver     under a mask for 5 of them it shows exactly these\n",
                     "  yes  share of a GPU, advisory   driver     green contexts"):
            self.assertIn(line, said)
        self.assertEqual(len(self.gpus(EIGHT)["devices"]), 8)

    def test_what_cannot_be_had_says_what_helps(self) -> None:
        for what, words in (("which GPUs, enforced", ("masks are advi", "start it as root", "mount", "device_filter")), ("GPU memory", ("6.14", "r615"))):
            row = self.level(EIGHT, what)
            if not row["available"]:
                self.assertTrue(any(word in row["remedy"] for word in words), row)
                if what == "GPU memory":
                    self.assertTrue(row["remedy"].endswith("; until then gpu_memory in a jobs file chooses GPUs and limits nothing"), row)

    def test_an_inherited_mask_is_kept(self) -> None:
        row = self.level(EIGHT, "which GPUs, verified", CUDA_VISIBLE_DEVICES=UUID(5))
        self.assertIn("for 1 of them", row["where"])
        row = self.level(EIGHT, "which GPUs, verified", CUDA_VISIBLE_DEVICES="MIG-00000000-0000-4000-8000-00000000000b")
        self.assertTrue(row["available"])

    def test_a_driver_that_shows_other_gpus_than_the_mask_says(self) -> None:
        row = self.level(f"gpu uuid={UUID(0)} pci=0000:17:00.0\ncuinit 100\n", "which GPUs, verified")
        self.assertEqual((row["available"], row["why_not"]), (False, "under a mask for 1 of them the driver shows 0, or others"))

    def test_too_old_a_driver_and_a_broken_one(self) -> None:
        old = f"driver 12020\nruntime 13000 12020 35\ngpu uuid={UUID(0)} pci=0000:17:00.0\n"
        self.assertIn("  runtime    13.0 (libcudart.so.13): the driver is older than this runtime: update the driver,", self.ask(script=old))
        self.assertEqual(self.level(old, "share of a GPU, advisory")["remedy"], "update the driver to one for CUDA 12.4 or later")
        broken = self.gpus(f"cuinit 802\ngpu uuid={UUID(0)} pci=0000:17:00.0\n")
        self.assertIn("nvidia-fabricmanager", broken["driver"]["remedy"])
        self.assertIn("  NVML       initialise NVML libnvidia-ml.so.1: conflict; the driver was updated", self.ask(script="init 18\n"))

    def test_the_state_of_mps(self) -> None:
        one = f"gpu uuid={UUID(0)} pci=0000:17:00.0 mode=exclusive\n"
        path = {"PATH": f"{MPS}:{os.environ['PATH']}"}
        self.assertIn("run without MPS and without limits", self.level(one, "share of a GPU, MPS", PATH="/nowhere")["remedy"])
        self.assertEqual(self.level(one, "share of a GPU, MPS", **path)["where"], "no daemon runs; ration run starts one if its file has devices = { count = 4, gpu = 0.25 }")
        (self.folder / "control").write_text("protocol 2\nserver 100\nclient 100 4711\n")
        row = self.level(one, "share of a GPU, MPS", **path)
        self.assertEqual(row["where"], f"v2 in {self.folder}, 1 client; verified when the job is among them")
        self.assertIn("as not all GPUs are in EXCLUSIVE_PROCESS", self.level(EIGHT, "share of a GPU, MPS", **path)["where"])
        (self.folder / "control").write_text("dead\n")
        self.assertIn("it has ended", self.level(one, "share of a GPU, MPS", **path)["remedy"])


if __name__ == "__main__":
    unittest.main()
