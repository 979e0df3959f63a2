# SPDX-License-Identifier: BSL-1.0
"""The compiler prints what the pages quote. `compiler: FILE` between <!-- and --> is above such a block, and the compiler has to print each line of it."""
import os
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^<!-- compiler: (\S+) -->\n```text\n(.*?)```", re.MULTILINE | re.DOTALL)
NUMBERS = re.compile(r":\d+(:\d+)?:")  # a message whose line number changes is the same message
QUOTES = str.maketrans("\u2018\u2019", "''")
GXX = os.environ.get("RATION_GXX") or "g++"
VERSION = "12"


def said_by_compiler(source: str) -> str:
    done = subprocess.run([GXX, "-std=c++20", "-fsyntax-only", "-DRATION_MISUSE", "-Iinclude", source], cwd=ROOT, capture_output=True, text=True,
                          env={**os.environ, "LC_ALL": "C"}, timeout=100, check=False)
    return NUMBERS.sub(":", done.stderr).translate(QUOTES)


def missing(source: str, block: str) -> list[str]:
    said = said_by_compiler(source)
    return [line for line in block.splitlines() if line != "..." and NUMBERS.sub(":", line).translate(QUOTES) not in said]


class Words(unittest.TestCase):
    def test_each_line_comes(self) -> None:
        found = [(page.name, *match) for page in (ROOT / "docs").glob("*.md") for match in BLOCK.findall(page.read_text(encoding="utf-8"))]
        self.assertGreaterEqual(len(found), 5)
        for page, source, block in found:
            with self.subTest(page=page, source=source):
                self.assertGreater(len(block.splitlines()), 0)
                self.assertEqual(missing(source, block), [])

    def test_another_word_is_noticed(self) -> None:
        self.assertEqual(missing("tests/misuse/resource_without_unit.cpp", "error: static assertion succeeded\n...\n"), ["error: static assertion succeeded"])


if __name__ == "__main__":
    version = subprocess.run([GXX, "-dumpversion"], capture_output=True, text=True, check=False).stdout.strip()
    if version.split(".")[0] != VERSION:
        print(f"skipped: the pages quote g++ {VERSION}, and this is {version or 'no g++'}")
        sys.exit(77)
    unittest.main()
