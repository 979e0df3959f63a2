// SPDX-License-Identifier: BSL-1.0
// The state of a live run that `ration list` shows: it is read as it was written, or refused in one sentence.
#include "run/live_state.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tuple>

#include "support/catch.hpp"
#include "view/job_text.hpp"

using namespace ration;
using namespace ration::program;
using json = nlohmann::json;

namespace {

[[nodiscard]] job_view job_named(char const* name) {
    job_view job;
    job.name = name;
    job.metric = "loss";
    job.now = condition::running;
    return job;
}

/// A job with a limit, one without, one that has failed during a resize, and one that waits.
[[nodiscard]] view_model good_state() {
    auto limited = job_named("vae"), free = job_named("cnn"), resized = job_named("mlp"), late = job_named("late");
    limited.value = -121.5;
    limited.tier = 1;
    limited.held = millicores{500};
    limited.used = 0.5;
    limited.level = -0.5;
    limited.window_met = 1;
    limited.level_met = 0.97;
    free.held = millicores{unlimited};
    free.value = std::numeric_limits<double>::quiet_NaN();
    resized.now = condition::failed;
    resized.detail = "exit code 3";
    resized.devices = 2;
    resized.going_to = 4;
    late.now = condition::waiting;
    late.starts_in = seconds(12);
    view_model state;
    state.policy = "tradl";
    state.backend = "cgroup v2";
    state.elapsed = seconds(65);
    state.cpus = 2;
    state.used = 1.5;
    state.devices = 4;
    state.devices_held = 3;
    state.cordoned_devices = 1;
    state.jobs = {limited, free, resized, late};
    return state;
}

[[nodiscard]] std::string sentence_with(char const* path, json value) {
    auto state = json::parse(to_json(good_state()));
    state[json::json_pointer(path)] = std::move(value);
    view_model read;
    return read_state(state.dump(), read);
}

}  // namespace

TEST_CASE("live_state: is read as it was written") {
    view_model again;
    REQUIRE(read_state(to_json(good_state()), again).empty());
    auto const before = good_state();
    CHECK((again.policy == "tradl" && again.backend == "cgroup v2" && again.elapsed == seconds(65) && again.cpus == 2));
    CHECK((again.used == 1.5 && again.devices == 4 && again.devices_held == 3 && again.cordoned_devices == 1));
    REQUIRE(again.jobs.size() == before.jobs.size());
    for (std::size_t j = 0; j < before.jobs.size(); ++j) {
        auto const &now = again.jobs[j], &then = before.jobs[j];
        CHECK((now.name == then.name && now.tier == then.tier && now.used == then.used));
        CHECK(state_text(now) == state_text(then));
        CHECK(held_text(now) == held_text(then));
        CHECK(value_text(now) == value_text(then));
        CHECK(reached_text(now) == reached_text(then));
        CHECK((now.level == then.level && now.window_met == then.window_met && now.level_met == then.level_met));
    }
    CHECK(std::isnan(again.jobs[1].value.value_or(0)));
    CHECK(json::parse(to_json(good_state()))["jobs"][1]["cpu"] == "unlimited");
}

TEST_CASE("live_state: a field that is not valid is named") {
    using row = std::tuple<char const*, json, char const*>;
    for (auto const& [path, value, field] :
         {row{"/policy", 7, "policy"}, row{"/elapsed", -1, "elapsed"}, row{"/cores", true, "cores"},
          row{"/used_cores", "many", "used_cores"}, row{"/jobs", nullptr, "jobs"}, row{"/jobs/0", 7, "jobs"},
          row{"/jobs/0/job", "a\nb", "job"}, row{"/jobs/0/state", "", "state"}, row{"/jobs/0/state", "flying", "state"},
          row{"/jobs/0/cpu", "none", "cpu"}, row{"/jobs/0/cpu", -1, "cpu"}, row{"/jobs/0/value", true, "value"},
          row{"/jobs/0/starts_in", "soon", "starts_in"}, row{"/jobs/0/devices", 1.5, "devices"},
          row{"/jobs/0/level_met", true, "level_met"}}) {
        INFO(path << ' ' << value);
        CHECK(sentence_with(path, value) == "its field '" + std::string(field) + "' is missing or not valid");
    }
    view_model read;
    for (std::string_view const text : {"", "[1]", "{\"policy\":", "\xff"})
        CHECK(read_state(text, read) == "it is not a JSON object");
    CHECK(read_state("{}", read) == "its field 'policy' is missing or not valid");
}
