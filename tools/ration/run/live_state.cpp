// SPDX-License-Identifier: BSL-1.0
#include "run/live_state.hpp"

#include <fmt/core.h>
#include <limits>

#include <ration/resource.hpp>

#include "common/printable.hpp"
#include "config/config.hpp"
#include "events/json_reader.hpp"
#include "events/json_writer.hpp"
#include "run/json_fields.hpp"

namespace ration::program {
namespace {

/// A member of the state as JSON, in both directions.
struct state_field {
    static void write(json_writer& to, char const* name, auto const& value) { to.member(name, value); }
    static void write(json_writer& to, char const* name, condition value) { to.member(name, name_of(value)); }
    static void write(json_writer& to, char const* name, std::optional<millicores> const& value) {
        if (value && value->count == unlimited)
            to.member(name, "unlimited");
        else
            to.member(name, value ? std::optional(value->count) : std::nullopt);
    }

    [[nodiscard]] static bool read(nlohmann::json const& value, auto& into) { return take(value, into); }
    [[nodiscard]] static bool read(nlohmann::json const& value, nanoseconds& into) { return take(value, into.count); }
    [[nodiscard]] static bool read(nlohmann::json const& value, condition& into) {
        std::optional<condition> read;
        if (!take(value, read) || !read) return false;
        into = *read;
        return true;
    }
    /// The value of a metric may be negative; one that is not finite is a word.
    [[nodiscard]] static bool read(nlohmann::json const& value, std::optional<double>& into) {
        if (value.is_number()) into = value.get<double>();
        if (value.is_string()) into = std::numeric_limits<double>::quiet_NaN();
        return value.is_number() || value.is_string() || value.is_null();
    }
    [[nodiscard]] static bool read(nlohmann::json const& value, std::optional<millicores>& into) {
        if (value == "unlimited") into = millicores{unlimited};
        return value == "unlimited" || value.is_null() || take(value, into.emplace().count);
    }
    template <class T>
    [[nodiscard]] static bool read(nlohmann::json const& value, std::optional<T>& into) {
        return value.is_null() || read(value, into.emplace());
    }
};

/// Each field of a job with its name.
template <class Job, class Visit>
void for_each_field_of_state(Job& job, Visit&& visit)
    requires requires { job.metric; }
{
    visit("job", job.name);
    visit("state", job.now);
    visit("why", job.detail);
    visit("starts_in", job.starts_in);
    visit("metric", job.metric);
    visit("value", job.value);
    visit("tier", job.tier);
    visit("level", job.level);
    visit("window_met", job.window_met);
    visit("level_met", job.level_met);
    visit("cpu", job.held);
    visit("devices", job.devices);
    visit("next_devices", job.going_to);
    visit("used_cores", job.used);
    visit("array_index", job.array_index);
}

/// The same for the run, without its jobs.
template <class Run, class Visit>
void for_each_field_of_state(Run& run, Visit&& visit)
    requires requires { run.jobs; }
{
    visit("policy", run.policy);
    visit("backend", run.backend);
    visit("elapsed", run.elapsed);
    visit("cores", run.cpus);
    visit("used_cores", run.used);
    visit("devices", run.devices);
    visit("devices_held", run.devices_held);
    visit("devices_cordoned", run.cordoned_devices);
}

/// The name of the first field that is missing or has another type; empty if all are sound.
[[nodiscard]] std::string read_fields(nlohmann::json const& from, auto& into) {
    std::string wrong;
    for_each_field_of_state(into, [&](char const* name, auto& value) {
        auto const found = from.find(name);
        if (wrong.empty() && (found == from.end() || !state_field::read(*found, value))) wrong = name;
    });
    return wrong;
}

}  // namespace

void write_state(json_writer& json, view_model const& state) {
    auto const write = [&](char const* name, auto const& value) { state_field::write(json, name, value); };
    for_each_field_of_state(state, write);
    json.key("jobs").array([&] {
        for (auto const& job : state.jobs) json.object([&] { for_each_field_of_state(job, write); });
    });
}

std::string to_json(view_model const& state) {
    std::string text;
    json_writer json(text);
    json.object([&] { write_state(json, state); });
    return text;
}

std::string read_state(std::string_view text, view_model& into) {
    into = {};
    auto const run = parse_json(text);
    if (!run.is_object()) return "it is not a JSON object";
    auto wrong = read_fields(run, into);
    auto const jobs = run.find("jobs");
    if (wrong.empty() && (jobs == run.end() || !jobs->is_array() || jobs->size() > max_jobs)) wrong = "jobs";
    if (wrong.empty())
        for (auto const& job : *jobs) {
            wrong = job.is_object() ? read_fields(job, into.jobs.emplace_back()) : "jobs";
            if (wrong.empty() && !is_plain_name(into.jobs.back().name)) wrong = "job";
            if (!wrong.empty()) break;
        }
    return wrong.empty() ? "" : fmt::format("its field {} is missing or not valid", quoted(wrong));
}

void live_state_writer::write(view_model const& state, nanoseconds now) {
    if (written_at_ && now - *written_at_ < interval) return;
    written_at_ = now;
    // Without it `ration list` shows fewer facts, and the run does not need it
    static_cast<void>(directory_.save_state(to_json(state)));
}

}  // namespace ration::program
