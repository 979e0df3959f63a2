// SPDX-License-Identifier: BSL-1.0
/// What `ration run` is asked to do besides what the jobs file says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ration::program {

enum class backend_choice : std::uint8_t { automatic, cgroup, process };

struct run_options {
    std::string file;
    /// Names or paths of a .so, in the order in which they run; several for a comparison
    std::vector<std::string> policies;
    std::string policy;  ///< of --policy; empty: the file's
    bool compare = false;
    bool dry_run = false;   ///< print the plan of the first tick with every job running, start nothing
    bool explain = false;   ///< say for each job why it holds what it holds
    bool json = false;      ///< events on standard output instead of a view
    bool reattach = false;  ///< take over the jobs that a ration which is gone left running
    bool quiet = false;     ///< no view, no plain lines; warnings and the table at the end remain
    std::string log;        ///< path; empty: no event log
    std::string metrics;    ///< as `parse_endpoint` takes it; empty: none
    backend_choice backend = backend_choice::automatic;
    std::optional<std::uint32_t> cpus;  ///< instead of the file's; `run` finds it in the config
};

}  // namespace ration::program
