// SPDX-License-Identifier: BSL-1.0
// Texts that are nested as deep as their size allows: each is refused at the place where it becomes too deep, and none
// overflows the stack.
#include "config/nesting.hpp"

#include <string>

#include "config/config.hpp"
#include "support/catch.hpp"

using namespace ration;
using namespace ration::program;

namespace {

constexpr std::size_t very_deep = 100'000;
constexpr char const* many_parts = "this key has more than 16 parts; write it with fewer dots";
constexpr char const* many_brackets = "values are nested deeper than 16 brackets; write them flatter";

[[nodiscard]] std::string repeated(std::string_view text, std::size_t times) {
    std::string out;
    for (std::size_t i = 0; i < times; ++i) out += text;
    return out;
}

/// "line:column: sentence" of the only problem.
[[nodiscard]] std::string refusal(std::string const& text) {
    auto const read = parse_config(text, "f");
    REQUIRE(read.problems.size() == 1);
    return to_text(read.problems.front()).substr(2);
}

[[nodiscard]] bool passes(std::string const& text) { return static_cast<bool>(check_nesting(text)); }

}  // namespace

TEST_CASE("nesting: a key of 100000 parts is refused where it gets too long, in every spelling") {
    CHECK(refusal("policy = 'none'\n" + repeated("a.", very_deep) + "b = 1\n") == "2:32: " + std::string(many_parts));
    CHECK(refusal("[" + repeated("a.", very_deep) + "b]\n") == "1:33: " + std::string(many_parts));
    CHECK(refusal("[[" + repeated("a.", very_deep) + "b]]\n") == "1:34: " + std::string(many_parts));
    CHECK(refusal(repeated("a \t. ", very_deep) + "b = 1\n") == "1:79: " + std::string(many_parts));
    CHECK(refusal(repeated("\"a.\".", very_deep) + "b = 1\n") == "1:80: " + std::string(many_parts));
    CHECK(refusal(repeated("''.", very_deep) + "b = 1\n") == "1:48: " + std::string(many_parts));
    CHECK(refusal("a = { " + repeated("b.", very_deep) + "c = 1 }\n") == "1:38: " + std::string(many_parts));
    CHECK(refusal("\xc3\xa4 = 1 # \xc3\xa4.\n'\xc3\xa4'." + repeated("a.", very_deep) + "c = 1\n") ==
          "2:34: " + std::string(many_parts));
}

TEST_CASE("nesting: values of 100000 levels are refused where they get too deep") {
    CHECK(refusal("a = " + repeated("[", very_deep)) == "1:21: " + std::string(many_brackets));
    CHECK(refusal("a = " + repeated("{ b = ", very_deep)) == "1:101: " + std::string(many_brackets));
    CHECK(refusal("a = [\n" + repeated("[\n", very_deep)) == "17:1: " + std::string(many_brackets));
    CHECK(refusal("a = " + repeated("[{ b.c = ", very_deep)) == "1:77: " + std::string(many_brackets));
}

TEST_CASE("nesting: brackets and dots of strings and comments count nothing") {
    auto const dots = repeated(".", 40), brackets = repeated("[{", 40), both = dots + brackets;
    for (std::string const quote : {"\"", "'", "\"\"\"", "'''"})
        CHECK(passes("a = " + quote + both + quote + "\nb = 1\n"));
    CHECK(passes("a = \"\\\"" + both + "\"\n"));
    CHECK(passes("a = '\\' # " + both + "\n"));
    CHECK(passes("a = \"\"\"\n\"\" " + both + "\"\"\"\"\"\n"));  // two quotes of the text in front of the three
    CHECK(passes("a = ''''" + both + "'''\n"));
    CHECK(passes("a = \"\" # " + both + "\nb = ''\n"));
    CHECK(passes("a.b = 1\n" + repeated("a.b = 1.5 # .\n", 100) + repeated("c = [{ d = [1.5, [2.5]] }]\n", 100)));
}

TEST_CASE("nesting: what follows a string is counted again") {
    for (std::string const string : {"\"a\\\"\"", "'a\\'", "\"\"\"a\"\"\"\"\"", "'''a''''", "\"\"", "''",
                                     "\"\"\"\"\"\"", "\"not closed\n", "'not closed\n"}) {
        INFO(string);
        CHECK_FALSE(passes("a = [" + string + ", " + repeated("[", 20)));
    }
}

TEST_CASE("nesting: a file with too many jobs is one problem") {
    CHECK(refusal("policy = 'none'\n" + repeated("[[job]]\n", 100'000)) ==
          "2:1: there are 100000 jobs; one run takes at most 512");
}
