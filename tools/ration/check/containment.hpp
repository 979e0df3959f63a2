// SPDX-License-Identifier: BSL-1.0
/// The sandbox of workers, around the probes of a plugin.
#pragma once

#include <functional>
#include <string>

#include "plugin_under_test.hpp"
#include "sandbox.hpp"

namespace ration::conformance {

/// Why this kernel cannot contain a plugin; empty when it can. Nothing of the plugin runs.
[[nodiscard]] std::string why_not_contained(subject const& s);

/// `run_isolated` with the rights of a worker, and a few more by which the probes see what a plugin does. A system call
/// that these do not include fails, and the verdict is then `failed` with the name of the call.
[[nodiscard]] finding run_contained(subject const& s, std::function<void()> const& body, deadline const& until);

}  // namespace ration::conformance
