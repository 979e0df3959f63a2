#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""ROBUS with PyTorch: the DataLoaders of four tenants read files, some of which `ration run` keeps in memory.

    bench/run.sh published.robus_live [--rounds 3] [--seconds 10] [--megabytes 24] [--storage 10] [--folder FOLDER] [--short]

Two files have two readers each, and each tenant also reads a private one. Three of the six fit. A loader reads pieces in random order and
drops each from the page cache, so that only locked files stay. The part from the cache is that which the kernel has not read
from the disk. A cgroup lets each loader read 10 MB/s from the disk, as from a storage in the network. Where no cgroup may be made the disk is
as fast as it is, and nothing is claimed about speeds. The folder has to be on a disk. Needs PyTorch for /usr/bin/python3, and the right to
lock three files (ulimit -l).
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

from claims import all_of, at_least, conclude

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = os.environ.get("RATION_TORCH_PYTHON", "/usr/bin/python3")
PIECE = 256 << 10  # bytes of a sample
ROUND, SETTLED = 1, 3  # seconds of a choice, and of reading before the loaders count: the first choice takes a second
PATIENCE = 300  # seconds for all loaders to import PyTorch
FILES = {"common-1": ("a", "b"), "common-2": ("c", "d"), "own-a": ("a",), "own-b": ("b",), "own-c": ("c",), "own-d": ("d",)}
TENANTS = ("a", "b", "c", "d")
FIT = 3
ROOTS = (pathlib.Path("/sys/fs/cgroup/blkio"), pathlib.Path("/sys/fs/cgroup"))  # v1 and v2
CONTROL = "partition"  # a fourth of the cache holds no file; another mode breaks the control
JOBS = """policy = "none"
cpus = 1
tick = "200ms"
cache = "{cache}B"
shared_cache = {{ mode = "{mode}", round = {round} }}
"""
JOB = """[[job]]
name = "{tenant}"
tenant = "{tenant}"
command = ["{python}", "-B", "{script}", "--load", "{paths}", "--seconds", "{seconds}", "--group", "{group}"]
environment = {{ OMP_NUM_THREADS = 1, OPENBLAS_NUM_THREADS = 1 }}
target = {{ loss = {{ objective = 0 }} }}
reads = {reads}
"""


class Storage:
    """A cgroup for each tenant that limits its reads from a disk, as long as the object is open; `group` is empty where none may be made."""

    def __init__(self, folder: pathlib.Path, megabytes: float) -> None:
        self.device, self.limit = os.stat(folder).st_dev, int(megabytes * 1e6)
        self.group = ""

    def limit_reads(self, group: pathlib.Path) -> None:
        device, old = f"{os.major(self.device)}:{os.minor(self.device)}", group / "blkio.throttle.read_bps_device"
        if old.exists():
            old.write_text(f"{device} {self.limit}")
        else:
            (group / "io.max").write_text(f"{device} rbps={self.limit}")

    def __enter__(self) -> "Storage":
        for root in ROOTS:
            group = root / f"ration-robus-{os.getpid()}"
            try:
                for tenant in TENANTS:
                    group.with_name(f"{group.name}-{tenant}").mkdir()
                    self.limit_reads(group.with_name(f"{group.name}-{tenant}"))
                self.group = str(group)
                break
            except OSError:
                self.remove(group)
        return self

    def __exit__(self, *_: object) -> None:
        if self.group:
            self.remove(pathlib.Path(self.group))

    @staticmethod
    def remove(group: pathlib.Path) -> None:
        for one in group.parent.glob(f"{group.name}-*"):
            one.rmdir()


