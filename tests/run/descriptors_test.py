# SPDX-License-Identifier: BSL-1.0
"""The descriptors of `ration run`: standard streams that are closed, and limits on open files."""
import itertools
import resource
import subprocess
import unittest

from support import PATIENCE, RATION, RunTest, job, main, of

STREAMS = {0: "standard input", 1: "standard output", 2: "standard error"}


class ClosedStreams(RunTest):
    def run_without(self, streams: tuple[int, ...], *arguments: str) -> int:
        close = " ".join(f"{number}<&-" for number in streams)
        ended = subprocess.run(["/bin/sh", "-c", f'exec "$@" {close}', "sh", RATION, "run", "jobs.toml", *arguments], cwd=self.folder, env=self.environment,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
        return ended.returncode

    def test_the_event_log_holds_events_only(self) -> None:
        self.write(job("a", ["/bin/sh", "-c", "echo a line of the job"]))
        every = [streams for count in (1, 2, 3) for streams in itertools.combinations(STREAMS, count)]
        for streams in every:
            with self.subTest(closed=[STREAMS[number] for number in streams]):
                self.assertEqual(self.run_without(streams, "--log", "log.jsonl"), 0)
                events = self.events()  # fails at a line that is not JSON
                self.assertEqual((events[0]["event"], events[-1]["event"]), ("run", "run_ended"))
                self.assertEqual([e["how"] for e in of(events, "job_ended")], ["finished"])


class OpenFiles(RunTest):
    """40 jobs need 128 open files with the process backend: 2 each, and 48 for ration."""

    def setUp(self) -> None:
        super().setUp()
        self.write(*(job(f"j{number}", ["/bin/sh", "-c", "ulimit -Sn; i=0; while [ ! -e done ] && [ $i -lt 600 ]; do sleep 0.2; i=$((i+1)); done"]) for number in range(40)))

    def run_below(self, soft: int, hard: int, *arguments: str, **options) -> subprocess.Popen:
        return self.start("--backend", "process", *arguments, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard)), **options)

    def test_the_soft_limit_is_raised_and_the_jobs_get_their_own_back(self) -> None:
        run = self.run_below(64, 128, "--log", "log.jsonl")
        self.wait_for(lambda: (self.folder / "log.jsonl").exists() and len(of(self.events(), "job_started")) == 40, limit=60)
        (self.folder / "done").touch()
        _, err = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 0, err)
        for number in range(40):
            self.assertEqual((self.folder / f"ration-output/latest/j{number}.log").read_text(), "64\n")

    def test_a_hard_limit_that_is_too_low_is_told_before_anything_starts(self) -> None:
        run = self.run_below(64, 127)
        out, err = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 3, out + err)
        self.assertRegex(err, r"^ration: hold 40 jobs, which need 128 open files where the hard limit is 127: limit reached; raise the limit as root .*\n$")
        self.assertEqual(list((self.folder / "ration-output").rglob("*.log")), [])


if __name__ == "__main__":
    main()
