// SPDX-License-Identifier: BSL-1.0
/// The option that names a service, for all commands of one.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace ration::program {

inline void add_state_option(CLI::App& to, std::string& folder) {
    to.add_option("--state", folder,
                  "The folder of the service (default: ~/.local/state/ration; clients without a service there use "
                  "/var/lib/ration-serve)")
        ->type_name("DIR");
}

}  // namespace ration::program
