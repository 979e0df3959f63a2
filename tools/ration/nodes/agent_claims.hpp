// SPDX-License-Identifier: BSL-1.0
/// The folders to which the jobs of a run on several nodes write, and which all nodes see: that of the run, and those
/// of its checkpoints. Agents live on when their controller is killed, and hold a shared lock for each folder. The next
/// run of the same jobs requests their end, and waits for it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <ration/process/descriptor.hpp>

#include "config/config.hpp"

namespace ration::program {

class agent_claims {
    struct claim {
        process::descriptor file;
        std::string path;
    };
    std::vector<claim> claims_;
    std::string run_;

public:
    /// Opens `.NAME.ration` beside each folder NAME that a job names by `checkpoint`. Where it cannot be written, the
    /// folder has no such protection.
    agent_claims(std::span<job_config const> jobs, std::string run);
    /// Opens `.agents` in the folder of a run. So jobs without `checkpoint` have this protection too.
    void add_run_folder(std::string const& folder);

    // --- Agents
    /// Locks all files until the last process with these descriptors ends.
    void share() const noexcept;
    /// Another run waits for this one.
    [[nodiscard]] bool are_requested() const;

    // --- Controllers
    /// Requests the end of the agents of other runs. True: none is left.
    [[nodiscard]] bool take() const noexcept;
    /// Removes the requests of other runs; one that still waits repeats its own.
    void withdraw_requests() const noexcept;
    /// The run and its agents have ended.
    void remove() const noexcept;

private:
    void add(std::string path);
};

}  // namespace ration::program
