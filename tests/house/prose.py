# SPDX-License-Identifier: BSL-1.0
"""Plain English on the pages: short sentences that begin with the component that acts, and no word of the list below.

The words are refused in tables and headings as well. program_prose.py refuses them in messages and comments.
"""

import re

from tree import Problem

QUOTING = ("docs/errors.md",)  # its tables quote the code, and a test compares them
MOST_WORDS = 25       # of nine sentences in ten
MOST_WORDS_EVER = 40  # of any
REFUSED = {  # pattern: what to write
    r"\banew\b": "again",
    r"\bfor ever\b": "forever, or a limit",
    r"\bso many\b": "the number",
    r"\bgo(?:es)? on\b": "continues",
    r"\bas a rule\b": "usually",
    r"\bstands?\b": "is",
    r"\blies?\b": "is",
    r"\b(?:some|no)body\b": "the user, the program, or a passive",
    r"\bwhoever\b": "the component that acts",
    r"\bis no (?!longer\b)[a-z]+": "is not a",
    r"\bof its own\b": "its own, or separate",
    r"\b(?:hears?|heard|tells?|told)\b": "receives, reports",
    r"\bby hand of\b": "by",
}
_HEADLESS = re.compile(r"^(?:What|Who|Whoever|Which)\b[^?]*$")
_CODE_SPAN = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^()\s]*\)")
_LIST = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+")
_END = re.compile(r"(?<=[.!?])[\"')\]*]*\s+(?=[\"'(\[*]*[A-Z`0-9])")


def paragraphs(text):
    """(first line, text) of each paragraph and list item; code blocks, tables, headings and comments are left out."""
    first, words, fenced = 0, [], False
    for number, line in [*enumerate(text.splitlines(), 1), (0, "")]:
        fence = line.lstrip().startswith("```")
        fenced = fenced != fence
        skipped = fenced or fence or not line.strip() or line.lstrip().startswith(("|", "#", "<!--", "!["))
        if words and (skipped or _LIST.match(line)):
            yield first, " ".join(words)
            words = []
        if not skipped:
            first = first if words else number
            words.append(_LIST.sub("", line).strip())


def without_code(text):
    """Code counts as one word."""
    return _CODE_SPAN.sub("CODE", text)


def _plain(text):
    return _LINK.sub(r"\1", without_code(text)).replace("**", "")


def sentences(paragraph):
    """Code counts as one word, a link as its text."""
    return [one for one in _END.split(_plain(paragraph)) if one.strip()]


def rows(text):
    """(line, text) of each heading and table row outside of code blocks. Code counts as one word, a link as its text."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        fenced = fenced != line.lstrip().startswith("```")
        if not fenced and line.lstrip().startswith(("|", "#")):
            yield number, _plain(line)


def refused_words(text, refused=REFUSED):
    for pattern, better in refused.items():
        found = re.search(pattern, text, re.I)
        if found:
            yield f"'{found[0]}': write {better}"


def _faults(sentence):
    yield from refused_words(sentence)
    if _HEADLESS.match(sentence):
        yield "the sentence begins with a relative: name the component that acts"
    if len(re.findall(r"[:;](?=\s|$)", sentence)) > 1:
        yield "more than one colon or semicolon: make two sentences"
    if len(sentence.split()) > MOST_WORDS_EVER:
        yield f"a sentence of {len(sentence.split())} words: make two or three"


def check_page(path, text):
    for line, row in rows(text) if path not in QUOTING else ():
        for fault in refused_words(row):
            yield Problem(path, line, f"{fault}: {row[:60]}")
    lengths = []
    for line, paragraph in paragraphs(text):
        for sentence in sentences(paragraph):
            lengths.append(len(sentence.split()))
            for fault in _faults(sentence):
                yield Problem(path, line, f"{fault}: {sentence[:60]}")
    long = sum(length > MOST_WORDS for length in lengths)
    if long * 10 > len(lengths):
        yield Problem(path, 1, f"{long} of {len(lengths)} sentences have more than {MOST_WORDS} words; at most one in ten may")


def check_prose(tree):
    for path in tree.files:
        is_page = path.endswith(".md") and (path.startswith("docs/") or "/" not in path)
        if is_page:
            yield from check_page(path, tree.text(path))
