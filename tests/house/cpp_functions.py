# SPDX-License-Identifier: BSL-1.0
"""Where each C++ function begins and ends.

A function inside another one (a lambda, a method of a local class) counts as part of the outer one. A function begins at the first
token of its declaration, its template line included, and ends at its closing brace.
"""

from typing import NamedTuple

from cpp_heads import EXPRESSION, FUNCTION, LAMBDA, TYPE, kind_of, macro_prefix, name_of
from cpp_tokens import PLACEHOLDER, Token, tokens, without_directives


class Function(NamedTuple):
    name: str
    first_line: int
    last_line: int

    @property
    def length(self):
        return self.last_line - self.first_line + 1


class UnbalancedBraces(Exception):
    pass


class _Frame:
    def __init__(self, kind):
        self.kind = kind
        self.head = []
        self.brackets = 0

    def texts(self):
        return [token.text for token in self.head]


class Scanner:
    def __init__(self):
        self.found = []
        self.frames = [_Frame("file")]
        self.body_depth = 0    # how many braces deep the scan is in a function's body
        self.body = None       # (name, first line) of that function

    def feed(self, token):
        if self.body_depth > 0:
            self._in_body(token)
        elif token.text == "{":
            self._open(token)
        elif token.text == "}":
            self._close(token)
        else:
            self._extend(self.frames[-1], token)

    def finish(self):
        if len(self.frames) != 1 or self.body_depth != 0:
            raise UnbalancedBraces()
        return self.found

    def _in_body(self, token):
        self.body_depth += (token.text == "{") - (token.text == "}")
        if self.body_depth == 0:
            self.found.append(Function(*self.body, token.line))
            if self.body[0] == LAMBDA:
                self.frames[-1].head.append(Token(PLACEHOLDER, token.line))
            else:
                self.frames[-1].head = []

    def _open(self, token):
        frame = self.frames[-1]
        frame.head = frame.head[macro_prefix(frame.texts()) if frame.head else 0:]
        kind = kind_of(frame.texts(), frame.kind == EXPRESSION or frame.brackets > 0)
        if kind in (FUNCTION, LAMBDA):
            name = LAMBDA if kind == LAMBDA else name_of(frame.texts())
            self.body = (name, frame.head[0].line if frame.head else token.line)
            self.body_depth = 1
        else:
            self.frames.append(_Frame(kind))

    def _close(self, token):
        if len(self.frames) == 1:
            raise UnbalancedBraces()
        kind = self.frames.pop().kind
        if kind == EXPRESSION:
            self.frames[-1].head.append(Token(PLACEHOLDER, token.line))
        else:
            self.frames[-1].head = []

    def _extend(self, frame, token):
        frame.brackets += (token.text in "([") - (token.text in ")]")
        ends = token.text == ";" or (token.text == "," and frame.kind == EXPRESSION)
        if ends and frame.brackets <= 0:
            frame.head, frame.brackets = [], 0
        elif frame.kind == TYPE and token.text == ":" and frame.texts() in (["public"], ["private"], ["protected"]):
            frame.head = []
        else:
            frame.head.append(token)


def _feed(scanner, found_tokens):
    for token in found_tokens:
        scanner.feed(token)
    return scanner.finish()


def scan(text, scanner=Scanner):
    """What a scanner finds in a source. Raises UnbalancedBraces when no reading of its #if branches balances."""
    all_tokens = tokens(text)
    try:
        return _feed(scanner(), without_directives(all_tokens))
    except UnbalancedBraces:
        return _feed(scanner(), without_directives(all_tokens, first_branch_only=True))


def functions(text):
    """All functions of a source. Raises UnbalancedBraces as `scan` does."""
    return scan(text)
