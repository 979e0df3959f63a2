# SPDX-License-Identifier: BSL-1.0
import pathlib
import shutil
import tempfile
import unittest

from format import unformatted

PROGRAM = shutil.which("clang-format-19")


@unittest.skipUnless(PROGRAM, "clang-format-19 is not installed")
class Format(unittest.TestCase):
    def complaints(self, text):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / ".clang-format").write_text((pathlib.Path(__file__).parents[2] / ".clang-format").read_text())
            (pathlib.Path(folder) / "a.cpp").write_text(text)
            return unformatted(PROGRAM, folder, ["a.cpp"])

    def test_formatted(self):
        self.assertEqual(self.complaints("int f(int a) {\n    if (a) return 1;\n    return 2;\n}\n"), [])

    def test_braces_and_columns(self):
        for text in ("int f(int a) {\n    if (a) {\n        return 1;\n    }\n    return 2;\n}\n", "int f() { return 1  ; }\n",
                     f"int {'a' * 60} = {'1 + ' * 20}1;\n"):
            with self.subTest(text=text):
                self.assertEqual(len(self.complaints(text)), 1)


if __name__ == "__main__":
    unittest.main()
