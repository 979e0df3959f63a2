# SPDX-License-Identifier: BSL-1.0
"""The service: submission, order, retries, cancellation, its records, its API document, and its death at any moment."""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time
import unittest

from support import FINAL, JOB, PATIENCE, RATION, ROOT, Connection, ServiceTest


class Submitted(ServiceTest):
    def test_a_job_has_the_folder_the_environment_and_the_exit_code_of_its_submitter(self) -> None:
        label = self.submit("--name", "a", "--", "sh", "-c", 'echo "$PWD $MARK"; test -d "$RATION_CHECKPOINT" && exit 3')
        self.assertEqual(label, "a-1")
        self.ration("wait", label, code=3)
        job = self.job(label)
        self.assertEqual((job["stage"], job["exit_code"], job["incarnation"]), ("FAILED", 3, 1))
        self.assertEqual(pathlib.Path(job["log"]).read_text(), f"{self.folder} of the submitter\n")
        self.assertEqual([past["stage"] for past in job["history"]], ["QUEUED", "PENDING", "DEPLOYING", "FAILED"])

    def test_a_job_has_the_python_environment_of_its_submitter(self) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self.folder / "venv"], check=True)
        self.environment["PATH"] = f"{self.folder}/venv/bin:{self.environment['PATH']}"  # as activate does
        label = self.submit("--", "python3", "-c", "import sys; print(sys.prefix)")
        self.ration("wait", label)
        self.assertEqual(self.ration("logs", label), str(self.folder / "venv"))

    def test_a_key_names_one_job(self) -> None:
        first = self.submit("--key", "k", "--", "true")
        self.environment["MARK"] = "another"
        self.assertEqual(self.submit("--key", "k", "--", "true"), first)
        self.ration("submit", "--key", "k", "--", "false", code=2)
        self.ration("submit", "--key", "k", "--priority", "1", "--", "true", code=2)

    def test_options_replace_what_a_jobs_file_says_of_the_job(self) -> None:
        file = self.folder / "job.toml"
        file.write_text(f'policy = "las"\ncpus = 1\ntick = "1s"\n{JOB}priority = 3\n')
        done = subprocess.run([RATION, "submit", "--state", self.state, "--name", "other", "--priority", "-7", file], env=self.environment, cwd=self.folder,
                              capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "other-1\n")
        self.assertIn("does not use policy, cpus, tick", done.stderr)
        self.assertEqual(self.job("other-1")["priority"], -7)
        self.assertEqual(self.job(self.submit(str(file)))["priority"], 3)
        self.ration("wait", "other-1")

    def test_wrong_words_are_refused(self) -> None:
        first = self.submit("--name", "first", "--", "true")
        for wrong in (("--time-limit", "0s"), ("--time-limit", "soon"), ("--after", "other-1"), ("--after", "9"), ("--name", "a/b")):
            self.ration("submit", *wrong, "--", "true", code=2)
        self.ration("wait", self.submit("--after", first, "--", "true"))

    def test_an_array_is_a_job_for_each_number(self) -> None:
        labels = self.submit("--name", "seed", "--array", "3-5", "--key", "k", "--", "sh", "-c", "echo $RATION_ARRAY_INDEX >> seeds").splitlines()
        self.assertEqual(labels, ["seed-1 (index 3)", "seed-2 (index 4)", "seed-3 (index 5)"])
        self.assertEqual(self.submit("--name", "seed", "--array", "3-5", "--key", "k", "--", "sh", "-c", "echo $RATION_ARRAY_INDEX >> seeds").splitlines(), labels)
        labels = [label.split()[0] for label in labels]
        for label in labels:
            self.ration("wait", label)
        other = self.submit("--", "true")
        self.assertEqual([self.job(label)["array_index"] for label in (*labels, other)], [3, 4, 5, None])
        self.assertEqual([job["array_index"] for job in json.loads(self.ration("status", "--json"))["jobs"]], [3, 4, 5, None])
        self.assertRegex(self.ration("status"), r"^job +index +stage .*\nseed-1 +3 +COMPLETED")
        self.assertIn("seed-2, index 4: COMPLETED", self.ration("status", "seed-2"))
        self.assertEqual(sorted((self.folder / "seeds").read_text().split()), ["3", "4", "5"])
        for wrong in ("5-3", "1-", "1-1001", "a"):
            self.ration("submit", "--array", wrong, "--", "true", code=2)

    def test_a_submission_waits_for_a_service_that_starts(self) -> None:
        self.kill()
        submission = subprocess.Popen([RATION, "submit", "--state", self.state, "--", "true"], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, text=True)
        time.sleep(0.2)
        self.start()
        self.assertEqual(submission.communicate(timeout=PATIENCE)[0], "true-1\n")
        self.kill()
        done = subprocess.run([RATION, "submit", "--state", self.state, "--", "true"], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 3)
        self.assertIn(f"ration serve --state {self.state}", done.stderr)

    def test_jobs_come_after_others_and_one_with_a_failed_one_fails(self) -> None:
        first = self.submit("--name", "first", "--", "sh", "-c", "sleep 0.5; echo first >> order")
        second = self.submit("--name", "second", "--after", first, "--", "sh", "-c", "echo second >> order")
        self.ration("wait", second)
        self.assertEqual((self.folder / "order").read_text(), "first\nsecond\n")
        bad = self.submit("--", "false")
        never = self.submit("--name", "never", "--after", bad, "--", "touch", "never")
        self.ration("wait", never, code=1)
        self.assertFalse((self.folder / "never").exists())

    def test_a_failed_job_is_tried_again_and_a_time_limit_ends_one(self) -> None:
        again = self.submit("--name", "again", "--retries", "2", "--", "sh", "-c", "echo x >> tries; test $(wc -l < tries) = 2")
        long = self.submit("--name", "long", "--retries", "2", "--time-limit", "1s", "--", "sleep", "60")
        self.ration("wait", again)
        self.assertEqual(self.job(again)["incarnation"], 2)
        self.wait_for(lambda: self.job(long)["stage"] in FINAL)
        job = self.job(long)
        self.assertEqual((job["stage"], job["incarnation"]), ("FAILED", 1))
        self.assertIn("time limit", job["why"])
        head, *rows = self.ration("status").splitlines()
        at = head.index("reason")
        self.assertEqual([row[at:] for row in rows], ["", job["why"]])

    def test_queued_and_running_jobs_are_cancelled(self) -> None:
        self.kill()
        self.start("--max-running", "1")
        running = self.submit("--name", "running", "--", "sleep", "60")
        low = self.submit("--name", "low", "--", "touch", "low")
        high = self.submit("--name", "high", "--priority", "5", "--", "sh", "-c", "test ! -e low")
        self.wait_for(lambda: self.job(running)["stage"] == "PROCESSING")
        queued = self.submit("--name", "queued", "--", "true")
        for command in ("cancel", "status", "wait"):
            self.ration(command, "other-" + queued.rsplit("-", 1)[1], code=2)  # the number is right, and the name is not
        self.assertEqual(self.job(queued)["stage"], "QUEUED")
        self.ration("cancel", queued)
        self.assertEqual(self.job(queued)["stage"], "HALTED")
        self.ration("cancel", running)
        self.ration("wait", running, code=4)
        self.ration("wait", high)  # before the older job of lower priority
        self.ration("wait", low)


