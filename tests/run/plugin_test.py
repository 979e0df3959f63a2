# SPDX-License-Identifier: BSL-1.0
"""`ration run` with each of forty plugins that break a rule: no job is lost, limits stay, and the report names plugin and reason."""
import concurrent.futures
import json
import os
import shutil
import subprocess
import unittest

from support import PYTHON, HERE, RATION, RunTest, job, main, trainer

MISBEHAVIOUR = os.environ["RATION_MISBEHAVING"]
PLUGINS = os.environ["RATION_PLUGINS"]
WITHOUT_LANDLOCK = os.environ["RATION_WITHOUT_LANDLOCK"]

REFUSED = {  # before a job starts
    "crashes_while_loading": "its worker was killed by signal SIG",
    "throws_in_create": "threw an exception",
    "has_another_abi": "the plugin was built for another major version",
    "needs_later_minor": "the plugin needs a newer host",
    "has_another_layout": "the plugin was built with an edited header",
    "has_absurd_table_size": "the size of ration_policy_v1 is absurd",
    "lacks_bind": "create, destroy, bind and decide must all be there"}
AGAINST_RULES = ("grants_to_unknown_job", "grants_on_unknown_node", "grants_negative_amount", "grants_huge_amount", "grants_above_capacity",
                 "grants_twice")
FAULTS = {  # in the middle of the run
    "throws_in_decide": "threw an exception",
    "aborts_in_decide": "its worker was killed by signal SIGABRT",
    "exits_in_decide": "its worker ended by itself with exit code 0",
    "loops_in_decide": "did not answer before its deadline",
    "writes_to_inputs": "its worker was killed by signal SIG",
    "changes_float_mode": "changed the floating-point modes",
    "overflows_stack": "its worker was killed by signal SIG",
    **{name: "granted what the rules do not allow" for name in AGAINST_RULES},
    "counts_too_many_grants": "reports more grants than there is space for",
    "replaces_output": "changed a field of the answer that belongs to the host"}
UNDETERMINED = ("overruns_scratch",)  # whether that hits anything is up to the allocator, and a sanitizer's takes note of it
HARMLESS = ("exports_too_much", "stays_loaded", "replaces_signal_handler", "changes_directory", "overruns_err", "leaves_thread", "leaks_instance",
            "ignores_column_stride", "binds_without_columns", "aborts_on_unknown_event", "allocates_in_decide", "overruns_output",
            "shares_state_of_instances", "writes_to_former_output", "overruns_save_buffer", "changes_state_in_save", "loads_damaged_state")


