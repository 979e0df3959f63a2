#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""How long do a request of root and a limit of one user wait while another user attacks the service?

usage: neighbours.py [--program RATION] [--samples N] [ATTACK...], as root, with the accounts games and man

A service of root runs a job of root that burns CPU, and jobs of `games` that report a loss which reaches Acceptable. Meanwhile `man` attacks.
The request is that of `ration status`. The limit is the time from the report to the changed quota in the kernel. A quiet service is the
baseline. Exit code: 0, 1 when a time is above 50 ms.
"""
import argparse
import contextlib
import json
import os
import pathlib
import pwd
import shutil
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "decision")]
from decision import quota_file  # noqa: E402
from service import Service  # noqa: E402

MOST = 50  # ms
PATIENCE = 10  # seconds
CONFIG = 'policy = "tradl"\ntradl = { alpha = 0.5, scenario = "AO" }\ncpus = 1\ntick = "250ms"\n'
REPORT = """
import os, socket, sys, time
e, out, q = os.environ, open(sys.argv[1], "w", buffering=1), 0
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
def send(text):
    global q
    q += 1
    s.sendto(f"P1 {text} e={e['RATION_INCARNATION']} k={e['RATION_TOKEN']} j={e['RATION_JOB']} r=0 q={q}".encode(), e["RATION_PROGRESS"][5:])
