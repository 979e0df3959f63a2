// SPDX-License-Identifier: BSL-1.0
/// Writes the record by which a later start reattaches the jobs of this run.
#pragma once

#include <string>

#include "run/command_channel.hpp"
#include "run/event_sink.hpp"
#include "run/job_table.hpp"
#include "run/progress_monitor.hpp"
#include "run/run_clock.hpp"
#include "run/run_directory.hpp"

namespace ration::program {

class record_writer {
    run_record head_;  // without jobs
    run_clock clock_;
    run_directory& directory_;
    job_table const& jobs_;
    progress_monitor const& progress_;
    command_channel const& commands_;
    device_table const& table_;
    event_sink& events_;
    bool is_complete_ = true;

public:
    /// `head`: the run, the file, the policy and the groups; the rest is filled in.
    record_writer(run_record head, run_clock clock, run_directory& directory, job_table const& jobs,
                  progress_monitor const& progress, command_channel const& commands, device_table const& table,
                  event_sink& events);

    void rename_policy(std::string name) { head_.policy = std::move(name); }
    /// Until `resume`, the earlier record stays: this run does not have all of its jobs yet.
    void suspend() noexcept { is_complete_ = false; }
    void resume() {
        is_complete_ = true;
        save();
    }
    /// Before and after every start of a job, at its end, and before each step of a resize. A failure is a warning.
    void save();

private:
    [[nodiscard]] recorded_job row_of(live_job const& job) const;
    void add_devices(live_job const& job, recorded_job& into) const;
};

}  // namespace ration::program
