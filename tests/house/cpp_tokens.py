# SPDX-License-Identifier: BSL-1.0
"""C++ text as tokens, each with its line: comments are gone, literals are one token, preprocessor lines are marked."""

import functools
import re
from typing import NamedTuple


class Token(NamedTuple):
    text: str
    line: int


LITERAL = '"'
PLACEHOLDER = "{}"

_TOKEN = re.compile(r"""
    (?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)
  | (?P<raw>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)")
  | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*")
  | (?P<character>(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')
  | (?P<number>\.?\d(?:'[0-9a-zA-Z]|[eEpP][+-]|[\w.])*)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<directive>^[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n])*)
  | (?P<symbol><=>|[=!<>+*/%&|^-]=|::|->|\.\.\.|\S)
""", re.S | re.X | re.M)
_LITERALS = ("raw", "string", "character")


@functools.cache  # six rules read each file
def _matches(text):
    """(kind, token) of each token and comment."""
    found, line, at = [], 1, 0
    for match in _TOKEN.finditer(text):
        line += text.count("\n", at, match.start())
        at = match.start()
        found.append((match.lastgroup if match.lastgroup != "mark" else "raw", Token(match.group().strip(), line)))
    return found


def tokens(text):
    """All tokens; a directive is one token that begins with #."""
    return [Token(LITERAL, token.line) if kind in _LITERALS else token for kind, token in _matches(text) if kind != "comment"]


def comments(text):
    return [token for kind, token in _matches(text) if kind == "comment"]


def messages(text):
    """The string literals as they are written, and each #error."""
    return [token for kind, token in _matches(text) if kind in ("raw", "string") or (kind == "directive" and "error" in token.text)]


def without_directives(all_tokens, first_branch_only=False):
    """What the compiler's parser may see: every branch of each #if, or (for branches that share a brace) the first one only."""
    kept, branches = [], []
    for token in all_tokens:
        if token.text.startswith("#"):
            word = token.text[1:].lstrip()
            if word.startswith("if"):
                branches.append(False)
            elif word.startswith(("else", "elif")) and branches:
                branches[-1] = True
            elif word.startswith("endif") and branches:
                branches.pop()
        elif not (first_branch_only and any(branches)):
            kept.append(token)
    return kept
