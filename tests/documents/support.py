# SPDX-License-Identifier: BSL-1.0
"""An install of the program, and the text of its --help."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

RATION = os.path.abspath(os.environ["RATION_PROGRAM"])


def helps() -> dict[str, str]:
    """What `--help` prints, by command; the program's own is ''."""
    def said(*words: str) -> str:
        return subprocess.run([RATION, *words, "--help"], capture_output=True, text=True, check=True).stdout
    def below(*path: str) -> dict[str, str]:
        text = said(*path)
        found = {" ".join(path): text}
        for command in re.findall(r"^  ([\w-]+) {2,}\S", text.partition("Subcommands:")[2].partition("Examples:")[0], re.M):
            found |= below(*path, command)
        return found
    return below()


def options_of(text: str) -> list[str]:
    """The long names of a help's options."""
    return re.findall(r"^  (?:-\w,)?(--[a-z-]+)", text, re.M)


class Installed(unittest.TestCase):
    """`self.prefix` is an install of the program."""

    @classmethod
    def setUpClass(cls) -> None:
        kept = tempfile.TemporaryDirectory(prefix="ration-test-")
        cls.addClassCleanup(kept.cleanup)
        cls.prefix = pathlib.Path(kept.name)
        subprocess.run(["cmake", "--install", os.environ["RATION_BUILD"], "--prefix", cls.prefix, "--component", "ration-program"],
                       check=True, capture_output=True)


def main() -> None:
    result = unittest.main(module="__main__", exit=False, verbosity=2).result
    if result.testsRun and len(result.skipped) == result.testsRun:
        print("\n".join(reason for _, reason in result.skipped))
        sys.exit(77)
    sys.exit(not result.wasSuccessful())
