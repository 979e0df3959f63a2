// SPDX-License-Identifier: BSL-1.0
#include <string>
#include <vector>

#include <ration/adapt/flat_json.hpp>

#include "support/catch.hpp"

using namespace ration;

namespace {

struct read_text {
    std::vector<std::string> members;
    std::string wrong;
};

[[nodiscard]] read_text read(std::string_view text) {
    read_text all;
    flat_json json(text);
    for (json_member m; json.next(m);)
        all.members.push_back(std::string(m.name) +
                              (m.kind == json_kind::word    ? "='"
                               : m.kind == json_kind::truth ? "?"
                                                            : "=") +
                              std::string(m.value));
    if (json.wrong() != nullptr) all.wrong = json.wrong();
    return all;
}

}  // namespace

TEST_CASE("a flat object is read member by member", "[flat_json]") {
    auto const all = read(" { \"a\" : 1.5 ,\n\"b\":\"word, with } signs\", \"c\":true,\"d\":-2e3}\t");
    CHECK(all.wrong.empty());
    CHECK(all.members == std::vector<std::string>{"a=1.5", "b='word, with } signs", "c?true", "d=-2e3"});
    CHECK(read("{}").members.empty());
    CHECK(read("{}").wrong.empty());
}

TEST_CASE("everything else is refused with a sentence", "[flat_json]") {
    std::string const object = "the parameters must be one JSON object: {\"name\": value, ...}";
    for (auto const* bad : {"", "  ", "1", "[1]", "null"}) CHECK(read(bad).wrong == object);
    std::string const value = "a parameter must be a number, a word in double quotes, true or false";
    for (auto const* bad : {"{\"a\":null}", "{\"a\":{}}", "{\"a\":[1]}", "{\"a\":}", "{\"a\":", "{\"a\":\"open",
                            "{\"a\":\"\\n\"}", "{\"a\":True}"})
        CHECK(read(bad).wrong == value);
    std::string const name = "the name of a parameter must be in double quotes, without escapes";
    for (auto const* bad : {"{a:1}", "{1:1}", "{\"a\":1,}", "{\"a", "{", "{\"\\u0061\":1}"})
        CHECK(read(bad).wrong == name);
    CHECK(read("{\"a\" 1}").wrong == "a colon is missing after the name of a parameter");
    CHECK(read("{\"a\":1 \"b\":2}").wrong == "a comma is missing between two parameters");
    CHECK(read("{\"a\":1} x").wrong == "there is text after the closing brace of the parameters");
    CHECK(read("{\"a\":1").wrong == "a comma is missing between two parameters");
}
