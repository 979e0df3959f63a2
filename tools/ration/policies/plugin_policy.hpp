// SPDX-License-Identifier: BSL-1.0
/// Policies and estimators in worker processes: those from files, unless the jobs file asks for this process, and
/// policies of this program where it serves several users.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ration/host/any_estimator.hpp>
#include <ration/host/any_policy.hpp>
#include <ration/plugin/abi.h>
#include <ration/result.hpp>

#include "common/diagnostics.hpp"
#include "config/config.hpp"
#include "policies/policy_log.hpp"

namespace ration::plugin {
class shared_columns;
}

namespace ration::program {

/// The description of a plugin, read without running it.
struct plugin_description {
    std::string path, name, id, version, vendor, license, summary;
    std::string parameters;  ///< JSON schema; empty when it takes none
    std::vector<std::string> needs;
    std::vector<std::string> computes;  ///< names of columns; empty for a policy
    bool worker_only = false;           ///< it must not share a process
};

/// How a policy from a file is used. `parameters` and `isolation` are those of the jobs file, or null.
struct plugin_use {
    std::string_view path;
    position at;  ///< where the policy is named
    policy_parameters const* parameters = nullptr;
    policy_isolation const* isolation = nullptr;
    plugin::shared_columns const* columns = nullptr;  ///< the host's, when they are in shared memory
    nanoseconds deadline = milliseconds(100);         ///< for one answer of a worker
    bool may_start_later = false;                     ///< as of a worker's options
};

/// The word by which `ration` starts itself as a worker; it is not a command for users. The name of a policy of this
/// program follows; without a name the worker loads a file.
inline constexpr std::string_view worker_word = "policy-worker";
[[nodiscard]] int plugin_worker();

/// Makes a policy of this program with these parameters, or null with at least one problem.
using compiled_in_maker = std::function<std::unique_ptr<any_policy>(policy_parameters const*, diagnostics&)>;
/// The worker of the policy `name` of this program.
[[nodiscard]] int compiled_in_worker(std::string_view name, compiled_in_maker const& make);
/// The policy `use.path` of this program in a worker, tried once. Null with at least one problem.
[[nodiscard]] std::unique_ptr<any_policy> open_compiled_in(ration_manifest const& manifest, plugin_use const& use,
                                                           policy_log& log, diagnostics& problems);

/// The reason why this kernel cannot limit the files that a worker reads, as a sentence; empty if it can.
[[nodiscard]] std::string_view why_workers_read_all();

/// Errors: those of plugin::plugin_file::open.
[[nodiscard]] result<plugin_description> describe_plugin(std::string const& path);

/// The policy, running and tried once. Null with at least one problem: the file, or its parameters, with the plugin's
/// own sentence.
[[nodiscard]] std::unique_ptr<any_policy> open_plugin(plugin_use const& use, policy_log& log, diagnostics& problems);

/// The same for an estimator. `columns` of `use` are not used.
[[nodiscard]] std::unique_ptr<any_estimator> open_plugin_estimator(plugin_use const& use, policy_log& log,
                                                                   diagnostics& problems);

/// Those of the jobs file, with its parameters. Adds to `problems` what is wrong with any.
[[nodiscard]] std::vector<std::unique_ptr<any_estimator>> open_estimators(run_config const& config, policy_log& log,
                                                                          diagnostics& problems);

/// Where it runs: "worker", "in-process", or "none" for one that is compiled in.
[[nodiscard]] std::string_view isolation_of(any_policy& policy);

/// Whether the policy came from a file and made too many faults, so that it is never called again.
[[nodiscard]] bool is_quarantined(any_policy const& policy);

/// The error in the last tick of a policy that came from a file, as a sentence; empty for all others.
[[nodiscard]] std::string trouble_of(any_policy const& policy);
/// The same of an estimator's last fault at any tick.
[[nodiscard]] std::string trouble_of(any_estimator const& estimator);

}  // namespace ration::program
