# SPDX-License-Identifier: BSL-1.0
"""The `console` blocks of a document, run in one shell from the first to the last.

A line that begins with `$ ` is a command, and the lines below it are promised output. They have to come in this order; `...` replaces lines
that are left out. Numbers and spaces have to be there, and their values and widths do not count. A command has to succeed, unless `echo $?` comes next.
"""
import re
import secrets
import subprocess
from typing import NamedTuple

_BLOCK = re.compile(r"^```(\S*)\n(.*?)^```$", re.M | re.S)
_LEFT_OUT = "..."


class Step(NamedTuple):
    command: str
    promised: list  # lines


class Broken(AssertionError):
    """The document promises what is not so."""


def steps_of(document: str) -> list:
    """Errors: a block that is not `console`, or that does not begin with a command."""
    found = []
    for language, text in _BLOCK.findall(document):
        if language != "console" or not text.startswith("$ "):
            raise Broken(f"nothing would run this block: {language}\n{text}")
        for line in text.splitlines():
            if line.startswith("$ "):
                found.append(Step(line[2:], []))
            else:
                found[-1].promised.append(line)
    return found


def _without_numbers(line: str) -> str:
    seconds = re.sub(r"\b\d+:\d\d\b", "0 s", " ".join(line.split()))  # a duration from one minute on, which a busy machine needs
    return re.sub(r"[+-]?\d+(\.\d+)?", "0", seconds)


def missing_from(output: str, promised: list):
    """The first promised line that does not follow those before it, or None."""
    lines = iter(_without_numbers(line) for line in output.splitlines())
    skipping = True
    for wanted in promised:
        if wanted.strip() == _LEFT_OUT:
            skipping = True
            continue
        said = next((line for line in lines if line or _without_numbers(wanted) == ""), None)
        while skipping and said is not None and said != _without_numbers(wanted):
            said = next(lines, None)
        if said != _without_numbers(wanted):
            return wanted
        skipping = False
    return None


def run(steps: list, folder, environment, limit: float) -> list:
    """(exit code, output) of each step; a step that was not reached is not in the list."""
    mark = secrets.token_hex(8)
    script = "status=0\n"
    for step in steps:
        script += f"(exit $status)\n{step.command}\nstatus=$?\nprintf '\\n%s %s\\n' {mark} $status\n"
    done = subprocess.run(["bash", "-c", script], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=limit)
    parts = re.split(rf"\n{mark} (\d+)\n", done.stdout)
    return [(int(code), output) for output, code in zip(parts[0::2], parts[1::2])]


def hold_to_its_word(document: str, folder, environment, limit: float = 300) -> int:
    """Runs all of it; the number of commands. Errors: Broken, with the command and its output."""
    steps = steps_of(document)
    results = run(steps, folder, environment, limit)
    for at, (step, (code, output)) in enumerate(zip(steps, results)):
        asked = at + 1 < len(steps) and steps[at + 1].command == "echo $?"
        if code != 0 and not asked:
            raise Broken(f"$ {step.command}\nended with {code}:\n{output}")
        if (line := missing_from(output, step.promised)) is not None:
            raise Broken(f"$ {step.command}\nhas to say {line!r}, and said\n{output}")
    if len(results) != len(steps):
        raise Broken(f"$ {steps[len(results)].command}\ndid not come back")
    return len(steps)
