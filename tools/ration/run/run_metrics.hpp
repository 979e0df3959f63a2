// SPDX-License-Identifier: BSL-1.0
/// The metrics of a run: what its events count, and what its jobs are like at the moment. docs/operations.md lists
/// them.
#pragma once

#include <memory>
#include <span>
#include <string>

#include <ration/progress/receiver.hpp>

#include "events/events.hpp"
#include "run/job_table.hpp"
#include "run/usage_meter.hpp"

namespace ration::program {

/// Values of a page besides the counted events; read when the page is made.
struct run_state {
    job_table const& board;
    std::span<training_progress const> progress{};  ///< by slot of the job table
    std::span<job_usage const> usage{};             ///< by slot of the job table
    progress::totals const& messages;
    std::uint64_t lost_events = 0;
    std::int64_t cordoned_devices = 0;
};

class run_metrics {
    struct counted;  // keeps the library's headers away from those who include this one
    std::unique_ptr<counted> counted_;

public:
    run_metrics();
    run_metrics(run_metrics&&) noexcept;
    run_metrics& operator=(run_metrics&&) = delete;
    ~run_metrics();

    /// Counts. The first event of a run sets everything to 0. Does not allocate otherwise.
    void emit(event const& e);
    /// Everything as text: OpenMetrics, or Prometheus' older format. O(jobs).
    [[nodiscard]] std::string page(run_state const& now, bool open_metrics) const;
};

}  // namespace ration::program
