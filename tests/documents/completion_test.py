# SPDX-License-Identifier: BSL-1.0
"""Completion, by typing into the shells themselves."""
import os
import pty
import re
import select
import shutil
import subprocess
import tempfile
import time
import unittest

from support import RATION, Installed, helps, main, options_of


class Terminal:
    """A shell on a separate terminal, that answers each line with the words of the completed command."""

    def __init__(self, command: list[str], folder: str, setup: str):
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.environ.update(TERM="dumb", INPUTRC="/dev/null", HISTFILE="/dev/null", PS1="$ ", ZDOTDIR=folder)
            os.execvp(command[0], command)
        self.seen = ""
        self.type(setup + "\n" + "echo READ''Y\n")
        self.wait_for("READY")

    def type(self, text: str) -> None:
        os.write(self.end, text.encode())

    def wait_for(self, pattern: str) -> re.Match:
        deadline = time.monotonic() + 20
        while not (match := re.search(pattern, self.seen)):
            if not select.select([self.end], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise AssertionError(f"waited for {pattern} in vain: {self.seen!r}")
            self.seen += os.read(self.end, 65536).decode(errors="replace")
        self.seen = self.seen[match.end():]
        return match

    def words(self, line: str) -> list[str]:
        """What the shell makes of the line, with its tabs, when it is entered."""
        self.type(line + "\n")
        return self.wait_for(r"<<\[(.*?)\]>>")[1].split("][")

    def close(self) -> None:
        os.close(self.end)  # hangs up
        os.waitpid(self.pid, 0)


class Completion(Installed):
    # Typed, and what comes of it. A file is `jobs file.toml`, a plugin `libmine.so`.
    CASES = (("ration doc\t", ["doctor"]),
             ("ration run --pol\ttrad\t", ["run", "--policy", "tradl"]),
             ("ration run --policy=trad\t", ["run", "--policy=tradl"]),
             ("ration run --compare none,equ\t", ["run", "--compare", "none,equal_share"]),
             ("ration sim --policy none,tradl,equ\t", ["sim", "--policy", "none,tradl,equal_share"]),
             ("ration run jo\t", ["run", "jobs file.toml"]),
             ("ration run --quiet jo\t", ["run", "--quiet", "jobs file.toml"]),
             ("ration run --log jo\t", ["run", "--log", "jobs file.toml"]),
             ("ration run --policy ./lib\t", ["run", "--policy", "./libmine.so"]),
             ("ration run --backend pro\t", ["run", "--backend", "process"]),
             ("ration measure sca\tjo\t", ["measure", "scaling", "jobs file.toml"]),
             ("ration measure scaling --jo\tvae --wri\t", ["measure", "scaling", "--job", "vae", "--write"]),
             ("ration new --lang ru\t", ["new", "--lang", "rust"]),
             ("ration doctor jo\t", ["doctor", "jo"]),
             ("ration --ver\t", ["--version"]))
    SHOW = """ration() { printf '<<'; printf '[%s]' "$@"; printf '>>\\n'; }"""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="ration-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for name in ("jobs file.toml", "libmine.so"):
            with open(os.path.join(self.folder, name), "w", encoding="ascii"):
                pass

    def file_of(self, shell: str) -> str:
        places = {"bash": "bash-completion/completions/ration", "zsh": "zsh/site-functions/_ration", "fish": "fish/vendor_completions.d/ration.fish"}
        return str(self.prefix / "share" / places[shell])

    def test_bash(self) -> None:
        shell = Terminal(["bash", "--norc", "--noprofile", "-i"], self.folder, f"bind 'set bell-style none'; source '{self.file_of('bash')}'; {self.SHOW}")
        self.addCleanup(shell.close)
        for typed, expected in self.CASES:
            self.assertEqual(shell.words(typed), expected, typed)

    def offered_by_fish(self, line: str) -> list[str]:
        done = subprocess.run(["fish", "--no-config", "-c", f"source '{self.file_of('fish')}'; complete -C \"$argv\"", line], cwd=self.folder,
                              env=dict(os.environ, HOME=self.folder), capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, "")
        return [answer.split("\t")[0] for answer in done.stdout.splitlines()]

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish(self) -> None:
        for typed, expected in self.CASES:
            line = typed.split("\t")[0]
            if typed.count("\t") == 1:
                offered = self.offered_by_fish(line)
                self.assertEqual(offered, [] if line.endswith(" " + expected[-1]) else expected[-1:], typed)
        self.assertEqual(self.offered_by_fish("ration run --pol"), ["--policy"])

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh(self) -> None:
        folder = os.path.dirname(self.file_of("zsh"))
        shell = Terminal(["zsh", "-f", "-i"], self.folder, f"unsetopt beep zle_bracketed_paste; fpath=('{folder}' $fpath); autoload -Uz compinit; compinit -u -D; {self.SHOW}")
        self.addCleanup(shell.close)
        for typed, expected in self.CASES:
            # It puts '=' behind an option that takes a value.
            self.assertEqual("=".join(shell.words(typed)), "=".join(expected), typed)

    def test_every_option_of_help_is_offered(self) -> None:
        with open(self.file_of("bash"), encoding="utf-8") as file:
            text = file.read()
        policies = subprocess.run([RATION, "policies", "--json"], capture_output=True, text=True, check=True).stdout
        for command, said in helps().items():
            offered = re.search(rf"^ +'{command}'\) if .* words='([^']*)'; else", text, re.M)[1].split()
            self.assertEqual(offered, options_of(said), command)
        names = re.search(r"'run --policy'\) words='([^']*)'", text)[1].split()
        self.assertTrue(all(f'"{name}"' in policies for name in names) and len(names) >= 20, names)


if __name__ == "__main__":
    main()
