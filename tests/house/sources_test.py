# SPDX-License-Identifier: BSL-1.0
import unittest

import sources
from synthetic import SPDX, SyntheticTree


class Licence(SyntheticTree):
    def test_the_first_line_of_each_kind_of_file(self):
        hashed = "# " + sources.LICENCE + "\n"
        self.write("include/ration/a.hpp", SPDX)
        self.write("tests/a.py", hashed)
        self.write("tests/run.sh", "#!/bin/sh\n" + hashed)
        self.write(".ci/run", "#!/bin/sh\n" + hashed)
        self.write("CMakeLists.txt", hashed)
        self.write("README.md", "# Title\n")
        self.write("CMakePresets.json", "{}\n")
        self.write("tests/__init__.py", "")
        self.assertEqual(self.found(sources.check_licence), [])

    def test_missing_or_late_or_another(self):
        self.write("include/ration/a.hpp", "#pragma once\n" + SPDX)
        self.write("tests/b.py", "import os\n")
        self.write("tests/run.sh", "#!/bin/sh\nset -eu\n")
        self.write("tools/c.cpp", "// SPDX-License-Identifier: MIT\n")
        self.assertEqual(self.found(sources.check_licence),
                         [("include/ration/a.hpp", 1), ("tests/b.py", 1), ("tests/run.sh", 2), ("tools/c.cpp", 1)])


class Executable(SyntheticTree):
    def test_a_script_with_an_interpreter(self):
        self.write("tests/a.py", "#!/usr/bin/env python3\n")
        self.write("tests/b.py", "import os\n")
        self.assertEqual(self.found(sources.check_executable), [("tests/a.py", 1)])
        (self.root / "tests/a.py").chmod(0o755)
        self.assertEqual(self.found(sources.check_executable), [])


class Length(SyntheticTree):
    def test_files(self):
        self.write("tools/a.cpp", "int a;\n" * 400)
        self.assertEqual(self.found(sources.check_file_length), [])
        self.write("tools/b.cpp", "int a;\n" * 401)
        self.assertEqual(self.found(sources.check_file_length), [("tools/b.cpp", 401)])

    def test_functions(self):
        self.write("tools/a.cpp", "int a;\nvoid f() {\n" + "    a = 1;\n" * 38 + "}\n")
        self.write("tests/a.py", "def f():\n" + "    a = 1\n" * 39)
        self.assertEqual(self.found(sources.check_function_length), [])
        self.write("tools/a.cpp", "int a;\nvoid f() {\n" + "    a = 1;\n" * 39 + "}\n")
        self.write("tests/a.py", "def f():\n" + "    a = 1\n" * 40)
        self.assertEqual(self.found(sources.check_function_length), [("tests/a.py", 1), ("tools/a.cpp", 2)])

    def test_what_cannot_be_read_is_not_passed_over(self):
        self.write("tools/a.cpp", "void f() {\n")
        self.write("tests/a.py", "def f(:\n")
        self.assertEqual(self.found(sources.check_function_length), [("tests/a.py", 1), ("tools/a.cpp", 1)])


class Words(SyntheticTree):
    def test_machine_paths(self):
        for path in ("/ro" + "ot/x1", "/ho" + "me/somebody/data", "/tmp/" + "build-me"):
            self.write("docs/a.md", "fine: /sys/fs/cgroup, ~/work, a/home/b, /home/a\nsee " + path + "\n")
            self.assertEqual(self.found(sources.check_machine_paths), [("docs/a.md", 2)])

    def test_inputs_are_opened_by_one_function(self):
        self.write("tools/ration/a.cpp", '// ifstream\nchar const* a = "fopen"; int b = ::open("x", O_WRONLY);\n')
        self.write("tools/ration/new/c/policy.c", "int b = open(0, O_RDONLY);\n")
        self.write("tests/a.cpp", "std::ifstream a;\n")
        self.assertEqual(self.found(sources.check_inputs), [])
        self.write("tools/ration/b.cpp", "int a;\nstd::ifstream b;\nauto c = std::fopen(d, e);\nint f = ::open(d, O_RDONLY | O_CLOEXEC);\n")
        self.assertEqual(self.found(sources.check_inputs), [("tools/ration/b.cpp", 2), ("tools/ration/b.cpp", 3), ("tools/ration/b.cpp", 4)])

    def test_nothing_thrown_below(self):
        self.write("tools/a.cpp", "void f() { throw 1; }\n")
        self.write("include/ration/a.hpp", '// throw\nchar const* a = "throw";\n')
        self.assertEqual(self.found(sources.check_nothing_thrown), [])
        self.write("backends/p/a.hpp", "void f()\n{ throw 1; }\n")
        self.assertEqual(self.found(sources.check_nothing_thrown), [("backends/p/a.hpp", 2)])


if __name__ == "__main__":
    unittest.main()
