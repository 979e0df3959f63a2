// SPDX-License-Identifier: BSL-1.0
/// The policies of this program, and how their parameters are read.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ration/host/any_policy.hpp>
#include <ration/plugin/abi.h>
#include <ration/policies/shared_cache.hpp>

#include "common/diagnostics.hpp"
#include "config/config.hpp"
#include "policies/policy_log.hpp"

namespace ration::program {

/// One parameter of a policy, as people see it.
struct parameter_help {
    std::string name, default_value, meaning;
};

struct known_policy {
    std::string_view name;  ///< as in `policy = "..."`
    meta about;
    std::vector<parameter_help> parameters;
    std::string schema;  ///< JSON schema of the parameters; empty when there are none
    std::span<column_description const> reads;
    ration_manifest const* manifest;
    /// A fresh instance. Errors in the parameters are added to `problems`, with its place in the file; then it
    /// is null.
    std::unique_ptr<any_policy> (*make)(policy_parameters const* given, diagnostics& problems);
};

[[nodiscard]] std::span<known_policy const> known_policies();

/// A policy that reads this column shares out devices.
inline constexpr std::string_view devices_to_share = "nodes/capacity.gpu";

/// The names of those that share out devices and need no column but these.
[[nodiscard]] std::vector<std::string_view> policies_for_devices(std::span<column_info const> schema);

/// The policy of this name, or of this file, with the parameters of the jobs file and in the process of `config`, or
/// null with at least one problem. One in a worker logs into `log`.
[[nodiscard]] std::unique_ptr<any_policy> make_policy(run_config const& config, std::string_view name, policy_log& log,
                                                      diagnostics& problems);

/// The worker of the policy of this name. Exit code 2: there is none, or no host started this process.
[[nodiscard]] int policy_worker(std::string_view name);

/// The parameters of `item_policy` in the jobs file, or nothing with at least one problem.
[[nodiscard]] std::optional<policies::shared_cache_parameters> item_parameters(run_config const& config,
                                                                               diagnostics& problems);

/// The names of the policies that are built in.
[[nodiscard]] std::vector<std::string> policy_names();

}  // namespace ration::program
