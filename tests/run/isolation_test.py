# SPDX-License-Identifier: BSL-1.0
"""`ration run` with plugins in a worker process and in its own: who runs where, what their faults cost, and what they log."""
import concurrent.futures
import itertools
import json
import os
import subprocess
import unittest

from support import HERE, PATIENCE, PYTHON, RATION, RunTest, job, main

MISBEHAVIOUR = os.environ["RATION_MISBEHAVING"]
TALKERS = os.environ["RATION_TALKERS"]
TALKER = f"{TALKERS}/talker.so"
BOTH = ("worker", "in-process")
HEAD = 'policy = "none"\ncpus = 1\ntick = "200ms"\n'

# Those that a process survives that has them within it.
REFUSED = {
    "crashes_while_loading": "its worker was killed by signal SIG",  # in which it is tried before
    "throws_in_create": "threw an exception",
    "replaces_signal_handler": "replaced a signal handler",
    "changes_directory": "changed the working directory",
    "changes_umask": "changed the mask for new files",
    "has_another_abi": "the plugin was built for another major version",
    "needs_later_minor": "the plugin needs a newer host",
    "has_another_layout": "the plugin was built with an edited header",
    "has_absurd_table_size": "the size of ration_policy_v1 is absurd",
    "lacks_bind": "create, destroy, bind and decide must all be there"}
AGAINST_RULES = ("grants_to_unknown_job", "grants_on_unknown_node", "grants_negative_amount", "grants_huge_amount", "grants_above_capacity",
                 "grants_twice")
FAULTS = {
    "throws_in_decide": "threw an exception",
    "changes_float_mode": "changed the floating-point modes",
    **{name: "granted what the rules do not allow" for name in AGAINST_RULES},
    "counts_too_many_grants": "reports more grants than there is space for",
    "replaces_output": "changed a field of the answer that belongs to the host"}
HARMLESS = ("none", "exports_too_much", "leaks_instance", "ignores_column_stride", "binds_without_columns", "aborts_on_unknown_event",
            "allocates_in_decide", "shares_state_of_instances", "overruns_save_buffer", "changes_state_in_save", "loads_damaged_state")


class Isolation(RunTest):
    def jobs(self, seconds: str = "2") -> list[str]:
        return [job(name, [PYTHON, str(HERE / "job.py"), seconds, "1"]) for name in ("a", "b")]

    def write_with(self, isolation: str, more: str = "", seconds: str = "2") -> None:
        self.write(*self.jobs(seconds), head=f"{HEAD}isolation = {{ {isolation} }}\n{more}")

    def told(self, events: list[dict], kind: str) -> list[dict]:
        return [e for e in events if e["event"] == kind]

    def assert_jobs_done(self, events: list[dict]) -> None:
        self.assertEqual(sorted(e["job"] for e in self.told(events, "job_ended") if e["how"] == "finished"), ["a", "b"])


