# SPDX-License-Identifier: BSL-1.0
"""The CPUs that jobs share are those that ration may use: by its affinity and by the CPU quota of its group, with both backends. ration warns of a request for more."""
import json
import os
import unittest

from support import PYTHON, RunTest, Session, has_cgroups, job, main

SHOW = "import json, os; print(json.dumps([sorted(os.sched_getaffinity(0)), os.environ['RATION_CPUS'], os.environ['OMP_NUM_THREADS']]))"
BACKENDS = ["process", "cgroup"] if has_cgroups() else ["process"]


class UsableCpus(RunTest):
    def setUp(self) -> None:
        super().setUp()
        self.environment.pop("OMP_NUM_THREADS", None)

    def shown(self) -> list:
        """The CPUs, cores and threads of the job."""
        return json.loads((self.folder / "ration-output" / "latest" / "a.log").read_text())

    def warnings(self, subject: str) -> list[str]:
        return [event["message"] for event in self.events() if event["event"] == "warning" and event["subject"] == subject]

    def run_here(self, backend: str, enter) -> dict:
        """The first event of a run that begins with `enter`."""
        done = self.run_jobs("--quiet", "--backend", backend, "--log", "log.jsonl", preexec_fn=enter)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.events()[0]

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one CPU is not divided")
    def test_jobs_get_no_cpu_that_the_affinity_of_ration_leaves_out(self) -> None:
        last = max(os.sched_getaffinity(0))
        for backend in BACKENDS:
            for head in ("", "cpus = 2\n"):
                with self.subTest(backend=backend, head=head):
                    self.write(job("a", [PYTHON, "-c", SHOW], "bounds = { cpu = { min = 1.5 } }"), head=f'policy = "none"\n{head}')
                    begin = self.run_here(backend, lambda: os.sched_setaffinity(0, {last}))
                    self.assertEqual((begin["cpus"], self.shown()), (1, [[last], "1.000", "1"]))
                    self.assertEqual(self.warnings("a"), ["its cpu.min of 1.5 cores is more than the 1 that all jobs share; make it smaller, or let ration use more CPUs"])
                    self.assertEqual([message.startswith("2 cores are asked for, and this program may use 1; ask for fewer") for message in self.warnings("cpus")],
                                     [True] if head else [])

    def test_jobs_get_no_more_than_the_quota_of_the_group_of_ration(self) -> None:
        session = Session(f"{os.getpid()}.quota")
        self.addCleanup(session.clear)
        files = [group / name for group in session.groups for name in ("cpu.cfs_quota_us", "cpu.max") if (group / name).exists()]
        if not files:
            self.skipTest("no group with a CPU quota can be made here")
        files[0].write_text("50000" if files[0].name == "cpu.cfs_quota_us" else "50000 100000")
        self.write(job("a", [PYTHON, "-c", SHOW]), head='policy = "none"\n')
        inner = files[0].parent / "inner"
        inner.mkdir()

        def enter_below() -> None:
            session.enter()
            (inner / "cgroup.procs").write_text("0")
        for backend, enter in [(backend, session.enter) for backend in BACKENDS] + [("process", enter_below)]:
            with self.subTest(backend=backend, below=enter is enter_below):
                begin = self.run_here(backend, enter)
                self.assertEqual((begin["cpus"], self.shown()[1:]), (1, ["0.500", "1"]))


if __name__ == "__main__":
    main()
