# SPDX-License-Identifier: BSL-1.0
"""Clients of something that is not the service, or is damaged: each answer is a ServiceError in Python, and a sentence with exit code 3 on the command line.
A client waits while the queue of the socket is full.
"""
import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
import ration  # noqa: E402
import ration.service  # noqa: E402

RATION = os.path.abspath(os.environ["RATION_PROGRAM"])
PATIENCE = float(os.environ.get("RATION_TEST_PATIENCE", 120))
JOB = {"id": 1, "name": "a", "label": "a-1", "log": "/log", "stage": "QUEUED", "exit_code": None, "signal": None}


def http(body: bytes, head: str = "HTTP/1.1 200 OK", more: str = "") -> bytes:
    return f"{head}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n{more}\r\n".encode() + body


def of_job(**changed: object) -> bytes:
    return http(json.dumps({**JOB, **changed}).encode())


ANSWERS = {
    "nothing": b"", "no HTTP": b"\x00\xff" * 50, "no status": b"HTTP/1.1 \r\n\r\n", "half a head": b"HTTP/1.1 200 OK\r\nContent-Le",
    "half a body": b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{", "an endless length": b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n{}",
    "a wrong length": b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n{}", "a wrong chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}",
    "no body": http(b""), "no JSON": http(b"hello"), "null": http(b"null"), "a number": http(b"5"), "a list": http(b"[]"), "empty": http(b"{}"),
    "deep": http(b"[" * 100_000 + b"]" * 100_000), "deep members": http(b'{"a":' * 100_000 + b"1" + b"}" * 100_000), "no UTF-8": http(b'{"label":"\xff"}'),
    "a number as label": of_job(label=7), "a list as label": of_job(label=["a"]), "no label": http(b'{"id":1}'), "jobs that are none": http(b'{"jobs":[5]}'),
    "jobs without list": http(b'{"jobs":7}'), "a stage that is none": of_job(stage=[], label=[]), "a text as exit code": of_job(stage="COMPLETED", exit_code="x", label=None),
    "an error that is none": http(b'{"error":{}}', "HTTP/1.1 500 Internal Server Error"), "an error without words": http(b"[]", "HTTP/1.1 400 Bad Request"),
    "another status": http(b"{}", "HTTP/1.1 302 Found", "Location: http://evil.example/\r\n"), "no status of HTTP": http(b"{}", "HTTP/1.1 999 Odd"),
    "pages in a circle": http(b'{"jobs":[],"next":7}'), "a text as next page": http(b'{"jobs":[],"next":"x"}'),
    "many heads": b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 1000 + b"\r\n{}",
}
EVENTS = [b"data: x\n\n", b"event: stage\ndata: x\n\n", b"id: x\nevent: stage\ndata: {}\n\n", b"event: stage\ndata: " + b"[" * 100_000 + b"\n\n", b"event: \xff\ndata: 1\n\n", b"event: stage\ndata: {}\n\n"]


class Server:
    """Answers each request at its socket with the same bytes."""

    def __init__(self, path: str, backlog: int = 16):
        self.answer = b""
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(backlog)
        self.thread = threading.Thread(target=self.serve, daemon=True)

    def serve(self) -> None:
        while True:
            try:
                one, _ = self.listener.accept()
            except OSError:
                return
            with one:
                one.settimeout(PATIENCE)
                try:
                    one.recv(1 << 16)
                    one.sendall(self.answer)
                    one.shutdown(socket.SHUT_WR)
                    while one.recv(1 << 16):
                        pass
                except OSError:
                    pass  # the client has left

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


class FalseService(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.state = holder.name
        self.server = Server(f"{self.state}/socket")
        self.addCleanup(self.server.close)

    def test_python_raises_a_service_error(self) -> None:
        self.server.thread.start()
        service = ration.Service(self.state)
        calls = {"list_jobs": service.list_jobs, "show_job": lambda: ration.service.exit_code(service.show_job(1)), "cancel_job": lambda: service.cancel_job(1),
                 "jobs": lambda: ration.jobs(self.state), "watch": lambda: next(service.watch_events()), "submit": lambda: ration.submit(["true"], state=self.state)}
        with mock.patch.object(ration.service.time, "sleep"):  # of a repeated submission
            for name, answer in ANSWERS.items():
                self.server.answer = answer
                for what, call in calls.items():
                    with self.subTest(answer=name, call=what):
                        try:
                            call()
                        except ration.ServiceError:
                            pass
                        except StopIteration:
                            self.assertEqual(what, "watch")  # no event came before the end
                        else:
                            self.fail("it was taken for an answer of the service")
            for events in EVENTS:
                self.server.answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + events
                with self.subTest(events=events[:30]), self.assertRaises(ration.ServiceError):
                    next(service.watch_events())

    def test_the_command_line_prints_a_sentence(self) -> None:
        self.server.thread.start()
        for name, answer in ANSWERS.items():
            self.server.answer = answer
            is_whole = answer.startswith(b"HTTP/1.1") and b"\r\n\r\n{" in answer and b"Content-Type" in answer
            for words in (["drain"], *([["submit", "--", "true"]] if is_whole else [])):  # a lost answer makes it wait
                with self.subTest(answer=name, command=words[0]):
                    done = subprocess.run([RATION, words[0], "--state", self.state, *words[1:]], capture_output=True, text=True, timeout=PATIENCE, check=False)
                    expected = 2 if answer.startswith(b"HTTP/1.1 400") else 3
                    self.assertEqual(done.returncode, expected, done.stderr)
                    self.assertRegex(done.stderr, r"\Aration: .*\n\Z")
                    self.assertEqual(done.stdout, "")

    def test_more_clients_than_the_queue_holds_wait(self) -> None:
        self.server.close()
        os.unlink(f"{self.state}/socket")
        self.server = Server(f"{self.state}/socket", backlog=1)
        self.addCleanup(self.server.close)
        self.server.answer = http(json.dumps({"jobs": [JOB], "next": None}).encode())
        found: list[object] = []

        def ask() -> None:
            try:
                found.append(ration.Service(self.state).list_jobs())
            except ration.ServiceError as error:
                found.append(error)

        clients = [threading.Thread(target=ask) for _ in range(20)]
        for client in clients:
            client.start()
        time.sleep(0.5)  # the queue is full, and the others wait
        self.server.thread.start()
        for client in clients:
            client.join(PATIENCE)
        self.assertEqual(found, [[JOB]] * 20)


if __name__ == "__main__":
    unittest.main(verbosity=2)
