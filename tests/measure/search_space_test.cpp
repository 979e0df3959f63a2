// SPDX-License-Identifier: BSL-1.0
// Lists of values, rules on their products, and each sentence that refuses one.
#include "measure/search_space.hpp"

#include "support/catch.hpp"

using namespace ration::program;
using ration::to_text;

namespace {

[[nodiscard]] std::string refused_values(std::string_view word) {
    auto const read = parse_parameter_values(word);
    return read ? "read" : to_text(read.failure());
}

[[nodiscard]] std::string refused_rule(std::string_view word) {
    auto const read = parse_fit_rule(word);
    return read ? "read" : to_text(read.failure());
}

[[nodiscard]] std::vector<parameter_values> space_of(std::vector<std::string> const& words) {
    std::vector<parameter_values> out;
    for (auto const& word : words) out.push_back(*parse_parameter_values(word));
    return out;
}

[[nodiscard]] std::string refused_space(std::vector<std::string> const& words, std::string_view rule) {
    auto const found = settings_of(space_of(words), {*parse_fit_rule(rule)});
    return found ? "found" : to_text(found.failure());
}

}  // namespace

TEST_CASE("settings_of: all combinations, without those that do not fit") {
    auto const space = space_of({"threads=1,2,4", "kind = static, dynamic"});
    CHECK(settings_of(space, {})->size() == 6);
    auto const few = *settings_of(space, {*parse_fit_rule("2*threads <= 4")});
    CHECK(few == std::vector<parameter_setting>{{"1", "static"}, {"1", "dynamic"}, {"2", "static"}, {"2", "dynamic"}});
    CHECK(setting_text(space, few.back()) == "threads=2 kind=dynamic");
    auto const both = space_of({"ranks=1,2,3", "threads=1,2,3"});
    CHECK(settings_of(both, {*parse_fit_rule("ranks * threads<=4")})->size() == 6);
}

TEST_CASE("parse_parameter_values: a sentence for each wrong list") {
    CHECK(refused_values("threads") ==
          "'threads' is not a list of values; write NAME=VALUE,VALUE, such as threads=1,2");
    CHECK(refused_values("2x=1") == "'2x=1' is not a list of values; write NAME=VALUE,VALUE, such as threads=1,2");
    for (auto const* const word : {"t=", "t=1,{t}", "t=1,\x01", "t=\x7f,1"})
        CHECK(refused_values(word) ==
              "parameter 't' has an empty value, or one with a brace or a control character; write NAME=VALUE,VALUE");
    CHECK(refused_values("t=1, 2,1") == "parameter 't' has the value '1' twice; write it once");
}

TEST_CASE("parse_fit_rule: a sentence for each wrong rule") {
    constexpr auto form = "write a product and a limit, such as 'ranks * threads <= 8'";
    CHECK(refused_rule("threads < 8") == "'threads < 8' has no '<=' with a number behind it; " + std::string(form));
    CHECK(refused_rule("threads <= most") ==
          "'threads <= most' has no '<=' with a number behind it; " + std::string(form));
    CHECK(refused_rule("threads + 1 <= 8") ==
          "'threads + 1' is neither a parameter nor a number; " + std::string(form));
    CHECK(refused_rule("threads * -1 <= 8") == "'-1' is neither a parameter nor a number; " + std::string(form));
}

TEST_CASE("settings_of: a sentence for each space that cannot be searched") {
    CHECK(refused_space({"t=1,2", "t=4"}, "t <= 8") == "--try: parameter 't' has two lists; join them");
    CHECK(refused_space({"threads=1,2"}, "thread <= 8") ==
          "--fit: no --try has values of 'thread'; did you mean 'threads'?");
    CHECK(refused_space({"t=1,all"}, "t <= 8") ==
          "--fit: the value 'all' of parameter 't' is not a number from 0; use "
          "the rule for parameters with numbers");
    CHECK(refused_space({"t=4,8"}, "t <= 2") == "--fit: no setting fits; try smaller values");
    std::string many = "a=0";
    for (int i = 1; i < 400; ++i) many += ',' + std::to_string(i);
    CHECK(refused_space({many, 'b' + many.substr(1)}, "a <= 8") ==
          "--try: there are more than 100000 settings; try fewer values");
}
