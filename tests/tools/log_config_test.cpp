// SPDX-License-Identifier: BSL-1.0
// The key `log` of a job: patterns, lists of patterns, and presets.
#include <string>

#include "config/config.hpp"
#include "config/log.hpp"
#include "support/catch.hpp"

using namespace ration::program;

namespace {

[[nodiscard]] parsed_config read(std::string const& log, std::string const& metric = "loss") {
    return parse_config("policy = 'none'\n[[job]]\nname = 'a'\ncommand = ['x']\ntarget = { " + metric +
                            " = { objective = 1, direction = 'down' } }\nlog = " + log + "\n",
                        "jobs.toml");
}

[[nodiscard]] std::string problem(std::string const& log, std::string const& metric = "loss") {
    auto const made = read(log, metric);
    REQUIRE(made.problems.size() == 1);
    CHECK(made.problems.front().line == 6);
    return made.problems.front().text;
}

[[nodiscard]] bool says(std::string const& text, std::string_view words) { return text.find(words) != text.npos; }

}  // namespace

TEST_CASE("log is a pattern, a list, or a preset") {
    using patterns = std::vector<std::string>;
    CHECK(read(R"('loss (?<loss>\S+)')").config.jobs[0].log == patterns{R"(loss (?<loss>\S+))"});
    CHECK(read(R"x(["a(?<loss>\\d)", 'b(?<step>\d)'])x").config.jobs[0].log ==
          patterns{R"(a(?<loss>\d))", R"(b(?<step>\d))"});
    for (auto const name : log_presets()) {
        auto const made = read("{ preset = '" + std::string(name) + "' }", "val_loss");
        INFO(name);
        CHECK(made.problems.empty());
        CHECK(made.config.jobs[0].log == *preset_patterns(name, "val_loss"));
    }
}

TEST_CASE("a faulty log is refused with the correction") {
    CHECK(says(problem("3"), "'log' must be a regular expression in single quotes, an array of them, or { preset ="));
    CHECK(says(problem("['(?<loss>x)', 3]"), "'log' must be"));
    CHECK(says(problem("[]"), "0 patterns; write 1 to 16"));
    CHECK(says(problem("['(?<step>x)']"), "(?<loss>...)"));
    CHECK(says(problem("['(?<step>x)', '(?<accuracy>x)']"), "does not read the metric of the target"));
    CHECK(says(problem("{ preset = 'hugingface' }"), "did you mean 'huggingface'"));
    CHECK(says(problem("{}"), "unknown preset"));
    CHECK(says(problem("{ preset = 'keras' }", "'top@5'"), "cannot read the metric"));
    CHECK(says(problem("\"loss\\b(?<loss>x)\""), "write the pattern as log = '''...'''"));
}

TEST_CASE("a pattern that TOML's quotes break gets the quotes that do not") {
    CHECK(says(problem(R"(''loss': (?<loss>\S+)')"), "log = '''...'''"));
    CHECK(says(problem(R"x("loss: (?P<loss>\S+)")x"), "log = '''...'''"));
    CHECK_FALSE(says(problem("'x' y"), "'''"));
    CHECK(read(R"('''\'loss': (?<loss>\S+)''')").problems.empty());
}
