# SPDX-License-Identifier: BSL-1.0
"""The service: pauses, drains, policies that change, its configuration, devices and tenants."""
import contextlib
import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import time
import unittest

from support import JOB, PATIENCE, RATION, Connection, ServiceTest


class Controlled(ServiceTest):
    SAVES = """
import os, pathlib, signal, sys, time
steps = pathlib.Path(os.environ["RATION_CHECKPOINT"]) / "steps"
done = int(steps.read_text()) if steps.exists() else 0
def save(*_):
    steps.write_text(str(done))
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
with open("launches", "a") as out:
    print(done, file=out, flush=True)
while done < 15:
    time.sleep(0.1)
    done += 1
"""

    def test_a_paused_job_waits_over_restarts_and_goes_on_from_its_checkpoint(self) -> None:
        label = self.submit("--name", "saves", "--", sys.executable, "-c", self.SAVES)
        self.wait_for(lambda: (self.folder / "launches").exists())
        time.sleep(0.5)
        self.ration("pause", label)
        self.wait_for(lambda: self.job(label)["stage"] == "QUEUED")
        queued = self.submit("--name", "queued", "--", "touch", "queued")
        self.ration("wait", queued)  # others run on
        self.kill()
        self.start()
        other = self.submit("--", "true")
        self.ration("wait", other)
        job = self.job(label)
        self.assertEqual((job["stage"], job["paused"], job["why"], job["incarnation"]), ("QUEUED", True, "paused", 1))
        self.assertIn("QUEUED, paused", self.ration("status"))
        self.assertIn("0 queued, 1 paused", self.ration("top"))
        self.ration("resume", label)
        self.ration("wait", label)  # without a retry: the pause was no failure
        launches = [int(steps) for steps in (self.folder / "launches").read_text().split()]
        self.assertEqual((len(launches), launches[0]), (2, 0))
        self.assertGreater(launches[1], 0)
        self.ration("pause", label, code=2)  # it has ended
        self.ration("resume", label, code=2)

    def test_a_job_that_stops_for_a_pause_while_the_service_is_down_is_not_complete(self) -> None:
        label = self.submit("--name", "slow", "--", "sh", "-c", "trap 'sleep 1; exit 0' TERM; echo x >> slow; while :; do sleep 0.1; done")
        self.wait_for((self.folder / "slow").exists)
        self.ration("pause", label)
        self.kill()
        time.sleep(1.5)
        self.start()
        self.wait_for(lambda: self.job(label)["stage"] == "QUEUED")
        self.ration("cancel", label)
        self.assertEqual(self.job(label)["stage"], "HALTED")
        self.assertEqual((self.folder / "slow").read_text(), "x\n")

    def test_a_pause_warns_of_a_job_that_has_shown_no_way_to_continue(self) -> None:
        script = "trap 'exit 0' TERM; echo x >> ran; until test -e save; do sleep 0.1; done; echo 1 > $RATION_CHECKPOINT/step; while :; do sleep 0.1; done"
        label = self.submit("--name", "plain", "--", "sh", "-c", script)

        def warning() -> str:
            done = subprocess.run([RATION, "pause", "--state", self.state, label], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=True)
            self.wait_for(lambda: self.job(label)["stage"] == "QUEUED")
            return done.stderr
        self.wait_for((self.folder / "ran").exists)
        self.assertEqual(warning(), f"ration: warning: {label} accepts no commands and has delivered no checkpoint, so that it may start again from its beginning; "
                                    "let it save into RATION_CHECKPOINT\n")
        (self.folder / "save").touch()
        self.ration("resume", label)
        self.wait_for((self.state / f"jobs/{label}.checkpoint/step").exists)
        self.assertEqual(warning(), "")
        self.assertEqual(warning(), "")  # it does not run

    def test_a_drained_service_launches_nothing_also_after_a_restart(self) -> None:
        running = self.submit("--name", "running", "--", "sh", "-c", "until test -e end; do sleep 0.1; done")
        self.wait_for(lambda: self.job(running)["stage"] == "PROCESSING")
        self.assertIn("1 running", self.ration("drain"))
        later = self.submit("--name", "later", "--", "true")
        self.wait_for(lambda: running in self.ration("top"))
        self.assertIn("1 queued", self.ration("top"))
        self.kill()
        self.wait_for(lambda: "the service is down" in self.ration("top"))
        self.assertNotIn(running, self.ration("top"))
        self.start()
        (self.folder / "end").touch()
        self.assertIn("0 running", self.ration("drain", "--wait"))
        self.assertEqual(self.job(running)["stage"], "COMPLETED")
        time.sleep(0.5)
        self.assertEqual(self.job(later)["stage"], "QUEUED")
        self.ration("drain", "--undo")
        self.ration("wait", later)

    def test_the_status_of_a_job_gives_the_reason_why_it_waits(self) -> None:
        self.kill()
        self.start("--max-running", "1")
        running = self.submit("--name", "runs", "--time-limit", "10m", "--", "sh", "-c", "until test -e end; do sleep 0.1; done")
        self.wait_for(lambda: self.job(running)["stage"] == "PROCESSING")
        first, second = self.submit("--", "true"), self.submit("--", "true")
        after = self.submit("--after", running, "--", "true")
        paused = self.submit("--", "true")
        self.ration("pause", paused)
        full = "waits, since at most 1 job runs at once: "
        known = r"; earliest start in about (10|9) min if running jobs end as estimated\n"
        self.wait_for(lambda: full in self.ration("status", second))
        self.assertRegex(self.ration("status", first), full + "no job is ahead" + known)
        self.assertIn(full + "1 job is ahead; its earliest start is unknown\n", self.ration("status", second))
        self.assertRegex(self.ration("status", after), f"waits until job {running} completes" + known)
        self.assertIn("waits until ration resume, since its user has paused it\n", self.ration("status", paused))
        self.assertNotIn("waits", self.ration("status", running))
        self.assertEqual((self.job(second)["earliest_start_ms"], self.job(running)["waits"]), (None, ""))
        self.assertAlmostEqual(self.job(first)["earliest_start_ms"] / 1000, time.time() + 600, delta=PATIENCE)
        self.ration("drain")
        self.assertIn("waits until ration drain --undo, since the service starts no job\n", self.ration("status", first))
        self.kill()
        self.assertIn("waits until ration serve, since the service does not run\n", self.ration("status", first))
        self.assertEqual(self.job(running)["waits"], "")
        (self.folder / "end").touch()

    def test_a_request_that_cannot_be_written_changes_nothing(self) -> None:
        label = self.submit("--name", "runs", "--", "sh", "-c", "until test -e end; do sleep 0.1; done")
        self.wait_for(lambda: self.job(label)["stage"] == "PROCESSING")
        before = resource.prlimit(self.service.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self.service.pid, resource.RLIMIT_FSIZE, (0, before[1]))  # as a full disk
        for method, path in (("POST", "/v1/jobs/1/pause"), ("POST", "/v1/service/drain")):
            self.assertEqual(self.ask(method, path)[0], 503)
        resource.prlimit(self.service.pid, resource.RLIMIT_FSIZE, before)
        time.sleep(0.5)
        (self.folder / "end").touch()
        self.ration("wait", label)
        job = self.job(label)
        self.assertEqual((job["stage"], job["paused"], job["cancelled"], job["incarnation"]), ("COMPLETED", False, False, 1))
        self.assertFalse(self.ask("GET", "/v1/service")[1]["draining"])

    def test_the_policy_changes_while_jobs_run(self) -> None:
        label = self.submit("--name", "runs", "--", "sh", "-c", "until test -e end; do sleep 0.1; done")
        self.wait_for(lambda: self.job(label)["stage"] == "PROCESSING")
        for wrong in (("drf",), ("tradl", "--set", "tradl.wrong=1"), ("tradl", "--set", "fifo.x=1")):
            self.ration("policy", "set", *wrong, code=2)
        self.assertIn("relative", self.ask("POST", "/v1/service/policy", json.dumps({"policy": "./las.so"}))[1]["error"])
        self.ration("policy", "set", "tradl")
        log = self.state / "events.jsonl"
        events = lambda: [json.loads(line) for line in log.read_text().splitlines()]
        self.wait_for(lambda: [e["policy"] for e in events() if e["event"] == "run"] == ["equal_share", "tradl"])
        self.wait_for(lambda: events()[-1]["event"] != "run" and any(e["event"] == "decision" for e in events()[::-1]))
        self.kill()
        self.start()
        self.assertEqual(self.ask("GET", "/v1/service")[1]["policy"], "tradl")
        self.kill()
        self.start("--policy", "equal_share")
        self.assertEqual(self.ask("GET", "/v1/service")[1]["policy"], "equal_share")
        (self.folder / "end").touch()
        self.ration("wait", label)  # one process from the start to the end
        self.assertEqual(self.job(label)["incarnation"], 1)


