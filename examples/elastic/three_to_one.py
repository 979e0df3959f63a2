# SPDX-License-Identifier: BSL-1.0
"""The experiment of Wei and Shudo with real training: two equal jobs on four devices, the older one with three of them, or both with two.

A device is a quarter of a core, or of a GPU (--devices gpu), and a job that is alone has all four. Three ways, all under loss_delta_ratio: `2-2` and `3-1` share without a
look at the losses (gamma = 0), for `3-1` the older job accepts no fewer than three; `by loss` is the rule itself (gamma = 2).
"""
import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = HERE.parents[1] / "python"
HEAD = """policy = "loss_delta_ratio"
loss_delta_ratio = {{ gamma = {gamma}, window = 50, residence = 20 }}
devices = {{ count = 4, {devices} = 0.25 }}
tick = "250ms"
"""
JOB = """
[[job]]
name = "{name}"
command = {command}
environment = {{ PYTHONPATH = "{package}" }}
target = {{ loss = {{ objective = 1e-9, mean_of = 10 }} }}
at = "{at}s"
bounds = {{ gpu = {{ min = {least}, max = 4 }} }}
"""


def run(asked, program, gamma, least):
    """(seconds that the older and the younger job took, when both were done, sizes of the older)."""
    with tempfile.TemporaryDirectory() as folder:
        text = HEAD.format(gamma=gamma, devices=asked.devices)
        for name, at, seed, fewest in (("older", 0, 1, least), ("younger", asked.arrival, 2, 1)):
            command = [sys.executable, "-m", "ration.ranks", str(HERE / "classifier.py"), str(asked.steps), str(seed), "--width", str(asked.width)]
            if asked.until_loss is not None:
                command += ["--until-loss", str(asked.until_loss)]
            if asked.batch_per_rank is not None:
                command += ["--batch-per-rank", str(asked.batch_per_rank)]
            text += JOB.format(name=name, command=json.dumps(command), package=PACKAGE, at=at, least=fewest)
        pathlib.Path(folder, "jobs.toml").write_text(text)
        done = subprocess.Popen([program[0], "run", "jobs.toml", "--log", "log.jsonl", *program[1:]], cwd=folder, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "XDG_RUNTIME_DIR": folder})
        try:
            said = done.communicate()[0]
        except KeyboardInterrupt:
            done.send_signal(signal.SIGINT)  # it ends its jobs
            done.communicate()
            raise
        if done.returncode != 0:
            raise SystemExit(f"the run failed:\n{said}")
        events = [json.loads(line) for line in pathlib.Path(folder, "log.jsonl").read_text().splitlines()]
        ended = {event["job"]: event for event in events if event["event"] == "job_ended"}
        if any(event["how"] != "finished" for event in ended.values()):
            raise SystemExit(f"the run failed:\n{said}")
        at = {name: event["t"] / 1e9 for name, event in ended.items()}
        sizes = [str(event["to"]) for event in events if event["event"] == "resize" and event["what"] == "settled" and event["job"] == "older"]
        return at["older"], at["younger"] - asked.arrival, max(at.values()), "-".join(sizes)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ration", help="the program")
    parser.add_argument("more", nargs="*", help="further arguments of `ration run`, behind -- and last")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--steps", type=int, default=2400)
    parser.add_argument("--arrival", type=int, default=40, help="seconds from the older job's start to the younger one's")
    parser.add_argument("--devices", choices=("cpu", "gpu"), default="cpu", help="what they are quarters of")
    parser.add_argument("--width", type=int, default=1024, help="of the classifier: on a GPU, 8192 fills it")
    parser.add_argument("--until-loss", type=float, help="jobs end at this loss, the mean of ten steps, and after --steps at the latest")
    parser.add_argument("--batch-per-rank", type=int, help="samples per step of each device, as in the paper's first experiment (128); 512 for the whole job when left out")
    asked = parser.parse_args()
    program = [str(pathlib.Path(asked.ration).resolve()), *asked.more]
    repetitions = asked.repetitions
    print("| repetition | way | older [s] | younger [s] | both done [s] | sizes of the older |\n|---|---|---|---|---|---|", flush=True)
    ways = {"2-2": (0, 1), "3-1": (0, 3), "by loss": (2, 1)}
    found = {way: [] for way in ways}
    for repetition in range(1, repetitions + 1):
        for way, (gamma, least) in ways.items():
            older, younger, both, sizes = run(asked, program, gamma, least)
            found[way].append((older, younger, both))
            print(f"| {repetition} | {way} | {older:.1f} | {younger:.1f} | {both:.1f} | {sizes} |", flush=True)
    for way in ("3-1", "by loss"):
        changes = [[100 * (b / a - 1) for a, b in zip(*pair)] for pair in zip(found["2-2"], found[way])]
        means = [statistics.mean(column) for column in zip(*changes)]
        print("{} against 2-2: older {:+.1f} %, younger {:+.1f} %, both {:+.1f} %".format(way, *means), end="; ")
        print("the older was earlier in {} of {}".format(sum(change[0] < 0 for change in changes), repetitions))


main()
