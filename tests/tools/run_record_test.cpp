// SPDX-License-Identifier: BSL-1.0
// What a run writes down for a later one, with and without damage: it is read as it was written, or refused in one
// sentence.
#include "run/run_record.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>

#include "common/printable.hpp"
#include "support/catch.hpp"
#include "support/mutations.hpp"

using namespace ration::program;
using json = nlohmann::json;

namespace {

[[nodiscard]] recorded_job shrinking_job() {
    return {.name = "vae",
            .id = 1,
            .pid = 820,
            .start_time = 1000,
            .incarnation = 2,
            .token = "0123456789abcdef",
            .started_ns = 7,
            .acceptable_ns = 8,
            .objective_ns = 9,
            .tier = 1,
            .definition = {"\"command\" = [\"a \\\"b\"]", "\"name\" = \"vae\""},
            .phase = resize_phase::saving,
            .holds = {"cpu-0", "cpu-1"},
            .next = {"cpu-1"},
            .origin = {"cpu-0", "cpu-1"},
            .wanted = 1,
            .batch = 64,
            .launched_batch = 32,
            .has_saved = true,
            .cost = 2.5,
            .control = "/run/rx.1",
            .checkpoint = "/data/vae"};
}

/// Three jobs: on its way from two devices to one, without devices, and over.
[[nodiscard]] run_record good() {
    return {.run = "812-991",
            .owner = 812,
            .owner_start_time = 991,
            .file = "jobs.toml",
            .policy = "las",
            .output = "/data/ration-output/las",
            .memberships = "4:cpu:/\n0::/\n",
            .boot = "f3b0",
            .pid_namespace = 4026531836,
            .written_ns = 5'000'000'000,
            .clock_ns = 2'000'000'000,
            .jobs = {shrinking_job(),
                     {.name = "cnn.2",
                      .id = 2,
                      .pid = 821,
                      .start_time = 1000,
                      .incarnation = 1,
                      .token = "fedcba9876543210",
                      .launching = true},
                     {.name = "mlp",
                      .id = 3,
                      .incarnation = 1,
                      .token = "00000000000000ff",
                      .phase = resize_phase::over,
                      .how = condition::failed,
                      .why = "exit code 3"}}};
}

/// As its writer does, for a record with another content.
[[nodiscard]] std::string sealed(std::string const& run) {
    std::uint64_t sum = 14695981039346656037U;
    for (char const c : run) sum = (sum ^ static_cast<unsigned char>(c)) * 1099511628211U;
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(sum));
    return R"({"run":)" + run + R"(,"sum":")" + digits + "\"}";
}

[[nodiscard]] std::string message_of(std::string_view text) {
    run_record record;
    return read_record(text, record);
}

[[nodiscard]] std::string message_of_run_with(char const* path, json value) {
    auto run = json::parse(to_json(good()))["run"];
    run[json::json_pointer(path)] = std::move(value);
    return message_of(sealed(run.dump()));
}

void require_sound(run_record const& record) {
    REQUIRE((record.owner > 0 && record.written_ns >= 0 && record.clock_ns >= 0 &&
             record.clock_ns <= std::int64_t{1} << 60 && record.jobs.size() <= 512));
    std::set<std::string> names;
    std::set<pid_t> processes;
    for (auto const& job : record.jobs) {
        REQUIRE((!job.name.empty() && job.name.size() <= 48 && printable(job.name) == job.name &&
                 job.name.find('/') == job.name.npos));
        REQUIRE(names.insert(job.name).second);
        REQUIRE((job.pid == 0 || (job.pid > 1 && job.start_time > 0 && job.token.size() == 16)));
        REQUIRE((job.pid == 0 || processes.insert(job.pid).second));
        REQUIRE((job.started_ns >= 0 && job.started_ns <= record.clock_ns && job.wanted >= 0 && job.batch >= 0 &&
                 job.launched_batch >= 0 && std::isfinite(job.cost) && job.cost >= 0));
        std::set<std::string> const holds(job.holds.begin(), job.holds.end());
        REQUIRE((holds.size() == job.holds.size() && !holds.contains("")));
    }
}

