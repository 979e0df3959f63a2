# SPDX-License-Identifier: BSL-1.0
"""Jobs on shares of one GPU: what they are started with, what becomes of it when they are resized, and whether they are clients of MPS. The driver, NVML and
nvidia-cuda-mps-control are fakes (tests/cuda/fake_driver)."""
import json
import os
import pathlib
import re
import signal
import subprocess
import unittest

from elastic_test import HEAD, Gpus, elastic
from support import HERE, PATIENCE, RATION, alive, job, main

MPS = HERE.parent / "cuda" / "fake_driver"
SHARES = HEAD.replace("{ count = 4, cpu = 0.25 }", "{ count = 4, gpu = 0.25 }")


class Shares(Gpus):
    """Each case has a separate daemon: its folder is in that of the run, or the one that CUDA_MPS_PIPE_DIRECTORY names."""

    def prepare(self, users_of_last: str = "") -> None:
        super().prepare(users_of_last)
        self.environment.update(PATH=f"{MPS}:{os.environ['PATH']}", CUDA_MPS_PIPE_DIRECTORY=str(self.folder / "others"))

    def daemon(self) -> pathlib.Path:
        """The folder of the run's own."""
        return self.wait_for(lambda: next(self.folder.glob("ration/*/mps/nvidia-cuda-mps-control.pid"), None)).parent

    def daemons_pid(self) -> int:
        file = self.daemon() / "nvidia-cuda-mps-control.pid"
        return int(self.wait_for(file.read_text))

    def daemon_of_others(self, says: str) -> pathlib.Path:
        """Where it listens."""
        control = self.folder / "others" / "control"
        control.parent.mkdir()
        control.write_text(says)
        return control

    def install(self, daemon: str) -> None:
        """This script is nvidia-cuda-mps-control."""
        program = self.folder / "bin" / "nvidia-cuda-mps-control"
        program.parent.mkdir()
        program.write_text(daemon)
        program.chmod(0o755)
        self.environment["PATH"] = f"{program.parent}:{self.environment['PATH']}"

    def shares(self, name: str) -> list[list[str]]:
        """Percentage, multiprocessors, mask and pipe directory at each launch."""
        return [line.split() for line in (self.folder / f"share.{name}").read_text().splitlines()]

    def percents(self, name: str) -> list[int]:
        return [int(one[0]) for one in self.shares(name)]

    def finish(self, run: subprocess.Popen, **steps: int) -> str:
        out, err = run.communicate(timeout=PATIENCE)
        self.assert_finished(subprocess.CompletedProcess([], run.returncode, out, err), **steps)
        return out

    def refused(self, code: int) -> str:
        done = self.run_jobs()
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr

    def wait_until_verified(self, name: str) -> None:
        self.wait_for(lambda: (self.folder / "log.jsonl").exists() and self.told("verified", name))


