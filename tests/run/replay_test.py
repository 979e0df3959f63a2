# SPDX-License-Identifier: BSL-1.0
"""`ration replay`: a recorded run put to its own policy again, and to others."""
import json
import subprocess

from support import HERE, PATIENCE, PYTHON, RATION, RunTest, job, main, trainer

DEADLINES = 'deadlines = { save = "60s", stop = "60s", start = "60s" }\n'
HEAD = 'policy = "tradl"\ncpus = 1\ntick = "200ms"\n[tradl]\nalpha = 0.4\nscenario = "AO"\n'


class Replay(RunTest):
    @classmethod
    def setUpClass(cls) -> None:
        """One run for all tests: two jobs that compete, one of which reaches Acceptable early."""
        recorder = cls("record")
        recorder.setUp()
        recorder.record()
        cls.log = (recorder.folder / "log.jsonl").read_text()
        recorder.doCleanups()

    def record(self) -> None:
        self.write(trainer("early", 3, 1, 0.4, 0.4), trainer("late", 3, 1, 0.9, 0.8), head=HEAD)
        done = self.run_jobs("--log", "log.jsonl", "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)

    def replay(self, *arguments: str, log: str | None = None) -> subprocess.CompletedProcess:
        (self.folder / "run.jsonl").write_text(self.log if log is None else log)
        return subprocess.run([RATION, "replay", "run.jsonl", *arguments], cwd=self.folder, text=True, capture_output=True, timeout=PATIENCE, check=False)

    def result(self, *arguments: str, log: str | None = None) -> dict:
        done = self.replay(*arguments, "--json", log=log)
        self.assertEqual(done.returncode, 0, done.stderr)
        (run,) = json.loads(done.stdout)
        self.assertEqual(run["recorded"], "tradl")
        return run["replayed"][0]

    def test_the_policy_that_was_recorded_answers_the_same_with_the_parameters_of_its_file(self) -> None:
        decisions = [json.loads(line) for line in self.log.splitlines() if '"event":"decision"' in line]
        limited = [g for d in decisions for g in d["grants"] if g["amount"] != "unlimited"]
        self.assertGreater(len(limited), 0, "nobody was limited: the run shows nothing")
        again = self.result("--policy", "tradl")
        self.assertEqual(again["same"], again["decisions"])
        self.assertGreater(again["decisions"], 10)
        self.assertIsNone(again["first"])

    def test_a_log_of_the_schema_before_is_read_as_it_was_meant(self) -> None:
        """Its columns were as the grants had left them, and it had nothing else; what reads none of those answers the same."""
        events = [json.loads(line) for line in self.log.splitlines()]
        for event in events:
            if event["event"] == "run":
                event["schema"] = 1
                del event["widths"]
            if event["event"] == "decision":
                event["columns"].update(event.pop("columns_after"))
                event["rows"][2] = len(event["columns"]["held/job"])
                del event["rows"][3:]
        old = "".join(json.dumps(event) + "\n" for event in events)
        self.assertEqual(self.result("--policy", "tradl", log=old), self.result("--policy", "tradl"))
        said = self.replay("--policy", "tradl", log=old).stdout.splitlines()
        self.assertIn("schema 1: its jobs/held.*, nodes/free.* and table held are as each tick's grants left them", said[1])
        self.assertNotIn("schema", self.replay("--policy", "tradl").stdout)

    def test_other_parameters_and_other_policies_answer_otherwise(self) -> None:
        for arguments, answered in ((("--policy", "tradl", "--set", "tradl.scenario=NA"), "no limit"), (("--policy", "equal_share"), "500")):
            with self.subTest(arguments=arguments):
                other = self.result(*arguments)
                self.assertLess(other["same"], other["decisions"])
                self.assertEqual(other["first"]["resource"], "cpu")
                self.assertEqual(other["first"]["answered"], answered)
                self.assertIn(other["first"]["job"], ("early", "late"))
                self.assertNotEqual(other["first"]["recorded"], answered)

    def test_people_read_a_line_for_each_policy(self) -> None:
        done = self.replay("--policy", "tradl,equal_share")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], "a run under tradl:")
        self.assertRegex(lines[1], r"^  tradl +(\d+) of \1 decisions the same$")
        self.assertRegex(lines[2], r"^  equal_share +\d+ of \d+ decisions the same; the first that differs, decision \d+ at [\d.]+ s: "
                                   r"500 of cpu for (early|late) instead of .*, because one n-th of the machine for each of n jobs$")

    def test_half_a_line_at_the_end_is_ignored(self) -> None:
        whole = self.result("--policy", "tradl")
        cut = self.result("--policy", "tradl", log=self.log + '{"event":"decision","t":12')
        self.assertEqual(whole, cut)

    def test_what_is_no_log_is_refused_with_its_line(self) -> None:
        first = self.log.splitlines()[0] + "\n"
        for log, arguments, why in (
                ("jobs\n", ("--policy", "tradl"), "run.jsonl:1: this is not an event; name a log that 'ration run --log' wrote"),
                ("", ("--policy", "tradl"), "run.jsonl holds no run"),
                ('{"event":"decision","t":1}\n', ("--policy", "tradl"), "run.jsonl:1: the log does not begin with a run"),
                (first + '{"event":"decision","t":1}\n', ("--policy", "tradl"), "run.jsonl:2: "),
                (first + '{"event":"decision","t":1,"number":0,"seed":1,"budget":1,"rows":[1,1,0],"columns":{"jobs/id":[1,2]},"grants":[]}\n',
                 ("--policy", "tradl"), "run.jsonl:2: column jobs/id has not one value of its type for each of its 1 rows"),
                (first.replace('"schema":3', '"schema":4'), ("--policy", "tradl"), "run.jsonl:1: the log has schema 4, and this ration reads 1 to 3"),
                (first.replace('"widths":{}', '"widths":[]'), ("--policy", "tradl"), "run.jsonl:1: its widths are not an object"),
                (first.replace('"widths":{}', '"widths":{"jobs/speedup":-1}'), ("--policy", "tradl"), "run.jsonl:1: the width of column jobs/speedup is not a whole number"),
                (first + '{"event":"decision","number":1,"seed":1,"t":1,"budget":1,"rows":[' + "[" * 10**6 + "]" * 10**6 + ',1,1,1]}\n', ("--policy", "tradl"), "run.jsonl:2: this is not an event"),
                (first + '{"event":"job_started","id":"x","job":"a"}\n', ("--policy", "tradl"), "run.jsonl:2: "),
                (first, ("--policy", "tradle"), "run.jsonl:1: unknown policy 'tradle'; did you mean 'tradl'?"),
                (self.log, ("--policy", "las"), "las: bind column jobs/held.gpu: not found; this host does not offer the column")):
            with self.subTest(why=why):
                done = self.replay(*arguments, log=log)
                self.assertEqual(done.returncode, 2, done.stdout)
                self.assertIn(why, done.stderr)
        gone = subprocess.run([RATION, "replay", "/nowhere/run.jsonl", "--policy", "tradl"], text=True, capture_output=True, check=False)
        self.assertEqual(gone.returncode, 2)
        self.assertIn("/nowhere/run.jsonl: cannot be opened (No such file or directory); name a log", gone.stderr)


