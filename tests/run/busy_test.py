# SPDX-License-Identifier: BSL-1.0
"""Many jobs on a machine that others keep busy: a small capacity pauses no job."""
import signal
import subprocess
import unittest

from support import RunTest, job, main, of

JOBS = 60
LEAST_CPU = 10  # millicores


class Busy(RunTest):
    def occupy(self, loops: int) -> None:
        for _ in range(loops):
            loop = subprocess.Popen(["sh", "-c", "while :; do :; done"], stdout=subprocess.DEVNULL)
            self.addCleanup(loop.wait)
            self.addCleanup(loop.kill)

    def test_a_busy_machine_pauses_no_job(self) -> None:
        jobs = [job(f"j{i}", ["sleep", "10"], target="target = { loss = { acceptable = 0.5 } }") for i in range(JOBS)]
        self.write(*jobs, head='policy = "equal_share"\ncpus = 1\ntick = "250ms"\n')
        self.occupy(3)
        run = self.start("--log", "log.jsonl")
        try:
            out, _ = run.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            run.send_signal(signal.SIGINT)
            run.communicate()
            self.fail("jobs that sleep for 10 s are still there after 120 s, while others keep the machine busy")
        granted = [grant["amount"] for decision in of(self.events(), "decision") for grant in decision["grants"]]
        if min(granted) > LEAST_CPU:
            raise unittest.SkipTest(f"three busy loops left so much of this machine that the smallest grant was {min(granted)} millicores")
        self.assertEqual(min(granted), LEAST_CPU)
        self.assertEqual(run.returncode, 0, out[-2000:])
        self.assertEqual(of(self.events(), "rejected"), [])


if __name__ == "__main__":
    main()
