# SPDX-License-Identifier: BSL-1.0
import unittest

from documents import anchors, check_commands, check_links, check_regions
from synthetic import SyntheticTree

SOURCE = """\
int before;
    // [shown]
    int a;
        int b;
    // [shown]
int after;
// [open]
"""


class Regions(SyntheticTree):
    def document(self, comment, code):
        self.write("examples/a.cpp", SOURCE)
        self.write("docs/a.md", f"# A\n\n{comment}\n```cpp\n{code}\n```\n")
        return self.found(check_regions)

    def test_the_same_text_without_common_indentation(self):
        self.assertEqual(self.document("<!-- region: examples/a.cpp#shown -->", "int a;\n    int b;"), [])

    def test_what_goes_wrong(self):
        right = "int a;\n    int b;"
        for comment, code in (
            ("<!-- region: examples/a.cpp#shown -->", "int a;\n    int c;"),
            ("<!-- region: examples/a.cpp#shown -->", "int a;"),
            ("<!-- region: examples/a.cpp#gone -->", right),
            ("<!-- region: examples/a.cpp#open -->", right),
            ("<!-- region: examples/b.cpp#shown -->", right),
            ("typed by hand:", right),
        ):
            with self.subTest(comment=comment, code=code):
                self.assertEqual(self.document(comment, code), [("docs/a.md", 4)])

    def test_other_languages_may_be_tied_and_need_not(self):
        self.write("examples/a.py", "# [x]\na = 1\n# [x]\n")
        self.write("docs/a.md", "```sh\nls\n```\n\n<!-- region: examples/a.py#x -->\n```python\na = 2\n```\n")
        self.assertEqual(self.found(check_regions), [("docs/a.md", 6)])


class Commands(SyntheticTree):
    TEST = "tests/tutorial/tutorial_test.py"

    def test_only_blocks_that_are_run(self):
        self.write("docs/tutorial.md", "```console\n$ ls\n```\n\n```sh\nls\n```\n\n```\nls\n```\n\n```cpp\nint a;\n```\n")
        self.assertEqual(self.found(check_regions), [("docs/tutorial.md", line) for line in (5, 9, 13)])

    def test_other_documents_may_show_commands(self):
        self.write("docs/a.md", "```sh\nls\n```\n")
        self.assertEqual(self.found(check_regions), [])

    def test_the_test_is_there_and_runs_this_document(self):
        self.write("docs/tutorial.md", "# A\n")
        self.assertEqual(self.found(check_commands), [("docs/tutorial.md", 1)])
        self.write(self.TEST, "DOCUMENT = 'docs/other.md'\n")
        self.assertEqual(self.found(check_commands), [("docs/tutorial.md", 1)])
        self.write(self.TEST, "DOCUMENT = 'docs/tutorial.md'\n")
        self.assertEqual(self.found(check_commands), [])


class Links(SyntheticTree):
    def setUp(self):
        super().setUp()
        self.write("docs/b.md", "# Two words, `code`!\n\n## Twice\n\n## Twice\n")
        self.write("LICENSE", "text\n")

    def test_links_that_lead_somewhere(self):
        self.write("docs/a.md", "# Here\n[a](b.md) [b](b.md#two-words-code) [c](../LICENSE) [d](#here) [e](https://example.org/x) [f](.)\n"
                   "[g](b.md#twice-1)\n`[h](gone.md)`\n```\n[i](gone.md)\n```\n")
        self.assertEqual(self.found(check_links), [])

    def test_links_that_do_not(self):
        for target in ("gone.md", "b.md#gone", "#gone", "../docs/gone/", "b.md#twice-2"):
            with self.subTest(target=target):
                self.write("docs/a.md", f"# Here\n\n[a]({target})\n")
                self.assertEqual(self.found(check_links), [("docs/a.md", 3)])

    def test_pictures(self):
        self.write("docs/a.md", "![a](gone.png)\n")
        self.assertEqual(self.found(check_links), [("docs/a.md", 1)])

    def test_anchors(self):
        self.assertEqual(anchors("# Two words, `code`!\n## Twice\n## Twice\n```\n# not one\n```\n"), {"two-words-code", "twice", "twice-1"})


if __name__ == "__main__":
    unittest.main()
