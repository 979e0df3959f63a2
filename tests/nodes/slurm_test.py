# SPDX-License-Identifier: BSL-1.0
"""`ration run --nodes slurm` with fakes for Slurm's programs. tests/slurm has the same with a real Slurm."""
import os
import re
import time
import unittest

from nodes_case import LONG, Nodes, job

SRUN = """#!/bin/sh
echo "$@" >> "$TEST_FOLDER/srun.calls"
env | grep ^SLURM_ | sort >> "$TEST_FOLDER/srun.variables"
for word do
  case $word in --*) shift ;; *) break ;; esac
done
[ -z "$TEST_RUNTIME" ] || export XDG_RUNTIME_DIR="$TEST_RUNTIME"
exec "$@"
"""
SCONTROL = '#!/bin/sh\n[ "$*" = "show hostnames n[1-2]" ] || exit 1\nprintf "n1\\nn2\\n"\n'
SQUEUE = "#!/bin/sh\necho ${TEST_END:-NONE}\n"
ALLOCATION = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_JOB_CPUS_PER_NODE": "1(x2)", "SLURM_NTASKS": "9", "SLURM_STEP_ID": "3",
              "SLURM_CPUS_PER_TASK": "5", "SLURM_MEM_PER_CPU": "100"}


class SlurmTest(Nodes):
    def setUp(self) -> None:
        super().setUp()
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        for name, text in (("srun", SRUN), ("scontrol", SCONTROL), ("squeue", SQUEUE)):
            (self.bin / name).write_text(text)
            (self.bin / name).chmod(0o755)
        for name, value in {**ALLOCATION, "PATH": f"{self.bin}:{os.environ['PATH']}", "TEST_FOLDER": str(self.folder)}.items():
            self.set(name, value)

    def set(self, name: str, value: str | None) -> None:
        """A variable of the environment for the rest of the test."""
        before = os.environ.get(name)
        self.addCleanup(lambda: os.environ.pop(name, None) if before is None else os.environ.__setitem__(name, before))
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value

    def start_in_allocation(self, jobs: str, *options: str) -> None:
        self.start(jobs, *options, nodes="slurm")

    def test_the_agents_of_an_allocation_run_as_steps_with_all_of_their_nodes(self) -> None:
        self.set("TEST_END", str(int(time.time()) + 365 * 24 * 3600))  # as Slurm shows an allocation without a limit
        self.start_in_allocation("".join(job(name, 5) for name in "ab"))
        out, _ = self.finish()
        self.assertEqual({event["how"] for event in self.events("job_ended")}, {"finished"})
        self.assertEqual(sorted(re.findall(r"node (\S+) is up, with (\d) devices", out)), [("n1", "4"), ("n2", "4")])
        calls = sorted((self.folder / "srun.calls").read_text().splitlines())
        self.assertEqual([re.search("--nodelist=(n[12]) ", call)[1] for call in calls], ["n1", "n2"])
        for call in calls:
            for option in ("--jobid=7", "--nodes=1", "--ntasks=1", "--cpus-per-task=1", "--overlap", "--mem=0"):
                self.assertIn(f"{option} ", call)
        variables = {line.partition("=")[0] for line in (self.folder / "srun.variables").read_text().splitlines()}
        self.assertIn("SLURM_JOB_NODELIST", variables)
        self.assertEqual(variables & {"SLURM_NTASKS", "SLURM_STEP_ID", "SLURM_CPUS_PER_TASK", "SLURM_MEM_PER_CPU"}, set())
        self.assertNotIn("Slurm ends", out)
        self.assert_nothing_left()

    def test_jobs_are_saved_before_the_end_of_the_allocation_and_continue_in_the_next_one(self) -> None:
        self.set("TEST_END", str(int(time.time()) + 8))
        self.set("TEST_RUNTIME", str(self.folder / "absent"))  # of another machine
        self.start_in_allocation(job("a", LONG, more='checkpoint = "saved"'))
        out, _ = self.finish(4)
        self.assertRegex(out, r"Slurm ends this allocation in \d s; the jobs are saved [34] s before")
        self.assertEqual([event["how"] for event in self.events("job_ended")], ["stopped"])
        saved = int((self.folder / "work" / "saved" / "step").read_text())
        self.assertGreater(saved, 0)
        self.set("TEST_END", None)
        self.start_in_allocation(job("a", saved + 1, more='checkpoint = "saved"'))
        self.finish()
        self.assertEqual(int(self.launches()[-1][3]), saved)
        self.assert_nothing_left()

    def refusal(self, *options: str) -> str:
        self.start_in_allocation(job("a", 1), *options)
        _, err = self.finish(2)
        return err

    def test_a_missing_allocation_costs_one_sentence(self) -> None:
        self.assertEqual(self.refusal("--hosts", "n1"), "ration: --hosts: the hosts are those of the allocation; leave it out\n")
        (self.bin / "scontrol").write_text("#!/bin/sh\necho slurm_load_ctl_conf error >&2\nexit 1\n")
        self.assertEqual(self.refusal(), "ration: --nodes: scontrol show: 'slurm_load_ctl_conf error'; run it by hand in this allocation\n")
        (self.bin / "scontrol").write_text("#!/bin/sh\necho 'n1;rm'\n")
        self.assertEqual(self.refusal(), "ration: --nodes: scontrol show hostnames 'n[1-2]': the names of nodes cannot be read from its output; run it by "
                                         "hand in this allocation\n")
        (self.bin / "scontrol").write_text("#!/bin/sh\necho n1\n")
        self.assertEqual(self.refusal(), "ration: --nodes: the allocation has 1 node, and SLURM_JOB_CPUS_PER_NODE is '1(x2)'; start ration inside sbatch or "
                                         "salloc with at most 1024 nodes\n")
        os.environ["PATH"] = str(self.folder)
        self.assertEqual(self.refusal(), "ration: --nodes: the program srun of Slurm cannot be started; add its folder to PATH\n")
        self.set("SLURM_JOB_ID", None)
        self.assertEqual(self.refusal(), "ration: --nodes: slurm needs an allocation, and SLURM_JOB_ID or SLURM_JOB_NODELIST is not set; start ration inside "
                                         "sbatch or salloc\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
