// SPDX-License-Identifier: BSL-1.0
/// The source of the one job of a measurement. It stops the job once its speed is measured.
#pragma once

#include <optional>
#include <string>

#include "measure/step_window.hpp"
#include "run/job_source.hpp"

namespace ration::program {

class scaling_probe final : public job_source {
    step_window window_;
    nanoseconds patience_;  // for the first step, and between two reports
    nanoseconds began_;     // CLOCK_MONOTONIC, as all times here
    std::uint64_t batch_ = 0;
    std::uint32_t ranks_ = 0;
    bool stopped_ = false;

public:
    scaling_probe(step_window const& window, nanoseconds patience);

    [[nodiscard]] bool complete() const noexcept override { return true; }
    [[nodiscard]] nanoseconds join(std::vector<pollfd>&) const override { return deadline(); }
    [[nodiscard]] std::vector<admitted_job> admit(std::size_t, nanoseconds) override { return {}; }
    [[nodiscard]] bool may_launch(live_job const&) override { return true; }
    void handle(live_job const& job, progress::report const& reply) override;
    void handle_change(live_job const&, std::string_view) override {}
    [[nodiscard]] std::optional<process::exit_report> end_of(live_job const&) const override { return {}; }
    [[nodiscard]] turn_orders take_turn(job_table const& jobs, std::span<training_progress const> progress,
                                        policy_exchange const& exchange, hook_room const& hooks,
                                        nanoseconds now) override;
    void interrupted() override {}

    [[nodiscard]] step_window const& window() const noexcept { return window_; }
    /// Samples of a step over all ranks: reported, or given to the job; 0: unknown.
    [[nodiscard]] std::uint64_t batch() const noexcept { return batch_; }
    /// Processes of the job, as it reports them; 0: unknown.
    [[nodiscard]] std::uint32_t ranks() const noexcept { return ranks_; }
    /// Why the probe stopped the job before its speed was measured; empty: it did not.
    [[nodiscard]] std::string timeout() const;

private:
    [[nodiscard]] nanoseconds deadline() const noexcept;
};

}  // namespace ration::program
