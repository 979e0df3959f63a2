// SPDX-License-Identifier: BSL-1.0
/// `ration top`: a live view of the service.
#pragma once

#include <string>

#include "common/exit_code.hpp"

namespace ration::program {

struct top_options {
    std::string folder;  ///< of --state
};
/// Draws the running jobs and the lengths of the queue once a second until it is interrupted; once where standard
/// output is not a terminal.
[[nodiscard]] exit_code show_top(top_options const& options);

}  // namespace ration::program
