# SPDX-License-Identifier: BSL-1.0
"""The published.* commands that run jobs, each as it is and with its control broken on purpose. controls_test.cpp has the simulated ones.

`Judged` replaces what a command measures by figures that follow from the settings of each run, so that a control fails exactly where its
setting is wrong. `Measured` breaks the same settings and measures, which takes minutes.
"""
import contextlib
import importlib
import io
import os
import pathlib
import subprocess
import sys
import types
import unittest
import unittest.mock
from typing import Callable, NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / folder) for folder in ("bench/published", "python", "tests/tune")]


class Command(NamedTuple):
    broken: dict[str, object]  # settings of the module that break the control
    failing: list[str]  # the claims that then fail
    figures: dict[str, Callable]  # in place of the functions that measure
    words: list[str]  # arguments of a short run


def serve_two(options, _loops: dict, wait: float, _seed: int) -> dict:
    """A request that waits leaves the core to the other server."""
    saving = wait / (wait + options.service / 1000) / 2
    return {"together": [{"saving": saving}] * 3, "rounds": [{"alone": [{"served_per_second": 100}] * 2}]}


def submit_jobs(_options, separate: bool) -> tuple[float, float, float, float]:
    return (0.4, 1.5, 18.0, 17.0) if separate else (4.2, 32.0, 17.0, 17.0)


def scale_service(rule: str, _seconds: float) -> list:
    return [(devices, 100, 10) for devices in ((4, 1, 2, 1) if rule == "hook" else (4, 1, 2, 3, 4))]


def run_trainers(_folder, policy: str, most_cores: float, _epochs: int) -> types.SimpleNamespace:
    return types.SimpleNamespace(cores=0.5 if policy == "phase_limits" else most_cores, throttled=0.1, seconds=dict.fromkeys("abc", 60), failed=0)


def read_files(_folder, mode: str, _seconds: float, _group: str):
    cached, held = (0.1, 0) if mode == "partition" else (0.6, 3)
    return importlib.import_module("robus_live").Measured([100] * 4, [cached] * 4, held)


def search_trials(_options, method, _qualities: list, speedup: list):
    """Trials of ration have two GPUs where these are faster."""
    gpus = method.gpus if "ration" not in method.name or speedup[2] == 1 else 2
    return importlib.import_module("ray_tune").Outcome(20, 40, 80 * gpus / speedup[gpus])


def run_ranks(options):
    """Ranks that exchange more than 10 MB make as many steps on each number of devices."""
    live = importlib.import_module("cm_dare_live")
    measured, advice = {}, []
    for name in live.JOBS:
        large = live.megabytes(name) > 10
        measured[name] = {size: types.SimpleNamespace(speed=1 if large else size, bottleneck=int(large and size > 1)) for size in options.sizes}
        advice += [f"advice: {name}: it is slower than 0.9 of the sum of its devices; reduce them"] if large else []
    return measured, advice


COMMANDS = {
    "perseus_live": Command({"CONTROL_WAIT": 0.25}, ["control: without the wait it saves at most 3 % at each share"],
                            {"measure": serve_two, "loops_for": lambda *_: 1}, ["--rounds", "1", "--time", "1500ms", "--service", "3", "--weight", "6400"]),
    "virtual_cluster_live": Command({"CONTROL_SEPARATE": True}, ["one queue makes the worst of them 2.7 times as long, as 20 times with 900 jobs"],
                                    {"measure": submit_jobs}, ["--greedy", "120", "--regular", "3"]),
    "cm_dare_live": Command({"JOBS": {"large": (3536, 1, 64), "small": (3536, 1, 64)}},
                            ["control: 0.1 MB are none", "the advice names the exchange of the first job, and nothing else"],
                            {"run": run_ranks}, ["--steps", "24"]),
    "elastic_rmi_live": Command({"BASELINE": "hook"}, ["the thresholds reach the maximum", "the hook ends with fewer devices"],
                                {"measure": scale_service}, ["--seconds", "60"]),
    "ai4dl_live": Command({"KINDS": {"static, 1 core": ("none", 1), "phase_limits": ("none", 1)}}, ["phase limits reserve at most 0.9 of a static core"],
                          {"run": run_trainers, "learn": lambda *_: None}, ["--rounds", "1", "--epochs", "2"]),
    "robus_live": Command({"CONTROL": "pf"},
                          ["control: no file fits into a fourth of the cache", "with pf each tenant's part from the cache is 20 points above any with a partition",
                           "with mmf each tenant's part from the cache is 20 points above any with a partition"],
                          {"measure": read_files, "make_files": lambda *_: None, "ROOTS": ()}, ["--rounds", "1", "--seconds", "5"]),
    "ray_tune": Command({"CONTROL_SPEEDUP": [0, 1, 1.9, 2.7, 3.4]}, ["control: there 2 GPUs for each trial use at least 1.5 times the GPU-seconds of 1"],
                        {"run_search": search_trials}, ["--repetitions", "1"]),
}


