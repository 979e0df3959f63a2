# SPDX-License-Identifier: BSL-1.0
"""`python3 -m ration.slurm` on a real Slurm: four nodes on this machine (lab.py). The commands are those of docs/cluster.md."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

import lab

ROOT = pathlib.Path(__file__).resolve().parents[2]
RATION = os.path.abspath(os.environ["RATION_PROGRAM"])
PATIENCE = float(os.environ.get("RATION_TEST_PATIENCE", 120))
# Counts to 12, continues from its own checkpoint, and writes down each start with its number of GPUs.
COUNTER = """
file={folder}/{name}
gpus=$(echo $CUDA_VISIBLE_DEVICES | tr ',' '\\n' | wc -l)
count=$(cat $file.count 2>/dev/null || echo 0)
echo $gpus $count >> $file.starts
while [ $count -lt 12 ]; do sleep 1; count=$((count + 1)); echo $count > $file.new; mv $file.new $file.count; done
touch $file.done
"""


class Queue(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.lab = self.enterContext(lab.Lab(self.folder / "lab"))

    def start(self, *words: str) -> subprocess.Popen:
        environment = {**self.lab.environment, "PYTHONPATH": str(ROOT / "python")}
        return subprocess.Popen([sys.executable, "-m", "ration.slurm", "--ration", RATION, *words], env=environment, text=True, stdout=subprocess.PIPE)

    def wait_for(self, condition: object, what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), deadline, f"{what}: {self.lab.run('squeue', '-o', '%i %T %r %b %N')}")
            time.sleep(0.2)

    def states(self) -> dict[str, str]:
        return dict(line.split("|") for line in self.lab.run("squeue", "-h", "-o", "%i|%T %Q").splitlines())

    def test_short_jobs_first_and_nothing_without_apply(self) -> None:
        for name, seconds in (("long", 8), ("middle", 4), ("short", 1)):
            script = f"date +%s.%N > {self.folder}/{name}.began; sleep {seconds}; touch {self.folder}/{name}.done"
            for node in range(lab.NODES):
                self.lab.submit(script.replace(name, f"{name}{node}"), "--hold", f"--gres=gpu:{lab.GPUS}", "-c1", f"--comment=ration seconds={seconds}")
        before = self.states()
        dry, _ = self.start("sjf").communicate(timeout=PATIENCE)
        self.assertEqual(sorted(line.split()[2] for line in dry.splitlines() if "release" in line), ["10", "11", "12", "9"])
        self.assertEqual(self.states(), before)
        self.assertEqual({state.split()[1] for state in before.values()}, {"0"})  # all are held

        program = self.start("sjf", "--apply", "--every", "0.5")
        program.communicate(timeout=PATIENCE)
        self.assertEqual(program.returncode, 0)
        began = {name: [float((self.folder / f"{name}{node}.began").read_text()) for node in range(lab.NODES)] for name in ("long", "middle", "short")}
        self.assertLess(max(began["short"]), min(began["middle"]))
        self.assertLess(max(began["middle"]), min(began["long"]))
        self.assertEqual(len(list(self.folder.glob("*.done"))), 3 * lab.NODES)

    def test_the_commands_of_the_page_work(self) -> None:
        session = re.search(r"```console\n(\$ sbatch .*?)```", (ROOT / "docs" / "cluster.md").read_text(), re.S)[1]
        for name in ("train", "elastic"):
            (self.folder / f"{name}.sh").write_text(f"#!/bin/sh\necho $CUDA_VISIBLE_DEVICES > {name}.devices\n")
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "ration").symlink_to(RATION)
        (self.folder / "bin" / "python3").symlink_to(sys.executable)
        environment = {**self.lab.environment, "PYTHONPATH": str(ROOT / "python"), "PATH": f"{self.folder / 'bin'}:{self.lab.environment['PATH']}"}
        for line in session.splitlines():
            self.assertTrue(line.startswith("$ "), line)
            done = subprocess.run(["bash", "-c", line[2:]], cwd=self.folder, env=environment, timeout=PATIENCE, text=True, capture_output=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), line)
        for name, gpus in (("train", 2), ("elastic", 1)):
            self.assertEqual(len((self.folder / f"{name}.devices").read_text().split(",")), gpus)

    def test_a_job_gives_gpus_to_a_later_one_and_continues(self) -> None:
        self.lab.run("scontrol", "update", "nodename=n[2-4]", "state=drain", "reason=test")
        options = ("--hold", "--requeue", "--gres=gpu:1", "-c1", "--comment=ration min=1 max=4 speedup=1,1.9,2.7,3.4 restart=1")
        self.lab.submit(COUNTER.format(folder=self.folder, name="first"), *options)
        program = self.start("elastic_batch_dp", "--apply", "--every", "0.5", "--set", "elastic_batch_dp.interval=1")
        self.wait_for(lambda: (self.folder / "first.count").exists(), "the first job runs")
        self.lab.submit(COUNTER.format(folder=self.folder, name="second"), *options)
        self.wait_for(lambda: (self.folder / "second.done").exists() and (self.folder / "first.done").exists(), "both jobs end")
        out, _ = program.communicate(timeout=PATIENCE)
        starts = [[tuple(map(int, line.split())) for line in (self.folder / f"{name}.starts").read_text().splitlines()] for name in ("first", "second")]
        self.assertEqual(starts[0][0], (4, 0))
        self.assertEqual(starts[0][1][0], 2, out)
        self.assertGreater(starts[0][1][1], 0)  # the second start continues
        self.assertEqual(starts[1][0], (2, 0))
        self.assertIn("requeuehold", out)


if __name__ == "__main__":
    if lab.reason_against():
        print(f"skipped: {lab.reason_against()}")
        sys.exit(77)
    unittest.main()
