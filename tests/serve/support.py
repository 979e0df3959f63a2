# SPDX-License-Identifier: BSL-1.0
"""A service in a separate folder, for the tests of the service."""
import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

RATION = os.path.abspath(os.environ["RATION_PROGRAM"])
ROOT = pathlib.Path(__file__).resolve().parents[2]
PATIENCE = 120
FINAL = ("COMPLETED", "FAILED", "HALTED")


JOB = '[[job]]\nname = "a"\ncommand = ["true"]\ntarget = { loss = { objective = 0 } }\n'


def cgroups_can_be_written(environment: dict) -> bool:
    doctor = subprocess.run([RATION, "doctor", "--json"], env=environment, capture_output=True, text=True, check=True).stdout
    return json.loads(doctor)["backend"] == "cgroup"


class Connection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost")
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(self.path)


def send(socket_path: pathlib.Path, method: str, path: str, body: str | None = None) -> tuple[int, dict]:
    connection = Connection(str(socket_path))
    connection.request(method, path, body)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def in_process_of(user: int, group: int, groups: tuple, call) -> object:
    """What the call returns in a process of another user."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups(groups)
            os.setgid(group)
            os.setuid(user)
            with os.fdopen(writer, "w") as out:
                json.dump(call(), out)
        finally:
            os._exit(0)  # without an answer the caller fails
    os.close(writer)
    with os.fdopen(reader) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return json.loads(text)


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

    def start(self, *options: str, backend: str = "process", user: int | None = None) -> None:
        self.service = subprocess.Popen([RATION, "serve", "--state", self.state, "--backend", backend, *options], cwd=self.folder, env=self.environment, user=user,
                                        group=user, extra_groups=None if user is None else [], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
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
        for record in self.state.glob(".ration/*/run.json"):
            for job in json.loads(record.read_text())["run"]["jobs"]:
                if job["pid"] > 0:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(job["pid"], signal.SIGKILL)
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

    def wait_for(self, condition, interval: float = 0.05) -> None:
        until = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), until, "it did not happen")
            time.sleep(interval)

    def ask(self, method: str, path: str, body: str | None = None) -> tuple[int, dict]:
        return send(self.state / "socket", method, path, body)
