// SPDX-License-Identifier: BSL-1.0
#include "sim/job_list.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "events/json_writer.hpp"
#include "report/distribution.hpp"
#include "report/event_fields.hpp"
#include "sim/table.hpp"

namespace ration::program {
namespace {

constexpr std::size_t most_lines = 60'000, most_changes = 30'000, longest_name = 80;

[[nodiscard]] std::size_t listed(simulation_results const& all) { return std::min(all.input.samples.front().jobs.jobs.size(), most_lines / all.policies.size()); }

/// The time since the job was submitted; NaN when it did not come.
[[nodiscard]] double since(sim::job_outcome const& job, nanoseconds when) {
    return when.count < 0 ? std::numeric_limits<double>::quiet_NaN() : to_seconds(when - job.submitted);
}

/// It held one amount from its start to its end, as a job does that nobody stops or resizes.
[[nodiscard]] bool is_plain(job_way const& way, sim::job_outcome const& job) {
    return way.count == 2 && way.changes[0].at == job.started && way.changes[1].at == job.finished && way.changes[1].amount == 0;
}

/// The longest ways that there is room for, when all shorter ones get theirs first.
[[nodiscard]] std::uint32_t longest_told(simulated_run const& run, std::size_t jobs, std::size_t room) {
    std::array<std::size_t, job_way::most_changes + 1> by_length{};
    for (std::size_t i = 0; i < jobs; ++i) {
        auto const& way = run.ways[i];
        if (way.count <= job_way::most_changes && !is_plain(way, run.outcome.jobs[i])) by_length[way.count] += way.count;
    }
    std::uint32_t longest = 0;
    for (std::size_t used = 0; longest < job_way::most_changes && used + by_length[longest + 1] <= room; ++longest) used += by_length[longest + 1];
    return longest;
}

void write_way(json_writer& json, job_way const& way, sim::job_outcome const& job, std::uint32_t longest) {
    if (is_plain(way, job)) return json.value(six_digits(way.changes[0].amount));
    if (way.count > longest) return json.object([&] { json.member("changes", way.count); });
    json.array([&] {
        for (auto const& c : way.changes) json.value(six_digits(since(job, c.at))), json.value(six_digits(c.amount));
    });
}

template <class Of>
void write_column(json_writer& json, std::string_view name, std::size_t count, Of of) {
    std::vector<double> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = of(i);
    write_numbers(json, name, values);
}

}  // namespace

void write_common_jobs(json_writer& json, simulation_results const& all) {
    auto const& from = all.input.samples.front().jobs;
    std::size_t const count = listed(all);
    json.key("jobs").object([&] {
        if (from.job_names.size() == from.jobs.size())
            json.key("names").array([&] {
                for (std::size_t i = 0; i < count; ++i) json.value(shortened(from.job_names[i], longest_name));
            });
        write_column(json, "submitted", count, [&](std::size_t i) { return to_seconds(from.jobs[i].submitted); });
    });
}

void write_jobs_of(json_writer& json, simulation_results const& all, std::size_t policy) {
    auto const& run = all.runs_of(policy).front();
    std::size_t const count = listed(all);
    if (run.ways.size() < count || run.outcome.jobs.size() < count) return;
    auto const& jobs = run.outcome.jobs;
    auto const longest = longest_told(run, count, most_changes / all.policies.size());
    json.key("jobs").object([&] {
        write_column(json, "started", count, [&](std::size_t i) { return since(jobs[i], jobs[i].started); });
        write_column(json, "finished", count, [&](std::size_t i) { return since(jobs[i], jobs[i].finished); });
        json.key("holds").array([&] {
            for (std::size_t i = 0; i < count; ++i) write_way(json, run.ways[i], jobs[i], longest);
        });
    });
}

}  // namespace ration::program
