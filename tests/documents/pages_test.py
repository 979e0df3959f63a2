# SPDX-License-Identifier: BSL-1.0
"""The manual pages contain the text of --help, and mandoc and groff report no fault in them."""
import re
import shutil
import subprocess
import unittest

from support import Installed, helps, main, options_of


def plain(page: str) -> str:
    """The page's text without what is for troff."""
    page = re.sub(r"\\f.", "", re.sub(r"^\.\w+ ?", "", page, flags=re.M))
    for mark, letter in ((r"\-", "-"), (r"\(aq", "'"), (r"\(ga", "`"), (r"\(ha", "^"), (r"\(ti", "~"), (r"\&", ""), (r"\e", "\\")):
        page = page.replace(mark, letter)
    return page


class Pages(Installed):
    def pages(self):
        return sorted((self.prefix / "share" / "man" / "man1").iterdir())

    @staticmethod
    def page_of(command: str) -> str:
        return "-".join(["ration", *command.split()]) + ".1"

    def test_there_is_one_for_each_command(self) -> None:
        expected = {self.page_of(command) for command in helps()}
        self.assertEqual({page.name for page in self.pages()}, expected)

    def test_they_say_what_help_says(self) -> None:
        for command, said in helps().items():
            text = plain((self.prefix / "share" / "man" / "man1" / self.page_of(command)).read_text())
            self.assertEqual([re.findall(r"--[a-z-]+", line)[0] for line in re.findall(r"^(?:-\w, )?--[a-z-]+.*$", text, re.M)], options_of(said), command)
            words = " ".join(text.split())
            for line in said[said.index("ptions:"):].split("\nExample")[0].splitlines():  # each column of the help, in the page's own layout
                about = re.sub(r"^  \S.*?(  +|(?= Excludes))", "", line).strip()
                if excluded := re.match(r"Excludes: ((?:--[a-z-]+ ?)+)", about):
                    self.assertIn(f"Not with {', '.join(sorted(excluded[1].split()))}.", words, command)
                    about = about[excluded.end():].strip()
                if bounds := re.search(r"(?:INT|FLOAT) in \[(.*?)\]", about or line):
                    self.assertIn(f"A number in the range {bounds[1]}.", words, command)
                if about and not about.startswith("--") and line.startswith(" "):
                    self.assertIn(about.removesuffix("REQUIRED").strip(), words, command)

    @unittest.skipUnless(shutil.which("mandoc"), "mandoc is not installed")
    def test_mandoc_has_nothing_to_warn_of(self) -> None:
        for page in self.pages():
            said = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page], capture_output=True, text=True, check=False).stdout
            # The pages are the same for every day on which they are built.
            self.assertEqual([line for line in said.splitlines() if "missing date" not in line], [])

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_groff_has_nothing_to_warn_of(self) -> None:
        for page in self.pages():
            done = subprocess.run(["groff", "-man", "-T", "utf8", "-ww", page], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), page)


if __name__ == "__main__":
    main()