class Choice(Isolation):
    def test_each_policy_of_a_comparison_runs_where_the_file_says(self) -> None:
        self.write_with('talker = "in-process"')
        done = self.run_jobs("--compare", f"{TALKER},{TALKERS}/talker_apart.so", "--log", "log.jsonl")
        self.assertEqual(done.returncode, 0, done.stderr)
        runs = [(os.path.basename(e["policy"]), e["isolation"]) for e in self.told(self.events(), "run")]
        self.assertEqual(runs, [("talker.so", "in-process"), ("talker_apart.so", "worker"), ("none", "none")])
        self.assertIn("talker.so (in this process) shares 1 core", done.stdout)
        self.assertIn("talker_apart.so shares 1 core", done.stdout)

    def test_the_file_s_own_policy_and_the_one_of_the_command_line(self) -> None:
        for named, arguments in ((TALKER, ()), ("none", ("--policy", TALKER))):
            for where in BOTH:
                with self.subTest(named=named, where=where):
                    self.write(*self.jobs("1"), head=f'policy = "{named}"\ncpus = 1\nisolation.talker = "{where}"\n')
                    done = self.run_jobs(*arguments, "--log", "log.jsonl")
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(self.events()[0]["isolation"], where)

    def test_a_policy_of_this_program_runs_in_a_worker_if_the_file_says_so(self) -> None:
        for where, told in (("worker", "worker"), ("in-process", "none")):
            with self.subTest(where=where):
                self.write(*self.jobs("1"), head=f'policy = "equal_share"\ncpus = 1\nisolation.equal_share = "{where}"\n')
                done = self.run_jobs("--log", "log.jsonl")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(self.events()[0]["isolation"], told)

    def test_each_policy_of_this_program_plans_in_a_worker_as_it_does_here(self) -> None:
        listed = subprocess.run([RATION, "policies", "--json"], capture_output=True, text=True, check=True).stdout
        names = [policy["name"] for policy in json.loads(listed)]
        self.assertGreater(len(names), 20)
        bounds = "bounds = { gpu = { min = 1, max = 4 } }"
        for name in names:
            plans = []
            for where in BOTH:
                head = f'policy = "{name}"\ndevices = {{ count = 4, cpu = 0.25 }}\nisolation.{name} = "{where}"\n'
                self.write(*(job(label, ["true"], bounds) for label in "abcdef"), head=head)
                done = self.run_jobs("--dry-run", "--json")
                plans.append((done.returncode, done.stdout, done.stderr))
            with self.subTest(policy=name):
                self.assertEqual(*plans)

    def test_parameters_reach_the_worker_of_a_policy_of_this_program(self) -> None:
        jobs = [job(label, ["true"], f"bounds = {{ gpu = {{ min = {gpus}, max = {gpus} }} }}") for label, gpus in (("a", 3), ("b", 4), ("c", 1))]
        plans = {}
        for backfill, where in itertools.product(("false", "true"), BOTH):
            self.write(*jobs, head=f'policy = "fifo"\nfifo = {{ backfill = {backfill} }}\ndevices = {{ count = 4, cpu = 0.25 }}\nisolation.fifo = "{where}"\n')
            done = self.run_jobs("--dry-run", "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            plans[backfill, where] = done.stdout
        for backfill in ("false", "true"):
            self.assertEqual(plans[backfill, "worker"], plans[backfill, "in-process"])
        self.assertNotEqual(plans["false", "worker"], plans["true", "worker"])  # job c passes job b

    def test_a_plugin_for_workers_only_is_refused_in_process(self) -> None:
        self.write_with('talker_apart = "in-process"')
        done = self.run_jobs("--policy", f"{TALKERS}/talker_apart.so")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, f"jobs.toml:4:30: {TALKERS}/talker_apart.so: it may only run in a worker process; "
                                      'write "worker" here, or leave this out\n')

    def test_a_wrong_table_is_told_with_its_place(self) -> None:
        sentences = {
            'talkr = "worker"': "jobs.toml:4:15: unknown policy 'talkr'; did you mean 'talker'?",
            'talker = "inprocess"': "jobs.toml:4:24: unknown isolation 'inprocess'; did you mean 'in-process'?"}
        for table, sentence in sentences.items():
            with self.subTest(table=table):
                self.write_with(table)
                done = self.run_jobs("--policy", TALKER)
                self.assertEqual((done.returncode, done.stderr), (2, sentence + "\n"))

    def test_parameters_of_a_plugin_that_only_the_command_line_names(self) -> None:
        self.write(*self.jobs("1"), head=HEAD + "misbehaving_none = { alpha = 1 }\n")
        done = self.run_jobs("--policy", f"{MISBEHAVIOUR}/misbehaving_none.so")
        self.assertIn("jobs.toml:4:1: ", done.stderr)
        self.assertIn("this policy takes no parameters", done.stderr)

    def test_the_list_of_policies_tells_where_each_may_run(self) -> None:
        def ration(*words: str) -> str:
            return subprocess.run([RATION, "policies", *words, TALKERS], capture_output=True, text=True, check=True).stdout
        listed = {os.path.basename(p["where"]): p for p in json.loads(ration("--json"))}
        self.assertEqual(listed["talker.so"]["isolation"], "worker")
        self.assertEqual(listed["talker_apart.so"]["isolation"], "worker only")
        self.assertEqual(listed["talker.so"]["vendor"], "Example Inc.")
        self.assertIn(f"(worker, by Example Inc.: {TALKER})", ration())
        self.assertIn(f"(worker only, by Example Inc.: {TALKERS}/talker_apart.so)", ration())
        shown = ration("--show", "talker")
        self.assertIn(f"by Example Inc. (no license named); runs in a worker process, or in-process if the jobs file requests it: {TALKER}", shown)


