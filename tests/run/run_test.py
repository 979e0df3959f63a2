# SPDX-License-Identifier: BSL-1.0
"""`ration run` from the outside: real processes, real limits, and everything that can go wrong in the middle of a run."""
import json
import os
import pathlib
import re
import socket
import subprocess
import time
import unittest

from support import HERE, PATIENCE, PYTHON, RATION, RunTest, alive, groups, has_cgroups, job, main, of, signal, trainer

CGROUPS = has_cgroups()


class Sharing(RunTest):
    def test_a_job_that_reached_acceptable_is_limited_and_ends_at_objective(self) -> None:
        self.write(trainer("early", 30, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0.4, *[0.4] * 12, 0.05), trainer("late", 8, 1),
                   head='policy = "tradl"\ntradl = { alpha = 0.3 }\ncpus = 1\ntick = "250ms"\n')
        done = self.run_jobs("--log", "log.jsonl")
        self.assertEqual(done.returncode, 0, done.stderr)
        events = self.events()
        self.assertEqual([e["tier"] for e in of(events, "tier_reached", "early")], [1, 2])
        limits = [e for e in of(events, "change", "early") if "Acceptable reached" in e["reason"]]
        self.assertTrue(limits, "early was never limited")
        self.assertEqual(of(events, "change", "late")[1:], [], "late was limited")
        self.assertEqual(of(events, "job_ended", "early")[0]["why"], "objective reached")
        self.assertLess(of(events, "job_ended", "early")[0]["t"], 25e9)

    def test_a_job_whose_first_report_meets_the_objective_ends(self) -> None:
        log = 'at_objective = "stop"\n' + r"log = 'loss=(?<loss>\S+)'"
        self.write(job("resumed", ["sh", "-c", "echo loss=0.01; exec sleep 30"], more=log), job("other", ["sh", "-c", "echo loss=1; sleep 4"], more=log),
                   head='policy = "tradl"\ntick = "1s"\n')
        done = self.run_jobs("--log", "log.jsonl")
        self.assertEqual(done.returncode, 0, done.stderr)
        ended = of(self.events(), "job_ended", "resumed")[0]
        self.assertEqual(ended["why"], "objective reached")
        self.assertLess(ended["t"], 15e9)

    def test_compare_runs_the_same_jobs_under_each_policy(self) -> None:
        self.write(trainer("one", 2, 1, 0.4, 0.05))
        done = self.run_jobs("--compare", "none,equal_share")
        self.assertEqual(done.returncode, 0, done.stderr)
        table = done.stdout[done.stdout.index("time to Acceptable") - 200:]
        for word in ("none", "equal_share", "change", "makespan", "mean cpu use"):
            self.assertIn(word, table)

    def test_an_unmodified_script_is_heard_through_its_log(self) -> None:
        script = "import time\nfor i in range(12): print(f'it {i} loss {1 / (i + 1):.3f}', end='\\r', flush=True); time.sleep(0.2)"
        self.write(job("plain", [PYTHON, "-c", script], more=r"log = 'it (?<step>\d+) loss (?<loss>\S+)'"))
        done = self.run_jobs("--log", "log.jsonl")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([e["tier"] for e in of(self.events(), "tier_reached")], [1, 2])


class Memory(RunTest):
    @unittest.skipUnless(CGROUPS, "no cgroup can be written here")
    def test_a_job_over_its_limit_is_killed_and_the_others_go_on(self) -> None:
        self.write(job("greedy", [PYTHON, "-c", "x = bytearray(200 << 20); import time; time.sleep(20)"],
                       more='bounds = { memory = "64MiB" }'), trainer("good", 2, 0.4))
        done = self.run_jobs("--log", "log.jsonl")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(of(self.events(), "job_ended", "greedy")[0]["why"], "out of memory: limit 64 MiB")
        self.assertEqual(of(self.events(), "job_ended", "good")[0]["how"], "finished")