class OneGpu(Shares):
    def test_one_gpu(self) -> None:
        self.all_cases()

    def case_a_change_of_size_is_another_percentage(self) -> None:
        self.prepare()
        self.write(elastic("a", "good", 110), elastic("b", "good", 20, at="2s", gpu="1"), head=SHARES)
        run = self.start("--log", "log.jsonl")
        daemon, pid = self.daemon(), self.daemons_pid()
        out = self.finish(run, a=110, b=20)
        gpu = self.IDS[0]
        self.assertEqual(self.shares("a"), [["100", "132", gpu, str(daemon)], ["75", "98", gpu, str(daemon)], ["100", "132", gpu, str(daemon)]])
        self.assertEqual(self.percents("b"), [25])
        self.assertEqual([one.devices for one in self.launches()], [1, 1, 1, 1], "RATION_DEVICES names the GPU, and no shares")
        self.assertEqual([e["percent"] for e in self.events() if e["event"] == "job_started" and e["job"] == "a"], [100, 75, 100])
        self.assertEqual([e["why"] for e in self.told("verified")], [f"{n} % of its GPU as a client of MPS" for n in (100, 75, 100)])
        self.assertEqual(self.told("unverified") + self.told("failed"), [])
        self.assertIn(f"gpu by MPS, 4 shares of 25 % of {gpu} (advisory; which GPU: ", out)
        self.assertIn("advisory: hold jobs to MPS on 0000:16:00.0: conflict; a process that does not reach the daemon computes here without limits", out)
        self.assertNotIn("0000:17:00.0", re.sub("find the device file of.*", "", out))
        self.assertIn("a runs on 3 devices instead of 4\n", out)
        self.assertIn("a has 75 % of its GPU as a client of MPS (verified)", out)
        self.assertIn(", with 25 % of its GPU\n", out)
        self.assertFalse(alive(pid), "the run's own daemon outlives it")

    def case_shares_that_do_not_come_out_even(self) -> None:
        self.prepare()
        head = SHARES.replace("{ count = 4, gpu = 0.25 }", "{ count = 3, gpu = 0.333 }")
        self.write(elastic("a", "good", 30, gpu="2"), elastic("b", "good", 30, gpu="1"), head=head)
        self.assert_finished(self.run_jobs("--log", "log.jsonl"), a=30, b=30)
        self.assertEqual((self.percents("a"), self.percents("b")), ([66], [33]))

    def case_a_daemon_of_others_is_used_and_stays(self) -> None:
        self.prepare()
        control = self.daemon_of_others("protocol 3\n")
        self.write(elastic("a", "good", 10), head=SHARES)
        self.assert_finished(self.run_jobs("--log", "log.jsonl"), a=10)
        self.assertEqual(self.shares("a")[0][3], str(control.parent))
        self.assertEqual(len(self.told("verified")), 1)
        self.assertTrue(control.exists(), "a daemon of others was ended")

    def case_the_mask_that_ration_has_counts(self) -> None:
        self.prepare()
        self.environment["CUDA_VISIBLE_DEVICES"] = "2,1"
        self.write(elastic("a", "good", 10), head=SHARES)
        self.assert_finished(self.run_jobs("--log", "log.jsonl"), a=10)
        self.assertEqual(self.shares("a")[0][2], self.IDS[2])

    def case_a_process_on_the_gpu_is_nobodys_remains(self) -> None:
        """The server of MPS computes there all the time."""
        self.prepare()
        first = f"gpu uuid={self.IDS[0]} pci=0000:10:00.0 mode=exclusive users=1\n"
        (self.folder / "gpus").write_text(first)
        self.write(elastic("a", "good", 110), elastic("b", "good", 20, at="2s", gpu="2"), head=SHARES)
        self.assert_finished(self.run_jobs("--log", "log.jsonl"), a=110, b=20)
        self.assertEqual(self.percents("a"), [100, 50, 100])
        self.assertEqual([e for e in self.events() if e["event"] == "device"], [])

    def case_a_gpu_with_a_fault_takes_its_shares_along(self) -> None:
        self.prepare()
        self.write(elastic("a", "good", 4000), head=SHARES)
        run = self.start("--log", "log.jsonl")
        self.wait_until_verified("a")
        (self.folder / "gpus").write_text(f"gpu uuid={self.IDS[0]} pci=0000:10:00.0 broken=15\n")
        self.wait_for(lambda: self.told("queued"))
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=PATIENCE)
        self.assertEqual([(e["device"], e["what"]) for e in self.events() if e["event"] == "device"], [(self.IDS[0], "cordoned")])
        self.assertEqual(self.percents("a"), [100])


