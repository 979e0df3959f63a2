# SPDX-License-Identifier: BSL-1.0
"""The files that the rules look at, and how a rule reports."""

import pathlib
from typing import NamedTuple

FOLDERS = ("include", "backends", "plugins", "python", "sim", "tools", "examples", "tests", "bench", "cmake", "docs", "test_package", ".ci", ".github", ".devcontainer")
SKIPPED = {"__pycache__", "build", ".git"}
CPP = (".hpp", ".cpp", ".h", ".c")


class Problem(NamedTuple):
    path: str
    line: int
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text}"


class Tree:
    """A source tree. Paths are relative to its root and written with slashes."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        found = [path for path in self.root.iterdir() if path.is_file()]
        for folder in FOLDERS:
            found += [path for path in (self.root / folder).rglob("*") if path.is_file() and not path.is_symlink()]
        relative = (path.relative_to(self.root) for path in found)
        self.files = sorted(path.as_posix() for path in relative if not SKIPPED.intersection(path.parts))
        self._texts = {}

    def __contains__(self, path):
        return (self.root / path).is_file()

    def text(self, path):
        """The file's text; a file that is not UTF-8 reads as empty, since no rule speaks of it."""
        if path not in self._texts:
            try:
                self._texts[path] = (self.root / path).read_text(encoding="utf-8")
            except UnicodeDecodeError:
                self._texts[path] = ""
        return self._texts[path]

    def lines(self, path):
        """(number, line) from 1."""
        return enumerate(self.text(path).splitlines(), 1)

    def ending_in(self, *suffixes):
        return [path for path in self.files if path.endswith(suffixes)]
