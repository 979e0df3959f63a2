# SPDX-License-Identifier: BSL-1.0
"""The tables of docs/failures.md and messages.md, and what a message of them looks like on a terminal."""
import re
from typing import NamedTuple

_HEADS = ("| message | cause, remedy | exit |", "| message | exit |")
_SPAN = re.compile(r"^(`+) ?(.*?) ?\1$")
_PLACEHOLDER = re.compile(r"<([a-z]+)>")
_IN_FRONT = re.compile(r"^(?:\[[^\]]*\] )?(?:ration: )?")


class Row(NamedTuple):
    message: str  # with its placeholders
    exit: str     # a number, or "any"


def tables(document: str, head: str) -> list[list[str]]:
    """The cells of all rows of all tables with this first line."""
    rows, inside = [], False
    for line in document.splitlines():
        if line == head:
            inside = True
        elif not line.startswith("|"):
            inside = False
        elif inside and not line.startswith("|---"):
            rows.append([cell.strip() for cell in re.split(r" \|(?= |$)", line.removeprefix("|").removesuffix("|"))])
    return rows


def code_of(cell: str) -> str:
    """The text between the backticks. Errors: ValueError where the cell has other text."""
    found = _SPAN.match(cell)
    if not found:
        raise ValueError(f"no message in backticks: {cell}")
    return found[2]


def rows_of(document: str) -> list[Row]:
    return [Row(code_of(cells[0]), cells[-1]) for head in _HEADS for cells in tables(document, head)]


def pattern_of(message: str) -> str:
    """A regular expression; a placeholder is some text."""
    parts = _PLACEHOLDER.split(message)
    return "".join(re.escape(part) if at % 2 == 0 else ".+?" for at, part in enumerate(parts))


def is_said(message: str, output: str) -> bool:
    """Whether a line of the output ends in the message, with nothing in front of it but where it comes from."""
    wanted = re.compile(rf"(?:^|\s){pattern_of(message)}$")
    return any(wanted.search(_IN_FRONT.sub("", line.rstrip())) for line in output.splitlines())


def is_said_in_a_paragraph(message: str, output: str) -> bool:
    """The same of a program that breaks its lines where it likes, as CMake does."""
    return re.search(pattern_of(message), " ".join(output.split())) is not None