class Fallback(Isolation):
    """A policy that limits each job to 0.24 cores and then crashes until ration no longer calls it."""
    def run_one(self, more: str) -> tuple[list[dict], list[dict], str]:
        """The changes before the fallback, those after it, and all that was printed."""
        self.write(*self.jobs("4"), head=f'{HEAD}{more}')
        done = self.run_jobs("--policy", f"{TALKERS}/limits_then_aborts.so", "--log", "log.jsonl")
        self.assertEqual(done.returncode, 0, done.stderr)
        events = self.events()
        at = [i for i, e in enumerate(events) if e["event"] == "warning" and "decides from now on" in e["message"]]
        self.assertEqual(len(at), 1)
        self.assertIn(events[at[0]]["message"], done.stdout)
        return self.told(events[:at[0]], "change"), self.told(events[at[0]:], "change"), events[at[0]]["message"]

    def test_no_limit_of_the_policy_stays(self) -> None:
        before, after, said = self.run_one("")
        self.assertEqual({(e["job"], e["reason"]) for e in before}, {("a", "0.24 cores"), ("b", "0.24 cores")})
        self.assertEqual({(e["job"], e["reason"]) for e in after}, {(name, "no policy: the operating system shares the machine out") for name in "ab"})
        self.assertIn("none decides from now on", said)

    def test_the_file_names_the_fallback(self) -> None:
        _, after, said = self.run_one('fallback = "equal_share"\n')
        self.assertEqual({(e["job"], e["reason"]) for e in after}, {(name, "one n-th of the machine for each of n jobs") for name in "ab"})
        self.assertIn("equal_share decides from now on", said)

    def test_an_unknown_fallback_is_refused(self) -> None:
        self.write(*self.jobs(), head=f'{HEAD}fallback = "mine.so"\n')
        done = self.run_jobs()
        self.assertEqual(done.returncode, 2)
        self.assertIn("'fallback' names 'mine.so', which is not compiled in", done.stderr)


