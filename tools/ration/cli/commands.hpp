// SPDX-License-Identifier: BSL-1.0
/// The subcommands of `ration`, in the order in which --help lists them.
#pragma once

#include <memory>
#include <span>

#include "cli/command.hpp"

namespace ration::program {

struct subcommand {
    char const *name, *help;             ///< "run"; a command of the group "measure" is "measure scaling"
    std::unique_ptr<command> (*make)();  ///< null: a group, whose commands follow
};

[[nodiscard]] std::span<subcommand const> subcommands();

}  // namespace ration::program
