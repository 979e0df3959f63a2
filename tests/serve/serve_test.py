# SPDX-License-Identifier: BSL-1.0
"""The service: submission, order, retries, cancellation, its API document, and its death at any moment."""
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

RATION = os.path.abspath(os.environ["RATION_PROGRAM"])
ROOT = pathlib.Path(__file__).resolve().parents[2]
PATIENCE = 120
FINAL = ("COMPLETED", "FAILED", "HALTED")


class Connection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost")
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(self.path)


class ServiceTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rs-"))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "run").mkdir(mode=0o700)
        self.state = self.folder / "state"
        self.environment = dict(os.environ, XDG_RUNTIME_DIR=str(self.folder / "run"), MARK="of the submitter")
        self.service = None
        self.addCleanup(self.end)
        self.start()

    def start(self, *options: str) -> None:
        self.service = subprocess.Popen([RATION, "serve", "--state", self.state, "--backend", "process", *options], cwd=self.folder, env=self.environment,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.service.stdout.readline()
        self.assertIn("ready", line, line or self.service.stderr.read())

    def kill(self, how: int = signal.SIGKILL) -> None:
        self.service.send_signal(how)
        self.service.wait()
        self.service.stdout.close()
        self.service.stderr.close()

    def end(self) -> None:
        if self.service.returncode is None:
            self.kill()
        subprocess.run([RATION, "clean"], env=self.environment, capture_output=True, check=False)

    def ration(self, command: str, *words: str, code: int = 0) -> str:
        done = subprocess.run([RATION, command, "--state", self.state, *words], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False,
                              timeout=PATIENCE)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout.strip()

    def submit(self, *words: str) -> str:
        return self.ration("submit", *words)

    def job(self, label: str) -> dict:
        return json.loads(self.ration("status", label, "--json"))

    def wait_for(self, condition) -> None:
        until = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), until, "it did not happen")
            time.sleep(0.05)

    def ask(self, method: str, path: str, body: str | None = None) -> tuple[int, dict]:
        connection = Connection(str(self.state / "socket"))
        connection.request(method, path, body)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


class Submitted(ServiceTest):
    def test_a_job_has_the_folder_the_environment_and_the_exit_code_of_its_submitter(self) -> None:
        label = self.submit("--name", "a", "--", "sh", "-c", 'echo "$PWD $MARK"; test -d "$RATION_CHECKPOINT" && exit 3')
        self.assertEqual(label, "a-1")
        self.ration("wait", label, code=3)
        job = self.job(label)
        self.assertEqual((job["stage"], job["exit_code"], job["incarnation"]), ("FAILED", 3, 1))
        self.assertEqual(pathlib.Path(job["log"]).read_text(), f"{self.folder} of the submitter\n")
        self.assertEqual([past["stage"] for past in job["history"]], ["QUEUED", "PENDING", "DEPLOYING", "FAILED"])

    def test_a_key_names_one_job(self) -> None:
        first = self.submit("--key", "k", "--", "true")
        self.assertEqual(self.submit("--key", "k", "--", "true"), first)
        self.ration("submit", "--key", "k", "--", "false", code=2)

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

    def test_a_damaged_list_stops_a_start_and_leaves_the_jobs_alone(self) -> None:
        label = self.submit("--name", "lives", "--", "sh", "-c", "sleep 3; touch lived")
        self.wait_for(lambda: self.job(label)["stage"] == "PROCESSING")
        self.kill()
        (self.state / "jobs.db").write_bytes(b"x" * 8192)
        for name in ("jobs.db-wal", "jobs.db-shm"):
            (self.state / name).unlink(missing_ok=True)
        done = subprocess.run([RATION, "serve", "--state", self.state], env=self.environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 3)
        self.assertIn(".backup", done.stderr)
        self.wait_for((self.folder / "lived").exists)


class Document(ServiceTest):
    def test_routes_and_fields_are_those_of_the_document(self) -> None:
        document = json.loads((ROOT / "docs/service-api.json").read_text())
        text = (ROOT / "tools/ration/serve/api.hpp").read_text()
        served = set(re.findall(r'\{"([A-Z]+)", "(/v1/[^"]*)"\}', text))
        described = {(method.upper(), path) for path, item in document["paths"].items() for method in item if method != "parameters"}
        self.assertEqual(served, described)
        self.submit("--", "true")
        body = json.dumps({"key": "k", "definition": '[[job]]\nname = "a"\ncommand = ["true"]\ntarget = { loss = { objective = 0 } }\n', "directory": "/tmp"})
        for method, path in sorted(served):
            status, answer = self.ask(method, path.replace("{id}", "1"), body if method == "POST" else None)
            wanted = document["paths"][path][method.lower()]["responses"][str(status)]["content"]["application/json"]["schema"]
            self.check(document, wanted, answer)
        for wrong in ("{", "[]", body.replace('"key"', '"kei"'), body.replace("/tmp", "tmp"), body.replace("command", "commando")):
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


class Killed(ServiceTest):
    ROUNDS = int(os.environ.get("RATION_SERVE_KILLS", 4))

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
