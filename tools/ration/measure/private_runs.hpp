// SPDX-License-Identifier: BSL-1.0
/// Launches the jobs of a measurement as a private run, with separate groups, sockets and a private folder.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <sys/resource.h>

#include "common/exit_code.hpp"
#include "config/config.hpp"
#include "measure/scaling_probe.hpp"
#include "measure/scratch_folder.hpp"
#include "run/one_run.hpp"

namespace ration::program {

/// Launches jobs one after another.
class private_runs {
    host_devices const& devices_;
    scratch_folder const& scratch_;
    stop_signals& signals_;
    reporter& out_;
    run_options options_;
    machine_topology topology_;
    rlimit open_files_;
    bool interrupted_ = false;

public:
    private_runs(host_devices const& devices, scratch_folder const& scratch, stop_signals& signals, reporter& out);

    /// Runs the jobs of `config` until `source` stops them or they end. Errors: those of `open_resources` and
    /// `run_one`.
    [[nodiscard]] result<run_summary> launch(run_config const& config, job_source& source);
    /// Whether the user has interrupted a launch, or the time since.
    [[nodiscard]] bool interrupted();
    [[nodiscard]] host_devices const& devices() const noexcept { return devices_; }
    /// A private folder, which is removed at the end.
    [[nodiscard]] std::string const& folder() const noexcept { return scratch_.path(); }

private:
    [[nodiscard]] result<std::string> new_folder() const;
};

/// Opens what launches need, and calls `measure`. Prints what is missing, such as a machine without jobs of killed
/// runs.
[[nodiscard]] exit_code with_private_runs(host_devices const& devices,
                                          std::function<exit_code(private_runs& runs)> const& measure);

/// Why a job that was launched has no speed. Pre: the window of the probe is not complete.
[[nodiscard]] std::string failure_of(scaling_probe const& probe, job_summary const& job);

/// The devices of the machine for the job. Prints what is missing, and returns none.
[[nodiscard]] std::optional<host_devices> find_devices(run_config const& config);
/// The devices that the job can have here. Pre: it uses devices.
[[nodiscard]] std::int64_t most_devices(job_config const& job, host_devices const& devices);

}  // namespace ration::program
