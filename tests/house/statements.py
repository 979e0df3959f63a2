# SPDX-License-Identifier: BSL-1.0
"""One statement for each semicolon: the comma operator does not join two."""

import re

from cpp_tokens import PLACEHOLDER, tokens, without_directives
from tree import CPP, Problem

_PARENTHESES = "()"
_CONTROL = {"if", "for", "while", "switch"}
_DECLARES = {"alignas", "auto", "class", "const", "constexpr", "enum", "explicit", "extern", "friend", "inline", "namespace", "private",
             "protected", "public", "static", "static_assert", "struct", "template", "typedef", "union", "unsigned", "using", "virtual"}
_IN_TEMPLATE_ARGUMENTS = re.compile(r"[\w:,*&{}()\"\[\].+/-]+")


class _Frame:
    """One pair of braces: the tokens of the statement that it is in, outside of inner brackets."""

    def __init__(self):
        self.statement = []
        self.ended_block = False

    def add(self, token, next_text=None):
        self.statement.append(token)
        self.ended_block = next_text is not None and re.match(r"[A-Za-z_*+!~-]", next_text) is not None


def _statements(all_tokens):
    """The tokens of each statement that ends with a semicolon, with {} and () for what is inside of brackets."""
    frames, brackets = [_Frame()], []
    for index, token in enumerate(all_tokens):
        text, frame = token.text, frames[-1]
        after = all_tokens[index + 1].text if index + 1 < len(all_tokens) else ""
        if text in "([":
            brackets.append((len(frames), text))
        elif text in ")]":
            if brackets:
                depth, opening = brackets.pop()
                if (not brackets or brackets[-1][0] < depth) and opening == "(":
                    frame.add(token._replace(text=_PARENTHESES))
        elif text == "{":
            frames.append(_Frame())
        elif text == "}":
            if len(frames) > 1:
                frames.pop()
            if not (brackets and brackets[-1][0] == len(frames)):
                ends = re.match(r"[A-Za-z_*+!~-]", after) and after not in ("noexcept", "const")
                frames[-1].statement = [] if ends else [*frames[-1].statement, token._replace(text=PLACEHOLDER)]
        elif brackets and brackets[-1][0] == len(frames):
            continue
        elif text == ";":
            yield frame.statement
            frame.statement = []
        else:
            frame.statement.append(token)


def _without_control(statement):
    words = list(statement)
    while words:
        if words[0].text in _CONTROL:
            end = next((at for at, one in enumerate(words) if one.text == _PARENTHESES), len(words) - 1)
            words = words[end + 1:]
        elif words[0].text in ("else", "do"):
            words = words[1:]
        elif words[0].text in ("case", "default"):
            end = next((at for at, one in enumerate(words) if one.text == ":"), len(words) - 1)
            words = words[end + 1:]
        else:
            break
    return words


def _without_template_arguments(texts):
    kept, at = [], 0
    while at < len(texts):
        end = at
        if texts[at] == "<" and kept and re.match(r"\w", kept[-1]):
            depth = 0
            for end in range(at, len(texts)):
                depth += (texts[end] == "<") - (texts[end] == ">")
                if depth == 0 or not _IN_TEMPLATE_ARGUMENTS.fullmatch(texts[end]) and texts[end] not in "<>":
                    break
            if depth != 0:
                end = at
        if end == at:
            kept.append(texts[at])
        at = end + 1
    return kept


def _declares(texts):
    """Two names side by side, with * or & between them or not: a declaration."""
    stop = next((at for at, text in enumerate(texts) if text in ("=", ",", _PARENTHESES, PLACEHOLDER, "[")), len(texts))
    head = [text for text in texts[:stop] if text not in ("*", "&", "&&")]
    return any(re.match(r"\w", a) and re.match(r"\w", b) for a, b in zip(head, head[1:]))


def _is_joined(statement):
    texts = _without_template_arguments([one.text for one in _without_control(statement)])
    if "," not in texts or texts[0] in _DECLARES:
        return False
    if texts[0] == "return":
        return True
    pointer = len(texts) > 2 and re.match(r"\w", texts[0]) and texts[1] == _PARENTHESES and texts[2] == _PARENTHESES  # int (*f)(void)
    constructor = _PARENTHESES in texts and ":" in texts and texts.index(":") == texts.index(_PARENTHESES) + 1
    return not (pointer or constructor or _declares(texts))


def check_comma_statements(tree):
    for path in tree.ending_in(*CPP):
        for statement in _statements(without_directives(tokens(tree.text(path)), first_branch_only=True)):
            if _is_joined(statement):
                yield Problem(path, statement[0].line, "a comma joins two statements: end the first one with a semicolon")