class Hints(RunTest):
    def test_who_needs_devices_is_told_exactly_the_policies_that_give_some(self) -> None:
        self.write(job("a", ["true"], "bounds = { gpu = 1 }"), head="devices = { count = 2, cpu = 0.1 }\npolicy = 'none'\n")
        hint = self.run_jobs().stderr
        named = hint.strip().partition("; choose one that does: ")[2].split(", ")
        self.assertIn("fifo", named)
        listed = json.loads(subprocess.run([RATION, "policies", "--json"], capture_output=True, text=True, check=True).stdout)
        for policy in (p["name"] for p in listed):
            with self.subTest(policy=policy):
                self.assertEqual(self.run_jobs("--policy", policy).returncode == 0, policy in named)


class DryRun(RunTest):
    def test_a_limit_that_is_not_set_is_a_word(self) -> None:
        self.write(job("a", ["/bin/true"]), job("b", ["/bin/true"]))
        for words in ((), ("--backend", "process")):
            with self.subTest(words=words):
                planned = self.run_jobs("--dry-run", *words).stdout.split("\nand, once")[1].splitlines()[1:]
                self.assertEqual([line.split()[0] for line in planned], ["a", "b"])
                for line in planned:
                    self.assertRegex(line, r" unlimited -> unlimited +live$")


class Endings(RunTest):
    def test_a_crash_is_told_with_its_last_line_and_the_others_go_on(self) -> None:
        self.write(job("broken", [PYTHON, "-c", "print('no such layer: conv9'); raise SystemExit(3)"]), trainer("good", 2, 0.4))
        done = self.run_jobs("--log", "log.jsonl")
        self.assertEqual(done.returncode, 1)
        events = self.events()
        self.assertEqual(of(events, "job_ended", "broken")[0]["why"], "exit code 3; its last line: no such layer: conv9")
        self.assertEqual(of(events, "job_ended", "good")[0]["how"], "finished")

    def test_a_job_that_aborts_after_its_end_has_finished_and_other_crashes_are_failures(self) -> None:
        done = "from ration import progress; p = progress.open(); p.hello(); p.step(7, 1.0); p.bye(0); p.close(); print('last', flush=True); import os; "
        stopped = done.replace("p.bye(0)", "p.bye(0, 'stop')")
        crashes = [(done + "os.abort()", "finished", "it reported its end, then killed by signal 6 (Aborted); its last line: last"),
                   (done + "os._exit(134)", "finished", "it reported its end, then exit code 134; its last line: last"),
                   (done + "os._exit(6)", "failed", "it reported its end, then exit code 6; its last line: last"),
                   (done + "os.kill(os.getpid(), 9)", "failed", "it reported its end, then killed by signal 9 (Killed); its last line: last"),
                   (stopped + "os.abort()", "failed", "killed by signal 6 (Aborted); its last line: last")]
        for script, how, why in crashes:
            with self.subTest(script=script):
                self.write(job("abrupt", [PYTHON, "-c", script], f'environment = {{ PYTHONPATH = "{HERE.parents[1] / "python"}" }}'))
                ended, said = self.only_end(how == "failed")
                self.assertEqual((ended["how"], ended["step"], ended["why"]), (how, 7, why))
                self.assertIn(f"abrupt {how} at step 7: {why}", said)

    def test_what_a_job_does_when_its_objective_is_reached_is_told_unless_it_obeys(self) -> None:
        told = {"exit 134": "objective reached, then exit code 134; its last line: loss=0.01", "exit 143": "objective reached", "exit 0": "objective reached",
                "trap - TERM; kill -TERM $$": "objective reached", "kill -SEGV $$": "objective reached, then killed by signal 11 (Segmentation fault); its last line: loss=0.01"}
        for last, why in told.items():
            with self.subTest(last=last):
                script = f"exec 2>/dev/null; trap '{last}' TERM; echo loss=1; sleep 0.5; while :; do echo loss=0.01; sleep 0.05; done"
                self.write(job("a", ["/bin/sh", "-c", script], 'at_objective = "stop"\n' + r"log = 'loss=(?<loss>\S+)'"), head='policy = "tradl"\ncpus = 1\ntick = "100ms"\n')
                ended, said = self.only_end(0)
                self.assertEqual((ended["how"], ended["why"]), ("finished", why))
                self.assertRegex(said, rf"a finished at step \d+: {re.escape(why)}")

    def only_end(self, status: int) -> tuple[dict, str]:
        """The end of the only job, of a run that ends with this exit code; and the output of the run."""
        done = self.run_jobs("--log", "log.jsonl")
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        (ended,) = of(self.events(), "job_ended")
        return ended, done.stdout

    def test_a_missing_command_is_one_sentence(self) -> None:
        self.write(job("absent", ["./no-such-program"]), trainer("good", 1))
        done = self.run_jobs()
        self.assertIn("no-such-program", done.stdout + done.stderr)
        self.assertIn(done.returncode, (1, 2))

    def test_a_diverging_job_is_ended_and_named(self) -> None:
        self.write(trainer("wild", 60, 1, *[float("nan")] * 3), trainer("good", 3))
        done = self.run_jobs("--log", "log.jsonl")
        self.assertEqual(done.returncode, 1)
        ended = of(self.events(), "job_ended", "wild")[0]
        self.assertEqual(ended["how"], "diverged")
        self.assertEqual(ended["why"], "its loss is no longer a finite number")

    def test_a_whole_tree_of_processes_ends_with_its_job(self) -> None:
        self.write(job("forks", ["/bin/sh", "-c", "sleep 300 & echo $! > child; sleep 1"]))
        done = self.run_jobs()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(alive(int((self.folder / "child").read_text())))


