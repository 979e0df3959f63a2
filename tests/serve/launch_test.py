# SPDX-License-Identifier: BSL-1.0
"""A launch as it was submitted: bytes, umask, checkpoint folder and scripts for sbatch; and launches that fail by errors of the machine."""
import ast
import json
import os
import pathlib
import subprocess
import sys
import unittest

from support import JOB, PATIENCE, RATION, ROOT, ServiceTest

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

    def test_so_have_its_commands_at_the_end(self) -> None:
        self.submit_as("--on-end", "umask > mask.new; mv mask.new mask", "--", "true", umask=0o037)
        self.wait_for((self.folder / "mask").exists)
        self.assertEqual(int((self.folder / "mask").read_text(), 8), 0o037)

    def test_python_sends_the_same(self) -> None:
        script = ('import os, ration; job = ration.submit([b"sh", "-c", \'printf "%s %s" "$1" "$BYTES" | od -An -tx1; umask; echo "$RATION_ARRAY_INDEX"\', "sh", b"\\xff"],'
                  f' name="x", state={str(self.state)!r}); print(job.label)')
        environment = {**{os.fsencode(k): os.fsencode(v) for k, v in self.environment.items()}, b"BYTES": b"a\xff", b"PYTHONPATH": os.fsencode(ROOT / "python"),
                       b"RATION_ARRAY_INDEX": b"7"}
        done = subprocess.run([sys.executable, "-c", script], env=environment, cwd=self.folder, umask=0o027, capture_output=True, check=False, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        sent, mask, index = self.output_of(done.stdout.decode().strip()).split("\n", 2)
        self.assertEqual((bytes.fromhex(sent), int(mask, 8), index), (b"\xff a\xff", 0o027, "\n"))

    def test_a_job_that_a_job_starts_gets_its_own_threads_and_devices(self) -> None:
        self.kill()
        names = ("OMP_NUM_THREADS", "GOMP_SPINCOUNT", "CUDA_VISIBLE_DEVICES", "SEED", "RATION_ARRAY_INDEX")
        self.environment = {name: value for name, value in self.environment.items() if name not in names}
        (self.folder / "config.toml").write_text(CONFIG)
        self.start("--config", str(self.folder / "config.toml"))
        show = f"import os; print([os.environ.get(name) for name in {names}])"
        command = ["--name", "command", "--after", "saves-1", "--", sys.executable, "-c", show]
        (self.folder / "run.toml").write_text(JOB.replace('["true"]', json.dumps([sys.executable, "-c", show])) + 'environment = { SEED = 6 }\n')
        (self.folder / "outer.py").write_text(f"""
import os, ration, subprocess, sys
print(os.environ["OMP_NUM_THREADS"], os.environ["CUDA_VISIBLE_DEVICES"] == "", flush=True)
os.environ["GOMP_SPINCOUNT"] = "9"
early = ration.submit([sys.executable, "-c", {show!r}], name="early", state={str(self.state)!r})
early.wait()  # while this job runs, which does not count for its threads
subprocess.run([{RATION!r}, "submit", "--state", {str(self.state)!r}, *{command}], check=True)
ration.submit([sys.executable, "-c", {show!r}], name="python", state={str(self.state)!r}, after=[1, 3])
subprocess.run([{RATION!r}, "run", "run.toml", "--policy", "none", "--quiet"], check=True)
""")
        (self.folder / "outer.toml").write_text(DEVICE_JOB.replace(DEVICE_JOB.splitlines()[2], 'command = ["python3", "outer.py"]').replace("gpu = 1", "gpu = 2, cpu = { max = 1 }"))
        environment = {**self.environment, "SEED": "5", "PYTHONPATH": str(ROOT / "python")}
        self.submit_as(str(self.folder / "outer.toml"), env=environment)
        for label in ("saves-1", "early-2", "command-3", "python-4"):
            self.ration("wait", label)
        direct = ast.literal_eval(self.output_of(self.submit_as(*command, env=environment)))
        self.assertEqual(direct[1:], ["0", None, "5", None])
        for label in ("early-2", "command-3", "python-4"):
            self.assertEqual(ast.literal_eval(self.output_of(label)), [direct[0], "9", *direct[2:]], label)
        self.assertEqual(self.output_of("saves-1").splitlines()[0], "1 True")
        inside = (self.folder / "ration-output" / "latest" / "a.log").read_text()
        subprocess.run([RATION, "run", "run.toml", "--policy", "none", "--quiet"], cwd=self.folder, env=environment, check=True, timeout=PATIENCE)
        alone = (self.folder / "ration-output" / "latest" / "a.log").read_text()
        self.assertEqual(ast.literal_eval(inside), [ast.literal_eval(alone)[0], "9", "", "6", None])

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
