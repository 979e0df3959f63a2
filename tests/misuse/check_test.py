# SPDX-License-Identifier: BSL-1.0
"""The judge of the misuse tests, judged: it has to be red for each way in which a misuse test can be worthless."""

import os
import pathlib
import tempfile
import unittest
import unittest.mock

import check

COMPILER = os.environ.get("RATION_TEST_COMPILER", "c++")
SENTENCE = "ration: too small"
GUARD = 'template <class T> void f(T) { static_assert(sizeof(T) > 4, "ration: too small"); }\n'


class Judge(unittest.TestCase):
    def complaint(self, text, *sentences):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "case.cpp"
            source.write_text(text)
            return check.complaint(COMPILER, [folder], str(source), *(sentences or [SENTENCE]))

    def test_a_good_case_passes(self):
        text = GUARD + "#ifdef RATION_MISUSE\nvoid use() { f('c'); }\n#else\nvoid use() { f(1L); }\n#endif\n"
        self.assertIsNone(self.complaint(text))

    def test_a_right_program_that_fails_is_no_proof(self):
        self.assertIn("right program does not compile", self.complaint(GUARD + "void use() { f('c'); }\n"))

    def test_a_wrong_program_that_compiles_is_no_proof(self):
        self.assertIn("wrong program compiles", self.complaint(GUARD + "void use() { f(1L); }\n"))

    def test_an_unrelated_error_is_no_proof(self):
        text = GUARD + "#ifdef RATION_MISUSE\n#include <no_such_header_at_all>\n#endif\nvoid use() { f(1L); }\n"
        self.assertIn("do not say", self.complaint(text))

    def test_every_sentence_has_to_be_there(self):
        text = GUARD + "#ifdef RATION_MISUSE\nvoid use() { f('c'); }\n#else\nvoid use() { f(1L); }\n#endif\n"
        self.assertIsNone(self.complaint(text, "ration: too small", "char"))
        self.assertIn("do not say /a name/", self.complaint(text, "ration: too small", "a name"))

    def test_the_marked_line_has_to_be_named(self):
        wrong = "#ifdef RATION_MISUSE\nvoid use() { f('c'); }  // [here]\n#else\nvoid use() { f(1L); }\n#endif\n"
        self.assertIsNone(self.complaint(GUARD + wrong))
        self.assertIn("do not say /case", self.complaint(GUARD + wrong.replace("  // [here]", "") + "int other;  // [here]\n"))

    def test_a_sentence_that_is_buried_is_no_help(self):
        noise = "".join(f"int x{i} = undeclared_{i};\n" for i in range(20))
        text = GUARD + "#ifdef RATION_MISUSE\n" + noise + "void use() { f('c'); }\n#endif\n"
        self.assertIn("do not say", self.complaint(text))

    def test_an_excerpt_below_a_line_buries_nothing(self):
        lines = ["case.cpp:1: note: before", "    1 | first", "      | ^~~~~"] * 9 + ["case.cpp:2: error: static assertion failed: ration: too small"]
        with unittest.mock.patch.object(check, "compile_source", side_effect=[(0, ""), (1, "\n".join(lines))]):
            self.assertIsNone(self.complaint(""))
        with unittest.mock.patch.object(check, "compile_source", side_effect=[(0, ""), (1, "\n".join(lines[:3] + lines))]):
            self.assertIn("do not say", self.complaint(""))


if __name__ == "__main__":
    unittest.main()
