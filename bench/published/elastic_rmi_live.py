#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""ElasticRMI's hot key on a real service: its size by its own hook, beside its size by the CPU.

    bench/run.sh published.elastic_rmi_live [--seconds 90]

A job of `ration run` serves more requests than it can, and each request needs the lock of one key. It has one worker for each of its 1 to 4
CPU devices, and workers that wait for the lock use the CPU. The policy is `wants`. The first launch has all
devices, since the job has made no request yet. Its second one has one device.
"""
import argparse
import json
import multiprocessing
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from claims import conclude

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
from ration import elastic_pool, progress  # noqa: E402  pylint: disable=wrong-import-position

INTERVAL, MOST = 5.0, 4
BASELINE = "cpu"  # the rule of the run that is named after the thresholds; "hook" breaks it
CORES = 0.02  # of each device, so that a busy machine does not decide what the service gets
JOBS = """policy = "wants"
devices = {{ count = {most}, cpu = {cores} }}
tick = "200ms"
[[job]]
name = "service"
command = ["{python}", "{script}", "--serve", "{rule}", "--seconds", "{seconds}"]
bounds = {{ gpu = {{ min = 1, max = {most} }} }}
target = {{ loss = {{ objective = 0 }} }}
"""


def work(lock, served, cpu, is_over) -> None:
    """One worker. It polls the lock of the key, and holds it while it serves a request."""
    while not is_over.value:
        if not lock.acquire(block=False):
            continue
        end = time.process_time() + 0.002
        while time.process_time() < end:
            pass
        served.value += 1
        lock.release()
        cpu.value = time.process_time()


class OwnRate:
    """The hook: it repeats its last change while that served 10 % more, reverses it after 10 % less, and stays otherwise."""

    def __init__(self, kept: dict) -> None:
        self.kept = kept

    def __call__(self, load: elastic_pool.Load) -> int:
        before, self.kept["rate"] = self.kept.get("rate", 0), load.served
        if abs(load.served - before) <= 0.1 * before:
            return 0
        if load.served < before:
            self.kept["step"] = -self.kept.get("step", 1)
        return self.kept.get("step", 1)


class Service:
    """One launch of the job, with as many workers as it has devices."""

    def __init__(self, rule: str, seconds: float) -> None:
        self.file = pathlib.Path(os.environ["RATION_CHECKPOINT"], "state.json")
        self.kept = json.loads(self.file.read_text()) if self.file.exists() else {"until": time.time() + seconds, "sizes": []}
        self.devices = os.environ["RATION_DEVICES"].split(",")
        self.is_over = multiprocessing.Value("b", 0, lock=False)
        self.served = multiprocessing.Value("L", 0, lock=False)
        self.cpu = [multiprocessing.Value("d", 0.0, lock=False) for _ in self.devices]
        lock = multiprocessing.Lock()
        self.workers = [multiprocessing.Process(target=work, args=(lock, self.served, cpu, self.is_over), daemon=True) for cpu in self.cpu]
        self.job = progress.open()
        self.pool = elastic_pool.pool(1, MOST, INTERVAL, OwnRate(self.kept) if rule == "hook" else self.by_cpu, want=self.job.want)
        self.pool.size = len(self.devices)
        self.used = (time.monotonic(), 0.0)

    def by_cpu(self, _load: elastic_pool.Load) -> int:
        """The thresholds on the mean use of the devices, each of which has a part of a core."""
        before, self.used = self.used, (time.monotonic(), sum(cpu.value for cpu in self.cpu))
        cores = (self.used[1] - before[1]) / (self.used[0] - before[0])
        return elastic_pool.thresholds(_load._replace(cpu=cores / (CORES * len(self.devices))))

    def save(self) -> None:
        """Before the workers count, so that an earlier size is not reported with a later rate."""
        fresh = self.file.with_suffix(".new")
        fresh.write_text(json.dumps(self.kept))
        fresh.rename(self.file)

    def run(self) -> None:
        for worker in self.workers:
            worker.start()
        self.job.listen()
        self.job.hello(world=len(self.devices), threads=1, devices=self.devices)
        if not self.kept["sizes"]:
            self.job.want(1)  # a job without a request starts with all devices
        begun, counted, step = time.time(), 0, 0
        command = None
        while time.time() < self.kept["until"] and (command is None or command.kind != "stop"):
            command = self.job.command(0.05)
            served = self.served.value
            self.pool.served(served - counted)
            counted, step = served, step + 1
            self.job.step(step, 1.0)
            self.pool.poll()
            if command is not None and command.kind == "save":
                self.kept["sizes"] = [*self.kept["sizes"], (len(self.devices), served, time.time() - begun)]
                self.save()
                self.job.checkpoint(step)
                command = self.job.hold(command.by) if command.hold else command
        self.is_over.value = 1
        print("served", json.dumps([*self.kept["sizes"], (len(self.devices), self.served.value, time.time() - begun)]), flush=True)
        self.job.bye(0, "done" if time.time() >= self.kept["until"] else "stop")
        self.job.close()


def measure(rule: str, seconds: float) -> list:
    """(devices, requests, seconds) of each launch, in order."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="rmi-"))
    (folder / "run").mkdir(mode=0o700)
    environment = dict(os.environ, XDG_RUNTIME_DIR=str(folder / "run"))
    program = os.environ.get("RATION_PROGRAM", str(ROOT / "build/release/bin/ration"))
    (folder / "jobs.toml").write_text(JOBS.format(most=MOST, cores=CORES, python=sys.executable, script=pathlib.Path(__file__).resolve(), rule=rule, seconds=seconds))
    done = subprocess.run([program, "run", "jobs.toml", "--backend", "process"], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    launches = [line.split("served ", 1)[1] for log in sorted(folder.rglob("*.log")) for line in log.read_text().splitlines() if line.startswith("served ")]
    if done.returncode != 0 or not launches:
        raise SystemExit(f"the run of the service has failed, read its output in {folder}:\n{done.stdout}{done.stderr}")
    shutil.rmtree(folder)
    return max((json.loads(line) for line in launches), key=len)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=90, help="of each of the two runs (90)")
    parser.add_argument("--serve", choices=("hook", "cpu"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        Service(options.serve, options.seconds).run()
        return 0
    print("| size by | devices of each launch | served/s at the end |\n|---|---|--:|")
    of = {}
    for run, rule, name in (("hook", "hook", "hook on its own rate"), ("cpu", BASELINE, "CPU thresholds")):
        launches = measure(rule, options.seconds)
        devices, requests, seconds = launches[-1]
        of[run] = (max(one for one, _, _ in launches[1:]), devices)
        print(f"| {name} | {', '.join(str(one) for one, _, _ in launches)} | {requests / seconds:.0f} |", flush=True)
    claims = ((of["cpu"][0] == MOST, "the thresholds reach the maximum"),
              (of["hook"][1] < of["cpu"][1], "the hook ends with fewer devices"))
    return conclude(claims)


if __name__ == "__main__":
    sys.exit(main())