class Plugins(RunTest):
    def jobs(self) -> list[str]:
        return [job(name, [PYTHON, str(HERE / "job.py"), "3", "1"]) for name in ("a", "b")]

    def run_with(self, name: str) -> tuple:
        log = f"log{name}.jsonl"
        records = self.folder / f"records{name}"  # a run warns of the CPUs that another one with the same folder has claimed
        records.mkdir(mode=0o700)
        done = self.run_jobs("--policy", f"{MISBEHAVIOUR}/misbehaving_{name}.so", "--log", log, env=dict(self.environment, XDG_RUNTIME_DIR=str(records)))
        return name, done, log

    def check(self, name: str, done, log: str) -> None:
        if name in REFUSED:
            return self.assert_refused(done, f"misbehaving_{name}.so", REFUSED[name])
        self.assertEqual(done.returncode, 0, done.stderr)
        events = self.events(log)
        self.assertEqual(sorted(e["job"] for e in events if e["event"] == "job_ended" and e["how"] == "finished"), ["a", "b"])
        self.assertGreater(sum(e["event"] == "decision" for e in events), 8)
        warnings = [e for e in events if e["event"] == "warning"]
        if name not in FAULTS and not (name in UNDETERMINED and warnings):
            self.assertEqual(warnings, [])
            return
        self.assertIn(f"misbehaving_{name}.so", warnings[0]["subject"])
        self.assertIn(FAULTS.get(name, ""), warnings[0]["message"])
        self.assertIn("the last good limits stay", warnings[0]["message"])
        self.assertTrue(any("it is not asked any more" in w["message"] for w in warnings))
        self.assertIn("none decides from now on", warnings[-1]["message"])
        quarantined = next(w["t"] for w in warnings if "it is not asked any more" in w["message"])
        running = [e for e in events if e["event"] == "change" and warnings[0]["t"] < e["t"] < quarantined]
        self.assertEqual(running, [], "a limit was changed after the fault and before the fallback")

    def test_forty_plugins_that_break_a_rule(self) -> None:
        self.write(*self.jobs(), head='policy = "none"\ncpus = 1\ntick = "200ms"\n')
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for name, done, log in pool.map(self.run_with, (*REFUSED, *FAULTS, *UNDETERMINED, *HARMLESS)):
                with self.subTest(misbehaviour=name):
                    self.check(name, done, log)

    def test_a_plugin_shares_as_the_same_class_does(self) -> None:
        self.write(trainer("early", 5, 1, 1, 0.4), trainer("late", 6, 1),
                   head='policy = "none"\ntradl = { alpha = 0.3 }\ncpus = 1\ntick = "200ms"\n')
        for policy in ("tradl", f"{PLUGINS}/tradl.so"):
            with self.subTest(policy=policy):
                done = self.run_jobs("--policy", policy, "--log", "log.jsonl")
                self.assertEqual(done.returncode, 0, done.stderr)
                limited = {e["job"] for e in self.events() if e["event"] == "change" and e["reason"].startswith("Acceptable reached")}
                self.assertEqual(limited, {"early"})

    def test_garbage_in_needs_is_a_mistake_of_the_file(self) -> None:
        with open(f"{MISBEHAVIOUR}/misbehaving_none.so", "rb") as correct:
            plugin = correct.read()
        self.assertIn(b"jobs/state u32\n", plugin)
        self.write(*self.jobs())
        for garbage in (b"jobs/state u16\n", b"jobs#state u32\n", b"jobs/state\x1bu32\n", b"\xff" * 14 + b"\n"):
            with self.subTest(needs=garbage):
                (self.folder / "odd.so").write_bytes(plugin.replace(b"jobs/state u32\n", garbage))
                self.assert_refused(self.run_jobs("--policy", "./odd.so"), "odd.so", "each line is a column and its type, such as 'jobs/state u32'")

    def test_nothing_of_a_file_can_steer_the_terminal(self) -> None:
        """Neither its name nor the text of its reasons; `--explain` prints both."""
        with open(f"{MISBEHAVIOUR}/misbehaving_none.so", "rb") as correct:
            plugin = correct.read().replace(b"an equal share of", b"\x1b[2Jqual \xffhare of")
        with open(os.path.join(self.folder, "odd\x1b[2J.so"), "wb") as odd:
            odd.write(plugin)
        self.write(*self.jobs())
        done = self.run_jobs("--dry-run", "--explain", "--policy", "./odd\x1b[2J.so")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("because ?[2Jqual ?hare of the first node", done.stdout)
        self.assertNotIn("\x1b", done.stdout + done.stderr)
        done = self.run_jobs("--dry-run", "--json", "--policy", "./odd\x1b[2J.so")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({json.loads(line)["reason"] for line in done.stdout.splitlines()}, {"\x1b[2Jqual \ufffdhare of the first node"})

    def test_wrong_parameters_are_told_with_their_place(self) -> None:
        self.write(*self.jobs(), head=f'policy = "{PLUGINS}/tradl.so"\ntradl = {{ alpha = 7 }}\n')
        done = self.run_jobs()
        self.assertEqual(done.returncode, 2)
        self.assertIn("jobs.toml:2:1: ", done.stderr)
        self.assertIn("tradl.so: alpha must be from 0 to 1: the machine counts as full", done.stderr)

    def test_policies_in_files_are_listed_without_running_them(self) -> None:
        def ration(*words: str) -> subprocess.CompletedProcess:
            return subprocess.run([RATION, "policies", *words], capture_output=True, text=True, check=False)
        listed = json.loads(ration("--json", f"{PLUGINS}/tradl.so", f"{MISBEHAVIOUR}/misbehaving_crashes_while_loading.so").stdout)
        from_files = [(p["name"], p["isolation"]) for p in listed if p["where"] != "compiled in"]
        self.assertEqual(from_files[0], ("tradl", "worker"))
        self.assertEqual(len(from_files), 2)
        compiled = {p["name"]: p for p in listed if p["where"] == "compiled in"}["tradl"]
        self.assertEqual(compiled["parameters"], listed[[p["where"] for p in listed].index(f"{PLUGINS}/tradl.so")]["parameters"])
        self.assertIn("alpha            = 0.9", ration("--show", "tradl").stdout)
        refused = ration(f"{MISBEHAVIOUR}/misbehaving_has_another_abi.so")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("misbehaving_has_another_abi.so: read manifest: ABI", refused.stderr)
        self.assertIn("did you mean 'tradl'?", ration("--show", "tradel").stderr)
        shown = ration("--show", f"{PLUGINS}/tradl.so")
        self.assertIn(f": {PLUGINS}/tradl.so\n  reads jobs/id, ", shown.stdout)
        self.assertIn("\n  alpha            = 0.9", shown.stdout)
        refused = ration("--show", f"{MISBEHAVIOUR}/misbehaving_has_another_abi.so")
        self.assertEqual((refused.returncode, refused.stdout), (2, ""))
        self.assertIn("misbehaving_has_another_abi.so: read manifest: ABI", refused.stderr)
        steering = self.folder / "\x1b[2J.so"
        steering.write_text("no ELF file")
        self.assertNotIn("\x1b", ration(str(steering)).stderr)

    def test_a_policy_that_cannot_be_bound_is_named_before_anything_starts(self) -> None:
        self.write(*self.jobs(), head='policy = "none"\ncpus = 1\n')
        shutil.copy(f"{MISBEHAVIOUR}/misbehaving_omits_needed_column.so", self.folder / "needy.so")  # a message shortens long paths
        for words in (("--policy", "./needy.so"), ("--compare", "equal_share,./needy.so"), ("--policy", "./needy.so", "--dry-run")):
            with self.subTest(words):
                done = self.run_jobs(*words)
                self.assertEqual((done.returncode, done.stdout), (3, ""))
                self.assertEqual(done.stderr, "jobs.toml: policy './needy.so': it needs jobs/state, jobs/min.cpu, jobs/max.cpu and nodes/capacity.cpu, "
                                              "and this host lacks one of them\n")

    def test_what_a_policy_from_a_file_may_read_is_told(self) -> None:
        sentence = "this kernel has no Landlock, so a policy from a file can read every file that you can read"

        def said(*words: str) -> str:
            return subprocess.run(words, capture_output=True, text=True, check=True).stdout

        def row(*words: str) -> dict:
            return next(one for one in json.loads(said(*words, "doctor", "--json"))["resources"] if one["what"] == "policies from files")
        self.assertEqual(row(WITHOUT_LANDLOCK, RATION)["why_not"], sentence)
        self.assertIn("Linux 5.13", row(WITHOUT_LANDLOCK, RATION)["remedy"])
        self.assertTrue(said(WITHOUT_LANDLOCK, RATION, "policies", f"{PLUGINS}/tradl.so").endswith(f"\n{sentence}\n"))
        self.assertNotIn(sentence, said(WITHOUT_LANDLOCK, RATION, "policies"))
        if not row(RATION)["available"]:
            self.skipTest("this kernel has no Landlock")
        self.assertEqual(row(RATION)["by"], "seccomp, Landlock")
        self.assertNotIn(sentence, said(RATION, "policies", f"{PLUGINS}/tradl.so"))


main()
