// SPDX-License-Identifier: BSL-1.0
/// From CLI11's view of the command line to plain data.
#pragma once

#include <map>

#include "command_line/description.hpp"

// NOLINTBEGIN(readability-identifier-naming): CLI11's own names
namespace CLI {
class App;
class Option;
}  // namespace CLI
// NOLINTEND(readability-identifier-naming)

namespace ration::program {

/// The words that a shell can offer for the value of an option, where the option does not list them. Options whose
/// value is called FILE, LOG or PATH take files; those with a comma between values take lists.
using option_offers = std::map<CLI::Option const*, offered_values>;

[[nodiscard]] described_program describe(CLI::App const& program, option_offers const& offers);

}  // namespace ration::program
