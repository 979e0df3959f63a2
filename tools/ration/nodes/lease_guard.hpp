// SPDX-License-Identifier: BSL-1.0
/// The guard of a lease: a process beside the agent of a node. It ends the jobs if the agent is killed, or does not end
/// them after the lease, for example because it is stopped (SIGSTOP). No code in the agent could ensure that.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <ration/process/child.hpp>
#include <ration/result.hpp>

#include "nodes/node_lock.hpp"

namespace ration::program {

struct guard_task {
    std::string folder;     ///< of records on this node
    std::string record;     ///< name of the agent's run, as in its record
    node_lock const& lock;  ///< also held by the guard, so that the next agent waits until the jobs have ended
    nanoseconds ending;     ///< within which the agent ends the jobs after its lease
    std::size_t jobs;       ///< most jobs at a time
};

class lease_guard {
    struct unmap {
        void operator()(std::atomic<std::int64_t>* mapped) const noexcept;
    };
    guard_task task_;
    std::unique_ptr<std::atomic<std::int64_t>, unmap> until_;  // on `lease_clock`, shared with the guard
    process::child process_;

    explicit lease_guard(guard_task task) noexcept : task_(std::move(task)) {}

public:
    /// Starts the guard. `until`: end of the lease. Errors: those of mmap(2), pidfd_open(2) and fork(2).
    [[nodiscard]] static result<lease_guard> start(guard_task task, nanoseconds until);

    /// The end of the lease has moved. Starts another guard if the first has ended.
    void renew(nanoseconds until);
    /// No job is left: ends the guard. Without this call the guard ends the jobs when this process ends.
    void release() noexcept;

private:
    [[nodiscard]] result<void> start_process();
};

}  // namespace ration::program
