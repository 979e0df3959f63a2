# SPDX-License-Identifier: BSL-1.0
"""The scanner finds each function, with its lines, and takes nothing else for one."""

import textwrap
import unittest

from cpp_functions import UnbalancedBraces, functions


def found(text):
    return [(one.name, one.first_line, one.last_line) for one in functions(textwrap.dedent(text))]


def names(text):
    return [one.name for one in functions(textwrap.dedent(text))]


class Plain(unittest.TestCase):
    def test_lines_are_those_of_the_whole_function(self):
        self.assertEqual(found("""\
            int f(int a,
                  int b) {
                if (a) {
                    return b;
                }
                return 0;
            }
            void g() {}
            """), [("f", 1, 7), ("g", 8, 8)])

    def test_declarations_and_variables_are_no_functions(self):
        self.assertEqual(names("""\
            int f(int a = g(1));
            std::vector<int> const table{
                1, 2};
            std::array<int, size(3)> other{
                1};
            int const more[] = {f(1),
                f(2)};
            options given = make({.a = 1}, other{2});
            """), [])

    def test_namespaces_and_types_are_looked_into(self):
        self.assertEqual(names("""\
            namespace a::b { inline namespace v1 { namespace {
            class alignas(16) [[nodiscard]] c final : public base<decltype(x())> {
            public:
                c() = default;
                int m() const noexcept { return 1; }
            private:
                struct inner { void n() {} };
                int value_{0}, other_ = {1};
            };
            enum class colour : unsigned { red = 1, green };
            extern "C" { void in_c(void) {} }
            extern "C" void also_in_c(void) {}
            union u { int a; void o() {} };
            class RATION_API exported : base { void p() {} };
            }}}
            """), ["m", "n", "in_c", "also_in_c", "o", "p"])

    def test_elaborated_return_types(self):
        self.assertEqual(names("struct stat look(int d) { return {}; }\nenum colour pick() { return red; }"), ["look", "pick"])

    def test_operators_and_qualified_names(self):
        self.assertEqual(names("""\
            bool operator==(a x, a y) { return true; }
            struct s {
                int operator()(int a) const { return a; }
                int operator[](int a) { return a; }
                explicit operator bool() const noexcept { return true; }
                s& operator=(s const&) & { return *this; }
                ~s() { }
            };
            void s::t::run() { }
            s::t::~t() { }
            """), ["operator==", "operator()", "operator[]", "operatorbool", "operator=", "~s", "s::t::run", "s::t::~t"])


class Templates(unittest.TestCase):
    def test_template_lines_count(self):
        self.assertEqual(found("""\
            template <class T, int N = (3 > 2), class U = std::pair<T, std::vector<T>>>
                requires std::same_as<T, U> && (N > 1)
            [[nodiscard]] auto f(T t) -> std::vector<T> {
                return {t};
            }
            """), [("f", 1, 5)])

    def test_requires_clauses_and_expressions(self):
        self.assertEqual(names("""\
            template <class T> concept has_x = requires(T t) {
                { t.x() } noexcept -> std::same_as<int>;
                requires requires { typename T::type; };
            } && sizeof(T) >= 4;
            template <class T> void f(T t) requires requires(T u) { u.x(); } { t.x(); }
            template <class T> void g(T t) requires has_x<T> { t.x(); }
            template <class T> void h(T t) requires(sizeof(T) > 4) { t.x(); }
            template <class T> requires(!std::is_same_v<T, int>) struct s { s(T t) noexcept : t_(t) {} T t_; };
            template <class T> requires requires { typename T::a; } && a::b<T>::c || (1 > 0) void i(T t) { t.x(); }
            template <has_x T> class c { void m() requires(true) {} };
            """), ["f", "g", "h", "s", "i", "m"])

    def test_comparison_in_an_angle_is_no_initializer(self):
        self.assertEqual(names("template <class A> std::enable_if_t<A::x == 1> f() { }"), ["f"])

    def test_specializations(self):
        self.assertEqual(names("template <> void f<int>(int) { }\ntemplate <> struct s<int> { void g() {} };"), ["f", "g"])


class Constructors(unittest.TestCase):
    def test_member_initializers_are_not_the_body(self):
        self.assertEqual(found("""\
            struct s : base<int> {
                s(int a) noexcept(noexcept(base<int>{a}))
                    : base<int>{a}, b_{1, {2}}, c_(f({3})), d_{[] {
                          return 1;
                      }()} {
                    go();
                }
                s() : b_(1) {}
                s(char) : b_{1} {}
            };
            """)[-3:], [("s", 2, 7), ("s", 8, 8), ("s", 9, 9)])

    def test_pack_expansion(self):
        self.assertEqual(names("template <class... B> struct s : B... { s(B... b) : B{b}... { } };"), ["s"])

    def test_default_arguments_with_braces(self):
        self.assertEqual(found("void f(options o = {}, std::vector<int> v = std::vector<int>{1}) {\n}"), [("f", 1, 2)])


class Lambdas(unittest.TestCase):
    def test_a_lambda_inside_a_function_is_part_of_it(self):
        self.assertEqual(found("void f() {\n  auto g = [&](int a) {\n    return a;\n  };\n}"), [("f", 1, 5)])

    def test_a_lambda_outside_counts_by_itself(self):
        self.assertEqual(found("""\
            inline constexpr auto f = [](int a) noexcept -> int {
                return a;
            };
            auto const g = apply([x = 1] {
                return x;
            }, other{1});
            table const h{{"a", [](int) { return 1; }}, {"b", nullptr}};
            """), [("lambda", 1, 3), ("lambda", 4, 6), ("lambda", 7, 7)])

    def test_subscripts_are_no_lambdas(self):
        self.assertEqual(names("int const a[2]{1, 2};\nint const b[] = {a[0]};\n"), [])


class Text(unittest.TestCase):
    def test_braces_in_comments_and_literals_do_not_count(self):
        self.assertEqual(found("""\
            char const* a = "{ \\" {";  // {{{
            auto b = R"x({{ )" // not the end
            {)x";
            int c = 1'000'000; char d = '{'; char e = '\\''; /* { */
            void f() { g("}"); g('}'); g(R"(})"); }
            """), [("f", 5, 5)])

    def test_macros_are_not_read(self):
        self.assertEqual(names("#define OPEN {{{ \\\n  {{{\nvoid f() { }\n"), ["f"])

    def test_macro_calls_without_semicolon(self):
        self.assertEqual(found("RATION_EXPORT(x)\nPIN(a, b)\nvoid f() {\n}\nTEST_CASE(\"x\") {\n}"), [("f", 3, 4), ("TEST_CASE", 5, 6)])

    def test_branches_that_share_a_brace(self):
        self.assertEqual(found("#if A\nvoid f() {\n#else\nvoid f(int) {\n#endif\n}\nvoid g() { }"), [("f", 2, 6), ("g", 7, 7)])

    def test_both_branches_are_seen_when_they_balance(self):
        self.assertEqual(names("#ifdef A\nvoid f() { }\n#else\nvoid g() { }\n#endif\n"), ["f", "g"])

    def test_what_does_not_balance_is_an_error(self):
        for text in ("void f() {", "}", "struct s {"):
            self.assertRaises(UnbalancedBraces, functions, text)


if __name__ == "__main__":
    unittest.main()
