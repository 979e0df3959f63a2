// SPDX-License-Identifier: BSL-1.0
// The keys `log` and `metrics` of a job.
#include <string>

#include "config/config.hpp"
#include "config/log.hpp"
#include "support/catch.hpp"

using namespace ration::program;

namespace {

[[nodiscard]] parsed_config read_line(std::string const& line, std::string const& metric = "loss") {
    return parse_config("policy = 'none'\n[[job]]\nname = 'a'\ncommand = ['x']\ntarget = { " + metric +
                            " = { objective = 1, direction = 'down' } }\n" + line + "\n",
                        "jobs.toml");
}

[[nodiscard]] parsed_config read_log(std::string const& log, std::string const& metric = "loss") {
    return read_line("log = " + log, metric);
}

[[nodiscard]] std::string problem(std::string const& log, std::string const& metric = "loss") {
    auto const made = read_log(log, metric);
    REQUIRE(made.problems.size() == 1);
    CHECK(made.problems.front().line == 6);
    return made.problems.front().text;
}

[[nodiscard]] bool says(std::string const& text, std::string_view words) { return text.find(words) != text.npos; }

}  // namespace

TEST_CASE("log is a pattern, a list, or a preset") {
    using patterns = std::vector<std::string>;
    CHECK(read_log(R"('loss (?<loss>\S+)')").config.jobs[0].log == patterns{R"(loss (?<loss>\S+))"});
    CHECK(read_log(R"x(["a(?<loss>\\d)", 'b(?<step>\d)'])x").config.jobs[0].log ==
          patterns{R"(a(?<loss>\d))", R"(b(?<step>\d))"});
    for (auto const name : log_presets()) {
        auto const made = read_log("{ preset = '" + std::string(name) + "' }", "val_loss");
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
    CHECK(read_log(R"('''\'loss': (?<loss>\S+)''')").problems.empty());
}

TEST_CASE("metrics names a file and its columns") {
    auto const made = read_line("metrics = { csv = 'logs/*/m.csv', step = 'it', acc = 'a/b' }", "loss");
    REQUIRE(made.problems.empty());
    auto const& metrics = *made.config.jobs[0].metrics;
    CHECK(metrics.path == "logs/*/m.csv");
    CHECK(metrics.format == metric_format::csv);
    CHECK(metrics.step == "it");
    REQUIRE(metrics.columns.size() == 2);
    CHECK((metrics.columns[0].metric == "acc" && metrics.columns[0].column == "a/b"));
    CHECK((metrics.columns[1].metric == "loss" && metrics.columns[1].column == "loss"));
    auto const other = read_line("metrics = { jsonl = 'm', 'val/loss' = 'x' }", "'val/loss'");
    REQUIRE(other.problems.empty());
    CHECK(other.config.jobs[0].metrics->format == metric_format::jsonl);
    CHECK(other.config.jobs[0].metrics->columns.size() == 1);
    auto const events = read_line("metrics = { tensorboard = 'runs/*', loss = 'Loss/train' }");
    REQUIRE(events.problems.empty());
    CHECK(events.config.jobs[0].metrics->format == metric_format::tensorboard);
    CHECK(events.config.jobs[0].metrics->columns[0].column == "Loss/train");
    CHECK_FALSE(read_line("").config.jobs[0].metrics);
}

TEST_CASE("faulty metrics are refused with the correction") {
    auto const refused = [](std::string const& line) {
        auto const made = read_line(line);
        REQUIRE(made.problems.size() == 1);
        CHECK_FALSE(made.config.jobs[0].metrics);
        return made.problems.front().text;
    };
    CHECK(says(refused("metrics = 'm.csv'"), "'metrics' must be a table, such as { csv ="));
    for (auto const* const table :
         {"{}", "{ csv = '' }", "{ csv = 'a', jsonl = 'b' }", "{ csv = 'a', jsonl = 'b', tensorboard = 'c' }"})
        CHECK(says(refused(std::string("metrics = ") + table), "must name one file; add csv = "));
    CHECK(says(refused("metrics = { tensorboard = 'a', step = 'b' }"), "TensorBoard events have their own step"));
    CHECK(says(refused("metrics = { csv = 'a', loss = 3 }"), "'loss' in 'metrics' must be the name of a column"));
    CHECK(says(refused("metrics = { csv = 'a', 'x y' = 'x' }"), "cannot be a metric"));
    CHECK(says(refused("metrics = { csv = 'a' }\nlog = '(?<loss>x)'"), "remove one of them"));
}
