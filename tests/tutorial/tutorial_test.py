# SPDX-License-Identifier: BSL-1.0
"""Tests docs/tutorial.md: runs each of its commands, in order, and requires the output that it promises."""
import os
import pathlib
import sys
import tempfile
import unittest

from console import Broken, hold_to_its_word, missing_from, steps_of

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs/tutorial.md"


def document(*lines: str) -> str:
    return "\n".join(["# A document", "", "```console", *lines, "```", ""])


class TheRunner(unittest.TestCase):
    """What holds the document to its word can say no."""

    def hold(self, *lines: str) -> int:
        with tempfile.TemporaryDirectory() as folder:
            return hold_to_its_word(document(*lines), folder, dict(os.environ), 20)

    def test_one_shell_runs_it_all(self) -> None:
        self.assertEqual(self.hold("$ mkdir a && cd a", "$ export b=c", '$ echo "$(basename $PWD) $b"', "a c"), 3)

    def test_a_command_that_fails(self) -> None:
        for lines in (["$ false"], ["$ true", "$ ls nothing-here", "$ true"], ["$ exit 3", "$ true"], ["$ false", "$ true", "$ echo $?", "1"]):
            with self.subTest(lines=lines), self.assertRaises(Broken):
                self.hold(*lines)

    def test_a_failure_that_is_promised(self) -> None:
        self.assertEqual(self.hold("$ false", "$ echo $?", "1"), 2)

    def test_other_words_than_promised(self) -> None:
        for said, promised in (("a\nb", ["b", "a"]), ("a", ["b"]), ("a\nc\nb", ["a", "b"]), ("", ["a"]), ("a", ["a", "b"]), ("x 1", ["x"])):
            with self.subTest(said=said, promised=promised):
                self.assertIsNotNone(missing_from(said, promised))
        with self.assertRaises(Broken):
            self.hold("$ echo one", "two")

    def test_what_may_differ(self) -> None:
        for said, promised in (("took 1.5 s", ["took 27 s"]), ("[   1:12] over", ["[  6.3 s] over"]), ("a\nx\ny\nb", ["a", "...", "b"]), ("head\na   b", ["a b"]), ("a -3 %", ["a +4.5 %"])):
            with self.subTest(said=said, promised=promised):
                self.assertIsNone(missing_from(said, promised))

    def test_a_block_that_nothing_would_run(self) -> None:
        for text in ("```sh\nls\n```\n", "```console\nls\n```\n", "```\nls\n```\n"):
            with self.subTest(text=text), self.assertRaises(Broken):
                steps_of(text)


class Tutorial(unittest.TestCase):
    def test_every_command_does_what_the_document_says(self) -> None:
        """As a user who has a checkout with a build, and a home."""
        with tempfile.TemporaryDirectory(prefix="ration-test-") as kept:
            folder = pathlib.Path(kept)
            (folder / "ration/build").mkdir(parents=True)
            (folder / "ration/build/release").symlink_to(os.environ["RATION_BUILD"])
            for name in ("bin", "runtime"):
                (folder / name).mkdir(mode=0o700)
            (folder / "bin/python3").symlink_to(sys.executable)  # one that does not look for itself in the home
            environment = {k: v for k, v in os.environ.items() if not k.startswith(("CMAKE_", "RATION_", "MAKE"))}
            environment.update(HOME=kept, XDG_RUNTIME_DIR=f"{kept}/runtime", LC_ALL="C.UTF-8", PATH=f"{folder}/bin:{os.environ['PATH']}")
            self.assertGreater(hold_to_its_word(DOCUMENT.read_text(), folder / "ration", environment), 10)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
