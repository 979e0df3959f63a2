# SPDX-License-Identifier: BSL-1.0
"""The commit hook refuses what CONTRIBUTING.md forbids, and the history since the rule keeps it."""
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAST_WITHOUT_RULE = "5d4d697"


def refusal_of(message: str) -> str:
    """The sentence of the hook; empty when it accepts the message."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(message)
        file.flush()
        done = subprocess.run([ROOT / ".githooks" / "commit-msg", file.name], capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == (done.stderr == ""), done
    return done.stderr


def git(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)


class Hook(unittest.TestCase):
    def test_good_messages(self) -> None:
        for message in ("cgroup: put a process back\n", "tools, tests: build folder by folder\n\nThat takes half the time.\n", "python/sdk: x\n# a comment\n",
                        "run: a" + "é" * 66 + "\n", 'Revert "run: x"\n', "fixup! Anything\n"):
            with self.subTest(message=message):
                self.assertEqual(refusal_of(message), "")

    def test_bad_messages(self) -> None:
        for message, why in (("", "names no area"), ("put a process back\n", "names no area"), ("Cgroup: put\n", "names no area"), ("cgroup: Put\n", "names no area"),
                             ("cgroup:put\n", "names no area"), ("run: " + "a" * 68 + "\n", "has 73 characters"), ("run: end it.\n", "ends with a period"),
                             ("run: a\nb\n", "second line is not empty")):
            with self.subTest(message=message):
                self.assertIn(why, refusal_of(message))


class History(unittest.TestCase):
    def test_commits_since_the_rule(self) -> None:
        if git("merge-base", "--is-ancestor", LAST_WITHOUT_RULE, "HEAD").returncode != 0:
            self.skipTest("this tree has no history, or only a part of it")
        messages = git("log", "--no-merges", "--format=%B%x00", f"{LAST_WITHOUT_RULE}..HEAD").stdout.split("\0")
        broken = [refusal_of(message.lstrip("\n")) for message in messages if message.strip()]
        self.assertEqual([one for one in broken if one], [])


if __name__ == "__main__":
    unittest.main()