def burn(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end: pass
"""
CROSS = REPORT + """
print(os.getpid(), file=out)
send("hello w=1")
send("step s=1 c=1 l=1")
while not os.path.exists(sys.argv[1] + ".go"): burn(0.02)
now = time.monotonic_ns()
send("step s=2 c=1 l=-1e9")
print(now, file=out)
burn(1)
send("bye x=0")
"""
DELIVER = REPORT + """
os.rmdir(e["RATION_CHECKPOINT"])
os.symlink(sys.argv[2], e["RATION_CHECKPOINT"])
with open(sys.argv[2] + "/model", "wb") as f: f.truncate(1_000_000_000)
send("hello w=1")
for step in (1, 2, 3):
    send(f"step s={step} c=1 l=0.5")
    time.sleep(0.3)
send("ckpt s=3 ok=1")
time.sleep(60)
"""
FLOOD = """
import os, socket, threading
def flood():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    while True: s.sendto(b"x" * 1000, os.environ["RATION_PROGRESS"][5:])
for _ in range(2): threading.Thread(target=flood).start()
"""
PATTERNS = ", ".join(f"'(?:(?:a?){{200}}){{9}}{'b' * i}loss=(?<loss>\\S+)'" for i in range(1, 17))


@contextlib.contextmanager
def rights_of(user: int) -> Iterator[None]:
    os.seteuid(user)
    try:
        yield
    finally:
        os.seteuid(0)


class Neighbours:
    """The service, its users, and what they do."""

    def __init__(self, program: pathlib.Path, folder: pathlib.Path) -> None:
        self.victim, self.attacker = (pwd.getpwnam(name) for name in ("games", "man"))
        folder.chmod(0o711)
        self.program = folder / "ration"  # where other users can start it
        shutil.copy(program, self.program)
        self.folders = {}
        for user in (self.victim, self.attacker):
            self.folders[user] = folder / user.pw_name
            self.folders[user].mkdir(mode=0o700)
            os.chown(self.folders[user], user.pw_uid, user.pw_gid)
        (folder / "serve.toml").write_text(CONFIG)
        self.service = Service(str(self.program), folder, "--config", str(folder / "serve.toml"), "--max-running", "64", backend="cgroup")
        self.keys = 0
        self.submit(None, ["/usr/bin/python3", "-c", "while True: pass"], "target = { loss = { acceptable = 0 } }")

    def submit(self, user: pwd.struct_passwd | None, command: list[str], more: str) -> int:
        self.keys += 1
        body = {"key": f"{self.keys}", "definition": f'[[job]]\nname = "j"\ncommand = {json.dumps(command)}\nat_objective = "continue"\n{more}\n',
                "directory": "/", "environment": ["PATH=/usr/bin:/bin"]}
        with rights_of(user.pw_uid if user else 0):
            status, content = self.service.ask("POST", "/v1/jobs", body)
        if status >= 300:
            raise RuntimeError(content["error"])
        return content["id"]

    def attack(self, command: list[str], more: str = "") -> None:
        self.submit(self.attacker, command, "target = { loss = { objective = 0 } }\n" + more)

    def limit(self, pressure: Callable[[], contextlib.AbstractContextManager]) -> float:
        """Milliseconds from the report of a job of the victim to its changed quota."""
        file = self.folders[self.victim] / f"{self.keys}"
        job = self.submit(self.victim, ["/usr/bin/python3", "-c", CROSS, str(file)], "target = { loss = { acceptable = 0.5 } }")
        (pid,) = wait_for(lambda: file.exists() and file.read_text().split())
        quota = quota_file(int(pid))
        time.sleep(0.7)
        with pressure():
            before = quota.read_text()
            pathlib.Path(f"{file}.go").touch()
            until = time.monotonic() + PATIENCE
            while quota.read_text() == before and time.monotonic() < until:
                time.sleep(0.0001)
            changed = time.monotonic_ns()
            reported = wait_for(lambda: len(file.read_text().split()) == 2 and file.read_text().split()[1])
        wait_for(lambda: self.service.ask("GET", f"/v1/jobs/{job}")[1]["stage"] in ("COMPLETED", "FAILED"))
        return (changed - int(reported)) / 1e6

    def end_attack(self) -> None:
        jobs = [job for job in self.service.ask("GET", "/v1/jobs")[1]["jobs"] if job["uid"] == self.attacker.pw_uid]
        for job in jobs:
            self.service.ask("DELETE", f"/v1/jobs/{job['id']}")
        ended = ("COMPLETED", "FAILED", "HALTED")
        wait_for(lambda: all(self.service.ask("GET", f"/v1/jobs/{job['id']}")[1]["stage"] in ended for job in jobs), limit=60)


def wait_for(condition: Callable[[], object], limit: float = PATIENCE) -> object:
    until = time.monotonic() + limit
    while not (found := condition()):
        if time.monotonic() > until:
            sys.exit("neighbours.py: a job did not start, report or end in time; read the messages of the service")
        time.sleep(0.02)
    return found


class Requests:
    """Requests of root, one after another, and how many milliseconds each took."""

    def __init__(self, service: Service) -> None:
        self.service, self.times, self.over = service, [], threading.Event()
        self.thread = threading.Thread(target=self.ask)

    def ask(self) -> None:
        while not self.over.wait(0.02):
            begun = time.monotonic()
            self.service.ask("GET", "/v1/jobs")
            self.times.append(1000 * (time.monotonic() - begun))

    def __enter__(self) -> "Requests":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()


@contextlib.contextmanager
def quiet(_: Neighbours) -> Iterator[Callable]:
    yield contextlib.nullcontext


@contextlib.contextmanager
def log_pattern(all_: Neighbours) -> Iterator[Callable]:
    all_.attack(["sh", "-c", "l=$(head -c 4000 /dev/zero | tr '\\0' a); while :; do echo $l; echo $l; sleep 1; done"], f"log = [{PATTERNS}]")
    yield contextlib.nullcontext


@contextlib.contextmanager
def output_flood(all_: Neighbours) -> Iterator[Callable]:
    all_.attack(["sh", "-c", "yes $(head -c 4000 /dev/zero | tr '\\0' a)"], "log = 'loss=(?<loss>\\S+)'")
    yield contextlib.nullcontext


@contextlib.contextmanager
def metrics_glob(all_: Neighbours) -> Iterator[Callable]:
    tree = all_.folders[all_.attacker] / "tree"
    make = "import os, sys, itertools\nfor p in itertools.product('01234567', repeat=5): os.makedirs(os.path.join(sys.argv[1], *p))"
    subprocess.run([sys.executable, "-c", make, tree], check=True)
    subprocess.run(["chown", "-R", str(all_.attacker.pw_uid), tree], check=True)
    all_.attack(["sleep", "60"], f'metrics = {{ csv = "{tree}/*/*/*/*/*/m.csv" }}')
    yield contextlib.nullcontext


@contextlib.contextmanager
def progress_flood(all_: Neighbours) -> Iterator[Callable]:
    all_.attack(["/usr/bin/python3", "-c", FLOOD])
    yield contextlib.nullcontext


@contextlib.contextmanager
def delivery_copy(all_: Neighbours) -> Iterator[Callable]:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as other:  # another file system
        os.chown(other, all_.attacker.pw_uid, all_.attacker.pw_gid)
        target = "target = { loss = { acceptable = 1, objective = 0.01 } }"
        all_.submit(all_.attacker, ["/usr/bin/python3", "-c", DELIVER, "/dev/null", other], f'{target}\non_acceptable = "save"')
        yield contextlib.nullcontext


@contextlib.contextmanager
def idle_connections(all_: Neighbours) -> Iterator[Callable]:
    path = str(all_.service.folder / "state" / "socket")
    hold = f"""
import os, socket, sys, time
os.setuid(int(sys.argv[1]))
held = []
def is_open(s):
    try: return s.recv(1) != b""
    except BlockingIOError: return True
    except OSError: return False
while True:
    while len(held) < 16:
        s = socket.socket(socket.AF_UNIX)
        s.setblocking(False)
        try: s.connect({path!r})
        except OSError: break
        held.append(s)
    held = [s for s in held if is_open(s)]
    time.sleep(0.02)
"""
    holders = [subprocess.Popen(["/usr/bin/python3", "-c", hold, str(60_001 + i)], cwd="/") for i in range(5)]
    try:
        yield contextlib.nullcontext
    finally:
        for one in holders:
            one.kill()
            one.wait()


@contextlib.contextmanager
def locked_database(all_: Neighbours) -> Iterator[Callable]:
    @contextlib.contextmanager
    def lock() -> Iterator[None]:
        with contextlib.closing(sqlite3.connect(all_.service.folder / "state" / "jobs.db", isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            time.sleep(0.5)
            yield
    yield lock


@contextlib.contextmanager
def hook(all_: Neighbours) -> Iterator[Callable]:
    for _ in range(40):
        all_.attack(["true"], 'on_end = ["sleep", "60"]')
    yield contextlib.nullcontext


ATTACKS = {attack.__name__: attack for attack in (quiet, log_pattern, output_flood, metrics_glob, progress_flood, delivery_copy, idle_connections, locked_database, hook)}


def measure(all_: Neighbours, name: str, samples: int) -> bool:
    """Prints a row of the table. Returns whether all times are short enough."""
    with ATTACKS[name](all_) as pressure:
        time.sleep(1)
        with Requests(all_.service) as requests:
            limits = [all_.limit(pressure) for _ in range(samples)]
    all_.end_attack()
    columns = [figure for times in (requests.times, limits) for figure in (statistics.median(times), max(times))]
    print(f"| {name.replace('_', ' ')} | " + " | ".join(f"{figure:.1f}" for figure in columns) + " |", flush=True)
    return max(columns) <= MOST


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--program", type=pathlib.Path, default=HERE.parents[1] / "build/release/bin/ration")
    arguments.add_argument("--samples", type=int, default=5, help="limits under each attack")
    arguments.add_argument("attacks", nargs="*", metavar="ATTACK", choices=[*ATTACKS, []], help=", ".join(ATTACKS))
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="neighbours-") as name:
        all_ = Neighbours(options.program.resolve(), pathlib.Path(name))
        try:
            print("| attack | request: median in ms | worst | limit: median in ms | worst |\n|---|---|---|---|---|", flush=True)
            good = [measure(all_, attack, options.samples) for attack in dict.fromkeys(["quiet", *(options.attacks or ATTACKS)])]
        finally:
            all_.service.end()
    sys.exit(0 if all(good) else 1)


main()
