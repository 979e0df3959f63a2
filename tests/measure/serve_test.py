# SPDX-License-Identifier: BSL-1.0
"""`ration measure serve` on servers whose service time is known."""
import json
import pathlib
import subprocess
import unittest

from measure_case import PYTHON, MeasureTest, main

ROOT = pathlib.Path(__file__).resolve().parents[2]
SERVER = """
[[job]]
name = "%(name)s"
command = ["%(python)s", "%(server)s", "{socket}", "%(time)s", "%(mode)s"]
target = { loss = { objective = 0 } }
parameters = { socket = "%(name)s.sock" }
bounds = { cpu = { max = 1 } }
"""
QUICK = ("--time", "100ms", "--limit", "2s", "--rate", "200", "--repeat", "1")


def server(name: str, milliseconds: int, mode: str = "good") -> str:
    return SERVER % {"name": name, "python": PYTHON, "server": ROOT / "tests/measure/server.py", "time": milliseconds, "mode": mode}


class ServeTest(MeasureTest):
    command = "serve"

    def serve(self, jobs: str, *words: str, **options) -> subprocess.CompletedProcess:
        self.write_jobs(jobs)
        return self.measure(*words, **options)

    def write_jobs(self, jobs: str) -> None:
        (self.folder / "jobs.toml").write_text('policy = "none"\ntick = "100ms"\n' + jobs)

    def test_two_servers_alone_and_together(self) -> None:
        done = self.serve(server("fast", 1) + server("slow", 4), *QUICK, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        alone = [one["served_per_second"] for one in result["rounds"][0]["alone"]]
        # A server that sleeps for 1 or 4 ms cannot serve more, however fast the machine is
        self.assertLessEqual(alone[0], 1000)
        self.assertLessEqual(alone[1], 250)
        self.assertGreater(min(alone), 0)
        together = result["rounds"][0]["together"]
        self.assertEqual(len(together), 3)
        for share, one in zip((0.25, 0.5, 0.75), together):
            # A pass is good from 97 % of its rate on
            self.assertGreaterEqual(one["fixed"], 0.97 * share * alone[0])
            self.assertLessEqual(one["fixed"], 1.000001 * share * alone[0])
        self.assertTrue(all(0 <= one["ramped"] <= 250 for one in together), together)
        started = [name for _, name in self.launches()]
        self.assertEqual(started[:2], ["0.sock", "1.sock"])
        self.assertEqual(sorted(started[2:]), ["0.sock", "1.sock"])  # both at once, in any order

    def test_servers_that_fail(self) -> None:
        for mode, sentence in (("wrong", "it sent 'done', which answers no request; let it answer each line with the same line"),
                               ("deaf", "it did not listen on its socket in time; let it bind the path of its parameter 'socket', "
                                        "or extend the deadline 'start' of the job")):
            jobs = server("a", 1, mode).replace("cpu = { max = 1 }", "gpu = 1") + 'deadlines = { start = "1s" }\n'
            done = self.serve("devices = { count = 1, cpu = 1 }\n" + jobs, *QUICK)
            self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
            self.assertEqual(done.stderr.splitlines()[-1], f"ration: job 'a': {sentence}")
        done = self.serve(server("a", 1, "dies"), *QUICK)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, r"ration: job 'a': it (closed the connection; let it serve until it is stopped|failed: exit code 1; .*)\n$")

    def test_an_interrupt_stops_the_servers(self) -> None:
        done = self.serve(server("a", 1), "--time", "10m", after=self.interrupt)
        self.assertEqual((done.returncode, done.stdout), (4, ""), done.stderr)
        self.assertTrue(done.stderr.endswith("ration: interrupted; the jobs were stopped\n"), done.stderr)

    def test_requests_that_cannot_be_met(self) -> None:
        def refused(jobs: str, *words: str) -> str:
            self.write_jobs(jobs)
            return self.refused(*words)
        plain = server("a", 1).replace("parameters", "# parameters")
        fix = 'add parameters = { socket = "server.sock" } to '
        self.assertEqual(refused(plain), f"jobs.toml: no job has a parameter 'socket'; {fix}the server, and {{socket}} to its command\n")
        self.assertEqual(refused(plain, "--job", "a"), f"jobs.toml: job 'a' has no parameter 'socket'; {fix}it, and {{socket}} to its command\n")
        self.assertEqual(refused(server("fast", 1), "--job", "fats"), "jobs.toml: job 'fats' is unknown; did you mean 'fast'?\n")
        self.assertEqual(refused(server("a", 1), "--limit", "0s"), "ration: --limit: no request is served in no time; write a limit above 0\n")
        two = "jobs.toml: one or two different servers can be measured; choose them by --job\n"
        self.assertEqual(refused(server("a", 1) + server("b", 1) + server("c", 1)), two)
        self.assertEqual(refused(server("a", 1), "--job", "a", "--job", "a"), two)


if __name__ == "__main__":
    main()
