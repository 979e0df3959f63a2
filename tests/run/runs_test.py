# SPDX-License-Identifier: BSL-1.0
"""Each run has a separate folder; `ration list`, `logs` and `runs` find it. Needs no cgroup."""
import datetime
import json
import pathlib
import re
import signal
import subprocess

from support import PATIENCE, RATION, RunTest, job, main

WAITS = "echo begin; while [ ! -e go ]; do sleep 0.05; done; echo end"


def shell(name: str, script: str) -> str:
    return job(name, ["/bin/sh", "-c", script])


class RunsTest(RunTest):
    def setUp(self) -> None:
        super().setUp()
        self.environment["TZ"] = "UTC"
        self.output = self.folder / "ration-output"

    def ration(self, *words: str) -> tuple[int, str, str]:
        done = subprocess.run([RATION, *words], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
        return done.returncode, done.stdout, done.stderr

    def said(self, *words: str) -> str:
        code, out, err = self.ration(*words)
        self.assertEqual((code, err), (0, ""), words)
        return out

    def refused(self, *words: str, code: int = 2) -> str:
        got, out, err = self.ration(*words)
        self.assertEqual((got, out), (code, ""), err)
        return err

    def names(self) -> list[str]:
        return sorted(path.name for path in self.output.iterdir() if not path.is_symlink())

    def listed(self) -> list[dict]:
        return [json.loads(line) for line in self.said("list", "--json").splitlines()]

    def begin(self, *arguments: str) -> subprocess.Popen:
        """A run whose jobs have begun, and which `list` shows."""
        before = self.alive_runs()
        run = self.start("--backend", "process", *arguments)
        self.wait_for(lambda: self.alive_runs() == before + 1)
        return run

    def alive_runs(self) -> int:
        return sum(run["alive"] and [job["state"] for job in run.get("jobs", [])][:1] == ["running"] for run in self.listed())


class Finished(RunsTest):
    def test_two_runs_keep_their_logs(self) -> None:
        self.write(shell("a", "echo first"), shell("b", "echo b; exit 3"))
        self.assertEqual(self.run_jobs("--backend", "process").returncode, 1)
        one = (self.output / "latest").readlink().name
        self.write(shell("a", "echo second"))
        self.assertEqual(self.run_jobs("--backend", "process", "--policy", "equal_share").returncode, 0)
        two = (self.output / "latest").readlink().name
        self.assertRegex(one, r"^\d{8}-\d{6}-none$")
        self.assertRegex(two, r"^\d{8}-\d{6}-equal_share$")
        self.assertEqual([(self.output / run / "a.log").read_text() for run in (one, two, "latest")], ["first\n", "second\n", "second\n"])
        self.assertIn("echo first", (self.output / one / "jobs.toml").read_text())
        self.check_words(one, two)
        self.check_table(one, two)
        self.check_rows(one, two)

    def check_words(self, one: str, two: str) -> None:
        self.assertEqual([self.said("logs", "a"), self.said("logs", "a", "--run", one), self.said("logs", "a", "-f", "--run", str(self.output / two))],
                         ["second\n", "first\n", "second\n"])
        self.assertRegex(self.said("report", "latest"), f"^ration-output/{two}/events.html: 1 run with 1 job, \\d+ kB\n$")
        self.assertIn(f"ration-output/{one}/events.html: ", self.said("report", one))
        self.assertIn("a run under equal_share:\n  none ", self.said("replay", "latest", "--policy", "none"))

    def check_table(self, one: str, two: str) -> None:
        head, first, second = self.said("runs").splitlines()
        self.assertEqual(head.split(), ["run", "started", "took", "policy", "file", "jobs", "outcome"])
        for line, name, rest in ((first, one, r"none +jobs\.toml +a, b +1 finished, 1 failed"), (second, two, r"equal_share +jobs\.toml +a +1 finished")):
            made = datetime.datetime.strptime(name[:15], "%Y%m%d-%H%M%S")
            when = f"({made}|{made + datetime.timedelta(seconds=1)})"  # a run starts after its folder was made
            self.assertRegex(line, rf"^{name} +{when} +\d+\.\d s +{rest}$")

    def check_rows(self, one: str, two: str) -> None:
        rows = [json.loads(line) for line in self.said("runs", ".", "--json").splitlines()]
        self.assertEqual([(row["run"], row["state"], row["policy"], row["interrupted"]) for row in rows],
                         [(one, "ended", "none", False), (two, "ended", "equal_share", False)])
        self.assertEqual([(j["job"], j["how"]) for j in rows[0]["jobs"]], [("a", "finished"), ("b", "failed")])
        self.assertIn("exit code 3", rows[0]["jobs"][1]["why"])

    def test_each_policy_of_a_comparison_has_a_folder(self) -> None:
        self.write(shell("a", "echo $RATION_JOB"))
        self.assertEqual(self.run_jobs("--backend", "process", "--compare", "equal_share").returncode, 0)
        self.assertEqual([name[16:] for name in sorted(self.names())], ["equal_share", "none"])
        for name in self.names():
            self.assertIn('"run_ended"', (self.output / name / "events.jsonl").read_text())

    def test_a_log_of_ones_own_takes_the_events(self) -> None:
        self.write(shell("a", "true"))
        self.assertEqual(self.run_jobs("--backend", "process", "--log", "log.jsonl").returncode, 0)
        name, = self.names()
        self.assertEqual(sorted(path.name for path in (self.output / name).iterdir()), ["a.log", "jobs.toml", "summary.json"])
        self.assertTrue(self.events())
        self.assertEqual(self.refused("report", "latest"),
                         f"ration: ration-output/{name}: the events of this run were written to {self.folder}/log.jsonl; name that file\n")

    def test_what_is_in_the_way_costs_no_run(self) -> None:
        self.write(shell("a", "echo $RATION_JOB"))
        self.output.mkdir()
        (self.output / "latest").write_text("mine")
        done = self.run_jobs("--backend", "process")
        self.assertEqual((done.returncode, done.stderr), (0, f"ration: warning: replace the link {self.output}/latest: already exists; "
                                                             "remove it, so that ration can link the newest run there\n"))
        self.assertEqual((self.output / "latest").read_text(), "mine")
        subprocess.run(["rm", "-r", str(self.output)], check=True)
        self.output.write_text("")
        done = self.run_jobs("--backend", "process")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, f"^ration: warning: make the folder of the run {self.output}: not found \\(Not a directory\\); a file is in its place or on its way: "
                                      f"move that file\nration: warning: the output of the jobs is in {self.folder}/ration/[0-9]+-[0-9a-f]+, which the end of the run removes\n$")


