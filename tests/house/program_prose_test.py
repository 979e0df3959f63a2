# SPDX-License-Identifier: BSL-1.0
import unittest

from program_prose import check_comments, check_messages
from synthetic import SyntheticTree


class Words(SyntheticTree):
    def setUp(self):
        super().setUp()
        self.write("tools/a.cpp", 'char const* a = "good";\n// it says\nauto b = "it says so";\nauto c = R"(\n it is no number)";\n'
                                  '#error "it knows none"\n/* `says` */ auto d = "says";\n')
        self.write("python/a.py", '"""It says."""\n\n\ndef f(x):\n    """It says."""\n    g("says")  # nobody\n    return f"it says {x}"\n')
        self.write("tests/a.cpp", 'auto a = "it says so";  // nobody\n')

    def test_the_messages_of_programs_keep_the_words(self):
        self.assertEqual(self.found(check_messages), [("python/a.py", 7), ("tools/a.cpp", 3), ("tools/a.cpp", 4), ("tools/a.cpp", 6)])

    def test_comments_and_docstrings_keep_the_words(self):
        self.assertEqual(self.found(check_comments), [("python/a.py", 1), ("python/a.py", 5), ("python/a.py", 6), ("tests/a.cpp", 1), ("tools/a.cpp", 2)])


if __name__ == "__main__":
    unittest.main()