constexpr std::string_view pieces[] = {
    "-1",   "0",        "1",         "1e300",   "1.5",  "4294967297", "18446744073709551615",
    "\"\"", "\"over\"", "null",      "[]",      "{}",   "true",       ",",
    ":",    "\"",       "\"pid\":1", "\\u0000", "\xff", "\"cpu-0\"",  "/",
    ".."};

}  // namespace

TEST_CASE("read_record: a record is read as it was written") {
    run_record again;
    REQUIRE(read_record(to_json(good()), again).empty());
    CHECK(to_json(again) == to_json(good()));
    CHECK(again.jobs[0].holds == std::vector<std::string>{"cpu-0", "cpu-1"});
    CHECK(again.jobs[0].cost == 2.5);
    CHECK(again.jobs[2].why == "exit code 3");
    require_sound(again);
    CHECK(message_of(sealed(json::parse(to_json(good()))["run"].dump())).empty());
}

TEST_CASE("run_record: bytes that are not UTF-8, of what a job printed or of a path, are kept") {
    auto record = good();
    record.output = "/tmp/f\xff";
    record.jobs[2].why = "exit code 3; its last line: caf\xe9";
    record.memberships = "0::/\xff\n";
    run_record again;
    REQUIRE(read_record(to_json(record), again).empty());
    CHECK(again.jobs[2].why == record.jobs[2].why);
    CHECK(again.memberships == record.memberships);
    CHECK(again.output == record.output);
}