class Quiet(RunTest):
    def test_only_the_table_is_printed(self) -> None:
        self.write(job("a", ["/bin/sh", "-c", "echo loss=0.1"], "log = 'loss=(?<loss>\\S+)'\nat_objective = \"continue\""))
        done = self.run_jobs("--quiet")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"\A +none\ntime to Acceptable\n  a +\S+ s\n(?s:.*)\nmakespan +\S+ s\nmean cpu use +\S+ cores\n(cpu available .*\n)?\Z")


class Reattachment(RunTest):
    def test_a_start_without_an_earlier_run_is_announced(self) -> None:
        self.write(job("a", ["/bin/true"]))
        for words, times in ((["--reattach"], 1), ([], 0)):
            done = self.run_jobs(*words)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout.count("no earlier run to reattach was found: all jobs start from the beginning"), times)


class Interruption(RunTest):
    def test_one_interrupt_stops_the_jobs(self) -> None:
        self.write(trainer("a", 60), trainer("b", 60, more='at = "50s"'))
        run = self.start("--log", "log.jsonl")
        pid = self.pid_of("a")
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(timeout=PATIENCE), 4)
        self.assertFalse(alive(pid))
        self.assertEqual(groups(run), [])
        self.assertEqual([e["how"] for e in of(self.events(), "job_ended")][:1], ["stopped"])

    def test_a_second_interrupt_kills_a_job_that_does_not_listen(self) -> None:
        self.write(job("deaf", ["/bin/sh", "-c", "trap '' TERM; echo ready > ready; while :; do sleep 1; done"]))
        run = self.start("--log", "log.jsonl")
        pid = self.pid_of("deaf")
        self.wait_for((self.folder / "ready").exists)
        run.send_signal(signal.SIGINT)
        time.sleep(0.7)
        self.assertTrue(alive(pid))
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(timeout=8), 4)
        self.assertFalse(alive(pid))
        self.assertEqual(groups(run), [])


