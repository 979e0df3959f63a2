// SPDX-License-Identifier: BSL-1.0
/// The source of the servers of a measurement. It stops them once another thread has finished its requests.
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include <ration/process/proc.hpp>

#include "run/job_source.hpp"

namespace ration::program {

class serve_probe final : public job_source {
    std::atomic<bool> const& finished_;
    bool stopped_ = false;

public:
    /// `finished` outlives it.
    explicit serve_probe(std::atomic<bool> const& finished) noexcept : finished_(finished) {}

    [[nodiscard]] bool complete() const noexcept override { return true; }
    [[nodiscard]] nanoseconds join(std::vector<pollfd>&) const override {
        return stopped_ ? nanoseconds{INT64_MAX} : process::now() + milliseconds(100);
    }
    [[nodiscard]] std::vector<admitted_job> admit(std::size_t, nanoseconds) override { return {}; }
    [[nodiscard]] bool may_launch(live_job const&) override { return true; }
    void handle(live_job const&, progress::report const&) override {}
    void handle_change(live_job const&, std::string_view) override {}
    [[nodiscard]] std::optional<process::exit_report> end_of(live_job const&) const override { return {}; }
    [[nodiscard]] turn_orders take_turn(job_table const& jobs, std::span<training_progress const>,
                                        policy_exchange const&, hook_room const&, nanoseconds) override {
        turn_orders orders;
        if (stopped_ || !finished_) return orders;
        stopped_ = true;
        for (auto const& job : jobs.jobs()) orders.terminate.push_back(job.id);
        return orders;
    }
    void interrupted() override {}
};

}  // namespace ration::program
