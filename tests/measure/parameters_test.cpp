// SPDX-License-Identifier: BSL-1.0
// The launch parameters of a job: in its command, in the text of its file, and each sentence on a wrong one.
#include "config/parameters.hpp"

#include "support/catch.hpp"

using namespace ration::program;
using ration::to_text;

namespace {

[[nodiscard]] std::string file_of(std::string const& more, std::string const& command = "['true', '--t={t}']") {
    return "policy = 'none'\n[[job]]\nname = 'a'\ncommand = " + command + "\ntarget = { loss = { objective = 1 } }\n" +
           more + '\n';
}

[[nodiscard]] std::string problem_of(std::string const& more) {
    auto const read = parse_config(file_of(more), "jobs.toml");
    return read.problems.empty() ? "read" : to_text(read.problems.front());
}

[[nodiscard]] std::string edited(std::string const& text, std::vector<launch_parameter> const& values) {
    auto const out = with_launch_parameters(text, 0, values);
    return out ? *out : "refused: " + out.failure().text;
}

}  // namespace

TEST_CASE("parameters: their values are in the command and in the environment") {
    auto const text = file_of("parameters = { t = 4, mode = 'fast' }\nenvironment = { N = '{t}x', M = '{mode}' }",
                              "['true', '--t={t}{t}', '{u}', '{devices}']");
    auto const read = parse_config(text, "jobs.toml");
    REQUIRE(read.problems.empty());
    auto const& job = read.config.jobs.front();
    CHECK(job.command == std::vector<std::string>{"true", "--t=44", "{u}", "{devices}"});
    CHECK((job.environment[0].second == "4x" && job.environment[1].second == "fast"));
    CHECK(launch_parameters_of(text, 0) == std::vector<launch_parameter>{{"t", "4"}, {"mode", "fast"}});
}

TEST_CASE("parameters: a sentence for each wrong one") {
    CHECK(problem_of("parameters = 4") ==
          "jobs.toml:6:14: 'parameters' must be a table, such as { threads = 4 }, not a whole number");
    CHECK(problem_of("parameters = { t = 1, u = 2 }") ==
          "jobs.toml:6:23: parameter 'u' is not used; write {u} into the command or the environment");
    CHECK(problem_of("parameters = { t = 1.5 }") ==
          "jobs.toml:6:20: parameter 't' must be text or a whole number, not a decimal number; put it in quotes");
    CHECK(problem_of("parameters = { devices = 2 }") ==
          "jobs.toml:6:16: ration sets '{devices}' at each launch; choose another name");
    CHECK(problem_of("parameters = { a-b = 2 }") ==
          "jobs.toml:6:16: 'a-b' cannot be a parameter; use a letter, then letters, digits and '_'");
    CHECK(problem_of("parameters = { t = '{t}' }") ==
          "jobs.toml:6:20: the value of parameter 't' has a brace, a zero byte or the end of a line; leave it out");
}

TEST_CASE("with_launch_parameters: all other bytes stay") {
    auto const text = file_of("parameters = { t = 4,  mode='a b' } # now");
    CHECK(edited(text, {{"mode", "c"}, {"t", "16"}}) == file_of("parameters = { t = 16,  mode=\"c\" } # now"));
    CHECK(edited(text, {{"t", "auto"}}) == file_of("parameters = { t = \"auto\",  mode='a b' } # now"));
    CHECK(edited(text, {{"mode", "a\"b\\"}}) == file_of("parameters = { t = 4,  mode=\"a\\\"b\\\\\" } # now"));
    // Text stays text, and a number with a leading 0 is not one of TOML
    CHECK(edited(text, {{"mode", "7"}}) == file_of("parameters = { t = 4,  mode=\"7\" } # now"));
    CHECK(edited(text, {{"t", "07"}}) == file_of("parameters = { t = \"07\",  mode='a b' } # now"));
    CHECK(edited(file_of("[job.parameters]\nt = 4# four\r"), {{"t", "5"}}) ==
          file_of("[job.parameters]\nt = 5# four\r"));
}

TEST_CASE("with_launch_parameters: refuses a value that it cannot replace") {
    constexpr auto refusal = "refused: it has no value of parameter 't' on one line";
    CHECK(edited(file_of("parameters = { u = 4 }"), {{"t", "5"}}) == refusal);
    CHECK(edited(file_of("parameters = { t = '''4''' }"), {{"t", "5"}}) == refusal);
    CHECK(edited(file_of(""), {{"t", "5"}}) == refusal);
    CHECK(edited("[[job", {{"t", "5"}}) == refusal);
}