class Faults(Isolation):
    def run_with(self, name: str) -> tuple:
        # misbehaving_leaks_instance leaks on purpose: a leak detector must not blame that on the host.
        options = dict(self.environment, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")
        jobs, log = f"jobs{name}.toml", f"log{name}.jsonl"
        (self.folder / jobs).write_text(f'{HEAD}isolation = {{ misbehaving_{name} = "in-process" }}\n' + "".join(self.jobs()))
        command = [RATION, "run", jobs, "--policy", f"{MISBEHAVIOUR}/misbehaving_{name}.so", "--log", log]
        return name, subprocess.run(command, cwd=self.folder, env=options, capture_output=True, text=True, timeout=PATIENCE, check=False), log

    def check(self, name: str, done, log: str) -> None:
        if name in REFUSED:
            return self.assert_refused(done, f"misbehaving_{name}.so", REFUSED[name])
        self.assertEqual(done.returncode, 0, done.stderr)
        events = self.events(log)
        self.assertEqual(events[0]["isolation"], "in-process")
        self.assert_jobs_done(events)
        warnings = [w for w in self.told(events, "warning") if w["subject"].startswith("policy ")]
        if name in HARMLESS:
            self.assertEqual(warnings, [])
            return
        self.assertIn(f"misbehaving_{name}.so", warnings[0]["subject"])
        self.assertIn(FAULTS[name], warnings[0]["message"])
        self.assertIn("the last good limits stay", warnings[0]["message"])
        self.assertTrue(any("it is not asked any more" in w["message"] for w in warnings))
        quarantined = next(w["t"] for w in warnings if "it is not asked any more" in w["message"])
        running = [e for e in self.told(events, "change") if warnings[0]["t"] < e["t"] < quarantined]
        self.assertEqual(running, [], "a limit was changed after the fault and before the fallback")

    def test_what_a_process_survives_costs_no_job_in_process(self) -> None:
        chosen = (*REFUSED, *FAULTS, *HARMLESS)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for name, done, log in pool.map(self.run_with, chosen):
                with self.subTest(misbehaviour=name):
                    self.check(name, done, log)


class Log(Isolation):
    def lines(self, events: list[dict]) -> list[tuple]:
        return [(e["level"], e["text"]) for e in self.told(events, "policy_log")]

    def talk(self, where: str, deed: str, *arguments: str) -> tuple:
        self.write_with(f'talker = "{where}"', f'talker = {{ deed = "{deed}" }}\n')
        done = self.run_jobs("--policy", TALKER, "--log", "log.jsonl", *arguments)
        return done, self.events() if (self.folder / "log.jsonl").exists() else []

    def test_what_is_logged_goes_to_the_log_and_warnings_to_people(self) -> None:
        for where in BOTH:
            with self.subTest(where=where):
                done, events = self.talk(where, "thread" if where == "in-process" else "none")
                self.assertEqual(done.returncode, 0, done.stderr)
                lines = self.lines(events)
                self.assertEqual(events[0]["event"], "run")
                self.assertEqual({e["policy"] for e in self.told(events, "policy_log")}, {TALKER})
                lines = lines[max(i for i, line in enumerate(lines) if line == ("info", "created")):]  # it may have been tried before
                self.assertEqual(lines[:7], [("info", "created"), ("info", "bound"), ("debug", "tick 1"), ("error", "one"), ("error", "two"),
                                             ("warning", "\x1b[2Jrunning hot\ufffd"), ("debug", "tick 2")])
                self.assertEqual(sum(text.startswith("tick ") for _, text in lines), len(self.told(events, "decision")))
                self.assertIn(f"error of policy {TALKER}: two\n", done.stdout)
                self.assertEqual(done.stdout.count(f"warning of policy {TALKER}: ?[2Jrunning hot?\n"), 1, "each sentence is told once")
                self.assertNotIn("tick 1", done.stdout)
                self.assertNotIn("\x1b", done.stdout + done.stderr)
                self.assertEqual(("info", "from another thread") in lines, where == "in-process")
                self.assertEqual(lines[-1] == ("info", "destroyed"), where == "in-process", "a worker ends with its process")

    def test_last_words_before_a_crash_arrive(self) -> None:
        done, events = self.talk("worker", "crash")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_jobs_done(events)
        self.assertIn(("error", "these are my last words"), self.lines(events))
        order = [e["event"] for e in events if e.get("text") == "these are my last words" or "SIGABRT" in e.get("message", "")]
        self.assertEqual(order[:2], ["policy_log", "warning"])
        self.assertIn("these are my last words", done.stdout)

    def test_people_are_spared_a_storm_and_the_log_is_not(self) -> None:
        for where in BOTH:
            with self.subTest(where=where):
                done, events = self.talk(where, "storm")
                self.assertEqual(done.returncode, 0, done.stderr)
                drops = [text for level, text in self.lines(events) if level == "warning" and text.startswith("drop ")]
                self.assertEqual(drops, [f"drop {i}" for i in range(900)])
                self.assertLess(done.stdout.count("warning of policy"), 101)
                self.assertEqual(done.stdout.count(f"more warnings of policy {TALKER} are in the event log only\n"), 1)

    def test_quiet_leaves_the_warnings(self) -> None:
        done, _ = self.talk("in-process", "none", "--quiet")
        self.assertEqual(done.returncode, 0)
        self.assertIn("makespan", done.stdout)  # the table alone
        self.assertNotIn("running hot", done.stdout)
        self.assertRegex(done.stderr, r"(?m)^ration: \[ *0.\d s\] warning of policy .*talker.so: \?\[2Jrunning hot\?$")
        self.assertNotIn("tick 1", done.stderr)

    def test_a_plugin_that_refuses_says_why_in_its_log_too(self) -> None:
        for where in BOTH:
            with self.subTest(where=where):
                done, events = self.talk(where, "refuse")
                self.assertEqual((done.returncode, events), (2, []))
                self.assertTrue(done.stderr.endswith(f"jobs.toml:5:1: {TALKER}: never?[2J\n"), done.stderr)
                self.assertNotIn("\x1b", done.stderr)
                self.assertIn(f"ration: warning of policy {TALKER}: it will not ?[2Jdo\n", done.stderr)


main()
