// SPDX-License-Identifier: BSL-1.0
/// Policies from files, as this program uses them: each in a worker process of its own.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ration/decider.hpp>
#include <ration/result.hpp>

#include "config.hpp"
#include "problem.hpp"

namespace ration::program {

/// What is known of a plugin without running it.
struct plugin_description {
    std::string path, name, id, version, vendor, license, summary;
    std::string parameters;  ///< JSON schema; empty when it takes none
    std::vector<std::string> needs;
};

/// The word by which `ration` starts itself as a worker; no command of its own.
inline constexpr std::string_view worker_word = "policy-worker";
[[nodiscard]] int plugin_worker();

/// Errors: those of plugin::plugin_file::open.
[[nodiscard]] result<plugin_description> describe_plugin(std::string const& path);

/// The policy, running and tried once. Null with at least one problem: the file, or its parameters, with the plugin's own sentence.
[[nodiscard]] std::unique_ptr<decider> open_plugin(std::string_view path, position at, policy_parameters const* parameters,
                                                   std::vector<problem>& problems);

/// What was wrong with the last tick of a policy that came from a file, as a sentence; empty for all others.
[[nodiscard]] std::string trouble_of(decider const& policy);

}  // namespace ration::program
