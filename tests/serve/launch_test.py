# SPDX-License-Identifier: BSL-1.0
"""A launch as it was submitted: bytes, umask, checkpoint folder and scripts for sbatch; and launches that fail by errors of the machine."""
import json
import os
import pathlib
import subprocess
import sys
import unittest

from support import PATIENCE, RATION, ServiceTest

CONFIG = 'policy = "drf"\ndevices = { count = 2, cpu = 0.25 }\n'
DEVICE_JOB = """[[job]]
name = "saves"
command = ["sh", "-c", "echo $RATION_CHECKPOINT; ls $RATION_CHECKPOINT"]
target = { loss = { objective = 0 } }
bounds = { gpu = 1 }
checkpoint = "CHECKPOINT"
"""


class Submitted(ServiceTest):
    def submit_as(self, *words: str | bytes, **how) -> str:
        """As `submit`, with other properties of the process."""
        done = subprocess.run([RATION, "submit", "--state", self.state, *words], **{"cwd": self.folder, "env": self.environment, **how}, capture_output=True, check=False,
                              timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.printed = done.stderr.decode(errors="replace")
        return done.stdout.decode().strip()

    def output_of(self, label: str) -> str:
        self.ration("wait", label)
        return pathlib.Path(self.job(label)["log"]).read_text()

    def test_bytes_that_are_not_utf8_arrive_as_they_are(self) -> None:
        folder = os.fsencode(self.folder) + b"/\xfe"
        os.mkdir(folder)
        label = self.submit_as("--name", "x", "--", "sh", "-c", 'printf "%s %s %s" "$1" "$BYTES" "$PWD" | od -An -tx1', "sh", b"\xff\xc3\xa9",
                               env={**os.environb, **{os.fsencode(k): os.fsencode(v) for k, v in self.environment.items()}, b"BYTES": b"a\xff"}, cwd=folder)
        self.assertEqual(bytes.fromhex(self.output_of(label)), b"\xff\xc3\xa9 a\xff " + folder)

    def test_wrong_bytes_of_a_submission_are_refused(self) -> None:
        good = {"key": "k", "definition": '[[job]]\nname = "a"\ncommand = ["true"]\ntarget = { loss = { objective = 0 } }\n', "directory": "/", "environment": []}
        for member, value in (("directory", {"hex": "2f0"}), ("directory", {"hex": "2fzz"}), ("directory", {"hex": "2f00"}), ("directory", {"hex": 1}), ("directory", {}),
                              ("environment", [{"hex": "41", "more": 1}]), ("key", {"hex": "ff"}), ("command", [{"hex": ""}]), ("umask", 512), ("umask", -1)):
            status, answer = self.ask("POST", "/v1/jobs", json.dumps({**good, member: value}))
            self.assertEqual((status, "error" in answer), (400, True), (member, value))
        self.assertEqual(self.ask("POST", "/v1/jobs", json.dumps({**good, "directory": {"hex": "2f"}}))[0], 201)

    def test_a_job_has_the_umask_of_its_submission(self) -> None:
        for mask in (0o077, 0o002):
            label = self.submit_as("--", "sh", "-c", f"umask; echo text > file-{mask}", umask=mask)
            self.assertEqual(int(self.output_of(label), 8), mask)
            self.assertEqual((self.folder / f"file-{mask}").stat().st_mode & 0o777, 0o666 & ~mask)

    def test_the_checkpoint_folder_of_a_job_is_used(self) -> None:
        self.kill()
        (self.folder / "config.toml").write_text(CONFIG)
        self.start("--config", str(self.folder / "config.toml"))
        below = self.folder / "below"
        (below / "own").mkdir(parents=True)
        (below / "own" / "step").touch()
        for named in ("own", str(below / "own")):
            file = below / "job.toml"
            file.write_text(DEVICE_JOB.replace('"CHECKPOINT"', f'"{named}"'))
            self.assertEqual(self.output_of(self.submit_as(str(file), cwd=below)), f"{below / 'own'}\nstep\n")

    def test_a_script_for_sbatch_gives_its_options(self) -> None:
        script = self.folder / "train.sh"
        script.write_text("#!/bin/sh\n#SBATCH --job-name=ckpts -t 0-00:01\n# a comment\n\n#SBATCH --array=0-1 --output=%x-%j.out\n#SBATCH -c 1\n#SBATCH --mem=64M\n"
                          "#SBATCH --dependency=afterany:7\necho index $RATION_ARRAY_INDEX $1\n#SBATCH --job-name=late\n")
        labels = self.submit_as("train.sh", "word").splitlines()
        self.assertEqual(labels, ["ckpts-1 (index 0)", "ckpts-2 (index 1)"])
        self.assertIn("train.sh: ration submit has no equivalent of --output, --dependency; write other options on its command line", self.printed)
        self.assertEqual(self.output_of("ckpts-2"), "index 1 word\n")
        job = self.job("ckpts-1")
        self.assertEqual(job["time_limit_ms"], 60_000)
        self.assertIn('bounds = { cpu = { max = 1 }, memory = "64MiB" }', job["definition"])
        self.assertEqual(self.submit_as("--name", "other", "--array", "3-3", "train.sh"), "other-3 (index 3)")

    def test_a_folder_that_is_not_there_yet_leaves_the_job_queued(self) -> None:
        late = self.folder / "late"
        late.mkdir()
        running = self.submit("--name", "running", "--", "sh", "-c", "until test -e end; do sleep 0.1; done")
        label = self.submit_as("--after", running, "--", "sh", "-c", "echo it ran", cwd=late)
        late.rmdir()
        (self.folder / "end").touch()
        self.wait_for(lambda: self.job(label)["history"][-1]["why"].endswith("next launch in 1 s"))
        self.assertEqual(self.job(label)["stage"], "QUEUED")
        self.assertIn("enter the working directory", self.ration("status", label))
        late.mkdir()
        self.assertEqual(self.output_of(label), "it ran\n")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