class Running(RunsTest):
    def test_two_at_once_are_listed_and_followed(self) -> None:
        self.write(shell("a", WAITS), shell("b", "exit 0"))
        runs = [self.begin(), self.begin()]
        names = self.names()
        self.assertEqual(len(names), 2)
        found = {pathlib.Path(run["folder"]).name: run for run in self.listed()}
        self.assertEqual((sorted(found), {run["pid"] for run in found.values()}), (names, {run.pid for run in runs}))
        self.check_list(found[names[0]]["pid"], names[0])
        self.assertEqual([row["state"] for row in map(json.loads, self.said("runs", "--json").splitlines())], ["running", "running"])
        self.assertRegex(self.said("runs"), rf"\n{names[1]} +[\d: -]+ +none +jobs\.toml +a, b +running\n")
        with subprocess.Popen([RATION, "logs", "a", "-f", "--run", names[0]], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, text=True) as follower:
            self.addCleanup(follower.kill)
            self.assertEqual(follower.stdout.readline(), "begin\n")
            self.assertIsNone(follower.poll())
            (self.folder / "go").touch()
            self.assertEqual((follower.stdout.read(), follower.wait(PATIENCE)), ("end\n", 0))
        self.assertEqual([run.wait(PATIENCE) for run in runs], [0, 0])
        self.assertEqual(self.said("list"), "no run; 'ration runs' lists the past ones of a folder\n")

    def check_list(self, pid: int, name: str) -> None:
        self.wait_for(lambda: all(sorted(job["state"] for job in run["jobs"]) == ["finished", "running"] for run in self.listed()))
        of_run = next(part for part in self.said("list").split("\n\n") if name + "\n" in part)
        self.assertRegex(of_run, rf"""^{self.output}/{name}
  jobs.toml under none, process {pid}, \d+\.\d s, \d\.\d\d of 1 core used, process
  job +holds +uses +value +reached +state
  a +no limit +\d\.\d\d +loss - +running
  b +- +0\.00 +loss - +finished\n?$""")

    def test_a_long_last_line_does_not_move_the_other_columns(self) -> None:
        self.write(shell("a", WAITS), shell("b", f"echo {'x' * 200}; exit 3"))
        run = self.begin()
        self.wait_for(lambda: "failed: " in self.said("list"))
        head, *rows = self.said("list").splitlines()[2:]
        self.assertEqual(head.split(), ["job", "holds", "uses", "value", "reached", "state"])
        self.assertEqual([row[head.index("state"):].split(":")[0] for row in rows], ["running", "failed"])
        (self.folder / "go").touch()
        self.assertEqual(run.wait(PATIENCE), 1)

    def test_a_job_that_follows_another_ends_with_it(self) -> None:
        """`-f` ends when its job ends, although the run continues."""
        self.write(shell("b", "echo short"), shell("a", WAITS))
        run = self.start("--backend", "process")
        self.wait_for(lambda: (self.output / "latest" / "a.log").exists())
        self.assertEqual(self.said("logs", "-f", "b"), "short\n")
        self.assertIsNone(run.poll())
        (self.folder / "go").touch()
        self.assertEqual(run.wait(PATIENCE), 0)


