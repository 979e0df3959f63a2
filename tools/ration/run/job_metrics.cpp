// SPDX-License-Identifier: BSL-1.0
#include "run/job_metrics.hpp"

#include <limits>
#include <utility>

namespace ration::program {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

/// The label of the job's name. Prometheus itself sets `job`, to the name of its scrape configuration.
constexpr char const* job_label = "job_name";

/// The CPU of a job that has arrived; no limit is +Inf, as the format's users expect it.
[[nodiscard]] double cores_held(job_table const& board, live_job const& job) {
    auto const& of_cpu = board.columns().resources[static_cast<std::size_t>(resource_id::cpu)];
    std::int64_t const amount = board.store()[of_cpu.held][job.row];
    return amount == unlimited ? std::numeric_limits<double>::infinity() : static_cast<double>(amount) / 1000;
}

/// One job, and what the components have of it.
struct job_reading {
    job_table const& board;
    live_job const& job;
    training_progress const& progress;
    job_usage const& usage;
};

/// A property of jobs that is one number.
struct property {
    char const* name;
    char const* help;
    MetricType type;
    double (*of)(job_reading const&);
};

constexpr property properties[] = {
    {"ration_job_cpu_limit_cores",
     "What the job may use of the CPU by its last grant; +Inf without a limit, 0 when it holds nothing",
     MetricType::Gauge, [](job_reading const& s) { return s.job.alive() ? cores_held(s.board, s.job) : 0.0; }},
    {"ration_job_cpu_seconds_total", "CPU time that the job has used since it was last started", MetricType::Counter,
     [](job_reading const& s) { return to_seconds(s.usage.cpu_time); }},
    {"ration_job_memory_bytes", "Memory that the job has resident, at the last decision", MetricType::Gauge,
     [](job_reading const& s) { return s.job.alive() ? static_cast<double>(s.usage.memory.count) : 0.0; }},
    {"ration_job_memory_limit_bytes", "Memory that the jobs file lets the job have; +Inf without a limit",
     MetricType::Gauge,
     [](job_reading const& s) {
         return s.job.config->memory ? static_cast<double>(s.job.config->memory->count)
                                     : std::numeric_limits<double>::infinity();
     }},
    {"ration_job_devices", "Devices that the job has", MetricType::Gauge,
     [](job_reading const& s) {
         return s.job.alive() && s.job.devices != nullptr ? static_cast<double>(s.job.devices->state().devices.size())
                                                          : 0.0;
     }},
    {"ration_job_step", "The last step that the job reported", MetricType::Gauge,
     [](job_reading const& s) { return static_cast<double>(s.progress.step); }},
    {"ration_job_tier",
     "Tiers of its target that the job has reached: 1 is Acceptable or a level that holds, 2 is Objective",
     MetricType::Gauge, [](job_reading const& s) { return static_cast<double>(s.progress.tier()); }},
};

[[nodiscard]] ClientMetric sample(std::vector<ClientMetric::Label> labels, MetricType type, double value) {
    ClientMetric made;
    made.label = std::move(labels);
    (type == MetricType::Counter ? made.counter.value : made.gauge.value) = value;
    return made;
}

[[nodiscard]] MetricFamily states_of(job_table const& board) {
    MetricFamily family{
        "ration_job_state", "1 for the state that the job is in, 0 for the others", MetricType::Gauge, {}};
    for (auto const& job : board.jobs())
        for (int i = static_cast<int>(condition::waiting); i <= static_cast<int>(condition::stopped) && !job.forgotten;
             ++i) {
            auto const state = static_cast<condition>(i);
            family.metric.push_back(sample({{job_label, job.config->name}, {"state", std::string(name_of(state))}},
                                           MetricType::Gauge, job.now == state ? 1 : 0));
        }
    return family;
}

[[nodiscard]] MetricFamily values_of(job_table const& board, std::span<training_progress const> progress) {
    MetricFamily family{"ration_job_target_value",
                        "The smoothed value of the metric that the job's target is on, such as its loss",
                        MetricType::Gauge,
                        {}};
    for (auto const& job : board.jobs())
        if (auto const value = progress[job.slot].smoothed(); value && !job.forgotten)
            family.metric.push_back(sample({{job_label, job.config->name}, {"metric", job.config->target.metric}},
                                           MetricType::Gauge, *value));
    return family;
}

/// A figure of the windows of levels.
struct level_property {
    char const* name;
    char const* help;
    double (level_tracker::*of)() const noexcept;
};

constexpr level_property level_properties[] = {
    {"ration_job_level_met", "Part of the last window in which the level of the job held", &level_tracker::met},
    {"ration_job_level_slack",
     "Distance of the window's mean from the level, relative to it; negative is worse, NaN without a value",
     &level_tracker::slack},
};

/// For the jobs that have a level. Without such a job the family is absent.
void add_levels(std::vector<MetricFamily>& into, job_table const& board, std::span<training_progress const> progress) {
    for (auto const& [name, help, of] : level_properties) {
        MetricFamily family{name, help, MetricType::Gauge, {}};
        for (auto const& job : board.jobs())
            if (auto const* const level = progress[job.slot].level(); level != nullptr && !job.forgotten)
                family.metric.push_back(sample({{job_label, job.config->name}, {"metric", job.config->target.metric}},
                                               MetricType::Gauge, (level->*of)()));
        if (!family.metric.empty()) into.push_back(std::move(family));
    }
}

constexpr std::pair<char const*, std::uint64_t progress::totals::*> outcomes[] = {
    {"accepted", &progress::totals::accepted},         {"truncated", &progress::totals::truncated},
    {"wrong_uid", &progress::totals::wrong_uid},       {"malformed", &progress::totals::malformed},
    {"unknown_job", &progress::totals::unknown_job},   {"stale", &progress::totals::stale},
    {"wrong_token", &progress::totals::wrong_token},   {"wrong_process", &progress::totals::wrong_process},
    {"duplicate", &progress::totals::duplicate},       {"rate_limited", &progress::totals::rate_limited},
    {"unknown_type", &progress::totals::unknown_type},
};

[[nodiscard]] MetricFamily counter(char const* name, char const* help, std::uint64_t value) {
    return {name, help, MetricType::Counter, {sample({}, MetricType::Counter, static_cast<double>(value))}};
}

}  // namespace