class Recorded(ServiceTest):
    def test_output_is_printed_and_bounded(self) -> None:
        label = self.submit("--name", "prints", "--", "sh", "-c", "echo begin; head -c 33554432 /dev/zero; echo middle; sleep 2; echo end")
        followed = subprocess.run([RATION, "logs", label, "-f", "--state", self.state], env=self.environment, capture_output=True, check=True, timeout=PATIENCE)
        self.assertTrue(followed.stdout.endswith(b"end\n"))
        log = pathlib.Path(self.job(label)["log"])
        self.assertEqual(log.read_bytes(), b"end\n")
        self.assertTrue(pathlib.Path(f"{log}.1").read_bytes().endswith(b"middle\n"))
        whole = subprocess.run([RATION, "logs", label, "--state", self.state], env=self.environment, capture_output=True, check=True)
        self.assertEqual(len(whole.stdout), len("begin\nmiddle\nend\n") + 33554432)
        self.ration("logs", "other-1", code=2)

    def test_events_are_written_and_can_be_replayed(self) -> None:
        label = self.submit("--name", "counted", "--", "sh", "-c", "until test -e end; do sleep 0.1; done")
        self.wait_for(lambda: self.job(label)["stage"] == "PROCESSING")
        self.kill()
        self.start("--metrics", f"unix:{self.folder}/metrics")
        metrics = Connection(str(self.folder / "metrics"))
        metrics.request("GET", "/metrics")
        self.assertIn(f'ration_job_state{{job_name="{label}",state="running"}} 1', metrics.getresponse().read().decode())
        (self.folder / "end").touch()
        self.ration("wait", label)
        log = self.state / "events.jsonl"
        self.wait_for(lambda: "job_ended" in log.read_text())
        events = [json.loads(line) for line in log.read_text().splitlines()]
        self.assertEqual([event["event"] for event in events].count("run"), 2)  # one for each start
        self.assertEqual([event["how"] for event in events if event["event"] == "job_ended"], ["finished"])
        self.assertEqual(log.stat().st_mode & 0o777, 0o600)
        for words in (("replay", log, "--policy", "tradl"), ("report", log, "--out", self.folder / "page.html")):
            done = subprocess.run([RATION, *words], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)


