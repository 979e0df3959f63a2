// SPDX-License-Identifier: BSL-1.0
/// The Slurm allocation in which this process runs: its nodes, the commands that start their agents, and its end.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ration/result.hpp>
#include <ration/units.hpp>

#include "common/diagnostics.hpp"
#include "nodes/cluster_spec.hpp"

namespace ration::program {

struct slurm_allocation {
    std::vector<node_spec> nodes;
    std::optional<std::int64_t> end{};  ///< Unix time; none: without a limit, or unknown
};

/// From the environment, `scontrol` and `squeue`. `program`: the path of ration, on all nodes. Errors: outside an
/// allocation, without these programs, or if they fail.
[[nodiscard]] result<slurm_allocation, diagnostic> read_slurm_allocation(std::string const& program);

/// SLURM_JOB_CPUS_PER_NODE, such as "13,1(x3)": one number for each node. Empty: another form.
[[nodiscard]] std::vector<std::uint32_t> read_cpus_per_node(std::string_view text);

/// How long before the end of an allocation the jobs are saved. `ending`: what they need. `left`: of the allocation; at
/// least half of it remains for the jobs.
[[nodiscard]] constexpr nanoseconds time_to_save(nanoseconds ending, nanoseconds left) noexcept {
    nanoseconds const half{left.count / 2};
    return ending < half ? ending : half;
}

/// Sends SIGTERM to this process at a time, so that a run stops its jobs as if the user had ended it.
class stop_timer {
    std::optional<timer_t> timer_;

public:
    stop_timer() noexcept = default;
    stop_timer(stop_timer const&) = delete;
    stop_timer& operator=(stop_timer const&) = delete;
    ~stop_timer();

    /// Errors: those of timer_create(2).
    [[nodiscard]] result<void> set(std::int64_t unix_time);
};

}  // namespace ration::program
