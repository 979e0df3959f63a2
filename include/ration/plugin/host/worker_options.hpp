// SPDX-License-Identifier: BSL-1.0
/// How a plugin runs in a worker process: its program, its timeouts and what it may do.
#pragma once

#include <ration/plugin/host/shared_file.hpp>
#include <ration/plugin/host/worker_process.hpp>
#include <ration/units.hpp>

namespace ration::plugin {

/// Settings of `worker_policy`.
struct worker_options {
    worker_program program{};
    nanoseconds to_start = seconds(5);         ///< load, create and bind together
    nanoseconds deadline = milliseconds(100);  ///< for one answer, or the tick's budget if that is longer
    /// Where the host's store has its columns; without it they are copied each tick
    shared_columns const* columns = nullptr;
    /// Of a plugin with RATION_F_OWN_THREADS: it may start some, and nothing limits how many
    bool threads = false;
    /// Before it is started again; doubled each time
    nanoseconds first_pause = milliseconds(100), longest_pause = seconds(60);
};

}  // namespace ration::plugin
