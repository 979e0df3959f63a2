# SPDX-License-Identifier: BSL-1.0
"""Plain English in programs: comments and messages keep to the words of the pages, and programs have no verbs of people."""

import ast
import io
import tokenize

import cpp_tokens
from cpp_tokens import Token
from prose import REFUSED, refused_words, without_code
from tree import CPP, Problem

_REFUSED = REFUSED | {r"\b(?:says|said|knows?)\b": "reports, returns, has, supports"}
_TESTS = "tests/"  # their strings quote faults, and name cases by sentences


def _is_text(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _python_comments(text):
    """Docstrings as well."""
    nodes = ast.walk(ast.parse(text))
    docstrings = [Token(node.value.value, node.lineno) for node in nodes if isinstance(node, ast.Expr) and _is_text(node.value)]
    found = tokenize.generate_tokens(io.StringIO(text).readline)
    return docstrings + [Token(one.string, one.start[0]) for one in found if one.type == tokenize.COMMENT]


def _python_messages(text):
    nodes = list(ast.walk(ast.parse(text)))
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    return [Token(node.value, node.lineno) for node in nodes if _is_text(node) and id(node) not in docstrings]


def _faults(path, found, kind):
    for text, line in found:
        for fault in refused_words(without_code(text), _REFUSED):
            yield Problem(path, line, f"a {kind} has {fault}")


def check_comments(tree):
    for path in tree.ending_in(*CPP, ".py"):
        comments = _python_comments if path.endswith(".py") else cpp_tokens.comments
        yield from _faults(path, comments(tree.text(path)), "comment")


def check_messages(tree):
    """A literal with a space in it may be printed."""
    for path in tree.ending_in(*CPP, ".py"):
        if not path.startswith(_TESTS):
            messages = _python_messages if path.endswith(".py") else cpp_tokens.messages
            yield from _faults(path, [found for found in messages(tree.text(path)) if " " in found.text], "message")
