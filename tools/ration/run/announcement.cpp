// SPDX-License-Identifier: BSL-1.0
#include "run/announcement.hpp"

#include <ctime>
#include <fmt/core.h>
#include <string>
#include <utility>
#include <vector>

#include "events/machine.hpp"
#include "policies/plugin_policy.hpp"

namespace ration::program {
namespace {

/// A run without GPUs has no topology, and no reason why not.
void warn_of_placement(machine_topology const& topology, event_sink& events, nanoseconds now) {
    if (!topology.why_not.empty())
        events.warn_once(
            "placement",
            fmt::format("GPUs are chosen by number, and no CPU is bound: {}; {}", topology.why_not, topology.remedy),
            now);
    if (topology.machine && !topology.is_this_machine)
        events.warn_once(
            "placement",
            "GPUs are chosen by the machine that HWLOC_XMLFILE names, and no CPU is bound; unset it, or set HWLOC_THISSYSTEM=1 if it is this one",
            now);
}

[[nodiscard]] std::vector<control> controls_of(job_backend const& jobs) {
    auto const sentences = jobs.approximations();
    std::vector<control> all;
    for (auto const r : jobs.resources())
        all.push_back({std::string(standard_resources[static_cast<std::size_t>(r)].name), jobs.name(),
                       sentences.empty() ? std::string() : sentences.front()});
    return all;
}

[[nodiscard]] std::vector<named_value> parameters_of(run_parts const& parts, policy_choice const& choice) {
    std::vector<named_value> all;
    auto const config = with_parameters(parts.config, choice);
    if (auto const* const given = config.parameters_of(choice.policy))
        for (auto const& p : given->parameters) all.push_back({p.name, p.value});
    return all;
}

}  // namespace

std::vector<std::string> announce_policy(run_parts const& parts, policy_choice const& choice, job_table const& jobs,
                                         device_assigner& assigner, event_sink& events, nanoseconds now) {
    run_started begin{.policy = choice.policy,
                      .policy_version = std::string(parts.policy->about().version),
                      .label = choice.label,
                      .round = parts.planned.rounds > 1 ? parts.planned.round : 0,
                      .parameters = parameters_of(parts, choice),
                      .isolation = isolation_of(*parts.policy),
                      .unix_time = std::time(nullptr),
                      .cpus = static_cast<std::uint32_t>((parts.node.jobs().capacity().count + 999) / 1000),
                      .tick = parts.config.tick,
                      .file = parts.config.file,
                      .source = parts.config.source,
                      .machine = machine_here(),
                      .controls = controls_of(parts.node.jobs()),
                      .devices = {parts.devices.names().begin(), parts.devices.names().end()},
                      .schema = jobs.store().schema()};
    std::vector<std::string> advice;
    if (jobs.shares_devices()) begin.controls.push_back(assigner.controls(advice));
    events.emit(std::move(begin), now);
    return advice;
}

void announce(run_parts const& parts, job_table const& jobs, device_assigner& assigner, event_sink& events,
              nanoseconds now) {
    auto const advice = announce_policy(parts, parts.planned.choice, jobs, assigner, events, now);
    for (auto const& sentence : advice) events.print("advisory: " + sentence);
    for (auto const& sentence : parts.node.jobs().approximations()) events.print("approximate: " + sentence);
    if (auto const missing = parts.node.cpus().missing(); !missing.empty()) events.warn_once("cpus", missing, now);
    if (auto const shared = parts.node.cpus().shared(); !shared.empty()) events.warn_once("cpus", shared, now);
    warn_of_placement(parts.topology, events, now);
    for (auto const& [job, sentence] : shared_metric_files(parts.config)) events.warn_once(job, sentence, now);
    for (auto const& job : parts.config.jobs)
        if (!job.reads.empty() && !parts.config.cache)
            events.warn_once("cache", "'reads' of jobs has no effect without a cache; add cache = \"20GiB\" at the top",
                             now);
}

}  // namespace ration::program
