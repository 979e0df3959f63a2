# SPDX-License-Identifier: BSL-1.0
"""docs/errors.md and sentences.md have every code, rule, deferral and sentence of the core, in the words of the code, and no others."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORE = ROOT / "include" / "ration"
_SENTENCE = re.compile(r'("ration: (?:[^"\\]|\\.)*"(?:\s*"(?:[^"\\]|\\.)*")*)\s*\);', re.S)
_CASE = re.compile(r'case (errc|check_rule|deferral)::(\w+): return "([^"]*)";')
_NEVER_SHOWN = {("check_rule", "passed"), ("deferral", "none")}


def sentences(text):
    for match in _SENTENCE.finditer(text):
        yield "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', match[1])).replace('\\"', '"')


def missing(document, sources):
    rows = {tuple(cell.strip() for cell in line.strip().strip("|").split(" | ")) for line in document.splitlines()
            if line.startswith("| ")}
    firsts = {row[0] for row in rows}
    named = {(row[0], row[1]) for row in rows if len(row) > 1}
    said, expected = set(), []
    for text in sources:
        said.update(sentences(text))
        expected += [(kind, name, words) for kind, name, words in _CASE.findall(text) if (kind, name) not in _NEVER_SHOWN]
    problems = [f"not in the table of sentences: {s}" for s in sorted(said - firsts)]
    problems += [f"no such sentence in the core: {s}" for s in sorted(firsts) if s.startswith("ration: ") and s not in said]
    problems += [f"no row `{name}` | {words} ({kind})" for kind, name, words in expected if (f"`{name}`", words) not in named]
    if len(said) < 15 or len(expected) < 35:
        problems.append(f"only {len(said)} sentences and {len(expected)} names were found: this test no longer reads the sources")
    return problems


def main():
    sources = [path.read_text() for path in sorted(CORE.rglob("*.hpp"))]
    document = (ROOT / "docs/errors.md").read_text() + (ROOT / "tests/unit/sentences.md").read_text()
    found = missing(document, sources)
    # The test itself: a page without one row has to be missed.
    for line in ("| `busy` |", "| `dwell` |", "| ration: not a Job: add `target() const`", "| ration: a column of a resource"):
        without = "\n".join(row for row in document.splitlines() if not row.startswith(line))
        if len(missing(without, sources)) != len(found) + 1:
            found.append(f"nobody would miss the row {line}")
    print("\n".join(found) if found else "docs/errors.md says what the core says")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
