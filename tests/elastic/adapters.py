# SPDX-License-Identifier: BSL-1.0
"""Tests that every adapter to a foreign training loop has to pass."""
import os
import re
import unittest

import support


class Adapters(unittest.TestCase):
    """`python`: what runs the jobs; `path`: folders of modules before those that it has."""
    python = None
    path = ()

    def setUp(self):
        if self.python is None:
            self.skipTest("only its subclasses say what to run")
        self.ration = support.Ration(self)

    def launch(self, job, steps):
        path = os.pathsep.join([str(support.PACKAGE), *map(str, self.path)])
        self.ration.launch([str(support.HERE / f"{job}_job.py"), str(steps)], python=self.python, PYTHONPATH=path)

    def durable(self, job):
        names = list(self.ration.checkpoints.iterdir())
        if job == "lightning":
            return [int(match[1]) for match in (re.fullmatch(r"step-0*(\d+)\.[0-9a-f]{16}\.pt", path.name) for path in names) if match]
        return [int(path.name.rpartition("-")[2]) for path in names if (path / "ration-durable").exists()]

    def save(self, job, **more):
        said = len(self.ration.of("ckpt"))
        self.ration.tell("save", by="60.000", **more)
        self.ration.until(lambda: len(self.ration.of("ckpt")) > said, "a checkpoint")
        saved = self.ration.of("ckpt")[-1]
        self.assertEqual(saved["ok"], "1")
        self.assertIn(int(saved["s"]), self.durable(job))  # the job reports it when it is durable
        return int(saved["s"])

    def follow(self, job):
        self.launch(job, 100000)
        self.ration.until(lambda: len(self.ration.of("step")) > 2, "the first steps")
        self.assertEqual(self.ration.of("hello")[0]["w"], "1")
        self.assertTrue(all(float(said["l"]) > 0 for said in self.ration.of("step")))
        at = self.save(job)
        self.ration.until(lambda: int(self.ration.of("step")[-1]["s"]) > at, "training goes on")
        at = self.save(job, hold=1)
        self.ration.listen(0.3)
        self.assertTrue(all(int(said["s"]) <= at for said in self.ration.of("step")))
        self.ration.tell("stop")
        status, output, errors = self.ration.outcome()
        self.assertEqual(status, 0, errors)
        self.assertNotIn("done at", output)
        self.assertEqual([(bye["rc"], bye["why"]) for bye in self.ration.of("bye")], [("0", "stop")])
        self.launch(job, at + 3)
        status, output, errors = self.ration.outcome()
        self.assertEqual(status, 0, errors)
        self.assertRegex(output, rf"from=\S*(checkpoint-|step-0*){at}\b")
        self.assertIn(f"done at {at + 3}", output)
        self.assertEqual([int(said["s"]) for said in self.ration.of("step")][-1], at + 3)
        self.assertGreater(int(self.ration.of("step")[0]["s"]), at)
        self.assertEqual([(bye["rc"], bye["why"]) for bye in self.ration.of("bye")], [("0", "done")])

    def test_hugging_face(self):
        self.follow("huggingface")

    def test_lightning(self):
        self.follow("lightning")