void collect_jobs(std::vector<MetricFamily>& into, job_table const& board, std::span<training_progress const> progress,
                  std::span<job_usage const> usage) {
    for (auto const& [name, help, type, of] : properties) {
        MetricFamily family{name, help, type, {}};
        for (auto const& job : board.jobs())
            if (!job.forgotten)
                family.metric.push_back(sample({{job_label, job.config->name}}, type,
                                               of({board, job, progress[job.slot], usage[job.slot]})));
        into.push_back(std::move(family));
    }
    into.push_back(values_of(board, progress));
    add_levels(into, board, progress);
    into.push_back(states_of(board));
}

void collect_messages(std::vector<MetricFamily>& into, progress::totals const& messages, std::uint64_t lost_events) {
    MetricFamily family{"ration_progress_messages_total",
                        "Messages that came to the progress socket, by what became of them",
                        MetricType::Counter,
                        {}};
    for (auto const& [word, member] : outcomes)
        family.metric.push_back(
            sample({{"outcome", word}}, MetricType::Counter, static_cast<double>(messages.*member)));
    into.push_back(std::move(family));
    into.push_back(counter("ration_progress_messages_lost_total",
                           "Messages of jobs that never arrived, by the gaps in their numbers", messages.lost));
    into.push_back(counter("ration_events_lost_total", "Events that the event log could not take", lost_events));
}

void collect_devices(std::vector<MetricFamily>& into, std::int64_t cordoned) {
    into.push_back({"ration_run_devices_cordoned",
                    "Devices that are not assigned for a while after a fault",
                    MetricType::Gauge,
                    {sample({}, MetricType::Gauge, static_cast<double>(cordoned))}});
}

}  // namespace ration::program
