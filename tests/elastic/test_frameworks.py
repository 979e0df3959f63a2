# SPDX-License-Identifier: BSL-1.0
"""The adapters with transformers and lightning themselves, in the environment that frameworks.sh makes."""
import subprocess
import sys
import unittest

import support

support.need_torch()
import adapters  # noqa: E402  pylint: disable=wrong-import-position


class Frameworks(adapters.Adapters):
    python = sys.executable

    def stop_at_once(self, job):
        """A stop without a save before: it saves first."""
        self.launch(job, 100000)
        self.ration.until(lambda: self.ration.of("step"), "the first step")
        self.ration.tell("stop", by="60.000")
        self.assertEqual(self.ration.outcome()[0], 0)
        self.assertEqual(self.ration.of("ckpt")[-1]["ok"], "1")
        self.assertIn(int(self.ration.of("ckpt")[-1]["s"]), self.durable(job))

    def test_hugging_face_saves_before_it_stops(self):
        self.stop_at_once("huggingface")

    def test_lightning_saves_before_it_stops(self):
        self.stop_at_once("lightning")


class Package(unittest.TestCase):
    def test_pip_installs_all_of_it(self):
        code = """
import ration, ration.boundary, ration.checkpoint, ration.elastic_loop, ration.progress, ration.ranks, ration.huggingface, ration.lightning
print(ration.__file__)
"""
        path = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True).stdout
        self.assertIn("site-packages", path)


if __name__ == "__main__":
    support.run_tests()