class Deaf(Shares):
    def test_a_daemon_that_does_not_end_is_told(self) -> None:
        self.prepare()
        self.install(f"""#!/bin/sh
[ "$1" = -d ] && exec {MPS}/nvidia-cuda-mps-control -d
words=$(cat)
[ "$words" = quit ] || echo "$words" | {MPS}/nvidia-cuda-mps-control
""")
        self.write(elastic("a", "good", 5), head=SHARES)
        run = self.start("--log", "log.jsonl")
        pid = self.daemons_pid()
        self.addCleanup(os.kill, pid, signal.SIGKILL)
        _, err = run.communicate(timeout=PATIENCE)
        self.assertEqual((run.returncode, err), (0, f"ration: end the MPS daemon, which was ordered to quit, process {pid}: timed out; end it yourself: the GPU may be its own\n"))


class NotVerified(Shares):
    def test_not_verified(self) -> None:
        self.all_cases()

    def case_a_job_that_is_no_client(self) -> None:
        self.prepare()
        self.write(elastic("a", "no-client", 160, gpu="2"), elastic("b", "good", 10, gpu="1"), head=SHARES)
        out = self.finish(self.start("--log", "log.jsonl"), a=160, b=10)
        self.assertEqual([len(self.told(what, name)) for name in "ab" for what in ("verified", "unverified")], [0, 1, 1, 0])
        self.assertIn("a is not verified: none of its processes is a client of MPS, so nothing holds it to 50 % of its GPU; does it change CUDA_MPS_PIPE_DIRECTORY, ", out)

    def case_a_daemon_that_dies(self) -> None:
        self.prepare()
        self.write(elastic("a", "good", 400, gpu="2"), elastic("b", "good", 10, at="12s", gpu="2"), head=SHARES)
        run = self.start("--log", "log.jsonl")
        daemon, pid = self.daemon(), self.daemons_pid()
        self.wait_until_verified("a")
        (daemon / "control").write_text("dead\n")
        self.addCleanup(os.kill, pid, signal.SIGKILL)
        out = self.finish(run, a=400, b=10)
        self.assertEqual((len(self.told("verified", "b")), len(self.told("unverified", "b"))), (0, 1))
        self.assertIn(f"b is not verified: reach the MPS daemon in {daemon}: gone; it has ended, and jobs started now run without MPS", out)

    def case_what_undoes_a_share_in_a_jobs_environment_is_named(self) -> None:
        self.prepare()
        more = 'environment = { CUDA_MPS_ENABLE_PER_CTX_DEVICE_MULTIPROCESSOR_PARTITIONING = 1, CUDA_MPS_ACTIVE_THREAD_PERCENTAGE = 90 }'
        self.write(elastic("a", "good", 10, gpu="2", more=more), head=SHARES)
        done = self.run_jobs("--log", "log.jsonl")
        self.assert_finished(done, a=10)
        self.assertEqual(self.percents("a"), [50])
        self.assertIn("a: take over CUDA_MPS_ENABLE_PER_CTX_DEVICE_MULTIPROCESSOR_PARTITIONING: conflict; with it a job sets its own share for each context", done.stdout)