class Configured(ServiceTest):
    def configure(self, text: str, *options: str) -> None:
        self.kill()
        (self.folder / "service.toml").write_text(text)
        self.start("--config", str(self.folder / "service.toml"), *options)

    def refused(self, text: str, *options: str) -> str:
        (self.folder / "wrong.toml").write_text(text)
        done = subprocess.run([RATION, "serve", "--state", self.state, "--config", self.folder / "wrong.toml", *options], env=self.environment, capture_output=True,
                              text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)  # before the service reports that it is ready
        return done.stderr

    def submit_file(self, text: str, code: int = 0) -> str:
        (self.folder / "job.toml").write_text(text)
        return self.ration("submit", str(self.folder / "job.toml"), code=code)

    def test_files_that_jobs_read_are_in_memory_while_they_run(self) -> None:
        (self.folder / "data.bin").write_bytes(b"x" * 40_000)
        self.configure('cache = "64KiB"\nshared_cache = { round = 1 }\n')
        self.submit_file(JOB.replace('["true"]', '["sleep", "3"]\nreads = ["data.bin"]'))

        def changes() -> list[tuple[str, int]]:
            events = map(json.loads, (self.state / "events.jsonl").read_text().splitlines())
            return [(os.path.basename(event["item"]), event["after"]) for event in events if event["event"] == "item"]
        self.wait_for(lambda: changes() == [("data.bin", 40_000), ("data.bin", 0)])

    def test_models_of_phases_are_for_jobs_of_the_name_that_they_were_submitted_with(self) -> None:
        phase = {"samples": 9, "centre": [0] * 8, "cpu": [500, 750, 800, 900], "memory": [1e6] * 4}
        scale = {"mean": 0, "deviation": 1}
        model = {"class": "busy", "period": 0.2, "horizon": 1, "cpu": scale, "memory": scale, "phases": [phase]}
        (self.folder / "models").mkdir()
        (self.folder / "models" / "phases.json").write_text(json.dumps({"classes": [model]}))
        self.configure('policy = "phase_limits"\ntick = "100ms"\nphases = { models = "models/phases.json" }\n')
        self.submit("--name", "other", "--", "sleep", "600")
        label = self.submit("--name", "busy", "--", "sh", "-c", "while :; do :; done")
        self.assertNotEqual(label, "busy")

        def shown() -> list[tuple]:
            events = map(json.loads, (self.state / "events.jsonl").read_text().splitlines())
            columns = [event["columns"] for event in events if event["event"] == "decision"]
            return list(zip(*(columns[-1][name] for name in ("jobs/class", "jobs/phase", "jobs/expected.cpu")))) if columns else []
        self.wait_for(lambda: shown() == [(1, 2**32 - 1, "nan"), (0, 0, 750)])
        self.ration("policy", "set", "equal_share")
        self.ration("policy", "set", "phase_limits")  # the columns are still there

    def runs(self) -> list[tuple[str, dict]]:
        events = map(json.loads, (self.state / "events.jsonl").read_text().splitlines())
        return [(event["policy"], event["parameters"]) for event in events if event["event"] == "run"]

    def test_a_policy_that_was_set_starts_beside_the_tables_of_the_file(self) -> None:
        self.configure('policy = "tradl"\ntick = "100ms"\ntradl = { alpha = 0.5 }\n')

        def set_policy(*words: str, to: tuple[str, dict]) -> None:
            self.ration("policy", "set", *words)
            self.wait_for(lambda: self.runs()[-1:] == [to])

        def restart(*options: str, to: tuple[str, dict]) -> None:
            before = len(self.runs())
            self.kill()
            self.start("--config", str(self.folder / "service.toml"), *options)
            self.wait_for(lambda: len(self.runs()) > before)
            self.assertEqual(self.runs()[-1], to)
        set_policy("equal_share", to=("equal_share", {}))
        restart(to=("equal_share", {}))
        set_policy("tradl", to=("tradl", {"alpha": 0.5}))
        set_policy("tradl", "--set", "tradl.alpha=0.8", to=("tradl", {"alpha": 0.8}))
        restart(to=("tradl", {"alpha": 0.8}))
        set_policy("tradl", to=("tradl", {"alpha": 0.5}))
        restart("--policy", "tradl", "--set", "tradl.alpha=0.7", to=("tradl", {"alpha": 0.7}))

    def test_a_policy_that_cannot_be_used_any_more_costs_a_warning(self) -> None:
        label = self.submit("--name", "runs", "--", "sh", "-c", "until test -e end; do sleep 0.1; done")
        self.wait_for(lambda: self.job(label)["stage"] == "PROCESSING")
        gone = f"{self.folder}/libgone.so"
        unusable = [f"ration: warning: {gone}: ", f"ration: warning: policy '{gone}': it was set and cannot be used now, so that 'tradl' decides; set a policy: ration policy set NAME\n"]
        unreadable = [f"ration: warning: {self.state}/jobs.db: the policy that was set last cannot be read; set it again: ration policy set NAME\n"]
        for kept, warnings in ((json.dumps({"policy": gone, "settings": []}), unusable), ("{", unreadable), ('{"policy": "las", "settings": ["x"]}', unreadable)):
            self.kill()
            with contextlib.closing(sqlite3.connect(self.state / "jobs.db")) as jobs, jobs:
                jobs.execute("INSERT OR REPLACE INTO settings VALUES ('policy', ?)", (kept,))
            self.start("--config", self.tradl())
            for warning in warnings:
                self.assertIn(warning, self.service.stderr.readline())
            self.assertEqual(self.ask("GET", "/v1/service")[1]["policy"], "tradl")
        (self.folder / "end").touch()
        self.ration("wait", label)
        self.assertEqual(self.job(label)["incarnation"], 1)

    def test_the_fallback_of_the_file_follows_a_policy_that_was_set(self) -> None:
        self.configure('fallback = "equal_share"\ntick = "100ms"\n')
        label = self.submit("--name", "runs", "--", "sh", "-c", "until test -e end; do sleep 0.1; done")
        reason = lambda: [job["reason"] for job in self.ask("GET", "/v1/running")[1]["jobs"]]
        self.ration("policy", "set", f"{os.environ['RATION_PLUGINS']}/limits_then_aborts.so")
        self.wait_for(lambda: "equal_share decides from now on" in (self.state / "events.jsonl").read_text())
        self.wait_for(lambda: reason() == ["one n-th of the machine for each of n jobs"])
        self.ration("policy", "set", "none")
        self.wait_for(lambda: reason() == ["no policy: the operating system shares the machine out"])
        (self.folder / "end").touch()
        self.ration("wait", label)

    def tradl(self) -> str:
        (self.folder / "service.toml").write_text('policy = "tradl"\n')
        return str(self.folder / "service.toml")

    def test_devices_are_assigned_and_never_shared(self) -> None:
        self.configure('policy = "drf"\ndevices = { count = 3, cpu = 0.1 }\ntick = "100ms"\n')
        script = 'echo $RATION_DEVICES >> had; for d in $(echo $RATION_DEVICES | tr , " "); do mkdir $d || touch conflict; done; sleep 1; ' \
                 'for d in $(echo $RATION_DEVICES | tr , " "); do rmdir $d; done'
        job = JOB.replace('["true"]', json.dumps(["sh", "-c", script])) + "bounds = { gpu = { min = 2, max = 2 } }\n"
        labels = [self.submit_file(job) for _ in range(3)]
        plain = self.submit("--", "true")
        self.ration("wait", plain)
        for label in labels:
            self.ration("wait", label)
            self.assertEqual([past["stage"] for past in self.job(label)["history"]][:3], ["QUEUED", "PENDING", "DEPLOYING"])
        self.assertFalse((self.folder / "conflict").exists())
        self.assertEqual([len(line.split(",")) for line in (self.folder / "had").read_text().split()], [2, 2, 2])
        self.submit_file(job.replace("2, max = 2", "4, max = 4"), code=2)

    def test_a_job_with_devices_outlives_the_service(self) -> None:
        self.configure('policy = "drf"\ndevices = { count = 2, cpu = 0.1 }\ntick = "100ms"\n')
        job = JOB.replace('["true"]', '["sh", "-c", "echo $RATION_DEVICES >> had; until test -e end; do sleep 0.1; done"]') + "bounds = { gpu = { min = 2, max = 2 } }\n"
        runs, waits = self.submit_file(job), self.submit_file(job)
        self.wait_for(lambda: self.job(runs)["stage"] == "PROCESSING")
        self.wait_for(lambda: self.job(waits)["stage"] == "PENDING")
        self.assertEqual(self.job(waits)["waits"], "waits for 2 gpu: 0 of 2 are free, and no other job waits for some; its earliest start is unknown")
        self.ration("policy", "set", "equal_share", code=2)  # it gives none
        self.kill()
        self.start("--config", str(self.folder / "service.toml"))
        time.sleep(0.5)
        self.assertEqual((self.folder / "had").read_text(), "cpu-0,cpu-1\n")  # the other one waits
        self.ration("pause", waits)
        (self.folder / "end").touch()
        self.ration("wait", runs)
        self.assertEqual(self.job(runs)["incarnation"], 1)
        self.ration("resume", waits)
        self.ration("wait", waits)

    def test_a_job_with_devices_cannot_come_after_a_policy_that_gives_none(self) -> None:
        self.configure('policy = "drf"\ndevices = { count = 2, cpu = 0.1 }\ntick = "100ms"\n')
        job = {"key": "k", "directory": str(self.folder), "definition": JOB + "bounds = { gpu = { min = 1, max = 1 } }\n"}
        self.service.send_signal(signal.SIGSTOP)  # so that one turn takes both requests
        os.waitpid(self.service.pid, os.WUNTRACED)
        connections = []
        for path, body in (("/v1/service/policy", {"policy": "equal_share"}), ("/v1/jobs", job)):
            connections.append(Connection(str(self.state / "socket")))
            connections[-1].request("POST", path, json.dumps(body))
        self.service.send_signal(signal.SIGCONT)
        self.assertEqual([connection.getresponse().status for connection in connections], [200, 400])
        for connection in connections:
            connection.close()
        self.assertEqual(self.ask("GET", "/v1/jobs")[1]["jobs"], [])

    def test_what_cannot_work_is_refused_before_the_start(self) -> None:
        self.kill()
        self.assertIn("has no jobs", self.refused(JOB))
        self.assertIn("drf", self.refused("", "--policy", "drf"))  # without devices
        self.assertIn("cores", self.refused('[[tenant]]\nname = "lab"\nquota = { cpu = 4000 }\n'))
        self.assertIn("policy 'phase_limits': bind column jobs/phase", self.refused('policy = "phase_limits"\n'))
        self.assertIn("wrong.toml:1:1: 'phases' names no file of models", self.refused("phases = {}\n"))
        self.assertIn("wrong.toml:1:21: cannot be opened", self.refused('phases = { models = "nowhere.json" }\n'))
        self.start()
        self.submit_file(JOB + "bounds = { gpu = { min = 1, max = 1 } }\n", code=2)

    def test_tenants_take_turns_by_weight_before_jobs_go_by_age(self) -> None:
        self.configure('[[tenant]]\nname = "anna"\nweight = 3\n[[tenant]]\nname = "ben"\n[[tenant]]\nname = "carl"\nweight = 9\n', "--max-running", "4")
        self.ration("drain")
        busy = JOB.replace('["true"]', '["sh", "-c", "until test -e end; do sleep 0.1; done"]')
        anna = [self.submit_file(busy + 'tenant = "anna"\n') for _ in range(6)]
        ben = [self.submit_file(busy + 'tenant = "ben"\n') for _ in range(6)]
        self.ration("drain", "--undo")
        running = lambda: sorted(job["label"] for job in self.ask("GET", "/v1/running")[1]["jobs"])
        self.wait_for(lambda: len(running()) == 4)
        self.assertEqual(running(), sorted(anna[:3] + ben[:1]))
        first = self.submit_file(busy + 'tenant = "ben"\npriority = 1\n')
        self.ration("cancel", anna[0])
        self.wait_for(lambda: first in running())
        (self.folder / "end").touch()
        for label in (*anna[1:], *ben, first):
            self.ration("wait", label)

    def test_tenants_have_limits(self) -> None:
        self.configure('tick = "100ms"\n[[tenant]]\nname = "small"\nlimit = { cpu = 0.05 }\n[[tenant]]\nname = "other"\n', "--cpus", "2")
        busy = JOB.replace('["true"]', '["sh", "-c", "until test -e end; do sleep 0.1; done"]')
        labels = [self.submit_file(busy + f'tenant = "{name}"\n') for name in ("small", "small", "other")]
        self.submit_file(JOB + 'tenant = "unknown"\n', code=2)
        for label in labels:
            self.wait_for(lambda: self.job(label)["stage"] == "PROCESSING")
        log = self.state / "events.jsonl"

        def held() -> list:
            decisions = [json.loads(line) for line in log.read_text().splitlines() if '"event":"decision"' in line]
            return decisions[-1]["columns"]["jobs/held.cpu"]
        # Also a job whose first grant was refused has a limit, and not much more than that of its tenant
        self.wait_for(lambda: len(held()) == 3 and all(amount > 0 for amount in held()))
        self.assertLessEqual(held()[0] + held()[1], 50 + 10)
        (self.folder / "end").touch()
        for label in labels:
            self.ration("wait", label)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
