// SPDX-License-Identifier: BSL-1.0
/// What a job says of itself, whichever way it said it: a message of P1 or a line of its log.
#pragma once

#include <cstdint>
#include <string_view>
#include <sys/types.h>

#include <ration/units.hpp>

namespace ration::progress {

enum class message_type : std::uint8_t {
    hello,
    step,
    eval,
    checkpoint,
    phase,
    heartbeat,
    acknowledge,
    want,
    bye,
    unknown
};

/// What a job is busy with. `other`: a word that P1 does not know; it is nobody's error and never a stall of training.
enum class phase : std::uint8_t { init, load, compile, train, eval, save, idle, other };

/// The content of a message. A field that its type does not have, or that was left out, keeps its value from here.
/// The texts point into what was received: copy what has to outlive the call that hands out the report.
struct report {
    message_type type = message_type::unknown;
    std::uint64_t step = 0;         ///< step, eval, checkpoint: counted over the whole job
    std::uint64_t total_steps = 0;  ///< step: 0 is unknown
    std::uint64_t loss_count = 0;   ///< step: finite losses that `loss_mean` is the mean of
    std::uint64_t non_finite = 0;   ///< step, eval: values that were NaN or infinite
    double loss_mean = 0;           ///< step: finite; without meaning when `loss_count` is 0
    double step_seconds = 0;        ///< step: mean time of a step; 0 is unknown
    std::uint64_t batch = 0;        ///< step: samples per step over all ranks; 0 is unknown
    std::string_view metric{};      ///< eval
    double value = 0;               ///< eval: finite; without meaning when `non_finite` is not 0
    phase now = phase::other;       ///< phase
    bool durable = false;           ///< checkpoint: written, and safe
    double save_seconds = 0;        ///< checkpoint: what it took; 0 is unknown
    int exit_code = 0;              ///< bye
    std::string_view why{};         ///< bye: done, stop, diverged, error; or empty
    std::uint32_t world = 0;        ///< hello: processes of the job
    std::uint32_t threads = 0;      ///< hello: threads of this process; 0 is unknown
    /// hello: names of the devices that this process sees, with commas between; empty is unknown
    std::string_view devices{};
    /// hello: where the job listens for commands, in the receiver's directory; empty: nowhere
    std::string_view control{};
    std::uint32_t wanted = 0;   ///< want: devices that the job would like to have now; 0 takes the wish back
    std::uint64_t command = 0;  ///< acknowledge: the number of the command
    bool taken_in = false;      ///< acknowledge: the job knows the command and obeys
};

/// A report and whose it is: proved, not claimed.
struct update {
    job_id job{};
    incarnation_id run{};
    std::uint32_t rank = 0;
    pid_t process = 0;      ///< as the kernel says; 0 from a log
    bool rollback = false;  ///< a step below one already seen in this incarnation: the job went back to a checkpoint
    report body{};
};

}  // namespace ration::progress
