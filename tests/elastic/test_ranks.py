# SPDX-License-Identifier: BSL-1.0
"""The launcher: the place that each rank gets, the rank whose exit status counts, and that no process is left behind. Without PyTorch."""
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

import support

SAY = """
place = [os.environ[name] for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")]
os.write(1, (" ".join(place) + "\\n").encode())
"""
NOTE = """
import os, pathlib, signal, subprocess, sys, time
folder = pathlib.Path(sys.argv[1])
def note(name):
    (folder / f"{name}.tmp").write_text(str(os.getpid()))
    (folder / f"{name}.tmp").rename(folder / name)
"""


class Ranks(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def start(self, code, devices=2, grace=5, **more):
        script = self.folder / "script.py"
        script.write_text(NOTE + code)
        environment = {**os.environ, "PYTHONPATH": str(support.PACKAGE), "PYTHONDONTWRITEBYTECODE": "1", **more}
        environment.pop("RATION_DEVICES", None)
        if devices:
            environment["RATION_DEVICES"] = ",".join(f"cpu-{at}" for at in range(devices))
        launcher = f"import sys; from ration import ranks; ranks._GRACE = {grace}; sys.exit(ranks.main(sys.argv[1:]))"
        job = subprocess.Popen([sys.executable, "-c", launcher, str(script), str(self.folder)], env=environment, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
        self.addCleanup(job.communicate)
        self.addCleanup(job.kill)
        return job

    def outcome(self, job):
        output, errors = job.communicate(timeout=support.PATIENCE)
        return job.returncode, output, errors

    def noted(self, *names):
        """The process ids that the ranks have written down; none outlives the test, whatever comes out."""
        support.await_that(lambda: all((self.folder / name).exists() for name in names), f"the files {names}")
        pids = [int((self.folder / name).read_text()) for name in names]
        for pid in pids:
            self.addCleanup(self.end, os.pidfd_open(pid) if not support.is_gone(pid) else None)
        return pids

    @staticmethod
    def end(descriptor):
        if descriptor is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            os.close(descriptor)

    def test_on_several_nodes_ranks_continue_those_of_the_nodes_before(self):
        world = {"RATION_NODES": "2", "NODE_RANK": "1", "RANK": "3", "WORLD_SIZE": "5", "MASTER_ADDR": "n1", "MASTER_PORT": "20007"}
        status, output, _ = self.outcome(self.start(SAY, devices=2, **world))
        self.assertEqual(status, 0)
        self.assertEqual(sorted(output.splitlines()), ["3 0 5 2 n1 20007", "4 1 5 2 n1 20007"])
        status, output, _ = self.outcome(self.start(SAY, devices=1, **{**world, "RATION_NODES": "1"}))
        self.assertEqual(output.split()[:5], ["0", "0", "1", "1", "127.0.0.1"])

    def test_jobs_that_a_rank_starts_do_not_get_its_place(self):
        """By RATION_CHOSEN: see docs/process-backend.md."""
        _, output, _ = self.outcome(self.start('import os; print(os.environ["RATION_CHOSEN"], os.environ["MASTER_PORT"])', devices=1, RATION_CHOSEN="OMP_NUM_THREADS=1"))
        *listed, port = output.split()
        self.assertEqual(listed[0], "OMP_NUM_THREADS=1")
        self.assertLessEqual({"RANK=0", "LOCAL_RANK=0", "WORLD_SIZE=1", "LOCAL_WORLD_SIZE=1", "MASTER_ADDR=127.0.0.1", f"MASTER_PORT={port}"}, set(listed))

    def test_each_rank_finds_its_place(self):
        status, output, _ = self.outcome(self.start(SAY, devices=3))
        lines = sorted(line.split() for line in output.splitlines())
        self.assertEqual(status, 0)
        self.assertEqual([line[:5] for line in lines], [[str(rank), str(rank), "3", "3", "127.0.0.1"] for rank in range(3)])
        self.assertEqual(len({line[5] for line in lines}), 1)
        self.assertEqual(self.outcome(self.start(SAY, devices=0))[1].split()[:4], ["0", "0", "1", "1"])

    def test_ranks_of_a_pytorch_without_libuv_find_one_another(self):
        """As PyTorch 2.6 of Debian 13 is; elsewhere whatever the environment asks for."""
        show = "os.write(1, (os.environ['USE_LIBUV'] + '\\n').encode())\n"
        self.assertEqual(self.outcome(self.start(show))[1].split(), ["0", "0"])
        self.assertEqual(self.outcome(self.start(show, USE_LIBUV="1"))[1].split(), ["1", "1"])

    def test_the_first_failure_ends_all_and_counts(self):
        code = """
if os.environ["RANK"] == "1":
    sys.exit(7)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))
note(os.environ["RANK"])
time.sleep(1000)
"""
        job = self.start(code, devices=3)
        self.assertEqual(self.outcome(job)[0], 7)

    def test_a_rank_that_does_not_end_is_killed(self):
        code = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
note(os.environ["RANK"])
while os.environ["RANK"] == "0" or not (folder / "0").exists():
    time.sleep(0.01)
os.kill(os.getpid(), signal.SIGKILL)
"""
        job = self.start(code, grace=0.2)
        pids = self.noted("0", "1")
        self.assertEqual(self.outcome(job)[0], 128 + signal.SIGKILL)
        self.assertTrue(all(map(support.is_gone, pids)))

    def test_signals_are_passed_on(self):
        code = """
def told(number, _):
    note(f"told{os.environ['RANK']}-{number}")
    sys.exit(0)
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, told)
note(os.environ["RANK"])
time.sleep(1000)
"""
        for number in (signal.SIGTERM, signal.SIGINT):
            job = self.start(code)
            self.noted("0", "1")
            job.send_signal(number)
            self.assertEqual(self.outcome(job)[0], 0)
            self.noted(f"told0-{number}", f"told1-{number}")
            for name in ("0", "1"):
                (self.folder / name).unlink()

    def test_nobody_outlives_a_launcher_that_is_killed(self):
        job = self.start("note(os.environ['RANK'])\nsignal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})\ntime.sleep(1000)", devices=3)
        pids = self.noted("0", "1", "2")
        job.kill()
        for pid in pids:
            support.await_that(lambda pid=pid: support.is_gone(pid), f"the end of rank {pid}")

    def test_what_a_rank_leaves_behind_is_ended(self):
        code = """
left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"], start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
(folder / f"left{os.environ['RANK']}.tmp").write_text(str(left.pid))
(folder / f"left{os.environ['RANK']}.tmp").rename(folder / f"left{os.environ['RANK']}")
"""
        job = self.start(code)
        self.assertEqual(self.outcome(job)[0], 0)
        self.assertTrue(all(map(support.is_gone, self.noted("left0", "left1"))))

    def test_a_rank_keeps_its_own_signal_mask(self):
        status, output, _ = self.outcome(self.start("print(signal.pthread_sigmask(signal.SIG_BLOCK, []))", devices=1))
        self.assertEqual((status, output), (0, "set()\n"))

    def test_a_script_that_is_not_there_fails(self):
        self.folder.joinpath("script.py").unlink(missing_ok=True)
        job = subprocess.run([sys.executable, "-m", "ration.ranks", str(self.folder / "none.py")], capture_output=True, text=True,
                             env={**os.environ, "PYTHONPATH": str(support.PACKAGE)}, timeout=support.PATIENCE, check=False)
        self.assertNotEqual(job.returncode, 0)
        self.assertIn("none.py", job.stderr)


if __name__ == "__main__":
    support.run_tests()
