# SPDX-License-Identifier: BSL-1.0
"""docs/choosing.md and controls.md as data: each `<!-- figures: NAME -->`, the commands below it, and the table of figures below those."""
import pathlib
import re
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/choosing.md").read_text()
BOTH = PAGE + (ROOT / "tests/choosing/controls.md").read_text()
_PART = re.compile(r"^<!-- figures: ([\w-]+) -->\n```console\n(.*?)^```\n\n((?:\|[^\n]*\n)+)", re.M | re.S)
_BLOCK = re.compile(r"^```(\S*)\n(.*?)^```$", re.M | re.S)


class Part(NamedTuple):
    name: str
    commands: list[str]   # the last one is the simulation
    head: list[str]
    rows: list[list[str]]


def cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r" \|(?= |$)", line.strip().removeprefix("|").removesuffix("|"))]


def commands_of(block: str) -> list[str]:
    return [line[2:] for line in block.splitlines() if line.startswith("$ ")]


def parts(document: str = BOTH) -> list[Part]:
    found = []
    for name, block, table in _PART.findall(document):
        lines = table.splitlines()
        found.append(Part(name, commands_of(block), cells_of(lines[0]), [cells_of(line) for line in lines[2:]]))
    return found


def blocks(document: str = BOTH) -> int:
    return len(_BLOCK.findall(document))


def table_below(heading: str, document: str = PAGE) -> list[list[str]]:
    """The rows of the first table in a section, its head first."""
    section = re.split(r"^## ", document.split(f"## {heading}\n", 1)[1], flags=re.M)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [cells_of(line) for at, line in enumerate(lines) if at != 1]
