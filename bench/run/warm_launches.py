#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""The time of a resize of a PyTorch job with warm launches (the key `preload`), beside that without.

    bench/run.sh run.warm_launches [--rounds 3] [--resizes 4] [--backend process] [--short]

A job requests one and two devices in turns, and the policy is `wants`. Runs with and without `preload` alternate. A resize lasts from its
grant, after which ration asks for a checkpoint, to the first step of the new ranks. Launches that are not in this mode, such as one
before the fork server was ready, do not count.
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

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = os.environ.get("RATION_TORCH_PYTHON", "/usr/bin/python3")
JOBS = """policy = "wants"
devices = {{ count = 2, cpu = 1 }}
tick = "100ms"
[[job]]
name = "trainer"
command = ["{python}", "-m", "ration.ranks", "{script}", "--train"]
environment = {{ PYTHONPATH = "{package}", PYTHONDONTWRITEBYTECODE = "1" }}
bounds = {{ gpu = {{ min = 1, max = 2 }} }}
restart_cost = "100ms"
target = {{ loss = {{ objective = 0 }} }}
{more}
"""
SETTLED = 2.0  # seconds of training before the job requests the other size
PATIENCE = 120.0  # seconds for a resize


def train() -> None:
    """One launch: it trains for a while, and then requests the other size until it is stopped."""
    import torch  # pylint: disable=import-outside-toplevel

    import ration  # pylint: disable=import-outside-toplevel
    from ration import fork_server  # pylint: disable=import-outside-toplevel

    torch.manual_seed(1)
    inputs = torch.randn(256, 16)
    model = torch.nn.Linear(16, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    run = ration.elastic(batch=64, seed=1)
    run.want(run.world)
    if run.rank == 0:
        print("launch", json.dumps([run.world, fork_server.is_forked()]), flush=True)
    begin, has_asked = time.monotonic(), False
    for drawn in run.steps(run.batches(256), total=10**9, model=model, optimizer=optimizer):
        optimizer.zero_grad()
        run.backward(model(inputs[drawn]).square().mean())
        optimizer.step()
        time.sleep(0.01)
        if not has_asked and time.monotonic() - begin > SETTLED:
            run.want(3 - run.world)
            has_asked = True


def resizes_of(log: pathlib.Path) -> list:
    """(seconds, new size) of each resize that has settled."""
    found, begun = [], None
    for line in log.read_text().splitlines() if log.exists() else []:
        event = json.loads(line) if line.endswith("}") else {}
        if event.get("event") != "resize":
            continue
        if event["what"] == "saving":
            begun = event["t"]
        elif event["what"] == "settled" and begun is not None:
            found.append(((event["t"] - begun) / 1e9, event["to"]))
            begun = None
    return found


def measure(is_warm: bool, resizes: int, backend: str) -> list:
    """Seconds of each resize of one run whose launch was as wanted, with the new size."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="warm-"))
    (folder / "run").mkdir(mode=0o700)
    environment = dict(os.environ, XDG_RUNTIME_DIR=str(folder / "run"))
    program = os.environ.get("RATION_PROGRAM", str(ROOT / "build/release/bin/ration"))
    (folder / "jobs.toml").write_text(JOBS.format(python=PYTHON, script=pathlib.Path(__file__).resolve(), package=ROOT / "python",
                                                  more='preload = ["torch"]' if is_warm else ""))
    with open(folder / "output", "w", encoding="utf-8") as output:
        run = subprocess.Popen([program, "run", "jobs.toml", "--backend", backend, "--log", "log.jsonl"], cwd=folder, env=environment,
                               stdout=output, stderr=output)
        end = time.monotonic() + PATIENCE * (resizes + 1)
        try:
            while run.poll() is None and len(counted(folder, is_warm)) < resizes and time.monotonic() < end:
                time.sleep(0.5)
        finally:
            run.terminate()
            run.wait()
    found = counted(folder, is_warm)
    if len(found) < resizes:
        raise SystemExit(f"the run of the job has failed, read its output in {folder}")
    shutil.rmtree(folder)
    return found[:resizes]


def short(backend: str) -> int:
    """One resize whose new ranks the fork server has started, however long it takes."""
    (took, size), = measure(True, 1, backend)
    print(f"warm launch with {size} rank{'s' * (size > 1)}: {took:.2f} s")
    return 0


def counted(folder: pathlib.Path, is_warm: bool) -> list:
    logs = sorted((folder / "ration-output").glob("*/trainer.log")) if (folder / "ration-output").exists() else []
    lines = logs[-1].read_text().splitlines() if logs else []
    launches = [json.loads(line.split(" ", 1)[1]) for line in lines if line.startswith("launch ")]
    return [one for one, (_, forked) in zip(resizes_of(folder / "log.jsonl"), launches[1:]) if forked == is_warm]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="runs of each mode, in turns (3)")
    parser.add_argument("--resizes", type=int, default=4, help="resizes of a run that count (4)")
    parser.add_argument("--backend", default="auto", help="that of ration run")
    parser.add_argument("--short", action="store_true", help="only whether a resize is warm")
    parser.add_argument("--train", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.train:
        train()
        return 0
    if options.short:
        return short(options.backend)
    seconds: dict = {(is_warm, size): [] for is_warm in (False, True) for size in (2, 1)}
    for _ in range(options.rounds):
        for is_warm in (False, True):
            for took, size in measure(is_warm, options.resizes, options.backend):
                seconds[is_warm, size].append(took)
    print("| launches | a rank is | resizes | seconds, median | range |\n|---|---|--:|--:|--:|")
    for (is_warm, size), all_of in seconds.items():
        print(f"| {'warm' if is_warm else 'cold'} | {'added' if size == 2 else 'removed'} | {len(all_of)} | {statistics.median(all_of):.2f} | "
              f"{min(all_of):.2f} to {max(all_of):.2f} |")
    ratios = [statistics.median(seconds[False, size]) / statistics.median(seconds[True, size]) for size in (2, 1)]
    print(f"cold : warm {ratios[0]:.1f} for an added rank, {ratios[1]:.1f} for a removed one")
    return 0 if min(ratios) > 1 else 1


if __name__ == "__main__":
    sys.exit(main())
