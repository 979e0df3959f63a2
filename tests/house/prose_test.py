# SPDX-License-Identifier: BSL-1.0
import unittest

from synthetic import SyntheticTree
from prose import check_page, check_prose, paragraphs, sentences


def faults(text):
    return [problem.text for problem in check_page("a.md", text)]


class Sentences(unittest.TestCase):
    def test_code_blocks_tables_and_headings_are_not_prose(self):
        text = "# What\n\nOne line\ngoes here.\n\n```sh\nwhat is this\n```\n| who | what |\n- first item\n- second `a; b` item\n<!-- region: x -->\n"
        self.assertEqual(list(paragraphs(text)), [(3, "One line goes here."), (10, "first item"), (11, "second `a; b` item")])

    def test_a_sentence_ends_before_a_capital(self):
        self.assertEqual(sentences("It takes 0.3 s, i.e. less. `ration` ends. See [the page](a.md#b)."), ["It takes 0.3 s, i.e. less.", "CODE ends.", "See the page."])


class Rules(unittest.TestCase):
    def test_plain_english_passes(self):
        self.assertEqual(faults("`ration run` allocates the cores of one machine. Each job reports its loss: the policy reads it.\n\n- A job that ends frees its cores.\n"), [])

    def test_each_fault_is_found(self):
        """The sentences stood in these pages before."""
        for text, fault in (
            ("What a run that was killed has left there is replaced.", "begins with a relative"),
            ("Nobody who asks can hold a run up.", "'Nobody'"),
            ("The only clock and dice are the tick's, so many ticks on.", "'so many'"),
            ("It is no job of this file.", "'is no job'"),
            ("Jobs are told to stop.", "'told'"),
            ("A run that was stopped goes on.", "'goes on'"),
            ("| Nobody |", "'Nobody'"),
            ("## Nobody", "'Nobody'"),
            ("One: two; three.", "more than one colon or semicolon"),
            (" ".join(["word"] * 41) + ".", "a sentence of 41 words"),
            (" ".join(["Word"] * 26) + ".\n\nShort.", "1 of 2 sentences"),
        ):
            with self.subTest(text=text):
                self.assertTrue(any(fault in one for one in faults(text)), faults(text))

    def test_one_long_sentence_in_ten_may_be(self):
        self.assertEqual(faults(" ".join(["Word"] * 26) + ".\n\n" + "Short.\n\n" * 9), [])


class Pages(SyntheticTree):
    def test_every_page_keeps_the_rules(self):
        for page in ("README.md", "docs/adr/new.md"):
            self.write(page, "# A\n\nNobody reads this.\n")
        self.write("tests/notes.md", "# A\n\nNobody reads this.\n")
        self.assertEqual(self.found(check_prose), [("README.md", 3), ("docs/adr/new.md", 3)])


if __name__ == "__main__":
    unittest.main()
