# SPDX-License-Identifier: BSL-1.0
"""docs/failures.md and messages.md have the words of the program: each message of them appears, with the exit code that the page names."""
import pathlib
import re
import sys
import tempfile
import unittest

from page import is_said, is_said_in_a_paragraph, rows_of, tables
from scenes import CMAKE_SCENES, FROM_SOURCES, SCENES, Place

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/failures.md").read_text()
ROWS = rows_of(PAGE) + rows_of((ROOT / "tests/failures/messages.md").read_text())


def row_called(words: str):
    """The one row with these words. Errors: AssertionError where there are none, or several."""
    having = [row for row in ROWS if words in row.message]
    if len(having) != 1:
        raise AssertionError(f"{len(having)} messages of the page have the words {words!r}")
    return having[0]


def literals(path: str) -> str:
    """A source with its strings in one piece each."""
    joined = re.sub(r'"\s*\n\s*(?:f?)"', "", (ROOT / path).read_text())
    return joined.replace('\\"', '"')


class Reader(unittest.TestCase):
    """What holds the page to its word can say no."""

    def test_what_is_said_and_what_is_not(self) -> None:
        for message, output, wanted in (("no job '<name>'; look", "ration: no job 'a b'; look", True), ("no job", "[  0.1 s] no job", True),
                                        ("no job", "no jobs", False), ("no job", "there is\nno other job", False), ("<a> b", "b", False),
                                        ("x (<why>)", "x ()", False), ("a.b", "axb", False), ("gone", "file.so: gone", True), ("gone", "bygone", False)):
            with self.subTest(message=message, output=output):
                self.assertEqual(is_said(message, output), wanted)

    def test_lines_that_were_broken(self) -> None:
        self.assertTrue(is_said_in_a_paragraph("a <what> c", "x a\n   b\n\n c d"))
        self.assertFalse(is_said_in_a_paragraph("a <what> c", "a\nc"))


class Messages(unittest.TestCase):
    def test_each_has_its_mistake_and_each_mistake_its_message(self) -> None:
        called = [row_called(words) for words in (*SCENES, *FROM_SOURCES)]
        self.assertEqual(sorted(row.message for row in ROWS), sorted(row.message for row in called))

    def test_each_appears(self) -> None:
        for words, scene in SCENES.items():
            row = row_called(words)
            with self.subTest(message=row.message), tempfile.TemporaryDirectory(prefix="ration-test-") as folder:
                said = scene(Place(pathlib.Path(folder)))
                has = is_said_in_a_paragraph if words in CMAKE_SCENES else is_said
                self.assertTrue(has(row.message, said.output), f"it said, and ended with {said.exit}:\n{said.output}")
                self.assertEqual(str(said.exit), row.exit)

    def test_what_does_not_appear_here_stands_in_the_sources(self) -> None:
        for words, (path, text) in FROM_SOURCES.items():
            with self.subTest(words=words):
                self.assertIn(text.strip(), row_called(words).message)
                self.assertIn(text, literals(path))


class TheOtherWayRound(unittest.TestCase):
    def test_every_exit_code(self) -> None:
        declared = re.search(r"enum class exit_code[^{]*\{(.*?)\}", (ROOT / "tools/ration/common/exit_code.hpp").read_text(), re.S)[1]
        codes = sorted(set(re.findall(r"\w+ = (\d+)", declared)))
        self.assertGreater(len(codes), 5)
        self.assertEqual([cells[0] for cells in tables((ROOT / "docs/run.md").read_text(), "| code | |")], codes)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
