# SPDX-License-Identifier: BSL-1.0
"""Processes that the first process of a job leaves behind: they get SIGTERM and the job's grace, and a sentence reports it."""
import os
import pathlib
import re
import sys

from support import PYTHON, RunTest, alive, has_cgroups, job, main, of

ROOT = pathlib.Path(__file__).resolve().parents[2]
WARNING = r"its first process has ended and left \d+ other process(es)?: SIGTERM, then SIGKILL after .*; let the command wait for its background processes"
END = r"its first process had left \d+ other process(es)?, which ration ended"


def write_job_with_a_helper(test: RunTest, seconds: float) -> None:
    """The job p, whose module of `preload` starts a process and notes it in the file `pid`. The job ends so long after that."""
    (test.folder / "starts_a_helper.py").write_text(
        "import os, subprocess, sys\n"
        f"helper = subprocess.Popen([{PYTHON!r}, '-c', 'import time; time.sleep(1000)'], start_new_session=True)\n"
        "open('pid.new', 'w').write(str(helper.pid))\nos.rename('pid.new', 'pid')\n")
    (test.folder / "job.py").write_text(f"import os, time\nwhile not os.path.exists('pid'):\n    time.sleep(0.05)\ntime.sleep({seconds})\n")
    test.environment["PYTHONPATH"] = f"{ROOT / 'python'}:{test.folder}"
    test.write(job("p", [sys.executable, "job.py"], 'bounds = { gpu = 1 }\npreload = ["starts_a_helper"]\nat_objective = "continue"'),
               head='policy = "fifo"\ndevices = { count = 1, cpu = 0.5 }\n')


class Background(RunTest):
    def setUp(self) -> None:
        super().setUp()
        self.backends = ["process", *(["cgroup"] if has_cgroups() else [])]

    def run_script(self, script: str, backend: str, more: str = "") -> tuple[dict, list[str], str]:
        """The end of a job, the warnings and its output."""
        self.write(job("a", ["sh", "-c", script], more))
        done = self.run_jobs("--log", "log.jsonl", "--backend", backend)
        events = self.events()
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return of(events, "job_ended")[0], [e["message"] for e in of(events, "warning", None)], (self.folder / "ration-output/latest/a.log").read_text()

    def test_work_in_the_background_is_asked_to_end_and_can_save(self) -> None:
        for backend in self.backends:
            with self.subTest(backend=backend):
                end, warnings, text = self.run_script('(trap "sleep 0.3; echo saved; exit" TERM; echo training; while :; do sleep 0.1; done) & sleep 0.3', backend)
                self.assertIn("saved", text)
                self.assertEqual((end["how"], end["exit_code"]), ("finished", 0))
                self.assertRegex(end["why"], END)
                self.assertTrue(any(re.fullmatch(WARNING, one) for one in warnings), warnings)

    def test_work_that_ignores_the_signal_is_killed_after_the_grace(self) -> None:
        for backend in self.backends:
            with self.subTest(backend=backend):
                end, _, text = self.run_script('trap "" TERM; sleep 1000 & echo $!; exit 3', backend, 'grace = "500ms"')
                self.assertFalse(alive(int(text)))
                self.assertEqual((end["how"], end["exit_code"]), ("failed", 3))
                self.assertRegex(end["why"], f"^exit code 3; .*; {END}$")

    def test_workers_that_end_by_themselves_cost_no_sentence(self) -> None:
        for backend in self.backends:
            with self.subTest(backend=backend):
                end, warnings, _ = self.run_script("sleep 0.1 & exit 0", backend)
                self.assertEqual((end["how"], end["why"]), ("finished", ""))
                self.assertFalse(any("first process" in one for one in warnings), warnings)

    def test_processes_of_preloaded_modules_end_with_the_job(self) -> None:
        write_job_with_a_helper(self, 0.3)
        done = self.run_jobs("--log", "log.jsonl")
        self.assertEqual(done.returncode, 0, done.stderr)
        helper = int((self.folder / "pid").read_text())
        self.addCleanup(lambda: alive(helper) and os.kill(helper, 9))
        self.assertFalse(alive(helper))
        self.assertIn("its modules of 'preload' had left 1 process running; it is killed", [e["message"] for e in of(self.events(), "warning")])


if __name__ == "__main__":
    main()
