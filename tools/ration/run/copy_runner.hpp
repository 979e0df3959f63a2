// SPDX-License-Identifier: BSL-1.0
/// Copies checkpoints in child processes, since a copy takes as long as its user's files and disks do.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <poll.h>
#include <string>
#include <string_view>
#include <vector>

#include <ration/process/account.hpp>
#include <ration/process/child.hpp>
#include <ration/result.hpp>

namespace ration::program {

/// The word of the command line that starts a copy: `ration copy-checkpoint FROM TO PARENT`.
inline constexpr std::string_view copy_word = "copy-checkpoint";

/// Copies a folder by `make_linked_copy`, and prints the number of files, or a sentence on what is wrong. The kernel
/// kills it with its parent, whose process id is PARENT: a later copy to the same folder has it for itself. `words`:
/// the arguments. Returns the exit code.
[[nodiscard]] int perform_copy(char** words);

/// Each user has one copy at a time, with the rights of that user. No call waits.
class copy_runner {
public:
    struct order {
        std::string job;  ///< its name
        std::uint32_t incarnation = 0;
        std::uint64_t step = 0;                 ///< of the checkpoint
        std::string from, to;                   ///< folders
        std::optional<process::account> owner;  ///< none: the user of ration
    };
    struct outcome {
        order what;
        std::uint64_t files = 0;
        std::string problem;  ///< empty: success. Else the folder `to` is as before
    };

    copy_runner() = default;
    copy_runner(copy_runner const&) = delete;
    copy_runner& operator=(copy_runner const&) = delete;
    ~copy_runner() { kill(); }

    void give(order what) { waiting_.push_back(std::move(what)); }
    /// Adds the processes to wait for.
    void join(std::vector<pollfd>& fds) const;
    /// Starts what is due, and returns the copies that have ended since the last call.
    [[nodiscard]] std::vector<outcome> advance();
    /// Kills all copies, and drops the orders behind them.
    void kill() noexcept;
    [[nodiscard]] bool idle() const noexcept { return waiting_.empty() && running_.empty(); }

private:
    struct copy {
        order what;
        process::child process;
    };
    std::deque<order> waiting_;
    std::vector<copy> running_;

    [[nodiscard]] bool is_copying_for(order const& next) const noexcept;
};

}  // namespace ration::program
