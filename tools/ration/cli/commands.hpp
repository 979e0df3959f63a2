// SPDX-License-Identifier: BSL-1.0
/// The subcommands of `ration`, in the order in which --help lists them.
#pragma once

#include <memory>
#include <span>

#include "cli/command.hpp"

namespace ration::program {

struct subcommand {
    char const *name, *help;
    std::unique_ptr<command> (*make)();
};

[[nodiscard]] std::span<subcommand const> subcommands();

}  // namespace ration::program
