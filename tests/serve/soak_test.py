# SPDX-License-Identifier: BSL-1.0
"""Many short jobs through one service: none is lost or runs twice, and the service does not grow.

RATION_SERVE_JOBS: the number of jobs. A sample is taken after each twelfth of them, when none is left."""
import contextlib
import json
import os
import pathlib
import sqlite3
import sys
import time
import unittest

from support import JOB, PATIENCE, ServiceTest, cgroups_can_be_written

JOBS = int(os.environ.get("RATION_SERVE_JOBS", 24_000))
PARTS = 12
LONGEST_QUEUE = 40  # jobs that are queued or running at once
CONTROLLERS = pathlib.Path("/sys/fs/cgroup")


class Soak(ServiceTest):
    def start(self, *options: str, backend: str = "process") -> None:
        super().start(*options, backend="cgroup" if cgroups_can_be_written(self.environment) else backend)

    def rows(self, sql: str) -> list[tuple]:
        with contextlib.closing(sqlite3.connect(f"file:{self.state}/jobs.db?mode=ro", uri=True)) as jobs:
            return jobs.execute(sql).fetchall()

    def post(self, number: int) -> None:
        definition = JOB.replace('"a"', '"s"').replace('["true"]', json.dumps(["sh", "-c", f"echo {number} >> ran"]))
        status, answer = self.ask("POST", "/v1/jobs", json.dumps({"key": str(number), "definition": definition, "directory": str(self.folder), "environment": [f"PATH={os.environ['PATH']}"]}))
        self.assertEqual(status, 201, answer)

    def ended(self) -> int:
        return self.rows("SELECT count(*) FROM submissions WHERE stage IN ('COMPLETED', 'FAILED', 'HALTED')")[0][0]

    def sample(self) -> dict[str, float]:
        status = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{self.service.pid}/status").read_text().splitlines())
        groups = sum(f"/ration-run.{self.service.pid}." in path for path, _, _ in os.walk(CONTROLLERS))
        jobs = self.ended()
        return {"jobs": jobs, "descriptors": len(os.listdir(f"/proc/{self.service.pid}/fd")), "resident_kib": int(status["VmRSS"].split()[0]), "cgroups": groups,
                "stages_per_job": self.rows("SELECT count(*) FROM stages")[0][0] / jobs, "launches_per_job": self.rows("SELECT count(*) FROM incarnations")[0][0] / jobs,
                "unhandled": self.rows("SELECT count(*) FROM unhandled_ends")[0][0], "ends": len(os.listdir(self.state / "ends"))}

    def test_the_service_does_not_grow(self) -> None:
        samples, begun = [], time.monotonic()
        done = 0
        for part in range(1, PARTS + 1):
            while done < JOBS * part // PARTS:
                self.post(done)
                done += 1
                if done % (LONGEST_QUEUE // 2) == 0:
                    self.wait_for(lambda: done - self.ended() < LONGEST_QUEUE)
            self.wait_for(lambda: self.ended() == done)
            samples.append(self.sample() | {"seconds": round(time.monotonic() - begun)})
            print(json.dumps(samples[-1]), flush=True)
        first, last = samples[0], samples[-1]
        for one in samples:
            self.assertEqual((one["unhandled"], one["ends"], one["cgroups"], one["launches_per_job"]), (0, 0, first["cgroups"], 1), samples)
            self.assertLess(abs(one["descriptors"] - first["descriptors"]), 8, samples)
            self.assertLessEqual(one["stages_per_job"], 5, samples)  # PROCESSING only if a job runs for more than a second
        self.assertLess(last["resident_kib"], 1.1 * samples[1]["resident_kib"], samples)
        self.assertEqual(sorted(map(int, (self.folder / "ran").read_text().split())), list(range(JOBS)))
        self.assertEqual(self.rows("SELECT stage, exit_code, incarnation, count(*) FROM submissions GROUP BY 1, 2, 3"), [("COMPLETED", 0, 1, JOBS)])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
