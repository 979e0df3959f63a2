// SPDX-License-Identifier: BSL-1.0
#include "run/supervisor.hpp"

#include <algorithm>
#include <unistd.h>
#include <utility>

#include "common/error_text.hpp"

namespace ration::program {
namespace {

[[nodiscard]] bytes memory_of_machine() {
    return {static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE)};
}

[[nodiscard]] host_supply supply_of(run_parts const& parts) {
    host_supply out{.cpu = parts.node.jobs().capacity(),
                    .memory = memory_of_machine(),
                    .tenants = parts.config.tenants,
                    .open = !parts.source.complete(),
                    .phases = parts.phases};
    if (parts.config.shares_devices()) out.devices = static_cast<std::int64_t>(parts.devices.names().size());
    return out;
}

/// The clock of a run that is continued is that of its record.
[[nodiscard]] run_clock clock_of(orphaned_run const* reattached) {
    auto const now = process::now();
    if (reattached == nullptr) return {now};
    return {std::min(nanoseconds{reattached->record.written_ns - reattached->record.clock_ns}, now)};
}

[[nodiscard]] run_record head_of(run_parts const& parts) {
    return {.run = parts.run,
            .file = parts.config.file,
            .policy = parts.planned.choice.policy,
            .output = parts.output_folder,
            .memberships = parts.node.memberships(),
            .boot = {},
            .jobs = {}};
}

}  // namespace

supervisor::supervisor(run_parts const& parts, progress::receiver receiver)
    : parts_(parts), choice_(parts.planned.choice), clock_(clock_of(parts.reattached)), events_(parts.out),
      elastic_(parts.devices.names()), jobs_(parts.config.jobs, supply_of(parts), parts.slots),
      progress_(std::move(receiver), parts.directory.folder(), jobs_, parts.node, events_), commands_(parts.slots),
      usage_(parts.slots), policy_(parts.policy, parts.fallback),
      scheduler_(policy_, parts.node, jobs_, usage_,
                 {parts.config.tick, parts.settle, parts.phases.models, parts.estimators}, events_),
      gpus_(parts.devices, elastic_.table(), parts.slots, scheduler_, events_),
      assigner_(parts.devices, parts.shares, parts.topology, elastic_, gpus_, parts.node, events_),
      shares_(parts.shares, parts.devices, elastic_.table(), parts.node, jobs_, events_),
      record_(head_of(parts), clock_, parts.directory, jobs_, progress_, commands_, elastic_.table(), events_),
      stopper_(parts.node, jobs_, commands_, scheduler_, events_),
      health_(parts.node, jobs_, usage_, scheduler_, stopper_, events_),
      models_(jobs_, commands_, stopper_, events_, parts.output_folder),
      hooks_(parts.slots, events_, parts.output_folder), servers_(parts.slots, parts.node.open_files(), events_),
      launcher_(parts.slots, parts.node, jobs_, parts.directory, parts.output_folder, assigner_, progress_, health_,
                shares_, servers_, scheduler_, record_, events_),
      exits_(parts.node, progress_, health_, stopper_, parts.source),
      reaper_(parts.slots, parts.node, progress_, exits_, usage_, commands_, stopper_, gpus_, models_, hooks_, servers_,
              scheduler_, record_, events_),
      resizes_(parts.source, elastic_, jobs_, commands_, launcher_, stopper_, reaper_, gpus_, shares_, scheduler_,
               record_, events_),
      tick_events_(parts.planned.choice.policy, std::string(parts.config.fallback_name()), policy_, parts.log, jobs_,
                   events_),
      items_(item_cache::of(parts.config, jobs_, parts.slots, !parts.source.complete(), events_)),
      status_(parts, jobs_, progress_, usage_, elastic_, scheduler_, stopper_) {
    if (auto const opened = commands_.open(parts.directory.folder()); !opened)
        events_.warn_once("commands", to_text(opened.failure()), clock_.now());
    if (!jobs_.shares_devices()) return;
    assigner_.share_devices(jobs_);
    gpus_.start(clock_.now());
}

result<run_summary> supervisor::run() {
    if (auto bound = scheduler_.bind(parts_.slots); !bound) return bound.failure();
    announce(parts_, jobs_, assigner_, events_, clock_.now());
    if (parts_.reattached != nullptr)
        reattach(*parts_.reattached);
    else if (!parts_.source.complete())
        record_.save();  // what is not in the record of a service was not launched
    run_loop loop({.clock = clock_,
                   .source = parts_.source,
                   .node = parts_.node,
                   .jobs = jobs_,
                   .elastic = elastic_,
                   .assigner = assigner_,
                   .signals = parts_.signals,
                   .progress = progress_,
                   .commands = commands_,
                   .usage = usage_,
                   .health = health_,
                   .gpus = gpus_,
                   .models = models_,
                   .hooks = hooks_,
                   .launcher = launcher_,
                   .stopper = stopper_,
                   .reaper = reaper_,
                   .resizes = resizes_,
                   .record = record_,
                   .ticks = scheduler_,
                   .tick_events = tick_events_,
                   .items = items_.get(),
                   .events = events_,
                   .status = status_,
                   .out = parts_.out,
                   .change_policy = [this](policy_change& next, nanoseconds now) { return change_policy(next, now); }});
    return loop.run();
}

/// The log continues with another run: its readers attribute the decisions to the new policy.
result<void> supervisor::change_policy(policy_change& next, nanoseconds now) {
    tick_events_.emit_policy_log(now);
    if (auto changed = scheduler_.change_policy(next.policy, now); !changed) return changed;
    std::swap(choice_, next.choice);
    tick_events_.rename_policy(choice_.policy);
    status_.rename_policy(choice_);
    record_.rename_policy(choice_.policy);
    static_cast<void>(announce_policy(parts_, choice_, jobs_, assigner_, events_, now));
    record_.save();
    return {};
}

void supervisor::reattach(orphaned_run const& run) {
    reattachment earlier(jobs_, parts_.source, parts_.node, elastic_, assigner_, progress_, commands_, scheduler_,
                         launcher_, reaper_, record_, events_);
    earlier.reattach(run, clock_.now());
}

}  // namespace ration::program
