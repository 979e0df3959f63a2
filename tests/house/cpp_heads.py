# SPDX-License-Identifier: BSL-1.0
"""What an opening brace opens, judged by the tokens in front of it (its head) back to the last `;`, `{` or `}`."""

import re

from cpp_tokens import LITERAL, PLACEHOLDER

NAMESPACE, TYPE, FUNCTION, LAMBDA, EXPRESSION = "namespace", "type", "function", "lambda", "expression"

_OPEN, _CLOSE = {"(": ")", "[": "]"}, {")", "]"}
_CLASS_KEYS = {"class", "struct", "union", "enum"}
_AFTER_PARAMETERS = {"const", "volatile", "noexcept", "override", "final", "mutable", "try", "&", ")"}
_NOT_A_NAME = {"alignas", "decltype", "noexcept", "explicit", "requires", "sizeof", "throw", "__attribute__", "__declspec"}
_OPERAND_NEXT = {"requires", "=", "&", "|", "!", "(", ",", "return"}
_NO_METHOD = {"friend", "using", "typedef", "static_assert", "enum"}
_AFTER_CAPTURE = {"(", "<", "mutable", "noexcept", "constexpr", "consteval", "static", "->", "requires"}


def is_word(text):
    return text[0].isalpha() or text[0] == "_"


def _closing(head, start):
    """The index of the bracket that closes the one at start, or the head's length."""
    depth = 0
    for index in range(start, len(head)):
        depth += head[index] in _OPEN
        depth -= head[index] in _CLOSE
        if depth == 0:
            return index
    return len(head)


def _without_attributes(head):
    kept, index = [], 0
    while index < len(head):
        if head[index:index + 2] == ["[", "["]:
            index = _closing(head, index) + 1
        else:
            kept.append(head[index])
            index += 1
    return kept


def _closing_angle(head, start):
    """The index of the > that closes the < at start, or the head's length."""
    depth, index = 0, start
    while index < len(head):
        if head[index] in _OPEN:
            index = _closing(head, index)
        elif head[index] in "<>":
            depth += 1 if head[index] == "<" else -1
            if depth == 0:
                return index
        index += 1
    return index


def _end_of_operand(head, at):
    """Where the operand of a requires-clause ends: (group), name<...>, or a requires-expression."""
    if head[at:at + 1] == ["("]:
        return _closing(head, at) + 1
    if head[at:at + 1] == ["requires"]:
        at = _closing(head, at + 1) + 1 if head[at + 1:at + 2] == ["("] else at + 1
        return at + 1 if head[at:at + 1] == [PLACEHOLDER] else at
    while at < len(head):
        at += 1
        if head[at:at + 1] == ["<"]:
            at = _closing_angle(head, at) + 1
        if head[at:at + 1] != ["::"]:
            return at
        at += 1
    return at


def _without_template_prefix(head):
    """The declaration behind `template <...> requires ...`; empty while the template's own list is open."""
    while head[:2] == ["template", "<"]:
        head = head[_closing_angle(head, 1) + 1:]
        if head[:1] == ["requires"]:
            end = _end_of_operand(head, 1)
            while head[end:end + 2] in (["&", "&"], ["|", "|"]):
                end = _end_of_operand(head, end + 2)
            head = head[end:]
    return head


def _top_level(head):
    """(index, text) of each token outside of all brackets; an opening bracket represents its whole group."""
    found, index = [], 0
    while index < len(head):
        found.append((index, head[index]))
        index = _closing(head, index) + 1 if head[index] in _OPEN else index + 1
    return found


def macro_prefix(head):
    """How many tokens at the front are calls of macros that need no semicolon, in front of a declaration."""
    end = 0
    while re.fullmatch(r"[A-Z][A-Z0-9_]*", head[end]) and head[end + 1:end + 2] == ["("]:
        after = _closing(head, end + 1) + 1
        if after >= len(head) or not is_word(head[after]) or head[after] in _AFTER_PARAMETERS:
            break
        end = after
    return end


def _is_lambda(head):
    for start in range(len(head) - 1, -1, -1):
        if head[start] != "[":
            continue
        before = head[start - 1] if start > 0 else "="
        if is_word(before) and before != "return" or before in (")", "]", PLACEHOLDER, LITERAL):
            continue
        end = _closing(head, start)
        rest = head[end + 1:]
        if rest and rest[0] not in _AFTER_CAPTURE:
            return False
        return all(text not in (",", PLACEHOLDER, ")") for _, text in _top_level(rest))
    return False


