# SPDX-License-Identifier: BSL-1.0
"""`ration run --compare` from the outside: parameter sets, rounds, and what the table, the log, the page and the replay have of them."""
import json
import os
import pathlib
import re
import subprocess
import time

from support import RATION, RunTest, job, main, of, trainer


class Rounds(RunTest):
    def call(self, *words: str) -> str:
        done = subprocess.run([RATION, *words], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_two_rounds_of_one_policy_with_two_parameter_sets(self) -> None:
        self.write(trainer("early", 0.9, 1, 0.4, 0.05), trainer("late", 0.6, 1), head='policy = "tradl"\ncpus = 1\ntick = "250ms"\n')
        out = self.call("run", "jobs.toml", "--compare", "tradl:scenario=AO,tradl:scenario=FT,dead_band=0.01", "--set", "tradl.alpha=0.8", "--repeat", "2", "--log", "log.jsonl", "--quiet")
        runs = of(self.events(), "run")
        sets = [{"alpha": 0.8, "scenario": "AO"}, {"alpha": 0.8, "scenario": "FT", "dead_band": 0.01}]
        labels = ["tradl:scenario=AO", "tradl:scenario=FT,dead_band=0.01"]
        self.assertEqual([(run["policy"], run["label"], run["round"]) for run in runs], [("tradl", labels[i], n) for i, n in ((0, 1), (1, 1), (1, 2), (0, 2))])
        self.assertEqual([run["parameters"] for run in runs], [sets[0], sets[1], sets[1], sets[0]])
        self.check_folders(labels)
        self.check_table(re.sub(" +", " ", out))
        self.check_page(labels)
        # Another scenario would release the job or not
        for line in self.call("replay", "log.jsonl", "--policy", "tradl").splitlines():
            if "decisions the same" in line:
                same, count = re.search(r"(\d+) of (\d+) decisions", line).groups()
                self.assertEqual(same, count, line)

    def check_folders(self, labels: list[str]) -> None:
        rows = [json.loads(line) for line in self.call("runs", "--json").splitlines()]
        names = ("tradl-scenario=AO", "tradl-scenario=FT-dead_band=0.01")
        self.assertEqual([(row["run"][16:], row["policy"]) for row in rows], [(f"{names[i]}-round-{n}", labels[i]) for i, n in ((0, 1), (1, 1), (1, 2), (0, 2))])

    def check_table(self, table: str) -> None:
        for row in (r"^ early [\d.]+ s released [\d.]+ s [-+][\d.]+ ± [\d.]+ %$", r"^ mean of 2 [\d.]+ s [\d.]+ s [-+][\d.]+ ± [\d.]+ %$", r"^ median of 2 ", "^makespan, unequal work ",
                    r"^cpu available [01]\.\d+ cores [01]\.\d+ cores ", r"^Unequal work: ration released jobs at their Objective \(0 of 4 under tradl:scenario=AO, 2 of 4 under tradl:scenario=FT,dead_band=0.01\)",
                    r"^± is half of the 95 % confidence interval \(Student's t\) over the differences of 2 rounds\.$"):
            self.assertRegex(table, re.compile(row, re.M))

    def check_page(self, labels: list[str]) -> None:
        self.call("report", "log.jsonl")
        data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', (self.folder / "log.html").read_text(), re.S)[1])
        compared, ends = data["comparison"], of(self.events(), "run_ended")
        self.assertEqual((compared["sides"], compared["rounds"], len(data["runs"])), (labels, 2, 4))
        self.assertEqual(data["runs"][2]["label"], labels[1] + ", round 2")
        figures = {figure["figure"]: figure for figure in compared["figures"]}
        makespans = [end["makespan"] / 1e9 for end in ends]
        first, second = (makespans[0] + makespans[3]) / 2, (makespans[1] + makespans[2]) / 2
        shown = figures["makespan, unequal work"]
        for value, wanted in zip((*shown["values"], shown["changes"][1]), (first, second, (second / first - 1) * 100)):
            self.assertAlmostEqual(value, wanted, places=6)
        differences = makespans[1] - makespans[0], makespans[2] - makespans[3]
        self.assertAlmostEqual(shown["halves"][1], 12.706 * abs(differences[0] - differences[1]) / 2 / first * 100, places=6)
        self.assertEqual(figures["jobs that were released"]["values"], [0, 1])
        self.assertTrue(any(remark.startswith("Unequal work: ") for remark in compared["remarks"]), compared["remarks"])


class AvailableCpu(RunTest):
    def test_it_is_what_no_other_program_uses(self) -> None:
        """Of a job that sleeps; first beside programs that use every CPU, then without them. Niced programs count as spare in both."""
        self.write(job("a", ["/bin/sleep", "1.5"]), head='policy = "none"\ntick = "250ms"\n')
        others = [subprocess.Popen(["/usr/bin/python3", "-c", "while True: pass"]) for _ in range(2 * len(os.sched_getaffinity(0)))]
        try:
            busy = self.check_run()
        finally:
            for other in others:
                other.kill()
                other.wait()
        self.assertLess(busy, 0.75 * len(os.sched_getaffinity(0)))
        self.check_run()

    def check_run(self) -> float:
        """The cores that a run reports as available are those that were spare while it ran."""
        start, before = time.monotonic(), spare_seconds()
        done = self.run_jobs("--log", "log.jsonl")
        spare = (spare_seconds() - before) / (time.monotonic() - start)
        self.assertEqual(done.returncode, 0, done.stderr)
        (end,) = of(self.events(), "run_ended")
        self.assertAlmostEqual(end["available_cpu"], spare, delta=0.3 * len(os.sched_getaffinity(0)))
        return end["available_cpu"]


def spare_seconds() -> float:
    """Of all CPUs of this process together since the boot: idle, iowait and, beside a ration of normal priority, nice."""
    fields = (2, 4, 5) if os.getpriority(os.PRIO_PROCESS, 0) <= 0 else (4, 5)
    lines = [line.split() for line in pathlib.Path("/proc/stat").read_text().splitlines()]
    own = {f"cpu{cpu}" for cpu in os.sched_getaffinity(0)}
    return sum(int(line[i]) for line in lines if line[0] in own for i in fields) / os.sysconf("SC_CLK_TCK")


class Refusals(RunTest):
    def test_a_wrong_parameter_is_one_sentence_before_a_job_starts(self) -> None:
        self.write(trainer("a", 1, 1), head='policy = "tradl"\ntradl = { scenario = "AO" }\n')
        for words, wanted in (
                (("--compare", "tradl:scenaro=AO"), "ration: --compare: tradl has no parameter 'scenaro'; did you mean 'scenario'?"),
                (("--set", "tradl.scenaro=AO"), "ration: --set: tradl has no parameter 'scenaro'; did you mean 'scenario'?"),
                (("--set", "none.alpha=1"), "ration: --set: none has no parameter 'alpha'"),
                (("--set", "fifo.x=1"), "ration: --set: 'fifo' is not one of the policies that are run; use one of: none, tradl"),
                (("--compare", "scenario=AO"), "ration: --compare: 'scenario=AO' has no policy before it: write POLICY:NAME=VALUE, as in tradl:alpha=0.9"),
                (("--compare", "tradl:scenario=FT,scenario=AO"), "ration: --compare: tradl.scenario is set twice: leave one out"),
                (("--compare", "tradl,tradl:scenario=AO"), "ration: --compare: 'tradl:scenario=AO' runs with the same parameters as 'tradl'; leave one out"),
                (("--compare", "tradl:scenario=FT,tradl:scenario=FT"), "ration: --compare: 'tradl:scenario=FT' runs with the same parameters as 'tradl:scenario=FT'; leave one out")):
            with self.subTest(words=words):
                done = self.run_jobs(*words)
                self.assertEqual((done.returncode, done.stdout, done.stderr.strip()), (2, "", wanted))
        for value in ("alpha=fast", "scenario=XX", "alpha=-1"):
            with self.subTest(value=value):
                done = self.run_jobs("--compare", f"tradl:{value}")
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1))
                self.assertTrue(done.stderr.startswith("ration: --compare: "), done.stderr)
                self.assertIn(value.partition("=")[0], done.stderr)
        self.assertFalse((self.folder / "ration-output").exists())


main()
