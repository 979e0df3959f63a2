# SPDX-License-Identifier: BSL-1.0
"""What `ration run` reports of memory: one definition under both backends, and the reason when a job runs out of it."""
import os
import pathlib
import unittest

from support import PYTHON, RunTest, has_cgroups, job, main, of

CGROUPS = has_cgroups()
MIB = 1 << 20
# 64 MiB of private memory, 96 MiB of a file in the page cache, and 32 MiB of that file mapped.
HOLDS = """
import mmap, os, time
own = bytearray(os.urandom(1 << 20)) * 64
with open("cached", "wb+") as file:
    for _ in range(96): file.write(own[:1 << 20])
    file.flush()
    mapped = mmap.mmap(file.fileno(), 32 << 20)
    sum(mapped[i] for i in range(0, 32 << 20, 4096))
    time.sleep(4)
os.remove("cached")
"""
GREEDY = "x = bytearray(300 << 20); import time; time.sleep(20)"


def used_memory(events: list[dict]) -> int:
    """The largest that a policy was shown."""
    return int(max(max(e["columns"]["jobs/used.memory"], default=0) for e in of(events, "decision")))


class OneDefinition(RunTest):
    def used_by(self, backend: str) -> int:
        self.write(job("holder", [PYTHON, "-c", HOLDS]))
        done = self.run_jobs("--backend", backend, "--log", f"{backend}.jsonl")
        self.assertEqual(done.returncode, 0, done.stderr)
        return used_memory(self.events(f"{backend}.jsonl"))

    def test_own_and_mapped_pages_count_and_other_cached_files_do_not(self) -> None:
        resident = self.used_by("process")
        self.assertGreaterEqual(resident, 96 * MIB)
        self.assertLess(resident, 128 * MIB)
        if CGROUPS:  # a shared library that another group brought into memory is on that group's account
            self.assertAlmostEqual(self.used_by("cgroup"), resident, delta=16 * MIB)


@unittest.skipUnless(CGROUPS, "no cgroup can be written here")
class Shortage(RunTest):
    def why(self, *arguments: str, **options) -> str:
        done = self.run_jobs("--log", "log.jsonl", *arguments, **options)
        self.assertEqual(done.returncode, 1, done.stderr)
        (ended,) = of(self.events(), "job_ended")
        return ended["why"]

    def test_a_job_killed_at_its_own_limit_is_reported_with_it(self) -> None:
        self.write(job("greedy", [PYTHON, "-c", GREEDY], 'bounds = { memory = "64MiB" }'))
        self.assertEqual(self.why(), "out of memory: limit 64 MiB")

    def test_a_first_process_that_outlives_the_killed_one_is_reported_with_both(self) -> None:
        self.write(job("launcher", ["/bin/sh", "-c", f"{PYTHON} -c '{GREEDY}' 2>/dev/null; echo rank 0 died; exit 7"], 'bounds = { memory = "64MiB" }'))
        self.assertEqual(self.why(), "exit code 7; out of memory: limit 64 MiB; its last line: rank 0 died")

    def test_a_worker_that_was_killed_is_named_although_the_first_process_succeeds(self) -> None:
        self.write(job("loader", ["/bin/sh", "-c", f"{PYTHON} -c '{GREEDY}' 2>/dev/null; exit 0"], 'bounds = { memory = "64MiB" }'))
        done = self.run_jobs("--log", "log.jsonl")
        self.assertEqual(done.returncode, 0, done.stderr)
        (ended,) = of(self.events(), "job_ended")
        self.assertIn("the kernel killed one of its processes, out of memory: limit 64 MiB", ended["why"])

    def test_a_job_killed_from_outside_did_not_run_out_of_memory(self) -> None:
        self.write(job("a", ["/bin/sh", "-c", "kill -9 $$"], 'bounds = { memory = "64MiB" }'))
        self.assertEqual(self.why(), "killed by signal 9 (Killed)")

    def test_without_a_group_the_kernel_is_named_as_a_possible_cause(self) -> None:
        """The whole run gets a limit, as in a container; the kernel kills the largest process."""
        own = next(line.split(":", 2)[2] for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines() if line.split(":")[1] in ("memory", ""))
        base = pathlib.Path("/sys/fs/cgroup/memory") if pathlib.Path("/sys/fs/cgroup/memory").is_dir() else pathlib.Path("/sys/fs/cgroup")
        group = base / own.lstrip("/") / f"ration-test-memory.{os.getpid()}"
        group.mkdir()
        self.addCleanup(group.rmdir)
        limit = group / ("memory.max" if (group / "memory.max").exists() else "memory.limit_in_bytes")
        limit.write_text(str(150 * MIB))
        self.write(job("greedy", [PYTHON, "-c", GREEDY]))
        why = self.why("--backend", "process", preexec_fn=lambda: (group / "cgroup.procs").write_text("0"))
        self.assertEqual(why, "killed by signal 9 (Killed); perhaps out of memory: the kernel has killed a process of this machine for that since the job's start")


if __name__ == "__main__":
    main()