def bytes_from_disk() -> int:
    """That the kernel has read for this process, and not found in the page cache."""
    lines = pathlib.Path("/proc/self/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("read_bytes:"))


def loader_of(paths: list[str]):
    """Batches of pieces of the files in random order, each with the bytes that the worker has read from the disk so far."""
    import torch  # pylint: disable=import-outside-toplevel

    class Pieces(torch.utils.data.Dataset):
        def __init__(self) -> None:
            self.files = [os.open(path, os.O_RDONLY) for path in paths]
            self.places = [(file, offset) for file in self.files for offset in range(0, os.fstat(file).st_size, PIECE)]
            for file in self.files:
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)  # no pages beyond a piece

        def __len__(self) -> int:
            return len(self.places)

        def __getitem__(self, index: int):
            file, offset = self.places[index]
            piece = bytearray(os.pread(file, PIECE, offset))
            os.posix_fadvise(file, offset, PIECE, os.POSIX_FADV_DONTNEED)  # has no effect on locked pages
            return torch.frombuffer(piece, dtype=torch.uint8), bytes_from_disk()

    torch.set_num_threads(1)
    torch.manual_seed(os.getpid())
    return torch.utils.data.DataLoader(Pieces(), batch_size=8, shuffle=True, num_workers=1, persistent_workers=True)


def load(paths: list[str], seconds: float, group: str) -> None:
    """One job. It counts from when the loaders of all tenants read."""
    if group:
        pathlib.Path(f"{group}-{os.environ['RATION_JOB']}", "cgroup.procs").write_text(str(os.getpid()))
    loader = loader_of(paths)
    begun = ready = None
    read = disk = before = 0
    while True:
        for pieces, from_disk in loader:
            now = time.monotonic()
            if ready is None:
                pathlib.Path(f"ready.{os.environ['RATION_JOB']}").touch()
                if len(list(pathlib.Path.cwd().glob("ready.*"))) == len(TENANTS):
                    ready = now
            elif begun is None and now - ready > SETTLED:
                begun, before = now, int(from_disk.max())
            elif begun is not None:
                read, disk = read + pieces.numel(), int(from_disk.max()) - before
                if now - begun > seconds:
                    print("loaded", json.dumps({"rate": read / 1e6 / (now - begun), "cached": max(0.0, 1 - disk / read)}), flush=True)
                    return


class Measured(NamedTuple):
    """One run of all loaders, by tenant."""

    rate: list[float]  # MB/s
    cached: list[float]  # the part from the cache
    held: int  # files that were in memory at once, at most


def most_held(log: pathlib.Path) -> int:
    """Files in memory at once while all four jobs run. A partition among fewer tenants has larger parts."""
    events = [json.loads(line) for line in log.read_text().splitlines()]
    begin = max(event["t"] for event in events if event["event"] == "job_started") + 1e9 * SETTLED
    end = min(event["t"] for event in events if event["event"] == "job_ended")
    held: set[str] = set()
    counts = [0]
    for event in (event for event in events if event["event"] == "item" and event["t"] < end):
        (held.add if event["after"] > 0 else held.discard)(event["item"])
        counts = [*counts, len(held)] if event["t"] > begin else [len(held)]
    return max(counts)


def measure(folder: pathlib.Path, mode: str, seconds: float, group: str = "") -> Measured:
    size = (folder / "common-1").stat().st_size
    work = pathlib.Path(tempfile.mkdtemp(prefix="run-", dir=folder))
    (work / "runtime").mkdir(mode=0o700)
    jobs = JOBS.format(cache=FIT * size, mode=mode, round=ROUND)
    for tenant in TENANTS:
        paths = [str(folder / name) for name, readers in FILES.items() if tenant in readers]
        jobs += JOB.format(tenant=tenant, python=PYTHON, script=pathlib.Path(__file__).resolve(), paths=":".join(paths), seconds=seconds, group=group,
                           reads=json.dumps(paths))
    (work / "jobs.toml").write_text(jobs)
    program = os.environ.get("RATION_PROGRAM", str(ROOT / "build/release/bin/ration"))
    command = [program, "run", "jobs.toml", "--backend", "process", "--log", "log.jsonl"]
    done = subprocess.run(command, cwd=work, env=dict(os.environ, XDG_RUNTIME_DIR=str(work / "runtime")), capture_output=True, text=True, check=False,
                          timeout=PATIENCE + 10 * seconds)
    loaded = {}
    for log in work.rglob("ration-output/*/*.log"):
        loaded.update({log.stem: json.loads(line.split(" ", 1)[1]) for line in log.read_text().splitlines() if line.startswith("loaded ")})
    if done.returncode != 0 or len(loaded) != len(TENANTS):
        raise SystemExit(f"the run of the loaders has failed:\n{done.stdout}{done.stderr}" + "".join(log.read_text() for log in work.rglob("ration-output/*/*.log")))
    return Measured([loaded[one]["rate"] for one in TENANTS], [loaded[one]["cached"] for one in TENANTS], most_held(work / "log.jsonl"))