class Listed(ServiceTest):
    def runs(self) -> list[dict]:
        done = subprocess.run([RATION, "runs", "--json"], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_the_service_is_a_row_beside_the_runs(self) -> None:
        (self.folder / "jobs.toml").write_text(f'policy = "none"\n{JOB}')
        subprocess.run([RATION, "run", "jobs.toml", "--backend", "process"], cwd=self.folder, env=self.environment, capture_output=True, check=True)
        label = self.submit("--name", "runs", "--", "sleep", "60")
        self.wait_for(lambda: self.job(label)["stage"] == "PROCESSING")
        run, service = self.runs()
        self.assertEqual((run["state"], run["file"]), ("ended", "jobs.toml"))
        self.assertEqual((service["run"], service["state"], service["policy"], service["ended_ms"]), (str(self.state), "running", "equal_share", None))
        self.assertEqual([job["job"] for job in service["jobs"]], [label])
        self.assertLess(run["started_ms"] - service["started_ms"], PATIENCE * 1000)
        self.assertGreater(run["started_ms"], service["started_ms"])
        table = subprocess.run([RATION, "runs"], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=True).stdout.splitlines()
        self.assertRegex(table[2], rf"^{self.state} +\S+ \S+ +equal_share +{self.state}/jobs.db +{label} +running$")
        self.kill()
        self.assertEqual([row["state"] for row in self.runs()], ["ended", "down"])

    def other(self, *words: str) -> subprocess.CompletedProcess:
        return subprocess.run([RATION, *words], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False, timeout=PATIENCE)

    def test_running_jobs_are_listed_with_their_index_in_an_array(self) -> None:
        self.submit("--name", "seed", "--array", "7-8", "--", "sleep", "300")
        self.submit("--name", "other", "--", "sleep", "300")
        wanted = [("seed-1", 7), ("seed-2", 8), ("other-3", None)]
        self.wait_for(lambda: [(job["job"], job["array_index"]) for job in json.loads(self.other("list", "--json").stdout)["jobs"]] == wanted)
        self.assertEqual([(job["label"], job["array_index"]) for job in self.ask("GET", "/v1/running")[1]["jobs"]], wanted)

    def test_the_output_of_a_job_is_found_by_its_record(self) -> None:
        label = self.submit("--name", "here", "--", "sh", "-c", "echo found; sleep 60")
        self.wait_for(lambda: label in self.other("list").stdout)
        self.wait_for(lambda: self.other("logs", label).stdout == "found\n")

    def test_an_idle_service_costs_a_run_no_warning(self) -> None:
        (self.folder / "jobs.toml").write_text(f'policy = "none"\n{JOB}')
        self.assertNotIn("CPUs", self.other("run", "jobs.toml", "--backend", "process").stdout)
        label = self.submit("--name", "runs", "--", "sleep", "60")
        self.wait_for(lambda: self.job(label)["stage"] == "PROCESSING")
        self.assertRegex(self.other("run", "jobs.toml", "--backend", "process").stdout,
                         rf"CPUs \S+ are also those of a service \(process {self.service.pid}\), so that both are slower")


class Document(ServiceTest):
    def test_routes_and_fields_are_those_of_the_document(self) -> None:
        document = json.loads((ROOT / "docs/service-api.json").read_text())
        described = {(method.upper(), path) for path, item in document["paths"].items() for method in item if method != "parameters"}
        self.submit("--", "true")
        body = json.dumps({"key": "k", "definition": JOB, "directory": "/tmp"})
        bodies = {"/v1/jobs": body, "/v1/service/policy": '{"policy": "fifo"}'}
        for method, path in sorted(described - {("GET", "/v1/events")}):  # which does not end
            status, answer = self.ask(method, path.replace("{id}", "1"), bodies.get(path, "") if method == "POST" else None)
            self.assertNotIn(status, (404, 405), path)
            wanted = document["paths"][path][method.lower()]["responses"][str(status)]["content"]["application/json"]["schema"]
            self.check(document, wanted, answer)
        for wrong in ("{", "[]", body.replace('"key"', '"kei"'), body.replace("/tmp", "tmp"), body.replace("command", "commando"), body[:-1] + f', "priority": {2**64 - 1}}}'):
            status, answer = self.ask("POST", "/v1/jobs", wrong)
            self.assertEqual(status, 400, answer)
            self.assertTrue(answer["error"])
        self.assertEqual(self.ask("GET", "/v1/jobs/99")[0], 404)
        self.assertEqual(self.ask("GET", "/v2")[0], 404)

    def check(self, document: dict, schema: dict, value: object) -> None:
        if "$ref" in schema:
            schema = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        if schema["type"] == "object":
            self.assertEqual(set(value), set(schema["properties"]))
            for name, member in value.items():
                self.check(document, schema["properties"][name], member)
        elif schema["type"] == "array":
            for one in value:
                self.check(document, schema["items"], one)


# It has the folder of a service, and reports the number of another process as its own.
LIAR = """
import fcntl, os, socket, sys
folder, number = sys.argv[1:]
lock = os.open(folder, os.O_RDONLY)
fcntl.flock(lock, fcntl.LOCK_EX)
path = os.path.join(folder, "socket")
if os.path.lexists(path):
    os.unlink(path)
listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
listener.listen()
print("ready", flush=True)
body = '{"pid": %s}' % number
while True:
    client = listener.accept()[0]
    client.recv(65536)
    client.sendall(f"HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nContent-Length: {len(body)}\\r\\nConnection: close\\r\\n\\r\\n{body}".encode())
    client.close()
"""


class Killed(ServiceTest):
    def test_a_run_and_clean_leave_the_jobs_of_a_service_that_is_down_to_it(self) -> None:
        label = self.submit("--name", "long", "--", "sh", "-c", "until test -e end; do sleep 0.1; done")
        self.wait_for(lambda: self.job(label)["stage"] == "PROCESSING")
        record, = self.state.glob(".ration/*/run.json")
        pid = json.loads(record.read_text())["run"]["jobs"][0]["pid"]
        self.kill()
        (self.folder / "jobs.toml").write_text(f'policy = "none"\n{JOB}')

        def other(*words: str) -> subprocess.CompletedProcess:
            return subprocess.run([RATION, *words], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False, timeout=PATIENCE)
        for words in ((), ("--reattach",)):
            done = other("run", "jobs.toml", *words)
            self.assertEqual((done.returncode, done.stderr), (3, f"ration: find live jobs of the service in {self.state}, which is down: {label} (process {pid}): busy; "
                                                                 "start it again, by ration serve --state FOLDER\n"))
        rest = f"{label} (process {pid}) alone: it belongs to the service in {self.state}, which is down; " \
               f"continue or cancel it by ration serve --state {self.state}, or end the process yourself\n"
        for words, begin in (("--dry-run",), "would leave "), ((), "left "), ((), "left "):
            self.assertEqual(other("clean", *words).stdout, begin + rest)
        (self.folder / "end").touch()
        self.start()
        self.ration("wait", label)
        self.assertEqual(self.job(label)["incarnation"], 1)

    ROUNDS = int(os.environ.get("RATION_SERVE_KILLS", 4))

    def test_clean_recognises_the_jobs_of_a_service_without_its_record(self) -> None:
        doctor = subprocess.run([RATION, "doctor", "--json"], env=self.environment, capture_output=True, text=True, check=True).stdout
        if json.loads(doctor)["backend"] != "cgroup":
            self.skipTest("no cgroup can be written here")
        self.kill()
        self.start(backend="cgroup")
        label = self.submit("--name", "long", "--", "sleep", "60")
        self.wait_for(lambda: self.job(label)["stage"] == "PROCESSING")
        self.kill()
        (self.folder / "elsewhere").mkdir(mode=0o700)
        elsewhere = dict(self.environment, XDG_RUNTIME_DIR=str(self.folder / "elsewhere"))
        done = subprocess.run([RATION, "clean", "--dry-run"], env=elsewhere, capture_output=True, text=True, check=True)
        line, = [line for line in done.stdout.splitlines() if f"service in {self.state}" in line]
        self.assertRegex(line, rf"^would leave {label} \(process \d+\) alone: it belongs to the service in {self.state}, which is down; ")
        self.assertNotIn(f".{self.service.pid}.", done.stdout)  # nor is its group ended

    def test_a_job_that_ended_while_the_service_was_away_has_its_own_end(self) -> None:
        job = self.submit("--name", "away", "--", "sh", "-c", "sleep 1; exit 7")
        stays = self.submit("--name", "stays", "--", "sh", "-c", "sleep 4; exit 5")
        self.wait_for(lambda: self.job(stays)["stage"] == "PROCESSING")
        self.kill(signal.SIGTERM)
        time.sleep(1.5)
        self.assertEqual(len(json.loads(self.ration("status", "--json"))["jobs"]), 2)  # while it is down
        self.start()
        self.ration("wait", job, code=7)
        self.ration("wait", stays, code=5)

    def test_an_end_that_nobody_has_recorded_is_a_failure(self) -> None:
        again = self.submit("--name", "again", "--retries", "1", "--", "sh", "-c", "test -e second || { touch second; exec sleep 60; }")
        once = self.submit("--name", "once", "--", "sleep", "60")
        for label in (again, once):
            self.wait_for(lambda label=label: self.job(label)["stage"] == "PROCESSING")
        record, = self.state.glob(".ration/*/run.json")
        first = [job["pid"] for job in json.loads(record.read_text())["run"]["jobs"]]
        self.kill()
        self.start()  # to which the kernel does not report how they end
        self.assertEqual(len(self.ask("GET", "/v1/running")[1]["jobs"]), 2)  # taken over
        for pid in first:
            os.kill(pid, signal.SIGKILL)
        self.ration("wait", once, code=1)
        self.assertEqual(self.job(once)["stage"], "FAILED")
        self.assertRegex(self.job(once)["why"], "^its end was not recorded, as after SIGKILL of its first process; its first process had left 1 other process")
        self.ration("wait", again)
        self.assertEqual(self.job(again)["incarnation"], 2)

    def test_a_new_service_replaces_the_old_one_while_a_job_runs(self) -> None:
        label = self.submit("--name", "stays", "--", "sh", "-c", "echo x >> launches; until test -e end; do sleep 0.1; done")
        self.wait_for((self.folder / "launches").exists)
        busy = subprocess.run([RATION, "serve", "--state", self.state], env=self.environment, capture_output=True, text=True, check=False)
        self.assertEqual(busy.returncode, 3)
        old = self.service
        self.start("--replace")
        self.assertEqual(old.wait(timeout=PATIENCE), 0)
        old.stdout.close()
        old.stderr.close()
        (self.folder / "end").touch()
        self.ration("wait", label)
        self.assertEqual(((self.folder / "launches").read_text(), self.job(label)["incarnation"]), ("x\n", 1))

    def test_the_process_that_listens_is_replaced_whatever_it_reports(self) -> None:
        self.kill()
        bystander = subprocess.Popen(["sleep", str(PATIENCE)])
        self.addCleanup(bystander.wait)
        self.addCleanup(bystander.kill)
        liar = subprocess.Popen([sys.executable, "-c", LIAR, self.state, str(bystander.pid)], stdout=subprocess.PIPE, text=True)
        self.addCleanup(liar.stdout.close)
        self.addCleanup(liar.wait)
        self.addCleanup(liar.kill)
        self.assertEqual(liar.stdout.readline(), "ready\n")
        self.start("--replace")
        self.assertEqual(liar.wait(PATIENCE), -signal.SIGTERM)
        self.assertIsNone(bystander.poll())

    def test_nothing_is_lost_and_nothing_runs_twice(self) -> None:
        rng = random.Random(int(os.environ.get("RATION_SERVE_SEED", 7)))
        labels = []
        for number in range(self.ROUNDS):
            for i in range(3):
                labels.append(self.submit("--name", f"r{number}", "--", "sh", "-c", f"echo {number}.{i} >> ran; sleep {rng.uniform(0, 1.5):.2f}"))
            time.sleep(rng.uniform(0, 0.8))
            self.kill(rng.choice((signal.SIGKILL, signal.SIGTERM)))
            self.start()
        for label in labels:
            self.ration("wait", label)
        ran = sorted((self.folder / "ran").read_text().split())
        self.assertEqual(ran, sorted(f"{n}.{i}" for n in range(self.ROUNDS) for i in range(3)))
        for label in labels:
            job = self.job(label)
            self.assertEqual((job["stage"], job["exit_code"]), ("COMPLETED", 0), job)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
