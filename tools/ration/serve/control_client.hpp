// SPDX-License-Identifier: BSL-1.0
/// The commands of the service's operators.
#pragma once

#include <string>
#include <vector>

#include "common/exit_code.hpp"

namespace ration::program {

struct drain_options {
    std::string folder;  ///< of --state
    bool wait = false, undo = false, json = false;
};
/// Lets the service launch no further job, or launch jobs again.
[[nodiscard]] exit_code drain_service(drain_options const& options);

struct policy_options {
    std::string folder;
    std::string action;  ///< "set"
    std::string policy;  ///< a name, or the path of a .so
    std::vector<std::string> settings;
    bool json = false;
};
/// Changes the policy of the service.
[[nodiscard]] exit_code set_policy(policy_options const& options);

}  // namespace ration::program