def make_files(folder: pathlib.Path, size: int) -> None:
    for name in FILES:
        with (folder / name).open("wb") as file:
            file.write(os.urandom(size))
            os.fsync(file.fileno())  # pages that are not written yet cannot be dropped
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def report(runs: dict[str, list[Measured]], is_limited: bool) -> int:
    print("| mode | MB/s of the four tenants | of it from the cache, % | files held at most |\n|---|---|---|--:|")
    rate: dict[str, list[float]] = {}
    cached: dict[str, list[float]] = {}
    for mode, all_runs in runs.items():
        rate[mode] = [statistics.median(values) for values in zip(*(one.rate for one in all_runs))]
        cached[mode] = [statistics.median(values) for values in zip(*(one.cached for one in all_runs))]
        print(f"| {mode} | {', '.join(f'{one:.0f}' for one in rate[mode])} | {', '.join(f'{100 * one:.0f}' for one in cached[mode])} | "
              f"{max(one.held for one in all_runs)} |")
    claims = [(all(one.held == 0 for one in runs["partition"]), "control: no file fits into a fourth of the cache")]
    for mode in ("pf", "mmf"):
        claims.append((all(one.held == FIT for one in runs[mode]), f"with {mode} three files are in memory"))
        claims.append((all_of(at_least(parts, 0.45) for parts in zip(*(one.cached for one in runs[mode]))), f"with {mode} each tenant reads half from the cache"))
        above = zip(*([part - max(alone.cached) for part in one.cached] for one, alone in zip(runs[mode], runs["partition"])))
        claims.append((all_of(at_least(parts, 0.2) for parts in above), f"with {mode} each tenant's part from the cache is 20 points above any with a partition"))
        if is_limited:
            faster = zip(*([mine / its for mine, its in zip(one.rate, alone.rate)] for one, alone in zip(runs[mode], runs["partition"])))
            claims.append((all_of(at_least(ratios, 1.5) for ratios in faster), f"with {mode} each tenant's loader is at least 1.5 times as fast as with a partition"))
    return conclude(claims)


def short(folder: pathlib.Path) -> int:
    """One run with pf. A part of the private files comes from the disk, whatever else the machine does."""
    make_files(folder, 2 << 20)  # a process may usually lock 8 MiB
    run = measure(folder, "pf", 1)
    cached = statistics.mean(run.cached)
    print(f"MB/s {', '.join(f'{one:.0f}' for one in run.rate)}; {100 * cached:.0f} % of it from the cache; {run.held} files held")
    return conclude(((min(run.rate) > 0, "the loader of each tenant reads"), (run.held == FIT, "three files are in memory"),
                     (0.3 <= cached <= 0.95, "the loaders read common files from the cache, and private ones also from the disk")))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="runs of each mode, in turns (3)")
    parser.add_argument("--seconds", type=float, default=10, help="that the loaders of a run count (10)")
    parser.add_argument("--megabytes", type=int, default=24, help="of each file (24)")
    parser.add_argument("--storage", type=float, default=10, help="MB/s that each loader reads from the disk (10)")
    parser.add_argument("--folder", help="for the files, on a disk (that of temporary files)")
    parser.add_argument("--short", action="store_true", help="only whether the loaders and the cache work together")
    for name in ("--load", "--group"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.load:
        load(options.load.split(":"), options.seconds, options.group)
        return 0
    folder = pathlib.Path(tempfile.mkdtemp(prefix="robus-", dir=options.folder)).resolve()
    modes = {"partition": CONTROL, "pf": "pf", "mmf": "mmf"}
    runs: dict[str, list[Measured]] = {name: [] for name in modes}
    try:
        if options.short:
            return short(folder)
        make_files(folder, options.megabytes << 20)
        with Storage(folder, options.storage) as storage:
            for _ in range(options.rounds):
                for name, mode in modes.items():
                    runs[name].append(measure(folder, mode, options.seconds, storage.group))
    finally:
        shutil.rmtree(folder)
    return report(runs, bool(storage.group))


if __name__ == "__main__":
    sys.exit(main())
