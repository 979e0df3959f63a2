# SPDX-License-Identifier: BSL-1.0
"""abi.h alone is clean C99, C11, C17 and C++11 to C++20, with each compiler given."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include"
STANDARDS = {"c": ("c99", "c11", "c17"), "c++": ("c++11", "c++14", "c++17", "c++20")}
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only")
USE = '#include <ration/plugin/abi.h>\nint main(void) { return RATION_OK; }\n'
COMPILERS = [word for word in sys.argv[1:] if os.path.exists(word)]


def compiled(compiler: str, language: str, standard: str, source: str, include=INCLUDE) -> subprocess.CompletedProcess:
    with tempfile.NamedTemporaryFile("w", suffix=".c" if language == "c" else ".cpp") as file:
        file.write(source)
        file.flush()
        return subprocess.run([compiler, "-x", language, f"-std={standard}", *STRICT, f"-I{include}", file.name],
                              capture_output=True, text=True)


def pairs():
    """A C compiler is asked for C, a C++ compiler for C++."""
    for compiler in COMPILERS:
        for language, standards in STANDARDS.items():
            if ("++" in os.path.basename(compiler)) == (language == "c++"):
                for standard in standards:
                    yield compiler, language, standard


class Header(unittest.TestCase):
    def test_it_is_clean_in_every_standard(self) -> None:
        self.assertTrue(COMPILERS)
        for pair in pairs():
            with self.subTest(pair):
                done = compiled(*pair, USE)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_swapped_fields_do_not_compile(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            header = pathlib.Path(folder) / "ration/plugin/abi.h"
            header.parent.mkdir(parents=True)
            right = (INCLUDE / "ration/plugin/abi.h").read_text()
            header.write_text(right.replace("uint32_t job, node;", "uint32_t node, job;"))
            self.assertNotEqual(right, header.read_text())
            for pair in pairs():
                with self.subTest(pair):
                    self.assertRegex(compiled(*pair, USE, folder).stderr, "ABI change|ration_abi_change")



if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
