// SPDX-License-Identifier: BSL-1.0
/// Settings of a plugin in a worker process: its program, its timeouts and its rights.
#pragma once

#include <ration/plugin/host/shared_file.hpp>
#include <ration/plugin/host/worker_process.hpp>
#include <ration/units.hpp>

namespace ration::plugin {

/// Settings of `worker_policy`.
struct worker_options {
    /// The program that runs the plugin.
    worker_program program{};
    nanoseconds to_start = seconds(5);         ///< load, create and bind together
    nanoseconds deadline = milliseconds(100);  ///< of one answer, or the tick's budget if that is longer
    /// The memory in which the host's store has its columns; without it they are copied each tick
    shared_columns const* columns = nullptr;
    /// `bind` succeeds although the machine cannot start the worker now, as without processes or memory: `decide` fails
    /// until it can
    bool may_start_later = false;
    /// Allows threads to a plugin with RATION_F_OWN_THREADS; their number is not limited
    bool threads = false;
    /// Time until a restart; doubled each time
    nanoseconds first_pause = milliseconds(100), longest_pause = seconds(60);
};

}  // namespace ration::plugin
