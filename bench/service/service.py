# SPDX-License-Identifier: BSL-1.0
"""A service in a separate folder, for the benchmarks of this folder."""
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys


class Service:
    """`ration serve` with these options, until `end`, which also ends its jobs. Its messages go to `folder`/messages."""

    def __init__(self, program: str, folder: pathlib.Path, *options: str, backend: str = "process") -> None:
        self.folder = folder
        environment = dict(os.environ, XDG_RUNTIME_DIR=str(folder))
        command = [program, "serve", "--state", folder / "state", "--backend", backend, *options]
        with open(folder / "messages", "wb") as messages:
            self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=messages, text=True)
        if "ready" not in self.process.stdout.readline():
            sys.exit(f"{os.path.basename(sys.argv[0])}: the service did not start; start ration serve by hand to see why")

    def submit(self, key: str, command: list[str], after: tuple | list = (), environment: tuple | list = ()) -> int:
        """The number of the job, once it is on the disk."""
        definition = f'[[job]]\nname = "j"\ncommand = {json.dumps(command)}\ntarget = {{ loss = {{ objective = 0 }} }}\nat_objective = "continue"\n'
        status, content = self.ask("POST", "/v1/jobs", {"key": key, "definition": definition, "directory": "/", "environment": ["PATH=/usr/bin:/bin", *environment], "after": list(after)})
        if status >= 300:
            raise RuntimeError(content["error"])
        return content["id"]

    def ask(self, method: str, path: str, body: dict | None = None) -> tuple[int, dict]:
        text = "" if body is None else json.dumps(body)
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(self.folder / "state" / "socket"))
            connection.sendall(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode())
            answer = bytearray()
            while part := connection.recv(1 << 16):
                answer += part
        head, _, content = bytes(answer).partition(b"\r\n\r\n")
        return int(head.split(b" ", 2)[1]), json.loads(content)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for record in (self.folder / "state" / ".ration").glob("*/run.json"):
            for job in json.loads(record.read_text())["run"]["jobs"]:
                if job["pid"] > 0:
                    os.killpg(job["pid"], signal.SIGKILL)
