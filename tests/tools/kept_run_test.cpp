// SPDX-License-Identifier: BSL-1.0
// The summary of a run, with and without damage: it is read as it was written, or refused in one sentence.
#include "run/kept_run.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tuple>

#include "common/printable.hpp"
#include "support/catch.hpp"
#include "support/mutations.hpp"

using namespace ration::program;
using json = nlohmann::json;

namespace {

[[nodiscard]] kept_run good_run() {
    return {.run = "812-0123456789abcdef",
            .started_ms = 1'700'000'000,
            .ended_ms = 1'700'000'060,
            .file = "jobs.toml",
            .policy = "tradl",
            .log = "/var/log/run.jsonl",
            .interrupted = true,
            .jobs = {{.name = "vae", .how = condition::finished},
                     {.name = "cnn", .how = condition::failed, .why = "exit code 3"},
                     {.name = "mlp"}}};
}

[[nodiscard]] std::string sentence_of_run_with(char const* path, json value) {
    auto run = json::parse(to_json(good_run()));
    run[json::json_pointer(path)] = std::move(value);
    kept_run read;
    return read_kept_run(run.dump(), read);
}

}  // namespace

TEST_CASE("kept_run: a summary is read as it was written") {
    kept_run again;
    REQUIRE(read_kept_run(to_json(good_run()), again).empty());
    CHECK(to_json(again) == to_json(good_run()));
    CHECK((again.interrupted && again.has_ended() && again.jobs[1].how == condition::failed && !again.jobs[2].how));
}

TEST_CASE("kept_run: what a job printed does not keep a summary from being written") {
    auto run = good_run();
    run.jobs[1].why = "its last line: caf\xe9";
    kept_run again;
    REQUIRE(read_kept_run(to_json(run), again).empty());
    CHECK(again.jobs[1].why == "its last line: caf\xef\xbf\xbd");
}

TEST_CASE("kept_run: a field that is not valid is named") {
    using row = std::tuple<char const*, json, char const*>;
    for (auto const& [path, value, field] :
         {row{"/run", "../x", "run"}, row{"/run", 7, "run"}, row{"/started_ms", -1, "started_ms"},
          row{"/started_ms", std::int64_t{1} << 60, "started_ms"}, row{"/ended_ms", "now", "ended_ms"},
          row{"/ended_ms", std::int64_t{1} << 60, "ended_ms"}, row{"/interrupted", 1, "interrupted"},
          row{"/jobs", 7, "jobs"}, row{"/jobs/0", 7, "jobs"}, row{"/jobs/0/name", "../../etc/passwd", "name"},
          row{"/jobs/0/how", "well", "how"}, row{"/jobs/0/why", nullptr, "why"}}) {
        INFO(path << ' ' << value);
        CHECK(sentence_of_run_with(path, value) == "its field '" + std::string(field) + "' is missing or not valid");
    }
    kept_run read;
    for (std::string_view const text : {"", "[1]", "null", "\xff"})
        CHECK(read_kept_run(text, read) == "it is not a JSON object");
    CHECK(read_kept_run("{}", read) == "its field 'run' is missing or not valid");
}

TEST_CASE("kept_run: 5000 damaged summaries are sound, or refused") {
    static constexpr std::string_view pieces[] = {"-1", "1e300", "\"\"", "null", "[]", "{}",      "true",
                                                  ",",  ":",     "\"",   "/",    "..", "\\u0000", "\xff"};
    auto const text = to_json(good_run());
    support::mutations change(11, pieces);
    int refused = 0;
    for (int round = 0; round < 5'000; ++round) {
        auto damaged = text;
        change.damage(damaged);
        kept_run read;
        auto const wrong = read_kept_run(damaged, read);
        INFO(damaged);
        REQUIRE((wrong.empty() || printable(wrong) == wrong));
        if (wrong.empty())
            for (auto const& job : read.jobs) REQUIRE(is_plain_name(job.name));
        if (wrong.empty()) REQUIRE((is_plain_name(read.run) && read.started_ms >= 0));
        refused += !wrong.empty();
    }
    CHECK((refused > 1000 && refused < 5000));
}
