// SPDX-License-Identifier: BSL-1.0
/// `ration node`: runs the jobs of one node for the controller of a run, which it reaches by standard input and output.
#pragma once

#include "common/exit_code.hpp"

namespace ration::program {

struct node_options {};

/// Until the controller ends the run, or its lease is over.
[[nodiscard]] exit_code serve_node(node_options const& options);

}  // namespace ration::program