def fake_ray() -> None:
    """The modules that ray_tune.py imports, where none of them does anything."""
    importlib.import_module("fake_ray").install()
    contents = {"ray": {"init": unittest.mock.Mock(), "shutdown": unittest.mock.Mock()}, "ray.tune": {"Callback": object}, "ray.cluster_utils": {"Cluster": unittest.mock.MagicMock()},
                "ray.tune.schedulers": dict.fromkeys(("ASHAScheduler", "FIFOScheduler", "ResourceChangingScheduler")),
                "ray.tune.schedulers.resource_changing_scheduler": {"DistributeResources": None}}
    for name, values in contents.items():
        vars(sys.modules.setdefault(name, types.ModuleType(name))).update(values)
    sys.modules["ray"].tune = sys.modules["ray.tune"]


def run(name: str, settings: dict[str, object], words: list[str]) -> tuple[int, list[str]]:
    """The exit code, and the claims that are printed as false."""
    module = importlib.import_module(name)
    printed = io.StringIO()
    with contextlib.ExitStack() as stack:
        for setting, value in settings.items():
            stack.enter_context(unittest.mock.patch.object(module, setting, value))
        stack.enter_context(unittest.mock.patch.object(sys, "argv", [name, *words]))
        stack.enter_context(contextlib.redirect_stdout(printed))
        code = module.main()
    print(printed.getvalue(), flush=True)
    return code, [line.split(" ", 1)[1] for line in printed.getvalue().splitlines() if line.startswith("FALSE")]


class Judged(unittest.TestCase):
    def test_each_command_exits_with_1_where_its_control_is_broken_and_names_the_claims(self) -> None:
        fake_ray()
        for name, command in COMMANDS.items():
            with self.subTest(name):
                self.assertEqual(run(name, command.figures, command.words), (0, []))
                self.assertEqual(run(name, {**command.figures, **command.broken}, command.words), (1, command.failing))

    def test_a_claim_is_open_where_the_interval_of_the_rounds_contains_its_limit(self) -> None:
        claims = importlib.import_module("claims")
        self.assertEqual([claims.at_least(values, 1.5) for values in ([1.6, 1.5, 2.0], [1.4, 1.6, 2.0], [1.4, 1.2, 1.0], [1.5], [1.4])], [True, None, False, True, False])
        self.assertEqual([claims.at_most(values, 1.5) for values in ([1.6, 1.7], [1.4, 1.6], [1.4, 1.5])], [False, None, True])
        ascending = [list(range(n)) for n in (1, 4, 5, 8, 9, 11, 31)]
        self.assertEqual([claims.interval(values[::-1]) for values in ascending], [(0, 0), (0, 3), (0, 4), (0, 7), (1, 7), (2, 8), (9, 21)])
        self.assertEqual((claims.all_of([True, None]), claims.all_of([None, False]), claims.any_of([None, False]), claims.any_of([None, True])), (None, False, None, True))
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.assertEqual((claims.conclude([(True, "a"), (None, "b")]), claims.conclude([(None, "a"), (False, "c")])), (0, 1))
        self.assertEqual(printed.getvalue(), "\nok    a\nopen  b\n\nopen  a\nFALSE c\n")

    def test_each_live_command_is_in_the_table(self) -> None:
        scripts = {path.stem for path in (ROOT / "bench/published").glob("*.py") if "def main() -> int" in path.read_text()}
        self.assertEqual(scripts, set(COMMANDS))


class Measured(unittest.TestCase):
    """One test for each command, since a person may want to run one alone."""

    def setUp(self) -> None:
        find = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
        python = os.environ.get("RATION_TORCH_PYTHON", "/usr/bin/python3")
        if subprocess.run([python, "-c", find], check=False).returncode != 0:
            self.skipTest(f"{python} has no PyTorch")

    def check(self, name: str) -> None:
        code, failing = run(name, COMMANDS[name].broken, COMMANDS[name].words)
        self.assertEqual(code, 1)
        self.assertIn(COMMANDS[name].failing[0], failing)


for live in COMMANDS:
    if live != "ray_tune":  # needs an installed Ray
        setattr(Measured, f"test_{live}", lambda self, name=live: self.check(name))


if __name__ == "__main__":
    if "Measured" in " ".join(sys.argv) and "RATION_PROGRAM" not in os.environ:
        sys.exit("live_controls_test.py: RATION_PROGRAM is not set; set it to the path of ration")
    unittest.main()