class EveryPolicy(RunTest):
    """Policies that read what jobs hold, on jobs that change their number of devices."""

    DEVICES = ("max_min", "las", "fifo", "elastic_batch_dp", "loss_delta_ratio")

    def recorded(self, policy: str) -> RunTest:
        """Starts a run; its folder has a log when the run is over."""
        one = RunTest()
        one.setUp()
        self.addCleanup(one.doCleanups)
        jobs = [job(name, [PYTHON, str(HERE / "elastic_job.py"), "good", steps],
                    f'at = "{at}"\nbounds = {{ gpu = {{ min = 1, max = 4 }}, batch = {{ min = 32, max = 128 }} }}\n'
                    'speedup = [0, 1, 1.8, 2.5, 3.1]\nbatch = [0, 32, 64, 96, 128]\n' + DEADLINES)
                for name, steps, at in (("first", "50", "300ms"), ("second", "40", "1s"), ("third", "20", "2s"))]
        one.write(*jobs, head=f'policy = "{policy}"\ndevices = {{ count = 4, cpu = 0.25 }}\ntick = "100ms"\n')
        one.process = one.start("--log", "log.jsonl", "--quiet")
        return one

    def test_answers_all_its_decisions_the_same(self) -> None:
        runs, otherwise = {policy: self.recorded(policy) for policy in self.DEVICES}, {}
        for policy, one in runs.items():
            with self.subTest(policy=policy):
                out, err = one.process.communicate(timeout=PATIENCE)
                self.assertEqual(one.process.returncode, 0, out + err)
                decisions = [e for e in one.events() if e["event"] == "decision"]
                again = self.replayed(one, policy, "log.jsonl")
                self.assertEqual((again["same"], again["decisions"]), (len(decisions), len(decisions)), again["first"])
                self.write_without_holdings(one)
                otherwise[policy] = len(decisions) - self.replayed(one, policy, "bare.jsonl")["same"]
        self.assertTrue(any(otherwise.values()), f"the runs show nothing: tables without what jobs hold would do as well: {otherwise}")

    def replayed(self, one: RunTest, policy: str, log: str) -> dict:
        done = subprocess.run([RATION, "replay", log, "--policy", policy, "--json"], cwd=one.folder, text=True, capture_output=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)[0]["replayed"][0]

    @staticmethod
    def write_without_holdings(one: RunTest) -> None:
        """The same log as if no job had held anything when the policy was asked."""
        events = one.events()
        for event in events:
            if event["event"] == "decision":
                columns = event["columns"]
                columns.update({name: [0] * len(columns[name]) for name in columns if name.startswith("jobs/held.")})
                columns.update({name: [] for name in columns if name.startswith("held/")})
                event["rows"][2] = 0
        (one.folder / "bare.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))


main()
