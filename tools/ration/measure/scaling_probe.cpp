// SPDX-License-Identifier: BSL-1.0
#include "measure/scaling_probe.hpp"

#include <fmt/core.h>

#include <ration/process/proc.hpp>

#include "common/quantity.hpp"

namespace ration::program {

scaling_probe::scaling_probe(step_window const& window, nanoseconds patience)
    : window_(window), patience_(patience), began_(process::now()) {}

void scaling_probe::handle(live_job const& job, progress::report const& reply) {
    if (reply.type == progress::message_type::hello && reply.world > 0) ranks_ = reply.world;
    if (reply.type != progress::message_type::step) return;
    batch_ = reply.batch > 0 ? reply.batch : static_cast<std::uint64_t>(job.batch);
    window_.add(reply.step, process::now());
}

turn_orders scaling_probe::take_turn(job_table const& jobs, std::span<training_progress const>, policy_exchange const&,
                                     hook_room const&, nanoseconds) {
    turn_orders orders;
    if (stopped_ || (!window_.complete() && process::now() < deadline())) return orders;
    stopped_ = true;
    for (auto const& job : jobs.jobs()) orders.stop.push_back(job.id);
    return orders;
}

std::string scaling_probe::timeout() const {
    if (!stopped_ || window_.complete()) return {};
    auto const waited = duration_text(patience_);
    constexpr auto remedy = "let the script report its progress, or extend the deadline 'start' of the job";
    if (!window_.last_report()) return fmt::format("it reported no step within {}; {}", waited, remedy);
    return fmt::format("it reported no step within {} after step {}; {}", waited, window_.last_step(), remedy);
}

nanoseconds scaling_probe::deadline() const noexcept {
    return stopped_ ? nanoseconds{INT64_MAX} : window_.last_report().value_or(began_) + patience_;
}

}  // namespace ration::program
