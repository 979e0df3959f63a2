// SPDX-License-Identifier: BSL-1.0
/// Commands of a run to its jobs (docs/progress-protocol.md): where each job takes them, and which was its last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <ration/progress/control.hpp>
#include <ration/progress/update.hpp>

#include "run/per_job.hpp"

namespace ration::program {

class command_channel {
    struct state {
        std::string address;     // empty: it takes no commands
        std::uint64_t last = 0;  // number of the last command whose answer matters
    };
    std::optional<progress::control> control_;
    std::map<std::string, progress::control> others_;  // by the folders of other users
    per_job<state> jobs_;

public:
    explicit command_channel(std::size_t jobs) : jobs_(jobs) {}

    /// Errors: those of `progress::control::open`; without it no command can be sent.
    [[nodiscard]] result<void> open(std::string const& folder);
    [[nodiscard]] bool is_open() const noexcept { return control_.has_value(); }

    [[nodiscard]] std::string const& address(live_job const& job) const noexcept { return jobs_[job].address; }
    void set_address(live_job const& job, std::string address) { jobs_[job].address = std::move(address); }
    [[nodiscard]] bool reaches(live_job const& job) const noexcept { return is_open() && !address(job).empty(); }

    /// Sends a command and returns its number. Pre: `is_open()`. Errors: those of `progress::control::send`.
    [[nodiscard]] result<std::uint64_t> send(live_job const& job, progress::command const& what);
    /// The same; from now on `is_refusal` compares with this command.
    [[nodiscard]] result<std::uint64_t> send_and_follow(live_job const& job, progress::command const& what);
    /// Whether a report refuses the last command that was followed, because the job does not support it.
    [[nodiscard]] bool is_refusal(live_job const& job, progress::report const& reply) const noexcept;

private:
    [[nodiscard]] result<progress::control*> control_of(live_job const& job);
};

}  // namespace ration::program