TEST_CASE("read_record: a time after the record is named") {
    for (std::string const field : {"started_ns", "acceptable_ns", "objective_ns", "ended_ns"}) {
        CHECK(message_of_run_with(("/jobs/1/" + field).c_str(), 2'000'000'000).empty());
        CHECK(message_of_run_with(("/jobs/1/" + field).c_str(), 2'000'000'001) ==
              "its field 'jobs/1/" + field + "' is missing or cannot be");
    }
}

TEST_CASE("read_record: a field that cannot be is named") {
    using row = std::tuple<char const*, json, char const*>;
    for (auto const& [path, value, field] : {row{"/owner", 0, "owner"},
                                             row{"/owner", 4294967297, "owner"},
                                             row{"/written_ns", -1, "written_ns"},
                                             row{"/clock_ns", -1, "clock_ns"},
                                             row{"/clock_ns", std::int64_t{1} << 61, "clock_ns"},
                                             row{"/boot", 7, "boot"},
                                             row{"/output", "ration-output/las", "output"},
                                             row{"/jobs", "none", "jobs"},
                                             row{"/jobs/0", 7, "jobs"},
                                             row{"/jobs/0/name", "../x", "jobs/0/name"},
                                             row{"/jobs/0/name", "", "jobs/0/name"},
                                             row{"/jobs/1/pid", 1, "jobs/1/pid"},
                                             row{"/jobs/1/pid", 4294967297, "jobs/1/pid"},
                                             row{"/jobs/1/pid", -1, "jobs/1/pid"},
                                             row{"/jobs/1/pid", true, "jobs/1/pid"},
                                             row{"/jobs/1/pid", 821.5, "jobs/1/pid"},
                                             row{"/jobs/2/pid", 822, "jobs/2/pid"},
                                             row{"/jobs/1/pid", 0, "jobs/1/start_time"},
                                             row{"/jobs/1/start_time", 0, "jobs/1/start_time"},
                                             row{"/jobs/1/token", "", "jobs/1/token"},
                                             row{"/jobs/1/token", "FEDCBA9876543210", "jobs/1/token"},
                                             row{"/jobs/1/incarnation", 4294967295, "jobs/1/incarnation"},
                                             row{"/jobs/1/started_ns", -1, "jobs/1/started_ns"},
                                             row{"/jobs/1/started_ns", 2'000'000'001, "jobs/1/started_ns"},
                                             row{"/jobs/1/definition", "command", "jobs/1/definition"},
                                             row{"/jobs/1/definition", json::array({7}), "jobs/1/definition"},
                                             row{"/jobs/0/phase", "flying", "jobs/0/phase"},
                                             row{"/jobs/0/holds", json::array(), "jobs/0/holds"},
                                             row{"/jobs/0/holds/0", 7, "jobs/0/holds"},
                                             row{"/jobs/0/wanted", -1, "jobs/0/wanted"},
                                             row{"/jobs/0/batch", std::int64_t{1} << 50, "jobs/0/wanted"},
                                             row{"/jobs/0/cost", -0.5, "jobs/0/cost"},
                                             row{"/jobs/0/falls_back", 1, "jobs/0/falls_back"}}) {
        INFO(path << ' ' << value);
        CHECK(message_of_run_with(path, value) == "its field '" + std::string(field) + "' is missing or cannot be");
    }
}

TEST_CASE("read_record: a field that is missing is named") {
    auto run = json::parse(to_json(good()))["run"];
    run["jobs"][1].erase("token");
    CHECK(message_of(sealed(run.dump())) == "its field 'jobs/1/token' is missing or cannot be");
}

TEST_CASE("run_record: what only one job can have, no two have") {
    CHECK(message_of_run_with("/jobs/1/name", "vae") == "two of its jobs have the same 'name'");
    CHECK(message_of_run_with("/jobs/1/pid", 820) == "two of its jobs have the same 'pid'");
    CHECK(message_of_run_with("/jobs/2/token", "0123456789abcdef") == "two of its jobs have the same 'token'");
    CHECK(message_of_run_with("/jobs/1/next", {"cpu-1"}) == "two of its jobs have the same 'holds'");
    CHECK(message_of_run_with("/jobs/0/holds", {"cpu-1", "cpu-1"}) == "two of its jobs have the same 'holds'");
}

TEST_CASE("read_record: a text that is not a record is refused") {
    for (std::string_view const text : {"", "{}", "[1]", "null", R"({"run":{},"sum":7)", R"({"run":{}})", "\xff\xfe"})
        CHECK(message_of(text) == "it is not a record, or part of one");
    CHECK(message_of(R"({"run":7,"sum":"x"})") == "it is not as it was written");
    CHECK(message_of(std::string(200'000, '[')) == "it is not a record, or part of one");
}

TEST_CASE("run_record: 10000 damaged records are refused, or say what they said before") {
    auto const text = to_json(good());
    support::mutations change(5, pieces);
    int same = 0;
    for (int round = 0; round < 10'000; ++round) {
        auto damaged = text;
        change.damage(damaged);
        run_record read;
        auto const wrong = read_record(damaged, read);
        INFO(damaged);
        REQUIRE((wrong.empty() || (wrong.size() > 8 && printable(wrong) == wrong)));
        if (wrong.empty()) REQUIRE(to_json(read) == text);
        same += wrong.empty();
    }
    CHECK(same < 500);
}

TEST_CASE("run_record: 20000 records that somebody made up are sound, or refused") {
    auto const run = json::parse(to_json(good()))["run"].dump();
    support::mutations change(17, pieces);
    int read_well = 0, refused = 0;
    for (int round = 0; round < 20'000; ++round) {
        auto synthetic = run;
        change.damage(synthetic);
        auto const value = json::parse(synthetic, nullptr, false);
        if (!value.is_object()) continue;  // it has no fields; others are refused above
        run_record read;
        auto const wrong = read_record(sealed(value.dump(-1, ' ', false, json::error_handler_t::replace)), read);
        INFO(synthetic);
        REQUIRE((wrong.empty() ||
                 (wrong.size() > 8 && printable(wrong) == wrong && wrong != "it is not as it was written")));
        if (wrong.empty()) require_sound(read);
        ++(wrong.empty() ? read_well : refused);
    }
    CHECK(read_well > 500);
    CHECK(refused > 1000);
}
