# SPDX-License-Identifier: BSL-1.0
"""The eight models of examples/pytorch with staggered arrivals, written as a jobs.toml."""

import json
import pathlib
import random
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ROOT / "examples" / "pytorch" / "jobs.toml"


def models() -> list[dict]:
    """The jobs of examples/pytorch/jobs.toml, their scripts by absolute path."""
    jobs = tomllib.loads(MODELS.read_text())["job"]
    for job in jobs:
        job["command"] = [str(ROOT / word) if word.endswith(".py") else word for word in job["command"]]
    return jobs


def staggered(jobs: list[dict], seed: int, within: float) -> list[tuple[float, dict]]:
    """The jobs in random order, each with its arrival: uniform in `within` seconds, moved so that the first comes at 0."""
    dice = random.Random(seed)
    order = dice.sample(jobs, len(jobs))
    times = sorted(dice.uniform(0, within) for _ in jobs)
    return [(round(time - times[0], 1), job) for time, job in zip(times, order)]


def seeded(command: list[str], seed: int) -> list[str]:
    """The command with another value behind --seed."""
    place = command.index("--seed") + 1
    return command[:place] + [str(seed)] + command[place + 1 :]


def as_toml(schedule: list[tuple[float, dict]], scenario: str, seed: int) -> str:
    """A jobs.toml on one core. Strings and lists of strings are the same in JSON and in TOML."""
    blocks = [f'policy = "tradl"\ntradl = {{ alpha = 0.9, scenario = "{scenario}" }}\ncpus = 1\n']
    for at, job in schedule:
        loss = ", ".join(f"{key} = {value}" for key, value in job["target"]["loss"].items())
        blocks.append(f'[[job]]\nname = {json.dumps(job["name"])}\ncommand = {json.dumps(seeded(job["command"], seed))}\n'
                      f'at = "{at}s"\ntarget = {{ loss = {{ {loss} }} }}\n')
    return "\n".join(blocks)
