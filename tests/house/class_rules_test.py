# SPDX-License-Identifier: BSL-1.0
import textwrap
import unittest

import class_rules
from cpp_classes import classes
from synthetic import SyntheticTree


def found(text):
    return [(one.name, one.line, one.methods) for one in classes(textwrap.dedent(text))]


class Methods(unittest.TestCase):
    def test_methods_are_counted_wherever_they_are_defined(self):
        self.assertEqual(found("""\
            class a final : public base<int(x)> {
            public:
                int one() const noexcept;
                [[nodiscard]] static result<void> two(int b = f(1)) { return {}; }
                template <class T>
                    requires has<T>
                void three(T const&);
                virtual void four() = 0;
                std::function<void(int)> member;
                int value_{0}, other_ = f(2);
                void (*pointer)(int);
            };
            """), [("a", 1, 4)])

    def test_special_functions_and_friends_are_not(self):
        self.assertEqual(found("""\
            struct a {
                a();
                explicit a(int b) : b_(b) {}
                ~a() noexcept;
                a(a const&) = delete;
                a& operator=(a const&) = default;
                bool operator()(int) const { return true; }
                friend bool same(a const&, a const&) noexcept;
                friend auto operator<=>(a, a) = default;
                using type = int(int);
                enum class kind : int { one };
                int b_;
            };
            """), [("kind", 11, 0), ("a", 1, 0)])

    def test_an_inner_class_has_its_own(self):
        self.assertEqual(found("""\
            namespace n {
            class outer {
                class inner { void x(); void y() {} };
                void z();
            };
            void free_function();
            }
            """), [("inner", 3, 2), ("outer", 2, 1)])


class Rules(SyntheticTree):
    def test_size(self):
        self.write("tools/a.hpp", "class a {\n" + "".join(f"    void m{i}();\n" for i in range(25)) + "};\n")
        self.assertEqual(self.found(class_rules.check_class_size), [])
        self.write("tools/a.hpp", "int x;\nclass a {\n" + "".join(f"    void m{i}();\n" for i in range(26)) + "};\n")
        self.assertEqual(self.found(class_rules.check_class_size), [("tools/a.hpp", 2)])
        self.assertIn("a has 26 methods", self.words(class_rules.check_class_size))

    def test_files(self):
        self.write("tools/x/a.hpp", "class a {\n    void m();\n    void n();\n};\n")
        self.write("tools/x/a.cpp", "void a::m() {}\nvoid a::n() {}\n")
        self.write("tools/y/other.cpp", "void a::m() {}\n")
        self.write("tools/x/free.cpp", "void b::m() {}\nvoid m() {}\n")
        self.assertEqual(self.found(class_rules.check_class_files), [])
        self.write("tools/x/a_more.cpp", "int x;\nvoid a::n() {}\n")
        self.assertEqual(self.found(class_rules.check_class_files), [("tools/x/a_more.cpp", 2)])


if __name__ == "__main__":
    unittest.main()
