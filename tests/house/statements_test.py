# SPDX-License-Identifier: BSL-1.0
import pathlib
import tempfile
import unittest

from statements import check_comma_statements
from tree import Tree

JOINED = ("a(), b();", "x = 1, y = 2;", "return f(), true;", "if (a) b = 1, c();", "for (;;) ++i, f(i);", "else p->q(1), r.s(2);", "out << 1, f();",
          "case 3: a = 1, b = 2;", "v.push_back([] { f(); }), g();")
SEPARATE = ("int a = 1, b = 2;", "std::map<int, int> m;", "auto [a, b] = f(1, 2);", "f(a, b);", "for (int i = 0; i < 3; ++i, --j) f();", "return {a, b};",
            "foo<int, 3 + 1> x{};", "enum { a, b };", "x = {1, 2};", "char const *a, *b;", "int (*f)(void) = 0, (*g)(int) = 0;", "using m = map<a, b>;",
            "static_assert(a, \"b\");", "return map<int, int>{};", "f(\"a, b\"); // c, d", "auto l = [a, b] { return g(a, b); };")


class Statements(unittest.TestCase):
    def found(self, body):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "a.cpp").write_text(f"void f() {{\n    {body}\n}}\n")
            return [problem.line for problem in check_comma_statements(Tree(folder))]

    def test_joined_statements_are_found(self):
        for body in JOINED:
            with self.subTest(body=body):
                self.assertEqual(self.found(body), [2])

    def test_other_commas_are_not(self):
        for body in SEPARATE:
            with self.subTest(body=body):
                self.assertEqual(self.found(body), [])

    def test_a_constructor_with_members(self):
        self.assertEqual(self.found("struct s { int a, b; s(int x, int y) : a(x), b(y) {} void g(); };"), [])


if __name__ == "__main__":
    unittest.main()
