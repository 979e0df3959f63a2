// SPDX-License-Identifier: BSL-1.0
/// The options of `ration run`, beside the jobs file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ration/units.hpp>

#include "config/settings.hpp"

namespace ration::program {

/// Means the first backend that this machine allows.
inline constexpr std::string_view automatic_backend = "auto";

struct run_options {
    std::string file;
    std::vector<std::string> compared;    ///< words of --compare, as `read_choices` takes them
    std::vector<policy_choice> policies;  ///< in the order of the first round; several for a comparison
    std::string policy;                   ///< of --policy; empty: the file's
    std::vector<std::string> settings;    ///< as `add_setting` takes them
    std::uint32_t repeat = 1;             ///< rounds of a comparison
    bool compare = false;
    bool dry_run = false;                    ///< print the plan of the first tick with every job running, start nothing
    bool explain = false;                    ///< print the reason for the grants of each job
    bool json = false;                       ///< events on standard output instead of a view
    bool reattach = false;                   ///< continue the jobs that a killed run has left
    bool quiet = false;                      ///< no view, no plain lines; warnings and the table at the end remain
    std::string log;                         ///< path; empty: no event log
    std::string metrics;                     ///< as `parse_endpoint` takes it; empty: none
    std::string backend{automatic_backend};  ///< one of `job_backend_names`
    std::optional<std::uint32_t> cpus;       ///< instead of the file's; `run` finds it in the config
    std::string nodes;                       ///< of --nodes; empty: this machine alone
    std::vector<std::string> hosts;          ///< of --hosts
    nanoseconds lease = seconds(300);        ///< of --node-lease
    nanoseconds node_wait = seconds(600);    ///< of --node-wait
    /// Where the jobs of all users report; empty: in the folder of the run, and only the user of ration does
    std::string progress_socket;
};

}  // namespace ration::program
