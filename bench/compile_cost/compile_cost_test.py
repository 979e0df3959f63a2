# SPDX-License-Identifier: BSL-1.0
"""The gate on the compile cost can be red, for lines and for instantiations, and counts the same twice."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import compile_cost

HEAVY_LINES = "#pragma once\n" + "extern int a;\n" * 60000
HEAVY_TEMPLATES = """\
#pragma once
template <int N> struct chain { chain<N - 1> next; };
template <> struct chain<0> {};
template <int... N> struct chains : chain<N>... {};
inline chain<500> a;
template <int N> struct other { other<N - 1> next; };
template <> struct other<0> {};
""" + "".join(f"template <int N> struct c{i} {{ c{i}<N - 1> next; }};\ntemplate <> struct c{i}<0> {{}};\ninline c{i}<400> v{i};\n"
              for i in range(15))


class Gate(unittest.TestCase):
    def run_on(self, text):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "made_up.hpp").write_text(text)
            done = subprocess.run([sys.executable, compile_cost.__file__, "--include", folder, "--header", "made_up.hpp"],
                                  capture_output=True, text=True, check=False)
            return done.returncode, done.stdout

    def test_a_lean_header_passes(self):
        self.assertEqual(self.run_on("#pragma once\n#include <span>\n")[0], 0)

    def test_lines_alone_turn_it_red(self):
        status, said = self.run_on(HEAVY_LINES)
        self.assertEqual(status, 1)
        self.assertIn("baseline: preprocessed lines.", said)

    def test_instantiations_alone_turn_it_red(self):
        status, said = self.run_on(HEAVY_TEMPLATES)
        self.assertEqual(status, 1)
        self.assertIn("baseline: instantiations.", said)
        self.assertIn("c7<400>", said)

    def test_the_counts_repeat(self):
        counts = {len(compile_cost.instantiations("clang++-19", [], ["variant"])) for _ in range(3)}
        self.assertEqual(len(counts), 1)

    def test_a_header_that_does_not_compile_is_no_pass(self):
        self.assertEqual(self.run_on("#include <no_such_header_at_all>\n")[0], 1)


if __name__ == "__main__":
    for compiler in ("g++", "clang++-19"):
        if shutil.which(compiler) is None:
            print(f"skipped: {compiler} is not installed")
            sys.exit(77)
    unittest.main()
