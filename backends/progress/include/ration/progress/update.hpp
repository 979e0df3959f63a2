// SPDX-License-Identifier: BSL-1.0
/// Reports of a job, from messages of P1 (receiver.hpp) or from lines of its log (log_adapter.hpp).
#pragma once

#include <cstdint>
#include <string_view>
#include <sys/types.h>

#include <ration/units.hpp>

namespace ration::progress {

/// The type of a report; docs/progress-protocol.md defines each.
enum class message_type : std::uint8_t {
    /// The job runs: its processes, threads and devices.
    hello,
    /// Steps were done.
    step,
    /// A metric was measured on held-out data.
    eval,
    /// A checkpoint was written, or failed.
    checkpoint,
    /// The phase of the job has changed.
    phase,
    /// The job is alive.
    heartbeat,
    /// The answer to a command.
    acknowledge,
    /// The job requests devices.
    want,
    /// The job ends.
    bye,
    /// A type of a later version.
    unknown
};

/// The present activity of a job. `other` is a word that P1 does not define; it is not an error,
/// and never a stall of training.
enum class phase : std::uint8_t { init, load, compile, train, eval, save, idle, other };

/// The content of a message. A field that is not in the message keeps its default. The texts point
/// into the received bytes: copy them to keep them longer than the call.
struct report {
    /// Decides which of the following fields have a value.
    message_type type = message_type::unknown;
    std::uint64_t step = 0;         ///< step, eval, checkpoint: counted over the whole job
    std::uint64_t total_steps = 0;  ///< step: 0 is unknown
    std::uint64_t loss_count = 0;   ///< step: number of finite losses in `loss_mean`
    std::uint64_t non_finite = 0;   ///< step, eval: values that were NaN or infinite
    double loss_mean = 0;           ///< step: of the finite losses; without any, the loss that was not finite
    double step_seconds = 0;        ///< step: mean time of a step; 0 is unknown
    std::uint64_t batch = 0;        ///< step: samples per step over all ranks; 0 is unknown
    std::string_view metric{};      ///< eval
    double value = 0;               ///< eval: finite if `non_finite` is 0
    phase now = phase::other;       ///< phase
    bool durable = false;           ///< checkpoint: written, and safe
    double save_seconds = 0;        ///< checkpoint: its duration; 0 is unknown
    int exit_code = 0;              ///< bye
    std::string_view why{};         ///< bye: done, stop, diverged, error; or empty
    std::uint32_t world = 0;        ///< hello: processes of the job
    std::uint32_t threads = 0;      ///< hello: threads of this process; 0 is unknown
    /// hello: names of the devices that this process sees, separated by commas; empty is unknown
    std::string_view devices{};
    /// hello: socket for commands, in the receiver's directory; empty: none
    std::string_view control{};
    std::uint32_t wanted = 0;   ///< want: devices that the job requests; 0 withdraws the request
    std::uint64_t command = 0;  ///< acknowledge: the number of the command
    bool taken_in = false;      ///< acknowledge: the job supports the command and follows it
};

/// A validated report, and its job.
struct update {
    /// The job, as it was registered.
    job_id job{};
    /// Its present incarnation.
    incarnation_id run{};
    /// Rank of the process in a distributed job; 0 from a log.
    std::uint32_t rank = 0;
    pid_t process = 0;      ///< as the kernel reports; 0 for a log
    bool rollback = false;  ///< a step below an earlier one in this incarnation: the job went back to a checkpoint
    /// The content.
    report body{};
};

}  // namespace ration::progress
