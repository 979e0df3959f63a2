// SPDX-License-Identifier: BSL-1.0
#include "sim/job_list.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string>

#include "events/event_fields.hpp"
#include "events/json_writer.hpp"
#include "sim/distribution.hpp"
#include "sim/table.hpp"

namespace ration::program {
namespace {

constexpr std::size_t most_lines = 60'000, most_changes = 30'000;

[[nodiscard]] std::size_t listed(simulation_results const& all) {
    return std::min(all.input.samples.front().jobs.jobs.size(), most_lines / all.policies.size());
}

/// The time since the job was submitted; NaN when it did not come.
[[nodiscard]] double since(sim::job_outcome const& job, nanoseconds when) {
    return when.count < 0 ? std::numeric_limits<double>::quiet_NaN() : to_seconds(when - job.submitted);
}

/// It held one amount from its start to its end, as a job does that is neither stopped nor resized.
[[nodiscard]] bool is_plain(job_history const& way, sim::job_outcome const& job) {
    return way.count == 2 && way.changes[0].at == job.started && way.changes[1].at == job.finished &&
           way.changes[1].amount == 0;
}

/// The longest ways that there is room for, when all shorter ones get theirs first. `is_short(i)`: way i is written as
/// one number.
template <class Short>
[[nodiscard]] std::uint32_t longest_reported(std::span<job_history const> ways, std::size_t room, Short is_short) {
    std::array<std::size_t, job_history::most_changes + 1> by_length{};
    for (std::size_t i = 0; i < ways.size(); ++i)
        if (ways[i].count <= job_history::most_changes && !is_short(i)) by_length[ways[i].count] += ways[i].count;
    std::uint32_t longest = 0;
    for (std::size_t used = 0; longest < job_history::most_changes && used + by_length[longest + 1] <= room; ++longest)
        used += by_length[longest + 1];
    return longest;
}

void write_changes(json_writer& json, job_history const& way, sim::job_outcome const& job, std::uint32_t longest) {
    if (way.count > longest) return json.object([&] { json.member("changes", way.count); });
    json.array([&] {
        for (auto const& c : way.changes) {
            json.value(six_digits(since(job, c.at)));
            json.value(six_digits(c.amount));
        }
    });
}

/// The amounts that each job held.
void write_ways(json_writer& json, std::span<job_history const> ways, std::span<sim::job_outcome const> jobs,
                std::size_t room) {
    auto const is_short = [&](std::size_t i) { return is_plain(ways[i], jobs[i]); };
    auto const longest = longest_reported(ways, room, is_short);
    json.key("holds").array([&] {
        for (std::size_t i = 0; i < ways.size(); ++i)
            if (is_short(i))
                json.value(six_digits(ways[i].changes[0].amount));
            else
                write_changes(json, ways[i], jobs[i], longest);
    });
}

/// The node of each job on processors; null without one.
void write_nodes(json_writer& json, std::span<job_history const> nodes, std::span<sim::job_outcome const> jobs,
                 std::size_t room) {
    auto const longest = longest_reported(nodes, room, [&](std::size_t i) { return nodes[i].count < 2; });
    json.key("nodes").array([&] {
        for (std::size_t i = 0; i < nodes.size(); ++i)
            if (nodes[i].count == 0)
                json.null();
            else if (nodes[i].count == 1)
                json.value(six_digits(nodes[i].changes[0].amount));
            else
                write_changes(json, nodes[i], jobs[i], longest);
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
    std::size_t const room = most_changes / all.policies.size();
    json.key("jobs").object([&] {
        write_column(json, "started", count, [&](std::size_t i) { return since(jobs[i], jobs[i].started); });
        write_column(json, "finished", count, [&](std::size_t i) { return since(jobs[i], jobs[i].finished); });
        write_ways(json, std::span(run.ways).first(count), jobs, room);
        if (run.nodes.size() >= count && count > 0) write_nodes(json, std::span(run.nodes).first(count), jobs, room);
    });
}

}  // namespace ration::program
