#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Perseus' co-location frontier with two PyTorch servers, a CNN and an LSTM, that share one core.

    bench/run.sh published.perseus_live [--rounds 5] [--time 10s] [--service 5] [--weight 6400] [--short]

Each request computes for about the same time. With a gain it then waits for a quarter of that, as on I/O, so that one server alone leaves
a fifth of the core idle. The control does not wait. Rounds with and without the wait alternate. `ration measure serve` finds the rates.

The servers are bound to the last core of this process, and ration to the others. Two processes get two shares of a busy core, and one
alone gets one, which looks like a saving. So the script moves itself into its own cgroup where it can. The share of a group does not
depend on their number. On a busy machine the spread of the solo rates shows how much of the saving is noise. With --weight 6400 other programs
get nearly nothing of the core.
"""
import argparse
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from claims import all_of, any_of, at_least, at_most, conclude

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = os.environ.get("RATION_TORCH_PYTHON", "/usr/bin/python3")
WAIT = 0.25  # of the time that a request computes
CONTROL_WAIT = 0.0  # the same in the control; as long as WAIT it breaks the control
LIMIT = 60  # of the latency, in computing times
GAIN, NOISE = 0.08, 0.03
JOB = """
[[job]]
name = "{name}"
command = ["{python}", "{script}", "--serve", "{name}", "--socket", "{{socket}}", "--loops", "{loops}", "--wait", "{wait}", "--core", "{core}"]
environment = {{ OMP_NUM_THREADS = 1, OPENBLAS_NUM_THREADS = 1 }}
target = {{ loss = {{ objective = 0 }} }}
parameters = {{ socket = "{name}.sock" }}
"""


def model_of(name: str):
    """A model, and an input that is prepared once."""
    import torch  # pylint: disable=import-outside-toplevel

    torch.set_num_threads(1)
    torch.manual_seed(1)
    if name == "cnn":
        layers = torch.nn.Conv2d(3, 16, 3), torch.nn.ReLU(), torch.nn.Conv2d(16, 16, 3), torch.nn.AdaptiveAvgPool2d(1)
        model, one = torch.nn.Sequential(*layers), torch.randn(1, 3, 24, 24)
    else:
        model, one = torch.nn.LSTM(32, 64), torch.randn(8, 1, 32)
    model.eval()

    def compute(loops: int) -> None:
        with torch.no_grad():
            for _ in range(loops):
                model(one)

    return compute


def serve(options: argparse.Namespace) -> None:
    os.sched_setaffinity(0, {options.core})
    compute = model_of(options.serve)
    compute(options.loops)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(options.socket)
        listener.listen()
        connection, _ = listener.accept()
        with connection, connection.makefile("rwb", buffering=0) as stream:
            for line in stream:
                compute(options.loops)
                time.sleep(options.wait)
                stream.write(line)


def loops_for(name: str, seconds: float) -> int:
    """The repetitions of a model that take this CPU time. The least of several measurements."""
    code = f"import sys, time; sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r}); import perseus_live\n" \
           f"compute = perseus_live.model_of({name!r}); compute(20); best = 1e9\n" \
           "for _ in range(10):\n    begin = time.process_time(); compute(20); best = min(best, time.process_time() - begin)\nprint(best / 20)"
    one = float(subprocess.run([PYTHON, "-B", "-c", code], check=True, capture_output=True, text=True).stdout)
    return max(1, round(seconds / one))


class OwnGroup:
    """A cgroup of this process and its children, as long as the object is open; nothing where none may be made."""

    ROOTS = [pathlib.Path("/sys/fs/cgroup/cpu"), pathlib.Path("/sys/fs/cgroup")]

    def __init__(self, weight: int) -> None:
        self.weight = weight

    def set_weight(self, group: pathlib.Path) -> None:
        """The usual weight of a group is 100."""
        shares = group / "cpu.shares"
        if shares.exists():
            shares.write_text(str(self.weight * 1024 // 100))
        else:
            (group / "cpu.weight").write_text(str(self.weight))

    def __enter__(self):
        self.group = None
        for root in self.ROOTS:
            group = root / f"ration-perseus-{os.getpid()}"
            try:
                group.mkdir()
            except OSError:
                continue
            try:
                self.set_weight(group)
                (group / "cgroup.procs").write_text(str(os.getpid()))
                self.group, self.root = group, root
                break
            except OSError:
                group.rmdir()
        return self

    def __exit__(self, *_):
        if self.group:
            (self.root / "cgroup.procs").write_text(str(os.getpid()))
            for child in sorted(self.group.glob("**/"), reverse=True):
                child.rmdir()


def measure(options: argparse.Namespace, loops: dict, wait: float, seed: int) -> dict:
    """One round of `ration measure serve`."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="perseus-"))
    (folder / "run").mkdir(mode=0o700)
    core = max(os.sched_getaffinity(0))
    jobs = "".join(JOB.format(name=name, python=PYTHON, script=pathlib.Path(__file__).resolve(), loops=loops[name], wait=wait, core=core)
                   for name in loops)
    (folder / "jobs.toml").write_text('policy = "none"\n' + jobs)
    service = options.service / 1000
    command = [os.environ.get("RATION_PROGRAM", str(ROOT / "build/release/bin/ration")), "measure", "serve", "jobs.toml", "--json", "--repeat", "1",
               "--limit", f"{round(1000 * LIMIT * service)}ms", "--time", options.time, "--rate", f"{0.6 / service:.0f}", "--seed", str(seed)]
    # ration keeps to no core, since its jobs may use only the cores that it may use
    done = subprocess.run(command, cwd=folder, env=dict(os.environ, XDG_RUNTIME_DIR=str(folder / "run")), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"ration measure serve has failed, read its output in {folder}:\n{done.stdout}{done.stderr}")
    shutil.rmtree(folder)
    return json.loads(done.stdout)


