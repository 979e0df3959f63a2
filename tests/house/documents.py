# SPDX-License-Identifier: BSL-1.0
"""Links lead somewhere, and code in a document is a region of a file that is built.

A block is tied to its file by a comment on the line above it, `region: PATH#NAME` between <!-- and -->. In the file two lines
that hold nothing but a comment with [NAME] enclose the region. Common indentation is left out.

A document whose every command is run by a test has `console` blocks instead, since the test runs those and no others.
"""

import posixpath
import re
import textwrap

from tree import Problem

_FENCE = re.compile(r"^[ ]{0,3}(```+|~~~+)[ ]*([\w+#-]*)")
_REGION = re.compile(r"^<!--\s*region:\s*(\S+?)#([\w.-]+)\s*-->\s*$")
_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^()\s]+(?:\([^()\s]*\))?)\)|!\[[^\]\n]*\]\(([^()\s]+)\)")
_CODE_SPAN = re.compile(r"`[^`\n]*`")
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:", re.I)
_HAS_TO_BE_A_REGION = ("cpp", "c++")
_RUN_BY = {"docs/choosing.md": "tests/choosing/choosing_test.py",
           "docs/tutorial.md": "tests/tutorial/tutorial_test.py"}


def blocks(text):
    """(first line, language, content, region or None) of each fenced block."""
    lines = text.splitlines()
    index = 0
    while index < len(lines):
        fence = _FENCE.match(lines[index])
        if fence:
            end = index + 1
            while end < len(lines) and not lines[end].strip().startswith(fence[1]):
                end += 1
            region = _REGION.match(lines[index - 1]) if index > 0 else None
            yield index + 1, fence[2], "\n".join(lines[index + 1:end]), region
            index = end
        index += 1


def region_of(text, name):
    """The lines between the two markers, dedented; None unless there are exactly two."""
    marker = re.compile(rf"^\s*(?://|#)\s*\[{re.escape(name)}\]\s*$")
    lines = text.splitlines()
    at = [number for number, line in enumerate(lines) if marker.match(line)]
    if len(at) != 2:
        return None
    return textwrap.dedent("\n".join(lines[at[0] + 1:at[1]]))


def _check_block(tree, path, block):
    line, language, content, region = block
    if region is None:
        if language.lower() in _HAS_TO_BE_A_REGION:
            return Problem(path, line, "code typed by hand: put it into a file that is built and name the region above the block")
        if path in _RUN_BY and language != "console":
            return Problem(path, line, f"nothing runs this block: {_RUN_BY[path]} runs those that are `console`")
        return None
    if region[1] not in tree:
        return Problem(path, line, f"there is no file {region[1]}")
    wanted = region_of(tree.text(region[1]), region[2])
    if wanted is None:
        return Problem(path, line, f"{region[1]} has to have exactly two lines with [{region[2]}]")
    if wanted != content:
        return Problem(path, line, f"differs from region [{region[2]}] of {region[1]}: copy the region again")
    return None


def check_regions(tree):
    for path in tree.ending_in(".md"):
        if path == "README.md" or path.startswith(("docs/", "examples/")):
            for block in blocks(tree.text(path)):
                problem = _check_block(tree, path, block)
                if problem:
                    yield problem


def check_commands(tree):
    """The test that has to run a document exists, and names the document."""
    for path, test in _RUN_BY.items():
        if path in tree and not (test in tree and path in tree.text(test)):
            yield Problem(path, 1, f"its commands are to be run by {test}, which has to be there and to name {path}")


def _prose(text):
    """(number, line) without code blocks and code spans."""
    fence = None
    for number, line in enumerate(text.splitlines(), 1):
        match = _FENCE.match(line)
        if match and (fence is None or match[1].startswith(fence)):
            fence = match[1] if fence is None else None
        elif fence is None:
            yield number, line


def anchors(text):
    """The anchors that a renderer makes from the headings."""
    found = set()
    for _, line in _prose(text):
        heading = _HEADING.match(line)
        if heading:
            slug = re.sub(r"[^\w\- ]", "", heading[1].lower()).replace(" ", "-")
            copies = sum(1 for other in found if other == slug or re.fullmatch(re.escape(slug) + r"-\d+", other))
            found.add(slug if copies == 0 else f"{slug}-{copies}")
    return found


def _check_link(tree, path, number, target):
    if _ELSEWHERE.match(target):
        return None
    name, _, anchor = target.partition("#")
    file = posixpath.normpath(posixpath.join(posixpath.dirname(path), name)) if name else path
    if not (tree.root / file).exists():
        return Problem(path, number, f"the link {target} leads nowhere")
    if anchor and file.endswith(".md") and anchor not in anchors(tree.text(file)):
        return Problem(path, number, f"{file} has no heading for #{anchor}")
    return None


def check_links(tree):
    for path in tree.ending_in(".md"):
        for number, line in _prose(tree.text(path)):
            for match in _LINK.finditer(_CODE_SPAN.sub("", line)):
                problem = _check_link(tree, path, number, match[1] or match[2])
                if problem:
                    yield problem
