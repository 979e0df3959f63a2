# SPDX-License-Identifier: BSL-1.0
"""Each command of the README and of docs/ can be run: the program parses its own, and scripts and benchmarks are there."""
import os
import pathlib
import re
import shlex
import subprocess
import unittest
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BENCHMARKS = [*PAGES, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "bench").rglob("*.md"))]
SCRIPT = re.compile(r"(bench|cmake|tests|examples)/[\w./-]+\.sh")
OPERATORS = re.compile(r"[();|&]+")


def tokens_of(text: str) -> list[str]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    return list(lexer)


def statements(block: str, language: str) -> Iterator[list[str]]:
    """The tokens of each statement of a block. In a console only lines behind a prompt are statements."""
    pending, end = "", None
    for line in block.replace("\\\n", " ").splitlines():
        if end is not None:  # in a here-document
            end = None if line == end else end
            continue
        if not pending and language == "console":
            if not line.startswith("$ "):
                continue
            line = line[2:]
        pending += line + "\n"
        try:
            tokens = tokens_of(pending)
        except ValueError:  # an open quote
            continue
        pending = ""
        if "<<" in tokens:
            end = tokens[tokens.index("<<") + 1]
        yield tokens
    if pending:
        raise ValueError(f"a quote is never closed: {pending}")


def simple_commands(tokens: list[str]) -> Iterator[list[str]]:
    """The statement without operators and redirections."""
    words: list[str] = []
    target = False
    for token in [*tokens, ";"]:
        if target:
            target = False
        elif token and set(token) <= set("<>&") and set(token) & set("<>"):
            words = words[:-1] if words and words[-1].isdigit() else words
            target = True
        elif OPERATORS.fullmatch(token):
            if words:
                yield words
            words = []
        else:
            words.append(token)


def own_words(command: list[str]) -> Iterator[list[str]]:
    """The words behind `ration`, also where another program starts it or an argument has it."""
    for i, word in enumerate(command):
        if pathlib.PurePath(word).name == "ration" and i + 1 < len(command):
            yield command[i + 1 :]
            return
        if re.search(r"(^|\s)(\S*/)?ration\s", word):
            yield from own_words(tokens_of(word))


def blocks(page: pathlib.Path) -> Iterator[tuple[str, str]]:
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE):
        if language in ("", "sh", "console"):
            yield language, block


class Commands(unittest.TestCase):
    def commands(self) -> Iterator[tuple[pathlib.Path, list[str]]]:
        shown = subprocess.run([os.environ["RATION_PROGRAM"], "--help"], capture_output=True, text=True, timeout=60, check=True).stdout
        known = set(re.findall(r"^  ([a-z-]+) ", shown, re.MULTILINE))
        self.assertLessEqual({"run", "sim", "serve"}, known)
        for page in PAGES:
            for language, block in blocks(page):
                if language:
                    yield from ((page, command) for tokens in statements(block, language) for command in simple_commands(tokens))
                    continue
                for line in block.splitlines():  # perhaps the output of a program
                    found = re.match(r"\S*\bration (\S+)", line)
                    if (found and found[1] in known) or SCRIPT.match(line):
                        yield from ((page, command) for command in simple_commands(tokens_of(line)))

    def test_the_program_parses_its_commands(self) -> None:
        asked = [(page, words) for page, command in self.commands() for words in own_words(command)]
        self.assertGreater(len(asked), 90)
        done = subprocess.run([os.environ["RATION_PARSE"]], input="".join("\x1f".join(words) + "\n" for _, words in asked), capture_output=True,
                              text=True, timeout=100, check=True)
        refused = [f"{page.name}: ration {shlex.join(words)}: {why}" for (page, words), why in zip(asked, done.stdout.split("\n")) if why]
        self.assertEqual(refused, [])

    def test_a_wrong_command_is_refused(self) -> None:
        done = subprocess.run([os.environ["RATION_PARSE"]], input="sim\x1f--polcy\x1ffifo\nrun\x1fa file.toml\nsimulate\n", capture_output=True,
                              text=True, timeout=100, check=True)
        first, second, third = done.stdout.splitlines()
        self.assertIn("--polcy", first)
        self.assertEqual(second, "")
        self.assertIn("unknown command 'simulate'", third)

    def test_scripts_are_there(self) -> None:
        found = 0
        for page, command in self.commands():
            if SCRIPT.fullmatch(command[0]):
                found += 1
                self.assertTrue(os.access(ROOT / command[0], os.X_OK), f"{page.name}: {command[0]}")
        self.assertGreater(found, 3)

    def test_benchmarks_are_there(self) -> None:
        asked = subprocess.run([ROOT / "bench/run.sh"], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(asked.returncode, 2)
        names = set(asked.stderr.partition("name a benchmark: ")[2].split())
        programs = {name for lists in (ROOT / "bench").rglob("CMakeLists.txt") for name in re.findall(r"add_executable\(\s*bench\.([^\s)]+)", lists.read_text())}
        self.assertLessEqual(programs, names)
        self.assertIn("published.ai4dl", programs)
        for page in BENCHMARKS:
            for name in re.findall(r"bench/run\.sh ([^\s`<]+)", page.read_text()):
                self.assertIn(name, {*names, "NAME"}, page)


class Reading(unittest.TestCase):
    def words(self, block: str, language: str = "sh") -> list[list[str]]:
        return [words for tokens in statements(block, language) for command in simple_commands(tokens) for words in own_words(command)]

    def test_shell(self) -> None:
        self.assertEqual(self.words("A=1 build/bin/ration run 'a b' 2> log &  # text\ncat <<'E'\nration run\nE\nx | ration list; ration top\n"),
                         [["run", "a b"], ["list"], ["top"]])
        self.assertEqual(self.words("ration run --nodes 'ssh {host} ration node' \\\n  --hosts n1\nsystemctl start ration\n"),
                         [["run", "--nodes", "ssh {host} ration node", "--hosts", "n1"]])
        self.assertEqual(self.words("salloc -N2 ration run --nodes 'ssh {host} /opt/ration node'\n"), [["run", "--nodes", "ssh {host} /opt/ration node"]])
        self.assertEqual(self.words("ration list\n$ ration run \"a\nb\"\nration runs\n", "console"), [["run", "a\nb"]])


if __name__ == "__main__":
    unittest.main()