def _opens_requires_expression(head):
    if head[-1] == "requires":
        return True
    for index, text in enumerate(head[:-1]):
        if text == "requires" and head[index + 1] == "(" and _closing(head, index + 1) == len(head) - 1:
            return index > 0 and head[index - 1] in _OPERAND_NEXT
    return False


def _has_initializer(top):
    for position, (_, text) in enumerate(top):
        if text == "=" and (position == 0 or top[position - 1][1] != "operator"):
            return True
    return False


def _parameters(head, top):
    """Where the parameter list opens, or None."""
    for position, (index, text) in enumerate(top):
        if text != "(" or position == 0:
            continue
        if top[position - 1][1] in _NOT_A_NAME:
            continue
        following = head[_closing(head, index) + 1:][:1]
        if top[position - 1][1] == "operator" and following == ["("]:  # operator()(...)
            continue
        return index
    return None


def _is_type(head, top):
    for position, (_, text) in enumerate(top):
        if text == "(" and position > 0 and top[position - 1][1] not in _NOT_A_NAME:
            return False
        if text in _CLASS_KEYS:
            rest = [entry for entry in top[position + 1:]]
            words = [entry[1] for entry in rest]
            until = words.index(":") if ":" in words else len(words)
            return _parameters(head, rest[:until]) is None
    return False


def _is_function(head, top):
    start = _parameters(head, top)
    if start is None:
        return False
    last = head[-1]
    after = [text for index, text in top if index > start]
    if ":" in after and "?" not in after:
        return not (is_word(last) or last == ">")  # `: member_{1}` is a member's initializer, not the body
    return last in _AFTER_PARAMETERS or "->" in after or "requires" in [text for _, text in top]


def kind_of(head, inside_expression):
    """head: the texts of the tokens. inside_expression: the brace is in parentheses or in a braced initializer."""
    head = _without_attributes(head)
    if not head:
        return EXPRESSION
    if _is_lambda(head):
        return LAMBDA
    if inside_expression:
        return EXPRESSION
    if "namespace" in head[:2] or (head[0] == "extern" and head[-1] == LITERAL):
        return NAMESPACE
    if _opens_requires_expression(head):
        return EXPRESSION
    head = _without_template_prefix(head)
    top = _top_level(head)
    if not head or _has_initializer(top):
        return EXPRESSION
    if _is_type(head, top):
        return TYPE
    return FUNCTION if _is_function(head, top) else EXPRESSION


def name_of(head):
    """The function's name, for a message."""
    head = _without_template_prefix(_without_attributes(head))
    top = _top_level(head)
    if "operator" in head:
        start = head.index("operator")
        return "".join(head[start:_parameters(head, top) or start + 1])
    end = _parameters(head, top)
    if end is None:
        return "?"
    if head[end - 1] == ">":  # name<argument>(
        end = max(index for index in range(end) if head[index] == "<" and _closing_angle(head, index) == end - 1)
    start = end - 1
    while start > 0 and (head[start] in ("::", "~") or head[start - 1] in ("::", "~")):
        start -= 1
    return "".join(head[start:end])


def type_name(head):
    """The name of the type that this head opens; empty for one without a name."""
    top = [text for _, text in _top_level(_without_template_prefix(_without_attributes(head)))]
    key = next(index for index, text in enumerate(top) if text in _CLASS_KEYS)
    until = top.index(":", key) if ":" in top[key:] else len(top)
    words = [text for text in top[key + 1:until] if is_word(text) and text not in ("final", "class", "struct")]
    return words[-1] if words else ""


def method_name(head):
    """The name of the member function that a class declares here, or None: for other members, special functions and friends."""
    head = _without_template_prefix(_without_attributes(head))
    if not head or head[0] in _NO_METHOD or head[-2:] in (["=", "default"], ["=", "delete"]):
        return None
    if head[-2:] == ["=", "0"]:
        head = head[:-2]
    top = _top_level(head)
    start = _parameters(head, top)
    if start is None or _has_initializer(top) or "operator" in head[:start] or "~" in head[:start]:
        return None
    is_pointer = head[start + 1:start + 2] == ["*"]                              # void (*member)(int);
    is_argument = head[_closing(head, start) + 1:][:1] in ([">"], [","], ["..."])  # std::function<void(int)> member;
    return None if is_pointer or is_argument else head[start - 1]