class Killed(RunsTest):
    def test_a_killed_run_is_named_and_continues_in_its_folder(self) -> None:
        self.write(shell("a", WAITS))
        run = self.begin()
        follower = subprocess.Popen([RATION, "logs", "a", "-f"], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(follower.kill)
        self.assertEqual(follower.stdout.readline(), "begin\n")
        run.send_signal(signal.SIGKILL)
        run.wait()
        out, err = follower.communicate(timeout=PATIENCE)
        self.assertEqual((follower.returncode, out, err), (3, "", "ration: the ration of this run was killed, and a may still run; ration run --reattach jobs.toml continues it\n"))
        name, = self.names()
        self.assertEqual(self.said("list"), f"{self.output}/{name}\n  jobs.toml under none, killed; ration run --reattach jobs.toml continues its jobs, ration clean ends them\n")
        self.assertRegex(self.said("runs"), rf"\n{name} .* killed\n")
        again = self.begin("--reattach")
        (self.folder / "go").touch()
        self.assertIn(again.wait(PATIENCE), (0, 1))  # 1 if ration did not see how the job ended
        self.assertEqual((self.names(), (self.output / name / "a.log").read_text()), ([name], "begin\nend\n"))
        events = [json.loads(line)["event"] for line in (self.output / name / "events.jsonl").read_text().splitlines()]
        self.assertEqual((events.count("run"), events.count("run_ended")), (2, 1))
        self.assertIn("2 runs with ", self.said("report", "latest"))


class Refused(RunsTest):
    def test_wrong_words_are_one_sentence(self) -> None:
        remedy = "name a run that 'ration runs' lists, or the path of its folder\n"
        self.assertEqual(self.said("runs"), "no run in ration-output; 'ration run jobs.toml' starts one\n")
        self.assertEqual(self.refused("runs", "nowhere"), "ration: nowhere is not a folder; name one in which ration runs were started\n")
        self.assertEqual(self.refused("logs", "a"), "ration: job 'a' is unknown: neither a run here nor a service has it; list the jobs with ration list, and those of a service with ration status\n")
        self.write(shell("vae", "true"), job("late", ["true"], 'at = "1h"'))
        run = self.start("--backend", "process")
        self.wait_for(lambda: (self.output / "latest" / "vae.log").exists())
        name, = self.names()
        self.assertEqual(self.refused("logs", "vea"), f"ration: ration-output/{name}: unknown job 'vea'; did you mean 'vae'?\n")
        self.assertEqual(self.refused("logs", "../jobs"), f"ration: ration-output/{name}: unknown job '../jobs'; use one of: vae, late\n")
        self.assertEqual(self.refused("logs", "late"), f"ration: ration-output/{name}: late has no output yet; wait for its start with --follow\n")
        self.assertEqual(self.refused("logs", "vae", "--run", "x"), f"ration: ration-output/x is not the folder of a run; {remedy}")
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(PATIENCE), 4)
        self.assertIn(" interrupted: 1 finished, 1 stopped\n", self.said("runs"))

    def test_records_that_cannot_be_read_are_named(self) -> None:
        record = self.folder / "ration" / "7-0123456789abcdef"
        record.mkdir(mode=0o700, parents=True)
        (self.folder / "ration").chmod(0o700)
        (record / "run.json").write_text("half")
        self.assertEqual(self.ration("list"), (0, "no run; 'ration runs' lists the past ones of a folder\n",
                                               f"ration: the record of the run {record.name} cannot be read: it is not a record, or part of one\n"))
        (self.folder / "ration").chmod(0o755)
        self.assertEqual(self.ration("list"), (0, "no run; 'ration runs' lists the past ones of a folder\n", ""), "others can enter the folder")

    def test_a_damaged_summary_is_named_and_the_others_are_listed(self) -> None:
        self.write(shell("a", "true"))
        for _ in range(2):
            self.assertEqual(self.run_jobs("--backend", "process").returncode, 0)
        first, second = self.names()
        summary = self.output / first / "summary.json"
        summary.write_text(summary.read_text().replace('"a"', '"../a"'))
        code, out, err = self.ration("runs")
        sentence = f"{summary.relative_to(self.folder)} is not the summary of a run: its field 'name' is missing or not valid"
        self.assertEqual((code, err), (0, f"ration: {sentence}; name a run that 'ration runs' lists, or the path of its folder\n"))
        self.assertTrue(f"{first} " not in out and f"{second} " in out, out)
        self.assertIn(sentence, self.refused("logs", "a", "--run", first))

    def test_a_checkpoint_folder_has_one_run(self) -> None:
        self.write(job("x", ["/bin/sh", "-c", WAITS], more='bounds = { gpu = 1 }\ncheckpoint = "mine"'), head='policy = "fifo"\ndevices = { count = 1, cpu = 0.5 }\n')
        run = self.start()
        self.wait_for(lambda: (self.output / "latest" / "x.log").exists())
        self.assertEqual(self.refused("run", "jobs.toml", code=3),
                         f"ration: use the checkpoint folder {self.folder}/mine: busy; another run writes there: wait for its end, or name another folder\n")
        (self.folder / "go").touch()
        self.assertEqual(run.wait(timeout=30), 0)
        self.assertEqual(self.run_jobs().returncode, 0, "the folder is still locked")


if __name__ == "__main__":
    main()
