// SPDX-License-Identifier: BSL-1.0
/// The MPS daemon behind the shares of a GPU, which another program or the run itself has started, and its list of
/// clients.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ration/cuda/mps.hpp>
#include <ration/result.hpp>

namespace ration::program {

/// Move-only. The run's own daemon ends with it, so it has to outlive the jobs.
class gpu_shares {
    cuda::mps daemon_;
    bool own_;

    gpu_shares(cuda::mps daemon, bool own) noexcept : daemon_(std::move(daemon)), own_(own) {}

public:
    /// That which an earlier owner of this run has left, else the one that processes started from here would reach,
    /// else a new one: its pipes are in the run's folder, its logs in `log_folder`. Seconds. Errors: those of
    /// cuda::mps::connect, of a daemon that is there and does not answer, or that does not come up.
    [[nodiscard]] static result<gpu_shares> open(std::string const& run_folder, std::string const& log_folder);
    /// Ends the daemon that a run has left in its folder, if there is one.
    static void clean(std::string const& run_folder);

    gpu_shares(gpu_shares&& other) noexcept
        : daemon_(std::move(other.daemon_)), own_(std::exchange(other.own_, false)) {}
    gpu_shares& operator=(gpu_shares&&) = delete;
    ~gpu_shares();

    /// Of a job that is to be a client.
    [[nodiscard]] cuda::mps_place const& place() const noexcept { return daemon_.place(); }
    [[nodiscard]] bool is_own() const noexcept { return own_; }
    /// The processes that are clients now. Tens of milliseconds, `patience` at most for each server. Errors: those of
    /// cuda::mps::servers.
    [[nodiscard]] result<std::vector<std::int32_t>> clients() const;
};

}  // namespace ration::program