class Hostility(RunTest):
    def test_a_last_line_that_is_no_text_costs_the_others_nothing(self) -> None:
        self.write(job("odd", ["/bin/sh", "-c", "printf 'caf\\351\\n'; exit 3"]), trainer("good", 2, 0.4))
        done = self.run_jobs("--log", "log.jsonl")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual({e["job"]: e["how"] for e in of(self.events(), "job_ended")}, {"odd": "failed", "good": "finished"})

    def test_a_full_disk_costs_events_and_not_the_run(self) -> None:
        self.write(trainer("a", 2, 0.4))
        done = self.run_jobs("--log", "/dev/full")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("/dev/full", done.stderr)
        self.assertIn("No space left on device", done.stderr)

    def test_a_job_that_was_over_before_ration_came_to_read_is_heard(self) -> None:
        self.write(job("a", ["/bin/sh", "-c", f"sleep 1; exec {PYTHON} {HERE}/job.py 1 0.4"]))
        run = self.start("--log", "log.jsonl")
        pid = self.pid_of("a")
        run.send_signal(signal.SIGSTOP)
        self.wait_for(lambda: not alive(pid))
        run.send_signal(signal.SIGCONT)
        _, err = run.communicate(timeout=PATIENCE)
        self.assertEqual(run.returncode, 0, err)
        self.assertEqual(of(self.events(), "warning"), [])
        self.assertTrue(of(self.events(), "progress", "a"))

    def test_a_storm_of_wrong_tokens_changes_nothing(self) -> None:
        self.write(trainer("a", 4, 1))
        run = self.start("--log", "log.jsonl")
        self.pid_of("a")
        path = str(next((self.folder / "ration").glob("*/progress")))
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as storm:
            storm.connect(path)
            for i in range(20000):
                try:
                    storm.send(b"P1 step e=1 k=0123456789abcdef j=a r=0 q=%d s=1 c=1 l=0.01" % (i + 1), socket.MSG_DONTWAIT)
                except BlockingIOError:
                    time.sleep(0.0005)
                except OSError:
                    break
        out, err = run.communicate(timeout=PATIENCE)
        self.assertEqual(run.returncode, 0, err)
        events = self.events()
        self.assertEqual(of(events, "tier_reached"), [], "a forged message was believed")
        self.assertIn("not the jobs' own", out)
        self.assertEqual(of(events, "job_ended", "a")[0]["how"], "finished")

    @unittest.skipUnless(CGROUPS, "no cgroup can be written here")
    def test_a_group_that_vanishes_is_told_and_the_others_go_on(self) -> None:
        self.write(trainer("moved", 8, 1), trainer("good", 6, 1), head='policy = "equal_share"\ncpus = 1\ntick = "250ms"\n')
        run = self.start("--log", "log.jsonl")
        pid = self.pid_of("moved")
        time.sleep(1)
        run.send_signal(signal.SIGSTOP)  # or it would put the process back between the two steps
        for group in map(pathlib.Path, groups(run)):
            for line in (group / "moved" / "cgroup.procs").read_text().split():
                (group.parent / "cgroup.procs").write_text(line)
        for group in map(pathlib.Path, groups(run)):
            (group / "moved").rmdir()
        run.send_signal(signal.SIGCONT)
        self.assertTrue(alive(pid))
        out, err = run.communicate(timeout=PATIENCE)
        self.assertEqual(of(self.events(), "job_ended", "good")[0]["how"], "finished", err)
        self.assertIn("moved", "".join(line for line in out.splitlines() if "gone" in line), out)
        self.assertIn("moved: its first process has left its cgroup and cannot be put back: ", out)
        end = of(self.events(), "job_ended", "moved")[0]["t"]
        last = [e for e in of(self.events(), "decision") if e["t"] < end][-1]["columns"]
        self.assertEqual(last["jobs/held.cpu"][last["jobs/id"].index(1)], 0, "a limit that nothing keeps is reported as held")
        self.assertEqual(groups(run), [])


class WithoutPrivilege(RunTest):
    @unittest.skipUnless(os.geteuid() == 0, "needs root to become another user")
    def test_a_user_without_cgroups_gets_a_result_and_is_told_what_is_approximate(self) -> None:
        self.write(trainer("a", 4, 1, 1, 1, 1, 1, 1, 1, 1, 0.4), trainer("b", 5, 1),
                   head='policy = "equal_share"\ncpus = 1\ntick = "250ms"\n')
        subprocess.run(["chown", "-R", "nobody", str(self.folder)], check=True)
        done = self.run_jobs("--compare", "none,equal_share", user="nobody", group="nogroup", extra_groups=[])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("cpu by process", done.stdout)
        self.assertIn("approximate", done.stdout)
        self.assertIn("SIGSTOP", done.stdout)


main()
