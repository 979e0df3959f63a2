# SPDX-License-Identifier: BSL-1.0
"""Runs a command in separate namespaces, and reports what is left of it: processes, files, IPC objects.

As a module: `run(command)`. As a program it is the first process of the namespaces.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

VICTIM, SECRET = "victim", "keep me"


class Outcome(NamedTuple):
    status: int           # as subprocess gives it
    held: bool            # the command was stopped by a tracer, and killed
    stdout: str
    stderr: str
    files: list[str]      # below the home and temporary directories, in /dev/shm and in the file system of message queues
    processes: list[str]  # their names
    ipc: int              # System V objects


def unshare() -> list[str]:
    """The command that makes the namespaces."""
    words = ["unshare", "--mount", "--pid", "--ipc", "--fork", "--mount-proc"]
    return words if os.geteuid() == 0 else [*words, "--user", "--map-root-user"]


def available() -> bool:
    return shutil.which("unshare") is not None and subprocess.run([*unshare(), "true"], capture_output=True).returncode == 0


def run(command: list[str]) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        words = [*unshare(), sys.executable, __file__, folder, *command]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        return Outcome(**json.loads(done.stdout))


def reap() -> None:
    """Collects the processes that have ended: the first process of a namespace inherits them."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        pass


def is_traced(pid: int) -> bool:
    fields = dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)
    return fields["State"].startswith("t")


def wait(process: subprocess.Popen) -> bool:
    """True when a tracer held it."""
    while process.poll() is None:
        if is_traced(process.pid):
            os.kill(-1, signal.SIGKILL)  # all but the first process of the namespace, which this is
            process.wait()
            return True
        time.sleep(0.01)
    return False


def processes() -> list[str]:
    reap()
    others = [p for p in pathlib.Path("/proc").iterdir() if p.name.isdigit() and p.name != str(os.getpid())]
    return [(p / "comm").read_text().strip() for p in others]


def entries_below(*folders: pathlib.Path) -> list[str]:
    return sorted(str(file.relative_to(folder)) for folder in folders for file in folder.rglob("*"))


def prepare(folder: pathlib.Path) -> tuple[pathlib.Path, ...]:
    places = folder / "home", folder / "tmp", folder / "mqueue", pathlib.Path("/dev/shm")
    for place in places:
        place.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "mqueue", "none", places[2]], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", places[3]], check=True)
    (places[0] / VICTIM).write_text(SECRET)
    return places


def main(folder: pathlib.Path, command: list[str]) -> None:
    places = prepare(folder)
    environment = {**os.environ, "HOME": str(places[0]), "TMPDIR": str(places[1])}
    with open(folder / "stdout", "w+b") as out, open(folder / "stderr", "w+b") as err:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment)
        held = wait(process)
    said = [(folder / name).read_bytes().decode(errors="backslashreplace") for name in ("stdout", "stderr")]
    ipc = sum(len(pathlib.Path(f"/proc/sysvipc/{kind}").read_text().splitlines()) - 1 for kind in ("shm", "sem", "msg"))
    outcome = Outcome(process.returncode, held, *said, entries_below(*places), processes(), ipc)
    print(json.dumps(outcome._asdict()))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), sys.argv[2:])
