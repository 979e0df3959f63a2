// SPDX-License-Identifier: BSL-1.0
/// Scripts that shells read to complete a command line of ration.
#pragma once

#include <string>

#include "command_line/description.hpp"

namespace ration::program {

/// For bash 4.4 or later; needs nothing of the package bash-completion.
[[nodiscard]] std::string bash_completion(described_program const& program);
[[nodiscard]] std::string zsh_completion(described_program const& program);
[[nodiscard]] std::string fish_completion(described_program const& program);

}  // namespace ration::program
