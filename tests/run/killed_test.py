# SPDX-License-Identifier: BSL-1.0
"""ration is killed, and its jobs continue: what the next start reports, takes over and leaves alone, and what `ration clean` ends."""
import json
import os
import pathlib
import shutil
import subprocess
import time
import unittest

from background_test import write_job_with_a_helper
from elastic_test import HEAD, ElasticTest, elastic
from support import PATIENCE, PYTHON, RATION, RunTest, alive, another_session, groups, has_cgroups, job, main, of, signal, trainer

ANOTHER_BOOT = "00000000-0000-0000-0000-000000000000"


class Killed(RunTest):
    def start_and_kill(self, **options) -> tuple[subprocess.Popen, int]:
        self.write(trainer("orphan", 60, 1), trainer("second", 60, 1, more='at = "55s"'))
        run = self.start("--log", "log.jsonl", **options)
        pid = self.pid_of("orphan")
        self.wait_for(lambda: of(self.events(), "progress", "orphan"))
        run.kill()
        run.wait()
        self.assertTrue(alive(pid), "a job must outlive its ration")
        self.addCleanup(lambda: alive(pid) and os.kill(pid, signal.SIGKILL))
        return run, pid

    def test_the_next_start_finds_the_jobs_and_says_what_to_do(self) -> None:
        _, pid = self.start_and_kill()
        again = self.run_jobs()
        self.assertEqual(again.returncode, 3)
        self.assertIn(f"orphan (process {pid})", again.stderr)
        self.assertIn("ration run --reattach takes them over, ration clean ends them", again.stderr)
        self.assertTrue(alive(pid), "saying is not ending")

    def test_clean_ends_them_and_removes_their_groups(self) -> None:
        run, pid = self.start_and_kill()
        self.clean(run, pid)

    @unittest.skipUnless(has_cgroups(), "no cgroup can be written here")
    def test_clean_finds_what_was_started_in_another_session(self) -> None:
        with another_session() as move_there:
            run, pid = self.start_and_kill(preexec_fn=move_there)
            self.assertTrue(groups(run))
            self.clean(run, pid)

    def clean(self, run: subprocess.Popen, pid: int) -> None:
        done = subprocess.run([RATION, "clean"], env=self.environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.wait_for(lambda: not alive(pid))
        self.assertEqual(groups(run), [])
        self.assertFalse(list((self.folder / "ration").glob("*")))

    def test_processes_of_preloaded_modules_end_at_the_next_command(self) -> None:
        for words in (["clean"], ["run", "jobs.toml", "--reattach"]):
            with self.subTest(words=words):
                write_job_with_a_helper(self, 3)
                run = self.start()
                self.wait_for((self.folder / "pid").exists)
                run.kill()
                run.wait()
                helper = int((self.folder / "pid").read_text())
                self.addCleanup(lambda pid=helper: alive(pid) and os.kill(pid, signal.SIGKILL))
                self.assertTrue(alive(helper))
                done = subprocess.run([RATION, *words], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False, timeout=PATIENCE)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stdout + done.stderr, rf"(?m)p: .*process(es)? .*\b{helper}\b.*, which its modules of 'preload' or an earlier launch left$")
                self.wait_for(lambda pid=helper: not alive(pid))
                (self.folder / "pid").unlink()

    def test_a_folder_whose_name_is_not_utf8_is_found_again(self) -> None:
        folder = os.fsencode(self.folder) + b"/f\xff"
        os.mkdir(folder)
        self.write(job("a", ["sh", "-c", "touch ../began; until test -e ../end; do sleep 0.1; done; echo loss=1"], "log = 'loss=(?<loss>\\S+)'"), head='policy = "none"\n')
        os.rename(self.folder / "jobs.toml", folder + b"/jobs.toml")
        run = subprocess.Popen([RATION, "run", "jobs.toml", "--quiet"], cwd=folder, env=self.environment)
        self.wait_for((self.folder / "began").exists)
        run.kill()
        run.wait()
        again = subprocess.Popen([RATION, "run", "jobs.toml", "--quiet", "--reattach", "--log", self.folder / "log.jsonl"], cwd=folder, env=self.environment,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.wait_for(lambda: (self.folder / "log.jsonl").exists() and of(self.events(), "decision"))
        (self.folder / "end").touch()
        _, errors = again.communicate(timeout=PATIENCE)
        self.assertEqual(again.returncode, 0, errors)
        self.assertNotIn(b"read the job's output", errors)
        self.assertEqual([e["value"] for e in of(self.events(), "progress", "a")], [1])

    def test_adopt_goes_on_with_the_same_process(self) -> None:
        killed, pid = self.start_and_kill()
        run = self.start("--reattach", "--log", "second.jsonl")
        second = self.folder / "second.jsonl"
        self.wait_for(lambda: second.exists() and of(self.events("second.jsonl"), "progress", "orphan"))
        self.assertTrue(alive(pid))
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(timeout=PATIENCE), 4)
        self.assertFalse(alive(pid))
        self.assertEqual(groups(killed) + groups(run), [])

    def test_the_jobs_are_found_without_the_runtime_folder(self) -> None:
        for how in ("removed", "changed"):
            with self.subTest(how):
                (self.folder / "log.jsonl").unlink(missing_ok=True)
                _, pid = self.start_and_kill()
                if how == "removed":
                    shutil.rmtree(self.folder / "ration")
                else:
                    (self.folder / "other").mkdir(mode=0o700)
                    self.environment["XDG_RUNTIME_DIR"] = str(self.folder / "other")
                refused = self.run_jobs()
                self.assertEqual(refused.returncode, 3)
                self.assertIn(f"orphan (process {pid})", refused.stderr)
                run = self.start("--reattach", "--log", f"{how}.jsonl")
                self.wait_for(lambda run=run: any(f'"owner":{run.pid},' in file.read_text() for file in self.folder.glob("ration-output/2*/.ration/*/run.json")))
                self.assertTrue(alive(pid))
                self.assertEqual(of(self.events(f"{how}.jsonl"), "job_started", "orphan"), [])
                run.send_signal(signal.SIGINT)
                self.assertEqual(run.wait(timeout=PATIENCE), 4)
                self.assertFalse(alive(pid))

    def test_living_jobs_without_a_record_are_named_and_not_launched_again(self) -> None:
        _, pid = self.start_and_kill()
        shutil.rmtree(self.folder / "ration")
        shutil.rmtree(self.folder / "ration-output")
        for arguments in ((), ("--reattach",)):
            done = self.run_jobs(*arguments)
            self.assertEqual((done.returncode, done.stderr), (3, f"ration: find jobs of an earlier run that are still going orphan (process {pid}): busy; end these "
                                                              "processes: the record of their run was removed, so that no run can take them over\n"))
        self.assertTrue(alive(pid))

    def test_the_start_of_another_run_leaves_them_alone(self) -> None:
        """It removes a dead run in its folder, whose jobs have ended; the groups of the two are beside each other."""
        _, pid = self.start_and_kill()
        other = type(self)()
        other.setUp()
        self.addCleanup(other.doCleanups)
        other.write(job("short", ["sleep", "0.1"]))
        run = other.start("--log", "log.jsonl")
        ended = other.pid_of("short")
        run.kill()
        run.communicate()
        self.wait_for(lambda: not alive(ended))
        done = other.run_jobs()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertTrue(alive(pid))
        self.take_over(pid)

    def take_over(self, pid: int) -> None:
        run = self.start("--reattach", "--log", "second.jsonl")
        second = self.folder / "second.jsonl"
        self.wait_for(lambda: run.poll() is not None or (second.exists() and of(self.events("second.jsonl"), "progress", "orphan")))
        self.assertIsNone(run.poll(), run.poll() is not None and run.communicate())
        self.assertTrue(alive(pid))
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(timeout=PATIENCE), 4)

    def test_a_record_and_its_sockets_without_links_to_each_other_are_taken_over(self) -> None:
        """A kill can come before the two are linked."""
        _, pid = self.start_and_kill()
        (self.record().parent.resolve() / "sockets").unlink()
        next((self.folder / "ration").glob("*/record")).unlink()
        self.take_over(pid)

    def test_a_record_at_the_place_of_earlier_versions_is_taken_over_once(self) -> None:
        _, pid = self.start_and_kill()
        record = self.record().parent.resolve()
        sockets = next((self.folder / "ration").iterdir())
        (sockets / "record").unlink()
        for name in ("run.json", "launches"):
            (record / name).rename(sockets / name)
        shutil.rmtree(record.parent)
        run = self.start("--reattach", "--log", "second.jsonl")
        self.wait_for(lambda: (self.folder / "second.jsonl").exists() and of(self.events("second.jsonl"), "progress", "orphan"))
        self.assertTrue(alive(pid))
        self.assertFalse((sockets / "run.json").exists())
        self.assertEqual(len({file.resolve() for file in self.folder.glob("ration-output/*/.ration/*/run.json")}), 1)  # `latest` leads there, too
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(timeout=PATIENCE), 4)

    def test_an_adopted_job_is_heard_through_its_log(self) -> None:
        script = "import time\nfor i in range(40): print(f'it {i} loss {1 / (i + 1):.3f}', flush=True); time.sleep(0.2)"
        self.write(job("plain", [PYTHON, "-c", script], more=r"log = 'it (?<step>\d+) loss (?<loss>\S+)'",
                       target="target = { loss = { acceptable = 0.5, objective = 0.05 } }"))
        run = self.start("--log", "log.jsonl")
        pid = self.pid_of("plain")
        self.addCleanup(lambda: alive(pid) and os.kill(pid, signal.SIGKILL))
        self.wait_for(lambda: of(self.events(), "tier_reached"))
        (first,) = of(self.events(), "tier_reached")
        time.sleep(1)
        run.kill()
        run.wait()
        again = self.run_jobs("--reattach", "--log", "log.jsonl")
        self.assertEqual(again.returncode, 0, again.stderr)
        acceptable, objective = of(self.events(), "tier_reached")
        self.assertEqual((acceptable["tier"], acceptable["after"], objective["tier"]), (1, first["after"], 2))
        self.assertLess(first["after"] + 1e9, objective["after"], "time counts from the start of the first run")

    def start_and_kill_between_jobs(self) -> None:
        run = self.start()
        self.wait_for(lambda: any('"over"' in record.read_text() for record in (self.folder / "ration").glob("*/record/run.json")))
        run.kill()
        run.wait()

    def test_what_had_ended_is_not_done_once_more(self) -> None:
        first = job("first", ["/bin/sh", "-c", "echo >> first; exit 3"])
        self.write(first, job("second", ["touch", "second"], more='at = "4s"'))
        self.start_and_kill_between_jobs()
        time.sleep(1)
        adopts = self.run_jobs("--reattach", "--log", "log.jsonl")
        self.assertEqual(((self.folder / "first").read_text(), (self.folder / "second").exists()), ("\n", True), adopts.stdout)
        (ended,) = of(self.events(), "run_ended")
        self.assertLess(ended["jobs"][0]["ended_at"] + 1e9, ended["jobs"][1]["started"], "it ended under the first run")
        self.assertEqual(adopts.returncode, 1, "that it failed was forgotten")
        self.assertEqual([e["job"] for e in of(self.events(), "job_started")], ["second"])

    def test_what_ended_unseen_is_not_done_once_more_either(self) -> None:
        self.write(job("first", ["/bin/sh", "-c", "echo >> first"]), job("second", ["/bin/sh", "-c", "echo >> second; sleep 2"]))
        self.start_and_kill_between_jobs()
        pids = [row["pid"] for row in json.loads(self.record().read_text())["run"]["jobs"] if row["pid"]]
        self.wait_for(lambda: not any(map(alive, pids)))
        adopts = self.run_jobs("--reattach", "--log", "log.jsonl")
        self.assertEqual(((self.folder / "first").read_text(), (self.folder / "second").read_text()), ("\n", "\n"), adopts.stdout)
        self.assertEqual(adopts.returncode, 1)
        self.assertEqual([e["why"] for e in of(self.events(), "condition", "second")], ["ended while no ration was there to see how"])

    def test_a_run_that_had_come_to_its_end_is_over(self) -> None:
        first = job("first", ["/bin/sh", "-c", "echo >> first"])
        self.write(first, trainer("second", 60, 1, more='at = "55s"'))
        self.start_and_kill_between_jobs()
        self.write(first)
        self.assertEqual(self.run_jobs("--reattach").returncode, 0)
        self.assertEqual((self.folder / "first").read_text(), "\n")
        self.assertEqual(list((self.folder / "ration").glob("*")), [])
        self.assertEqual(self.run_jobs().returncode, 0)
        self.assertEqual((self.folder / "first").read_text(), "\n\n", "only --reattach goes on with an earlier run")

    def test_a_record_with_damage_costs_no_job(self) -> None:
        _, pid = self.start_and_kill()
        bystander = subprocess.Popen(["sleep", "60"])
        self.addCleanup(self.end, bystander)
        text = self.record().read_bytes()
        for damaged in (b"", text[:-40], text.replace(b'"pid":', b'"pid":1', 1), b"\xff" * 100):
            self.record().write_bytes(damaged)
            for arguments in ((), ("--reattach",)):
                with self.subTest(damaged=damaged[:60], arguments=arguments):
                    done = self.run_jobs(*arguments)
                    self.assertEqual(done.returncode, 3, done.stderr)
                    self.assertRegex(done.stderr, r"ration: the record of the run \d+-[0-9a-f]+ cannot be read: it is (not a record, or part of one|not as it was written)\n")
                    self.assertIn(f"process {pid}", done.stderr)
                    self.assertIn("end them by ration clean: without their record no run can take them over", done.stderr)
                    self.assertTrue(alive(pid))
        said = self.said_by_clean()
        self.assertRegex(said, r"ended 1 process of the run \d+-[0-9a-f]+\n")
        self.assertFalse(alive(pid))
        self.assertTrue(alive(bystander.pid))
        self.assertFalse(list((self.folder / "ration").glob("*")))

    def test_a_record_of_nothing_that_lives_is_told_and_removed(self) -> None:
        _, pid = self.start_and_kill()
        os.kill(pid, signal.SIGKILL)
        self.wait_for(lambda: not alive(pid))
        self.record().write_text("{")
        self.write(job("short", ["true"]))
        done = self.run_jobs()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("cannot be read: it is not a record, or part of one", done.stderr)

    def test_processes_of_another_boot_are_not_these(self) -> None:
        _, pid = self.start_and_kill()
        self.change(lambda run: run.update(boot=ANOTHER_BOOT))
        self.assertNotIn(f"process {pid}", self.said_by_clean("--dry-run"))
        self.assertTrue(alive(pid))

    def test_a_run_of_another_boot_goes_on_without_its_processes(self) -> None:
        late = job("late", ["touch", "late"], more='at = "1801s"')
        self.write(trainer("lost", 60, 1), job("done", ["/bin/sh", "-c", "echo >> done"]), late)
        run = self.start("--log", "log.jsonl")
        pid = self.pid_of("lost")
        self.wait_for(lambda: '"over"' in self.record().read_text())
        run.kill()
        run.wait()
        self.addCleanup(lambda: alive(pid) and os.kill(pid, signal.SIGKILL))
        # Numbers that now are those of this process and of one that is not lost; a clock that was far ahead of ours.
        started = int(pathlib.Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[19])
        self.change(lambda run: run.update(boot=ANOTHER_BOOT, owner=os.getpid(), owner_start_time=started,
                                           written_ns=10**17, clock_ns=1800 * 10**9))
        again = self.run_jobs("--reattach", "--log", "log.jsonl")
        self.assertEqual(again.returncode, 1, again.stderr)
        events = self.events()
        self.assertEqual([e["job"] for e in of(events, "job_started")], ["late"])
        self.assertTrue(1801e9 <= of(events, "job_started", "late")[0]["t"] < 1820e9)
        self.assertEqual([(e["now"], e["why"]) for e in of(events, "condition", "lost")], [("failed", "ended while no ration was there to see how")])
        self.assertEqual((self.folder / "done").read_text(), "\n")
        self.assertTrue(alive(pid), "another process was taken for a job")

    def test_a_job_that_the_file_has_otherwise_now_is_not_adopted(self) -> None:
        _, pid = self.start_and_kill()
        second = trainer("second", 60, 1, more='at = "55s"')
        for other, key in ((trainer("orphan", 60, 2), "command"), (trainer("orphan", 60, 1, more="weight = 2"), "weight")):
            self.write(second, other)
            done = self.run_jobs("--reattach")
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertEqual(done.stderr, f"jobs.toml:10:1: job 'orphan' has another '{key}' here than in the run that is to be taken over; "
                             "put it back, or end that run with ration clean\n")
            self.assertTrue(alive(pid), "saying is not ending")
        # The same jobs in another layout, and what had not begun may be another.
        first, *others = trainer("orphan", 60, 1).splitlines(keepends=True)
        self.write(trainer("second", 1, more='at = "1s"'), first, "# as before\n", *reversed(others))
        run = self.start("--reattach", "--log", "second.jsonl")
        self.wait_for(lambda: (self.folder / "second.jsonl").exists() and of(self.events("second.jsonl"), "progress", "orphan"))
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(timeout=PATIENCE), 4)
        self.assertFalse(alive(pid))

    def test_jobs_that_the_file_does_not_have_are_not_adopted(self) -> None:
        _, pid = self.start_and_kill()
        self.write(trainer("another", 1))
        done = self.run_jobs("--reattach")
        self.assertEqual(done.returncode, 3)
        self.assertIn(f"find in this file the jobs of the earlier run orphan (process {pid})", done.stderr)
        self.assertIn("reattach them with the file that they were started from, or end them with ration clean", done.stderr)
        self.assertTrue(alive(pid))

    def said_by_clean(self, *arguments: str) -> str:
        return subprocess.run([RATION, "clean", *arguments], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=True).stdout


class KilledWithDevices(ElasticTest):
    def test_after_a_restart_of_the_machine_the_jobs_are_launched_again(self) -> None:
        self.write(elastic("a", "good", 40), head=HEAD)
        run = self.start("--log", "log.jsonl")
        self.wait_for(lambda: (self.folder / "log.jsonl").exists() and self.told("settled"))
        run.kill()
        run.communicate()
        os.kill(self.launches()[0].pid, signal.SIGKILL)
        self.change(lambda run: run.update(boot=ANOTHER_BOOT, written_ns=10**17))
        self.assert_finished(self.run_jobs("--reattach", "--log", "log.jsonl"), a=40)
        self.assertEqual([one.incarnation for one in self.launches()], [1, 2])


main()