class Refused(Shares):
    def test_refused(self) -> None:
        self.all_cases()

    def case_without_a_gpu(self) -> None:
        self.prepare()
        self.environment["CUDA_VISIBLE_DEVICES"] = ""
        self.write(elastic("a", "good", 5), head=SHARES)
        self.assertEqual(self.refused(3), "jobs.toml:3:11: no whole GPU is left to share; run ration doctor for the reason, or write "
                                          "devices = { count = 4, cpu = 0.25 } instead\n")

    def case_instances_are_not_cut_again(self) -> None:
        self.prepare()
        (self.folder / "gpus").write_text(f"gpu uuid={self.IDS[0]} pci=0000:10:00.0\nmig uuid=MIG-00000000-0000-4000-8000-00000000000a\n")
        self.write(elastic("a", "good", 5), head=SHARES)
        self.assertIn("no whole GPU is left", self.refused(3))

    def case_more_shares_than_there_are(self) -> None:
        self.prepare()
        self.write(elastic("a", "good", 5, gpu="5"), head=SHARES)
        self.assertIn("job 'a' needs at least 5 devices, and there are 4", self.refused(3))

    def case_without_the_daemons_program(self) -> None:
        self.prepare()
        self.environment["PATH"] = "/usr/bin:/bin"
        self.write(elastic("a", "good", 5), head=SHARES)
        self.assertEqual(self.refused(3), "ration: start nvidia-cuda-mps-control: not found; install it, or put its folder into PATH\n")

    def case_a_daemon_that_does_not_come_up(self) -> None:
        self.prepare()
        self.install("#!/bin/sh\necho 'no GPU here' > $CUDA_MPS_LOG_DIRECTORY/control.log\nexit 1\n")
        self.write(elastic("a", "good", 5), head=SHARES)
        refusal = self.refused(3)
        log = (self.folder / "ration-output/latest").resolve() / "mps/control.log"
        self.assertEqual(refusal, f"ration: start an MPS daemon, which writes into {log}: not found; it does not come up: look there; until then share whole GPUs, "
                                  'devices = "gpus"\n')
        self.assertEqual(log.read_text(), "no GPU here\n")

    def case_a_daemon_of_others_that_speaks_another_language(self) -> None:
        self.prepare()
        self.daemon_of_others("strange\n")
        self.write(elastic("a", "good", 5), head=SHARES)
        self.assertIn("shares by MPS cannot be verified, so none are given", self.refused(3))


class Left(Shares):
    """ration is killed: the daemon continues, as the jobs do. The cases run one after another, since `ration clean` would end the other one's job as well."""

    def kill(self) -> int:
        self.prepare()
        self.write(elastic("a", "good", 100, gpu="2"), head=SHARES)
        run = self.start("--log", "log.jsonl")
        self.wait_until_verified("a")
        pid = self.daemons_pid()
        run.kill()
        run.communicate()
        self.assertTrue(alive(pid))
        return pid

    def test_whoever_adopts_the_run_has_its_daemon(self) -> None:
        pid = self.kill()
        run = self.start("--reattach", "--log", "log.2.jsonl")
        self.wait_for(lambda: (self.folder / "log.2.jsonl").exists() and '"what":"verified"' in (self.folder / "log.2.jsonl").read_text())
        self.assertTrue(alive(pid))
        out, err = run.communicate(timeout=PATIENCE)
        self.assertEqual((run.returncode, self.percents("a")), (0, [50]), out + err)
        self.assertFalse(alive(pid))

    def test_clean_ends_it(self) -> None:
        pid = self.kill()
        said = subprocess.run([RATION, "clean", "--dry-run"], env=self.environment, capture_output=True, text=True, check=True).stdout
        self.assertIn("would end a", said)
        self.assertTrue(alive(pid), said)
        subprocess.run([RATION, "clean"], env=self.environment, capture_output=True, check=True)
        self.assertFalse(alive(pid))


class OnPaper(Shares):
    def test_a_dry_run_starts_no_daemon_and_says_the_shares(self) -> None:
        self.prepare()
        self.write(job("a", ["true"], "bounds = { gpu = 3 }"), job("b", ["true"], "bounds = { gpu = 1 }"), head=SHARES)
        planned = {line["job"]: line for line in map(json.loads, self.run_jobs("--dry-run", "--json").stdout.splitlines()) if line["resource"] == "gpu"}
        self.assertEqual({name: (line["percent"], line["devices"].count(self.IDS[0])) for name, line in planned.items()}, {"a": (75, 3), "b": (25, 1)})
        said = self.run_jobs("--dry-run", "--explain").stdout
        self.assertIn(f"{self.IDS[0]}/0,{self.IDS[0]}/1,{self.IDS[0]}/2: 75 % of the GPU, by MPS", said)
        self.assertIn("The share is set by CUDA_MPS_ACTIVE_THREAD_PERCENTAGE, read once by each process: another one is another launch.", said)
        self.assertEqual(list(self.folder.glob("**/control")), [])


if __name__ == "__main__":
    main()
