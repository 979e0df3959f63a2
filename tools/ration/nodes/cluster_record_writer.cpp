// SPDX-License-Identifier: BSL-1.0
#include "nodes/cluster_record_writer.hpp"

#include <utility>

#include "common/error_text.hpp"
#include "run/run_folder.hpp"

namespace ration::program {

cluster_record_writer::cluster_record_writer(std::string const& folder, cluster_record head, cluster_nodes const& nodes,
                                             cluster_jobs const& jobs, event_sink& events)
    : path_(record_in(folder)), head_(std::move(head)), nodes_(nodes), jobs_(jobs), events_(events) {
    head_.devices = jobs.most_devices();
}

void cluster_record_writer::save_changes(nanoseconds now) {
    std::uint64_t incarnations = 0;
    for (auto const& job : jobs_.table().jobs()) incarnations += job.run.value;
    if (std::exchange(incarnations_, incarnations) == incarnations && !nodes_.has_changed_lists()) return;
    auto record = head_;
    for (auto const& job : jobs_.table().jobs()) record.jobs.push_back(launch_of(job));
    auto text = to_json(record);
    if (text == written_) return;
    if (auto const saved = replace_private_file(path_, text); !saved) {
        incarnations_ = ~std::uint64_t{0};  // the next turn tries again
        return events_.warn_once("record", to_text(saved.failure()), now);
    }
    written_ = std::move(text);
}

recorded_launch cluster_record_writer::launch_of(live_job const& job) const {
    auto const number = cluster_jobs::number_of(job);
    auto const& launch = jobs_.launches().of(number);
    auto const& progress = jobs_.progress_of(job);
    recorded_launch out{.job = job.config->name,
                        .incarnation = job.run.value,
                        .leaving = nodes_.registry().is_leaving(number),
                        .batch = jobs_.launches().batch_of(number),
                        .step = progress.step,
                        .attained = launch.attained(),
                        .started = job.started_at,
                        .acceptable = progress.acceptable_at,
                        .objective = progress.objective_at,
                        .ended = job.ended_at,
                        .why = job.why};
    if (job.over()) out.how = job.now;
    for (auto const& share : launch.layout)
        out.layout.push_back({.node = nodes_.name(share.node),
                              .devices = share.devices,
                              .is_there = nodes_.registry().is_on(number, share.node)});
    return out;
}

}  // namespace ration::program
