# SPDX-License-Identifier: BSL-1.0
"""How many threads a job gets and how they wait: what a dry run prints is what the job finds in its environment."""
import json
import re

from support import PYTHON, RunTest, job, main

SHOW = "import json, os; print(json.dumps(dict(os.environ)))"
PASSIVE = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0", "KMP_BLOCKTIME": "0", "OPENBLAS_THREAD_TIMEOUT": "4"}
NAMES = {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS",
         "TF_NUM_INTRAOP_THREADS", *PASSIVE}


class Threads(RunTest):
    def setUp(self) -> None:
        super().setUp()
        for name in NAMES:
            self.environment.pop(name, None)
        self.write(job("plain", [PYTHON, "-c", SHOW]),
                   job("own", [PYTHON, "-c", SHOW], more='environment = { OMP_NUM_THREADS = 3, OMP_WAIT_POLICY = "ACTIVE", NUMBA_NUM_THREADS = 1 }'),
                   head='policy = "none"\n')

    def cores(self) -> str:
        """Of this machine, as ration counts them."""
        return re.search(r"on (\d+) of \d+ cpus", self.run_jobs("--dry-run").stdout)[1]

    def threads_of_two(self) -> str:
        """Threads of each of two jobs: half of the cores, rounded up."""
        return str((int(self.cores()) + 1) // 2)

    def environments(self) -> dict[str, dict[str, str]]:
        """The variables about threads that each job found."""
        self.assertEqual(self.run_jobs("--quiet").returncode, 0)
        found = {name: json.loads((self.folder / "ration-output" / "latest" / f"{name}.log").read_text()) for name in ("plain", "own")}
        return {name: {key: one[key] for key in NAMES & one.keys()} for name, one in found.items()}

    def dry_run(self, *more: str) -> dict[str, list[str]]:
        """The entries below each job."""
        shown: dict[str, list[str]] = {"plain": [], "own": []}
        lines = self.run_jobs("--dry-run", *more).stdout.split("\nand, once")[0].splitlines()
        for number, line in enumerate(lines):
            if line.startswith("  at "):
                shown[line.split()[3]] = lines[number + 1].split()
        return shown

    def test_jobs_get_what_the_dry_run_shows(self) -> None:
        found = self.environments()
        threads = self.threads_of_two()
        self.assertEqual(found["plain"], {**dict.fromkeys(NAMES - PASSIVE.keys(), threads), **PASSIVE})
        self.assertEqual(found["own"], {**dict.fromkeys(NAMES - PASSIVE.keys(), "3"), "NUMBA_NUM_THREADS": "1", "OMP_WAIT_POLICY": "ACTIVE",
                                        "OPENBLAS_THREAD_TIMEOUT": "4"})
        for name, entries in self.dry_run("--explain").items():
            self.assertEqual(dict(entry.split("=") for entry in entries), found[name])

    def test_jobs_that_run_at_once_share_the_cores(self) -> None:
        jobs = 2 * int(self.cores())
        self.write(*(job(f"j{i}", [PYTHON, "-c", SHOW + "; import time; time.sleep(1)"]) for i in range(jobs)), head='policy = "none"\n')
        self.assertEqual(self.run_jobs("--quiet").returncode, 0)
        found = [json.loads((self.folder / "ration-output" / "latest" / f"j{i}.log").read_text())["OMP_NUM_THREADS"] for i in range(jobs)]
        self.assertEqual(found, ["1"] * jobs)

    def test_a_dry_run_shows_the_number_and_the_way_of_waiting(self) -> None:
        self.assertEqual(self.dry_run(), {"plain": [f"OMP_NUM_THREADS={self.threads_of_two()}", "OMP_WAIT_POLICY=PASSIVE"],
                                          "own": ["OMP_NUM_THREADS=3", "OMP_WAIT_POLICY=ACTIVE"]})


if __name__ == "__main__":
    main()
