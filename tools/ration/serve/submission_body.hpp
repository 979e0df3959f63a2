// SPDX-License-Identifier: BSL-1.0
/// A submission as a client of the API sends it.
#pragma once

#include <string>

#include "config/config.hpp"
#include "serve/job_list.hpp"

namespace ration::program {

/// The fault of a body, as a sentence; empty: `into` has its members, and `config` its definition.
[[nodiscard]] std::string read_submission(std::string const& body, submission& into, run_config& config);

}  // namespace ration::program
