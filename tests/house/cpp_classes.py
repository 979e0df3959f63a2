# SPDX-License-Identifier: BSL-1.0
"""The classes of a C++ source, and how many methods each declares.

A method is a named member function. Constructors, destructors, operators, defaulted functions and friends are not counted, and overloads count
one by one. Methods of a class inside another one belong to the inner class.
"""

from typing import NamedTuple

from cpp_functions import Scanner, scan
from cpp_heads import TYPE, method_name, type_name


class Class(NamedTuple):
    name: str
    line: int
    methods: int


class _ClassScanner(Scanner):
    def __init__(self):
        super().__init__()
        self.classes = []
        self.open_classes = []  # [name, line, methods] of each type that the scan is in

    def finish(self):
        super().finish()
        return self.classes

    def _open(self, token):
        super()._open(token)
        frame = self.frames[-1]
        if self.body_depth > 0:
            self._count(frame)
        elif frame.kind == TYPE:
            self.open_classes.append([type_name(self.frames[-2].texts()), token.line, 0])

    def _close(self, token):
        if self.frames[-1].kind == TYPE:
            self.classes.append(Class(*self.open_classes.pop()))
        super()._close(token)

    def _extend(self, frame, token):
        if token.text == ";" and frame.brackets <= 0:
            self._count(frame)
        super()._extend(frame, token)

    def _count(self, frame):
        if frame.kind == TYPE and method_name(frame.texts()) not in (None, self.open_classes[-1][0]):
            self.open_classes[-1][2] += 1


def classes(text):
    """All classes of a source. Raises UnbalancedBraces when no reading of its #if branches balances."""
    return scan(text, _ClassScanner)