def spread(values: list) -> str:
    return f"{statistics.median(values):.1f} ({min(values):.1f} to {max(values):.1f})"


def report(found: dict) -> int:
    """Prints the table and the claims. The exit code."""
    print("| requests | rounds | cnn alone/s | lstm alone/s | saving at 25 %, % | 50 % | 75 % |\n|---|--:|--:|--:|--:|--:|--:|")
    saved = {}
    for kind, rounds in found.items():
        saved[kind] = savings = [[100 * one["together"][i]["saving"] for one in rounds] for i in range(3)]
        alone = [[one["rounds"][0]["alone"][i]["served_per_second"] for one in rounds] for i in range(2)]
        print(f"| {kind} | {len(rounds)} | {' | '.join(map(spread, alone))} | {' | '.join(map(spread, savings))} |")
    claims = ((any_of(at_least(one, 100 * GAIN) for one in saved["with a wait"]), "one core saves at least 8 % of two at one of the shares"),
              (all_of(at_most(one, 100 * NOISE) for one in saved["control"]), "control: without the wait it saves at most 3 % at each share"))
    return conclude(claims)


def short(options: argparse.Namespace) -> int:
    """Whether both servers answer at a rate that is found. The saving in passes of this length is noise."""
    options.time, options.service = "300ms", 3
    found = measure(options, {"cnn": 2, "lstm": 2}, WAIT * options.service / 1000, 1)
    alone, together = (found["rounds"][0][key] for key in ("alone", "together"))
    print("alone/s:", ", ".join(f"{one['served_per_second']:.0f}" for one in alone))
    return conclude(((all(one["served_per_second"] > 0 and one["p95"] <= found["limit"] for one in alone), "each server alone has a rate within the limit"),
                     (len(found["together"]) == 3 and all(one["fixed"] > 0 and one["ramped"] >= 0 for one in together),
                      "both together have a rate at each of three shares")))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="of each kind, in turns (5)")
    parser.add_argument("--time", default="10s", help="length of a pass (10s)")
    parser.add_argument("--service", type=float, default=5, help="milliseconds that a request computes (5)")
    parser.add_argument("--weight", type=int, default=100, help="of its cgroup among other programs, 1 to 10000 (100)")
    parser.add_argument("--short", action="store_true", help="only whether the measurement works")
    for name, kind in (("--serve", str), ("--socket", str), ("--loops", int), ("--wait", float), ("--core", int)):
        parser.add_argument(name, type=kind, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options)
        return 0
    if options.short:
        return short(options)
    with OwnGroup(options.weight) as own:
        print("in its own cgroup" if own.group else "in the cgroup of other programs: they distort the control if they use the core", flush=True)
        loops = {name: loops_for(name, options.service / 1000) for name in ("cnn", "lstm")}
        found: dict = {"with a wait": [], "control": []}
        for seed in range(1, options.rounds + 1):
            for kind, rounds in found.items():
                wait = (WAIT if kind == "with a wait" else CONTROL_WAIT) * options.service / 1000
                rounds.append(measure(options, loops, wait, seed))
    return report(found)


if __name__ == "__main__":
    sys.exit(main())
